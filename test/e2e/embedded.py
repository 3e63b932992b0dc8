# SPDX-License-Identifier: Apache-2.0
"""examples/embed.c, examples/handler.c and examples/embedded/head.c as their users build them, with a C compiler and libaccum_runtime.so
(oracle: accum-run on the same samples. A loop over batches of one's own has its bits, also where it goes on; the mean of two batches'
gradients is the gradient of a batch of both; a user's head has the weights of the same epochs, and the rest of the model stays).

Usage: embedded.py FOLDER BUILD
"""
import pathlib
import re
import struct
import sys

import tensors
from program import MODELS, run

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
FOLDER, BUILD = map(pathlib.Path, sys.argv[1:])
SAMPLES, TOKENS, WORDS, STEPS = 16, 32, 97, 20
MEAN = 1e-3  # two orders of a sum in f32, as a part of what SGD has moved by


def built(name):
    include, target = run(BUILD / "bin" / "accum-run", "--include-dir").stdout.strip(), FOLDER / pathlib.Path(name).name
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", include, EXAMPLES / f"{name}.c", "-L", BUILD / "lib", "-laccum_runtime",
        f"-Wl,-rpath,{(BUILD / 'lib').resolve()}", "-lm", "-o", target)
    return target


def write_data(path):
    """What make_batch of embed.c makes, one step behind the other."""
    rows = []
    for step in range(STEPS):
        for i in range(SAMPLES):
            row = [(step * 31 + i * 7) % WORDS]
            while len(row) < TOKENS:
                row.append((row[-1] * 3 + 1) % WORDS)
            rows.append(row)
    values = struct.pack(f"<{len(rows) * TOKENS}q", *(token for row in rows for token in row))
    tensors.write(path, {name: ("I64", [len(rows), TOKENS], values) for name in ("input_ids", "labels")})


def compiled(batch, optimizer):
    artifact = FOLDER / f"{batch}-{optimizer}.accum"
    run("accumc", EXAMPLES / "gpt2-tiny.onnx", "--batch", batch, "--micro-batch", 6, "--optimizer", optimizer, "-o", artifact)
    return artifact


def moved(path, start):
    """By how much each number has moved."""
    end = tensors.read(path)
    return [b - a for name in start for a, b in zip(*(struct.unpack(f"<{len(t[name][2]) // 4}f", bytes(t[name][2])) for t in (start, end)))]


def check_embed(artifact, data):
    embed, words = built("embed"), ["--schedule", "cosine", "--clip-norm", 1, "--lr", 3e-3]
    run("accum-run", artifact, "--data", data, "--no-shuffle", "--steps", STEPS, *words, "--save", FOLDER / "expected.safetensors")
    said = run(embed, artifact, STEPS, FOLDER / "own.safetensors", FOLDER / "checkpoints").stdout
    assert f"step {STEPS}: loss" in said and "in 3 micro-steps" in said, said
    expected = (FOLDER / "expected.safetensors").read_bytes()
    assert (FOLDER / "own.safetensors").read_bytes() == expected, "a loop of one's own has other bits"
    (FOLDER / "checkpoints" / f"step-{STEPS:08}").rename(FOLDER / "taken")
    said = run(embed, artifact, STEPS, FOLDER / "again.safetensors", FOLDER / "checkpoints").stdout
    assert said.startswith("step 11: "), said
    assert (FOLDER / "again.safetensors").read_bytes() == expected, "what goes on has other bits"


def check_handler(data):
    handler, half, artifact = built("handler"), STEPS // 2, compiled(SAMPLES, "sgd")
    run("accum-run", artifact, "--steps", 0, "--save", FOLDER / "start.safetensors")
    start = tensors.read(FOLDER / "start.safetensors")
    run(handler, artifact, data, half, "none", FOLDER / "mean.safetensors")
    run("accum-run", compiled(2 * SAMPLES, "sgd"), "--data", data, "--no-shuffle", "--steps", half, "--save", FOLDER / "both.safetensors")
    mean, both = moved(FOLDER / "mean.safetensors", start), moved(FOLDER / "both.safetensors", start)
    off = max(abs(a - b) for a, b in zip(mean, both)) / max(map(abs, both))
    print(f"two batches' mean: off by {off:.1e} of one batch of both")
    assert off <= MEAN, off
    kept = "transformer.h.0.ln_1.weight"
    run(handler, artifact, data, 2, kept, FOLDER / "kept.safetensors")
    end = tensors.read(FOLDER / "kept.safetensors")
    same = [name for name in start if start[name] == end[name]]
    assert same == [kept], f"as they were: {same}"


def check_head():
    head, artifact, own = built("embedded/head"), FOLDER / "head.accum", FOLDER / "head.safetensors"
    samples = MODELS / "bert-classification-dynamo.data.safetensors"
    run("accumc", MODELS / "bert-classification-dynamo.onnx", "--batch", 4, "--trainable", "classifier*", "--metric", "accuracy", "-o", artifact)
    said = run(head, artifact, samples, own, 3).stdout
    assert said.startswith("loss "), said
    run("accum-run", artifact, "--data", samples, "--seed", 1, "--epochs", 3, "--lr", 1e-2, "--threads", 1, "--save", FOLDER / "run.safetensors")
    assert own.read_bytes() == (FOLDER / "run.safetensors").read_bytes(), "a user's head has other bits"
    assert sorted(tensors.read(own)) == ["classifier.bias", "classifier.weight"]
    loss, was = (float(word) for word in re.match(r"loss ([\d.]+), was ([\d.]+);", said).groups())
    assert loss < was, said
    again = run(head, artifact, samples, own, 3).stdout
    assert f"was {loss:.6f};" in again, f"{said}{again}: the head that was kept is not what goes on"


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = FOLDER / "data.safetensors"
    write_data(data)
    check_embed(compiled(SAMPLES, "adamw"), data)
    check_handler(data)
    check_head()


main()
