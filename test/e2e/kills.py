# SPDX-License-Identifier: Apache-2.0
"""A run that is killed again and again, during writes above all, ends in the weights of the run that was not.

Usage: kills.py MODEL FOLDER COUNT [SEED]; accumc and accum-run are on PATH. Every step writes a checkpoint, so that most moments lie
inside a write. The test suite kills a toy in the same way (test/runtime/CheckpointTest.cpp); this is for any model and any count.
"""
import pathlib
import random
import shutil
import subprocess
import sys
import time

EVERYTHING = ["--synthetic", "--lr", "1e-3", "--schedule", "cosine", "--warmup", "5%", "--clip-norm", "1", "--skip-spikes", "6",
              "--batch-schedule", "0:4,20:8", "--progress", "none"]


def start(artifact, folder, name, steps, *more):
    words = ["accum-run", str(artifact), *EVERYTHING, "--steps", str(steps), "--save", str(folder / f"{name}.safetensors"), *more]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(run):
    _, said = run.communicate()
    if run.returncode:
        sys.exit(f"exit {run.returncode}: {said}")


def main():
    model, folder, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    moments = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    artifact = folder / "model.accum"
    subprocess.run(["accumc", model, "--batch", "8", "--micro-batch", "2", "-o", artifact], check=True, capture_output=True)
    begin = time.monotonic()
    finish(start(artifact, folder, "straight", 2))
    startup, steps, killed = time.monotonic() - begin, 5 * count, 0
    finish(start(artifact, folder, "straight", steps))
    keep = ["--checkpoint", str(folder / "run"), "--checkpoint-every", "1", "--checkpoint-keep", "2", "--resume", "auto"]
    begin = time.monotonic()
    while killed < count:
        run = start(artifact, folder, "killed", steps, *keep, *(["--checkpoint-background"] if killed % 2 else []))
        try:
            run.wait(startup * moments.uniform(0.2, 2))
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            killed += 1
            continue
        finish(run)
        break
    finish(start(artifact, folder, "killed", steps, *keep))
    same = (folder / "killed.safetensors").read_bytes() == (folder / "straight.safetensors").read_bytes()
    print(f"{killed} kills in {time.monotonic() - begin:.0f} s over {steps} steps: the weights are {'the same' if same else 'OTHERS'}")
    sys.exit(0 if same else 1)


main()
