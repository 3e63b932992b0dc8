# SPDX-License-Identifier: Apache-2.0
"""oracle: a model file saved before any step is the file itself; saved behind two steps and compiled again, its first
loss has the bits of the third step's. save-model.py MODEL FOLDER [merged] [ACCUMC-WORD...]; `merged`: the file has one tensor for
parameters that are several, and gets the others"""
import json
import pathlib
import subprocess
import sys

MODEL, FOLDER, WORDS = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
IS_MERGED = WORDS[:1] == ["merged"]
WORDS = WORDS[IS_MERGED:]


def call(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stderr


def compiled(model, name):
    call("accumc", model, "--batch", 4, "--micro-batch", 2, "-o", FOLDER / name, *WORDS)
    return FOLDER / name


def losses(artifact, *words):
    call("accum-run", artifact, "--synthetic", "--no-shuffle", "--lr", "0.01", "--log", FOLDER / "log", *words)
    return [json.loads(line)["loss"] for line in (FOLDER / "log").read_text().splitlines()]


FOLDER.mkdir(parents=True, exist_ok=True)
first = compiled(MODEL, "first.accum")
same, trained = FOLDER / "same.onnx", FOLDER / "trained.onnx"
call("accum-run", first, "--steps", 0, "--save", same)
beside = [path for path in MODEL.parent.glob(MODEL.name + ".*") if path.suffix == ".data"]
if IS_MERGED:
    if not WORDS:  # where one of them is frozen, those that are equal yet are refused
        assert losses(compiled(same, "same.accum"), "--steps", 1) == losses(first, "--steps", 1)
elif beside:
    assert (FOLDER / "same.onnx.data").read_bytes() == beside[0].read_bytes()
    assert len(same.read_bytes()) - len(MODEL.read_bytes()) <= 64 * len(b"same.onnx.data")
else:
    assert same.read_bytes() == MODEL.read_bytes()
straight = losses(first, "--steps", 3)
losses(first, "--steps", 2, "--save", trained)
assert losses(compiled(trained, "second.accum"), "--steps", 1) == straight[2:], straight
assert straight[2] != straight[0]
print("ok", len(trained.read_bytes()))
