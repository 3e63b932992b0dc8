# SPDX-License-Identifier: Apache-2.0
"""What accumc prints where paths and names are no text, where nobody can take it, and what an
interrupted compilation leaves behind: nothing (oracle: Python's reader of JSON).
Usage: output.py FOLDER MODEL.onnx"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time


def accumc(*words, **more):
    return subprocess.run(["accumc", *words], stderr=subprocess.PIPE, check=False, **more)


def interrupt(folder, model, number):
    """The exit code of a compilation that got a signal while it wrote."""
    place = pathlib.Path(os.fsdecode(folder)) / "interrupted"
    place.mkdir(exist_ok=True)
    default = lambda: signal.signal(number, signal.SIG_DFL)  # what runs in the background may ignore SIGINT
    process = subprocess.Popen(["accumc", model, "--batch", "8", "-o", place / "m.accum"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=default)
    while process.poll() is None:
        if any(place.glob("m.accum.tmp.*/*")):
            process.send_signal(number)
            break
        time.sleep(0.001)
    code = process.wait()
    assert not list(place.glob("m.accum.tmp.*")), list(place.iterdir())
    return code


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

    for number in (signal.SIGINT, signal.SIGTERM):
        codes = set()  # 0: it was done before the signal
        for _ in range(20):
            codes.add(interrupt(folder, odd, number))
            if -number in codes:
                break
        assert -number in codes and codes <= {0, -number}, codes


main()
