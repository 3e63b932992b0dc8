# SPDX-License-Identifier: Apache-2.0
"""Training on tokens equals training on windows of them, cut here by slices: the same losses and weights, bit by bit.

Usage: token-data.py FOLDER
"""
import array
import json
import pathlib
import random
import shutil
import sys

import tensors
from program import MODELS, run

LENGTH, VOCABULARY, SEPARATOR = 16, 97, 13
MODEL = MODELS / "gpt2-dynamo-logits.onnx"


def windows(lines, ahead):
    return [line[at:at + LENGTH + ahead] for line in lines for at in range(0, len(line) - LENGTH - ahead + 1, LENGTH)]


def labels_of(window, ahead, separator):
    """The target that a position is scored by is ignored where it is the first of another document."""
    targets = window[ahead:ahead + LENGTH]
    behind = [t + ahead > 0 and window[t + ahead - 1] == separator for t in range(LENGTH)]
    return [-100 if ignored else target for target, ignored in zip(targets, behind)]


def write_arrays(path, lines, loss, separator=None):
    ahead = 1 if loss == "cross-entropy" else 0
    cut = windows(lines, ahead)
    like = ("I64", [0, LENGTH], b"")
    arrays = {"input_ids": tensors.from_rows(like, [window[:LENGTH] for window in cut])}
    if loss != "next-token":
        arrays["labels"] = tensors.from_rows(like, [labels_of(window, ahead, separator) for window in cut])
    tensors.write(path, arrays)


def train(folder, artifact, words, ok=(0,)):
    """What a log and the weights say, and what was printed to stderr."""
    log, weights = folder / "log.jsonl", folder / "weights.safetensors"
    log.unlink(missing_ok=True)
    weights.unlink(missing_ok=True)
    result = run("accum-run", artifact, *words, "--lr", 0.1, "--progress", "none", "--log", log, "--save", weights, ok=ok)
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    kept = ("step", "loss", "samples", "targets", "eval_loss", "eval_samples", "eval_targets")
    numbers = [{key: line[key] for key in kept if key in line} for line in lines]
    return numbers, weights.read_bytes() if weights.exists() else b"", result.stderr


def same(what, found, expected):
    if not expected[0] or found[:2] != expected[:2]:
        sys.exit(f"{what}: trained {found[0]}, expected {expected[0]}")


def write_tokens(path, line):
    path.write_bytes(array.array("H", line).tobytes())
    return path


def check_loss(folder, loss, devices):
    draw = random.Random(loss)
    lines = [[draw.randrange(VOCABULARY) for _ in range(count)] for count in (175, 16, 90)]
    artifact = folder / f"{loss}.accum"
    run("accumc", MODEL, "-o", artifact, "--batch", 5, "--micro-batch", 2, "--loss", loss, "--devices", devices)
    shards = folder / "shards"
    shutil.rmtree(shards, ignore_errors=True)
    shards.mkdir()
    paths = [write_tokens(shards / f"{i}.bin", line) for i, line in enumerate(lines)]
    whole, single = folder / "whole.safetensors", folder / "single.safetensors"
    write_arrays(whole, lines, loss)
    write_arrays(single, lines[:1], loss)
    epochs = ("--epochs", 3, "--seed", 4)
    expected = train(folder, artifact, ["--data", whole, *epochs])
    same(f"{loss}, folder", train(folder, artifact, ["--data", shards, *epochs]), expected)
    same(f"{loss}, pattern", train(folder, artifact, ["--data", f"{shards}/*.bin", *epochs]), expected)
    same(f"{loss}, files", train(folder, artifact, ["--data", *paths, *epochs]), expected)
    last = ["--data", single, *epochs, "--drop-last"]
    same(f"{loss}, --drop-last", train(folder, artifact, ["--data", paths[0], *last[2:]]), train(folder, artifact, last))
    check_split(folder, artifact, loss, lines, paths)
    check_resume(folder, artifact, loss, shards)
    check_bad_token(folder, artifact, loss, lines[0])
    if loss == "next-token":
        refused = run("accum-run", artifact, "--data", paths[0], *epochs, "--document-separator", SEPARATOR, ok=(2,)).stderr
        if "has no label that could be ignored" not in refused:
            sys.exit(f"no refusal: {refused}")
        return
    write_arrays(single, lines[:1], loss, SEPARATOR)
    expected = train(folder, artifact, ["--data", single, *epochs])
    if expected[0] == train(folder, artifact, ["--data", paths[0], *epochs])[0]:
        sys.exit("no document ends")
    same(f"{loss}, documents", train(folder, artifact, ["--data", paths[0], *epochs, "--document-separator", SEPARATOR]), expected)


def check_split(folder, artifact, loss, lines, paths):
    """The last samples are evaluated, and the others trained: of 10 samples 2."""
    ahead = 1 if loss == "cross-entropy" else 0
    count = len(windows(lines[:1], ahead))
    trained, left = folder / "trained.safetensors", folder / "left.safetensors"
    write_arrays(trained, [lines[0][:(count - 2) * LENGTH + ahead]], loss)
    write_arrays(left, [lines[0][(count - 2) * LENGTH:]], loss)
    words = ("--steps", 4, "--eval-every", 2)
    expected = train(folder, artifact, ["--data", trained, "--eval", left, *words])
    same(f"{loss}, --val-split", train(folder, artifact, ["--data", paths[0], "--val-split", "21%", *words]), expected)
    if sum("eval_loss" in line for line in expected[0]) != 2:
        sys.exit(f"{loss}: evaluated {expected[0]}")


def check_resume(folder, artifact, loss, shards):
    """Stopped within the second epoch, and gone on with."""
    root = folder / "checkpoints"
    shutil.rmtree(root, ignore_errors=True)
    words = ["--data", shards, "--seed", 4]
    straight = train(folder, artifact, [*words, "--steps", 8])
    train(folder, artifact, [*words, "--steps", 5, "--checkpoint", root])
    resumed = train(folder, artifact, [*words, "--steps", 8, "--checkpoint", root, "--resume", "auto"])
    same(f"{loss}, resumed", (straight[0][5:], resumed[1]), (resumed[0], straight[1]))
    other = shutil.copytree(shards, folder / "renamed", dirs_exist_ok=True)
    (other / "2.bin").rename(other / "3.bin")
    said = train(folder, artifact, ["--data", other, "--seed", 4, "--steps", 8, "--resume", root], ok=(2,))[2]
    if "was made with data in files of other names or sizes" not in said:
        sys.exit(f"{loss}: {said}")


def check_bad_token(folder, artifact, loss, line):
    """Where it is read: steps before it are made."""
    spoiled = list(line)
    spoiled[LENGTH * 7 + 3] = VOCABULARY
    path = write_tokens(folder / "spoiled.bin", spoiled)
    steps, _, said = train(folder, artifact, ["--data", path, "--steps", 2, "--no-shuffle"], ok=(3,))
    if len(steps) != 1 or f"step 2: {path}: token {LENGTH * 7 + 3} is {VOCABULARY}, expected an id below" not in said:
        sys.exit(f"{loss}: {len(steps)} steps: {said}")


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for kind, ranks in (("causal-lm", 1), ("cross-entropy", 1), ("next-token", 1), ("causal-lm", 2)):
    check_loss(folder, kind, ranks)
print("tokens are trained as their windows are")
