# SPDX-License-Identifier: Apache-2.0
"""What accumc prints where paths and names are no text, and where nobody can take it (oracle: Python's reader of JSON).
Usage: output.py FOLDER MODEL.onnx"""
import json
import os
import pathlib
import subprocess
import sys


def accumc(*words, **more):
    return subprocess.run(["accumc", *words], stderr=subprocess.PIPE, check=False, **more)


def main():
    folder, model = os.fsencode(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes()
    odd = os.path.join(folder, b"m\xff.onnx")
    pathlib.Path(os.fsdecode(odd)).write_bytes(model)
    found = accumc("check", odd, "--json", stdout=subprocess.PIPE)
    assert found.returncode == 0 and json.loads(found.stdout)["reason"] == "ok", found

    name = b"transformer.ln_f.weight"
    assert name in model
    damaged = os.path.join(folder, b"damaged.onnx")
    pathlib.Path(os.fsdecode(damaged)).write_bytes(model.replace(name, b"\xff" + name[1:]))
    found = accumc("check", damaged, "--json", stdout=subprocess.PIPE)
    assert found.returncode == 3 and json.loads(found.stdout)["reason"] == "malformed-model", found
    assert b"has a name that is not UTF-8 text" in found.stderr, found.stderr

    for more in ([], ["--json"], ["--explain"]):
        with open("/dev/full", "wb") as full:
            found = accumc(odd, "--batch", "8", "--plan-only", *more, stdout=full)
        assert found.returncode == 3, found
        assert b"error: standard output: cannot be written: No space left on device [output-failed]" in found.stderr, found.stderr


main()
