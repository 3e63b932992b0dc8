# SPDX-License-Identifier: Apache-2.0
"""Ranks that were started with different words, which only a person's own launcher can do: each pair ends with one sentence that says
what differs, and trains nothing.

Usage: other-run.py MODEL FOLDER. Two ranks of a sharded artifact; those that differ in what may differ train as one.
"""
import pathlib
import shutil
import subprocess
import sys

from fake_gpu import free_port
from program import Model, environment, run

SECONDS = 60


def launch(folder, both):
    """Exit codes and texts of two ranks, each with its own words."""
    place = {**environment(), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    ranks = [subprocess.Popen(["accum-run", *map(str, words), "--launcher", "env", "--progress", "none", "--save", folder / f"{rank}.safetensors"],
                              env={**place, "RANK": str(rank), "LOCAL_RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
             for rank, words in enumerate(both)]
    try:
        said = [rank.communicate(timeout=SECONDS)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    return [rank.returncode for rank in ranks], said


def main():
    model = Model(sys.argv[1], sys.argv[2])
    folder = model.folder
    model.repeat_data(8)
    other = folder / "other.safetensors"
    shutil.copy(model.data, other)
    artifact = model.compile("--micro-batch", 2, "--devices", 2, "--shard", "zero3", batch=8)
    keep = folder / "checkpoints"
    run("accum-run", artifact, "--data", model.data, "--steps", 2, "--lr", 0.01, "--checkpoint", keep, "--checkpoint-every", 1)
    common = [artifact, "--data", model.data, "--lr", 0.01]
    three = [*common, "--steps", 3]

    def at(step):
        return ["--resume", keep / f"step-{step:08}"]
    cases = {
        "not all given the same --seed": (three, [*three, "--seed", 3]),
        "not all given the same --lr": (three, [artifact, "--data", model.data, "--lr", 0.02, "--steps", 3]),
        "not all given the same --steps": (three, [*common, "--steps", 4]),
        "not all given the same --resume": ([*three, *at(1)], three),
        "not all given the same --clip-norm": (three, [*three, "--clip-norm", 1]),
        "not all given the same --eval": ([*three, "--eval", model.data], three),
        "not all given the same --data": (three, [artifact, "--synthetic", "--lr", 0.01, "--steps", 3]),
        "not all begin at the same step": ([*three, *at(1)], [*three, *at(2)]),
        "not all train on the same samples": (three, [artifact, "--data", other, "--lr", 0.01, "--steps", 3]),
    }
    for sentence, both in cases.items():
        codes, said = launch(folder, both)
        lines = [line for text in said for line in text.splitlines() if line.startswith("error: ")]
        print(f"exit {codes}: {lines}", flush=True)
        if set(codes) != {2} or len(lines) != 1 or "the ranks of this run " not in lines[0] or sentence.split(" ", 2)[2] not in lines[0]:
            raise SystemExit(f"expected exit code 2 and one error about: {sentence}\n{''.join(said)}")
    elsewhere = pathlib.Path(shutil.copytree(artifact, folder / "elsewhere" / "model.accum"))
    (folder / "elsewhere" / model.data.name).write_bytes(model.data.read_bytes())
    codes, said = launch(folder, (three, [elsewhere, "--data", folder / "elsewhere" / model.data.name, "--lr", 0.01, "--steps", 3, "--threads", 1]))
    if codes != [0, 0]:
        raise SystemExit(f"files at another path: exit {codes}\n{''.join(said)}")
    print("files may lie elsewhere")


if __name__ == "__main__":
    main()
