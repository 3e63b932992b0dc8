# SPDX-License-Identifier: Apache-2.0
"""`with-property.py MODEL KEY VALUE OUTPUT` adds an entry to the metadata_props of a model file."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import wire

model, key, value, output = sys.argv[1:]
entry = wire.message(14, wire.message(1, key) + wire.message(2, value))
pathlib.Path(output).write_bytes(pathlib.Path(model).read_bytes() + entry)
