#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""break-accumulation.py DIR.accum: rebuilds the program so that every micro-step overwrites the gradients of the ones before,
as a loop does that clears them in the wrong place. For tests that must notice."""
import ctypes
import json
import pathlib
import re
import subprocess
import sys

artifact = pathlib.Path(sys.argv[1])
source = (artifact / "program.cpp").read_text()
loops = [match for match in re.finditer(r"const bool first = k == 0;", source)]
if len(loops) < 2:
    sys.exit("the program has no second loop")
broken = source[:loops[1].start()] + "const bool first = true;" + source[loops[1].end():]
(artifact / "program.cpp").write_text(broken)
include = subprocess.run(["accum-run", "--include-dir"], capture_output=True, text=True, check=True).stdout.strip()
subprocess.run(["c++", "-std=c++20", "-O1", "-fPIC", "-shared", "-I", include, artifact / "program.cpp", "-o",
                artifact / "program.so"], check=True)

digest = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
digest.restype, digest.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
manifest = json.loads((artifact / "manifest.json").read_text())
for entry in manifest["files"]:
    data = (artifact / entry["name"]).read_bytes()
    entry["bytes"], entry["xxh3"] = len(data), f"{digest(data, len(data)):016x}"
del manifest["checksum"]
sealed = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False).encode()
manifest["checksum"] = f"{digest(sealed, len(sealed)):016x}"
(artifact / "manifest.json").write_text(json.dumps(manifest, indent=1))
