# SPDX-License-Identifier: Apache-2.0
"""A run with all that a training run has, killed where it stands and while it writes, ends in the bytes of the one that
was not.

Usage: long-command.py MODEL FOLDER COUNT [--seed S] [--steps N] [--ranks N] [--shard MODE]; accumc and accum-run are on
PATH. MODEL reads at least 64 kinds of tokens. Half of the kills come at a random moment behind the start, the others
behind a new checkpoint, or when one is on its way. Of several ranks one is killed, or the process that started them.
"""
import argparse
import array
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

COMMAND = """accum-run ../gpt.accum --data train-*.bin --eval val.bin --eval-every {eval} --epochs 3 --lr 6e-4 --schedule cosine
  --warmup 2% --lr-floor 10% --clip-norm 1 --weight-decay 0.1 --checkpoint runs/gpt --checkpoint-every {checkpoint}
  --checkpoint-keep 3 --resume auto --tensorboard runs/gpt/tb --log runs/gpt/log.jsonl --save gpt.trained.onnx"""
TOKENS = 32
MOST_RUNS = 20  # more than kills
TOLD = ("step", "loss", "lr", "gradient_norm", "targets", "eval_loss", "eval_samples", "eval_targets")


def write_tokens(folder, steps, batch, choose):
    """Every other token follows from the one before it."""
    folder.mkdir(parents=True)
    for name, samples in (*((f"train-{i}.bin", steps // 9 * batch) for i in range(3)), ("val.bin", 20)):
        first = [choose.randrange(64) for _ in range(samples * TOKENS // 2)]
        tokens = array.array("H", [token for one in first for token in (one, (3 * one + 1) % 64)])
        (folder / name).write_bytes(tokens.tobytes())


def start(folder, steps):
    said = (folder / "said").open("a")
    command = COMMAND.format(checkpoint=steps * 10 // 33, eval=steps * 5 // 33).split()
    return subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, env={**os.environ, "OMP_NUM_THREADS": "1"})


def finish(run, folder):
    if run.wait():
        sys.exit(f"exit {run.returncode}: {(folder / 'said').read_text()}")


def log(folder):
    lines = [json.loads(line) for line in (folder / "runs/gpt/log.jsonl").read_text().splitlines()]
    return [{key: line[key] for key in TOLD if key in line} for line in lines]


def ranks_of(launcher):
    """Processes called accum-run whose parent's parent it is, or whose parent."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            found = re.match(r"(\d+) \((.*)\) . (\d+)", path.read_text(), re.S)
        except OSError:  # it has ended
            continue
        parents[int(found[1])] = (int(found[3]), found[2])
    above = {process: parent for process, (parent, _) in parents.items()}
    return sorted(process for process, (parent, name) in parents.items()
                  if name == "accum-run" and launcher in (parent, above.get(parent)))


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
    victims = [run.pid, *ranks_of(run.pid)]
    with contextlib.suppress(ProcessLookupError):
        os.kill(victims[choose.randrange(3) % len(victims)], signal.SIGKILL)
    return run.wait() != 0


def compare(straight, killed):
    """Ranks whose launcher was killed end as at a signal, and leave a checkpoint of the step that they had. A run that was killed
    between its last checkpoint and the removal of the oldest one has one more."""
    made = [{str(path.relative_to(folder)) for path in folder.glob("runs/gpt/step-*/*")} for folder in (straight, killed)]
    assert len(made[0]) == 6 and len(made[1]) in (6, 8) and max(made[0]) == max(made[1]), made
    for file in ("gpt.trained.onnx", *(made[0] & made[1])):
        if (straight / file).read_bytes() != (killed / file).read_bytes():
            sys.exit(f"{file} has other bytes")
    assert log(straight) == log(killed)


def read_words():
    words = argparse.ArgumentParser()
    words.add_argument("model", type=pathlib.Path)
    words.add_argument("folder", type=pathlib.Path)
    words.add_argument("count", type=int)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--steps", type=int, default=1650)  # three epochs
    words.add_argument("--ranks", type=int, default=1)
    words.add_argument("--shard", default="none")
    return words.parse_args()


def main():
    words = read_words()
    folder, count, choose = words.folder.resolve(), words.count, random.Random(words.seed)
    shutil.rmtree(folder, ignore_errors=True)
    straight, killed = folder / "straight", folder / "killed"
    write_tokens(straight, words.steps, words.ranks, choose)
    shutil.copytree(straight, killed)
    shutil.copy(words.model, folder / "gpt.onnx")
    sizes = ["--batch", str(words.ranks), "--devices", str(words.ranks), "--shard", words.shard]
    subprocess.run(["accumc", "gpt.onnx", *sizes, "-o", "gpt.accum"], cwd=folder, check=True, capture_output=True)
    begin = time.monotonic()
    finish(start(straight, words.steps), straight)
    longest = (time.monotonic() - begin) / 6
    root = killed / "runs/gpt"
    kills = after = during = runs = 0
    while kills < count or after < 3 or during == 0:
        run = start(killed, words.steps)
        if kill(run, root, kills, longest, choose):
            kills += 1
            after += bool(list(root.glob("step-*")))
            during += bool(list(root.glob(".writing-*")))
            continue
        finish(run, killed)
        compare(straight, killed)
        runs += 1
        assert runs < count + MOST_RUNS, (kills, after, during)
        shutil.rmtree(killed / "runs")  # another one, which is killed too
    finish(start(killed, words.steps), killed)
    compare(straight, killed)
    print(f"{kills} kills, {after} behind the first checkpoint, {during} in a write: the same bytes")


main()
