# SPDX-License-Identifier: Apache-2.0
"""A run with all that a training run has, killed where it stands and while it writes, ends in the bytes of the one that was not.

Usage: long-command.py MODEL FOLDER COUNT [SEED]; accumc and accum-run are on PATH. MODEL reads at least 64 kinds of tokens. Half of the
kills come at a random moment behind the start, the others behind a new checkpoint, or when one is on its way.
"""
import array
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

COMMAND = """accum-run ../gpt.accum --data train-*.bin --eval val.bin --eval-every 250 --epochs 3 --lr 6e-4 --schedule cosine --warmup 2%
  --lr-floor 10% --clip-norm 1 --weight-decay 0.1 --checkpoint runs/gpt --checkpoint-every 500 --checkpoint-keep 3 --resume auto
  --tensorboard runs/gpt/tb --log runs/gpt/log.jsonl --save gpt.trained.onnx""".split()
STEPS, TOKENS = 1650, 32  # of an epoch: a third
MOST_RUNS = 20
TOLD = ("step", "loss", "lr", "gradient_norm", "targets", "eval_loss", "eval_samples", "eval_targets")


def write_tokens(folder, choose):
    """Every other token follows from the one before it."""
    folder.mkdir(parents=True)
    for name, samples in (*((f"train-{i}.bin", STEPS // 9) for i in range(3)), ("val.bin", 20)):
        first = [choose.randrange(64) for _ in range(samples * TOKENS // 2)]
        tokens = array.array("H", [token for one in first for token in (one, (3 * one + 1) % 64)])
        (folder / name).write_bytes(tokens.tobytes())


def start(folder):
    said = (folder / "said").open("a")
    return subprocess.Popen(COMMAND, cwd=folder, stdout=said, stderr=said, env={**os.environ, "OMP_NUM_THREADS": "1"})


def finish(run, folder):
    if run.wait():
        sys.exit(f"exit {run.returncode}: {(folder / 'said').read_text()}")


def log(folder):
    lines = [json.loads(line) for line in (folder / "runs/gpt/log.jsonl").read_text().splitlines()]
    return [{key: line[key] for key in TOLD if key in line} for line in lines]


def kill(run, root, turn, longest, choose):
    """At a random moment, while a checkpoint is written, or behind one. False: the run has ended before."""
    begin, moment, had = time.monotonic(), choose.uniform(0, longest), len(list(root.glob("step-*")))
    is_due = [lambda: len(list(root.glob("step-*"))) > had, lambda: time.monotonic() - begin >= moment,
             lambda: list(root.glob(".writing-*")), lambda: time.monotonic() - begin >= moment][turn % 4]
    while run.poll() is None and not is_due():
        time.sleep(0.0005)
    time.sleep(choose.choice([0, 0.001, 0.01, 0.1]) * choose.random())
    if run.poll() is not None:
        return False
    run.kill()
    run.wait()
    return True


def compare(straight, killed):
    for file in ("gpt.trained.onnx", *(str(path.relative_to(straight)) for path in straight.glob("runs/gpt/step-*/*"))):
        if (straight / file).read_bytes() != (killed / file).read_bytes():
            sys.exit(f"{file} has other bytes")
    assert log(straight) == log(killed) and len(list(straight.glob("runs/gpt/step-*"))) == 3


def main():
    model, folder, count = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    choose = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    shutil.rmtree(folder, ignore_errors=True)
    straight, killed = folder / "straight", folder / "killed"
    write_tokens(straight, choose)
    shutil.copytree(straight, killed)
    shutil.copy(model, folder / "gpt.onnx")
    subprocess.run(["accumc", "gpt.onnx", "--batch", "1", "-o", "gpt.accum"], cwd=folder, check=True, capture_output=True)
    begin = time.monotonic()
    finish(start(straight), straight)
    longest = (time.monotonic() - begin) / 6
    root = killed / "runs/gpt"
    kills = after = during = runs = 0
    while kills < count or after < 3 or during == 0:
        run = start(killed)
        if kill(run, root, kills, longest, choose):
            kills += 1
            after += bool(list(root.glob("step-*")))
            during += bool(list(root.glob(".writing-*")))
            continue
        finish(run, killed)
        compare(straight, killed)
        runs += 1
        assert runs < MOST_RUNS, (kills, after, during)
        shutil.rmtree(killed / "runs")  # another one, which is killed too
    finish(start(killed), killed)
    compare(straight, killed)
    print(f"{kills} kills, {after} behind the first checkpoint, {during} in a write: the same bytes")


main()
