# SPDX-License-Identifier: Apache-2.0
"""oracle: --init reads what --save wrote, in either layout, in shards, narrower, under a prefix, and says what does not fit.
init-weights.py ACCUM_RUN ARTIFACT FOLDER"""
import json
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tensors

RUN, ARTIFACT, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])


def run(*words, code=0):
    done = subprocess.run([RUN, ARTIFACT, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout + done.stderr


def saved_from(init, *words):
    run("--steps", 0, "--init", init, "--save", FOLDER / "again.safetensors", *words)
    return tensors.read(FOLDER / "again.safetensors")


def f32(values):
    return struct.unpack(f"<{len(values) // 4}f", values)


def narrowed(tensor, dtype):
    """F16 by struct, BF16 cut off: of the f32 values."""
    values = f32(tensor[2])
    data = (struct.pack(f"<{len(values)}e", *values) if dtype == "F16" else
            b"".join(tensor[2][i + 2:i + 4] for i in range(0, len(tensor[2]), 4)))
    return dtype, tensor[1], data


def widened(tensor):
    dtype, shape, data = tensor
    count = len(data) // 2
    values = (struct.unpack(f"<{count}e", data) if dtype == "F16" else
              [struct.unpack("<f", b"\0\0" + data[2 * i:2 * i + 2])[0] for i in range(count)])
    return "F32", shape, bytearray(struct.pack(f"<{count}f", *values))


def check_layouts(onnx):
    assert saved_from(FOLDER / "onnx.safetensors") == onnx
    assert saved_from(FOLDER / "framework.safetensors") == onnx
    assert saved_from(FOLDER / "framework.safetensors", "--init-names", "framework") == onnx


def check_narrow(onnx):
    for dtype in ("F16", "BF16"):
        half = {name: narrowed(tensor, dtype) for name, tensor in onnx.items()}
        tensors.write(FOLDER / "half.safetensors", half)
        assert saved_from(FOLDER / "half.safetensors") == {name: widened(t) for name, t in half.items()}


def check_shards(framework, onnx):
    folder = FOLDER / "shards"
    folder.mkdir()
    names, files = list(framework), {}
    for number, part in enumerate((names[::2], names[1::2])):
        tensors.write(folder / f"model-{number}.safetensors", {name: framework[name] for name in part})
        files.update({name: f"model-{number}.safetensors" for name in part})
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": files}))
    assert saved_from(index) == saved_from(folder) == onnx
    index.write_text(json.dumps({"weight_map": {**files, "nowhere": "model-0.safetensors"}}))
    assert "holds no tensor `nowhere`" in run("--steps", 0, "--init", index, code=3)
    index.write_text(json.dumps({"weight_map": files}))
    (folder / "model-1.safetensors").unlink()
    assert "model-1.safetensors: cannot be read" in run("--steps", 0, "--init", index, code=3)


def check_prefix(framework, onnx):
    for before, after in (("", "module."), ("model.", "")):
        renamed = {after + name.removeprefix(before): tensor for name, tensor in framework.items()}
        tensors.write(FOLDER / "renamed.safetensors", renamed)
        said = run("--steps", 0, "--init", FOLDER / "renamed.safetensors", "--save", FOLDER / "again.safetensors")
        assert ("with `module.`" if after else "without the model's `model.`") in said, said
        assert tensors.read(FOLDER / "again.safetensors") == onnx


def check_misfits(onnx, artifact):
    names = [name for name in onnx if len(onnx[name][1]) == 1]
    gone, wrong = names[0], names[1]
    bad = {name + ("s" if name == gone else ""): tensor for name, tensor in onnx.items()}
    bad[wrong] = ("F32", [3], bytes(12))
    tensors.write(FOLDER / "bad.safetensors", bad)
    said = run("--steps", 0, "--init", FOLDER / "bad.safetensors", code=3)
    assert "does not fit the model: 1 missing, 1 of another shape, 1 left over [weights]" in said, said
    assert f"not in the file: `{gone}` (in the file: `{gone}s`?)" in said, said
    assert f"`{wrong}` [3], not {onnx[wrong][1]}" in said, said
    taken = saved_from(FOLDER / "bad.safetensors", "--init-partial")
    for name in onnx:
        assert taken[name] == (artifact if name in (gone, wrong) else onnx)[name], name
    tensors.write(FOLDER / "none.safetensors", {"else": ("F32", [1], bytes(4))})
    assert "holds none of" in run("--steps", 0, "--init", FOLDER / "none.safetensors", "--init-partial", code=3)


def check_contradictions():
    for words in (["--random-params", 1], ["--resume", FOLDER / "c"]):
        assert "--init" in run("--steps", 0, "--init", FOLDER / "onnx.safetensors", *words, code=2)
    assert "--init" in run("--steps", 0, "--init-partial", code=2)


def check_resume(onnx):
    """A fresh start takes --init, and where it goes on the checkpoint alone counts."""
    words = ["--synthetic", "--lr", "0.01", "--checkpoint", FOLDER / "c", "--resume", "auto",
             "--init", FOLDER / "onnx.safetensors", "--save", FOLDER / "again.safetensors"]
    assert "init  " in run(*words, "--steps", 0)
    assert tensors.read(FOLDER / "again.safetensors") == onnx
    run(*words, "--steps", 1)
    once = tensors.read(FOLDER / "again.safetensors")
    assert once != onnx
    assert "init  " not in run(*words, "--steps", 1)
    assert tensors.read(FOLDER / "again.safetensors") == once


def check_without_own(onnx):
    """The file is enough where the artifact's weights are gone."""
    (pathlib.Path(ARTIFACT) / "params.safetensors").unlink()
    part = dict(list(onnx.items())[1:])
    tensors.write(FOLDER / "part.safetensors", part)
    assert saved_from(FOLDER / "onnx.safetensors") == onnx
    said = run("--steps", 0, "--init", FOLDER / "part.safetensors", "--init-partial", code=3)
    assert "have no value" in said, said


run("--steps", 0, "--save", FOLDER / "artifact.safetensors")
for layout in ("onnx", "framework"):
    run("--synthetic", "--steps", 2, "--lr", "0.01", "--names", layout, "--save", FOLDER / f"{layout}.safetensors")
own, theirs = (tensors.read(FOLDER / f"{layout}.safetensors") for layout in ("onnx", "framework"))
assert {name: tensor[1] for name, tensor in own.items()} != {name: tensor[1] for name, tensor in theirs.items()}
check_layouts(own)
check_narrow(own)
check_shards(theirs, own)
check_prefix(theirs, own)
check_misfits(own, tensors.read(FOLDER / "artifact.safetensors"))
check_contradictions()
check_resume(own)
check_without_own(own)
print("ok")
