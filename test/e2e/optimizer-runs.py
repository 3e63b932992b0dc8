# SPDX-License-Identifier: Apache-2.0
"""What every optimizer has beside its formula, on test/models/optimizers: --verify, spikes that leave nothing out, a run that is
resumed (oracle: the bits of a run straight), groups that differ from a checkpoint's, and options that belong to others (oracle: the
sentences).

Usage: optimizer-runs.py FOLDER OPTIMIZER...
"""
import importlib
import sys

from program import run
from tensors import read

Grid = importlib.import_module("optimizers").Grid
# Of each, an option that it does not have.
FOREIGN = {"sgd": "--beta2", "sgd-momentum": "--eps", "sgd-nesterov": "--beta1", "adam": "--momentum", "adamw": "--momentum",
           "lion": "--eps", "adagrad": "--beta1", "adafactor": "--beta2"}
GROUPS = ["--weight-decay", "0.1", "--lr-scale", "mix.*=0.5"]


def check_resumed(grid, artifact, straight):
    folder = grid.folder / f"{artifact.stem}-checkpoints"
    run("rm", "-rf", folder)
    grid.train(artifact, GROUPS, 4, "--checkpoint", folder)
    weights, _ = grid.train(artifact, GROUPS, None, "--checkpoint", folder, "--resume", "auto")
    assert weights == straight, f"{artifact.stem}: a run that was resumed has other bits"
    slots = {name.split(":")[0] for name in read(sorted(folder.iterdir())[-1] / "state.safetensors") if ":" in name}
    other = ["accum-run", artifact, "--data", grid.data, "--steps", "12", "--no-shuffle", "--checkpoint", folder, "--resume", "auto"]
    said = run(*other, "--weight-decay", "0.1", "--lr-scale", "mix.*=0.25", ok=(2,)).stderr
    assert "other groups" in said and "lr * 0.5" in said and "lr * 0.25" in said, said
    return slots


def check(grid, optimizer):
    artifact = grid.compile(optimizer, "f32")
    straight, _ = grid.train(artifact, GROUPS)
    spikes, _ = grid.train(artifact, [*GROUPS, "--skip-spikes", "6"])
    assert spikes == straight, f"{optimizer}: --skip-spikes changes a run without spikes"
    slots = check_resumed(grid, artifact, straight)
    flag = FOREIGN[optimizer]
    said = run("accum-run", artifact, "--synthetic", "--steps", "1", flag, "0.5", ok=(2,)).stderr
    assert f"{flag} belongs to " in said and f"the artifact was compiled for {optimizer} [usage]" in said, said
    said = run("accum-run", artifact, "--synthetic", "--steps", "1", "--lr-scale", "mix.wieght=2", ok=(2,)).stderr
    assert "--lr-scale mix.wieght=2 matches no trained parameter [usage]" in said and "nearest: `mix.weight`" in said, said
    said = run("accum-run", artifact, "--synthetic", "--steps", "1", *GROUPS).stderr
    assert "note: group: lr * 0.5, decay 0.1: 1 tensor, 108 values" in said, said
    verified = run("accum-run", artifact, "--verify").stdout
    assert "verified the step does not depend on how the batch is cut" in verified, verified
    print(f"{optimizer}: keeps {', '.join(sorted(slots)) or 'nothing'}")


def main():
    grid = Grid(sys.argv[1], "f32")
    for optimizer in sys.argv[2:]:
        check(grid, optimizer)


if __name__ == "__main__":
    main()
