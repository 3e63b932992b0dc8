# SPDX-License-Identifier: Apache-2.0
"""A loss that relates texts of several lengths, split where they meet, each text at the smallest size that holds it, against PyTorch's
values of the padded batch at once.

Usage: split-lengths.py MODEL FOLDER [--ways]. MODEL is of test/models/split, without the exporter. In f64 on the reference for micro-batches
of 1 and 5 of each size and for those that the plan chooses, on two devices, and in f32 on the host: the loss, every gradient, parameters
after three steps of SGD, and an evaluation before the first; `--verify` of the last one. Where dropout draws, all are compared with one
size. The arena of the last of these is the planned one. --ways: with sharded and offloaded state, resumed after the second step, and in bf16.
"""
import json
import pathlib
import sys

from program import MODELS, check_arena, run
import split

SIZES = {"pairs": ["sequence=5,10,16", "target=4,12,16"], "pairs-dropout": ["sequence=5,10,16", "target=4,12,16"]}
CASES = [("f64", 1), ("f64", 5), ("f64", "auto"), ("f64", 2, "--devices", 2), ("f32", 3)]
WAYS = [("f64", 2, "--devices", 3, "--shard", "zero3"), ("f64", 2, "--offload", "parameters")]
BF16 = 4e-2  # of a gradient's largest element


class SizedRuns(split.Runs):
    """Of one model file, at several sizes, or one."""

    def train(self, precision, cut, *options):
        self.options = options
        return super().train("split", precision, cut)


def dims(name, largest=False):
    words = SIZES.get(name, ["sequence=5,10,16"])
    return [word for dim in words for word in ("--dim", dim.split("=")[0] + "=" + dim.rsplit(",", 1)[1] if largest else dim)]


def check_resumed(runs, name, expected):
    """Two steps, then one more from their checkpoint."""
    runs.train("f64", 3, *dims(name))
    artifact, saved, state = runs.folder / "split-f64.accum", runs.folder / "resumed.safetensors", runs.folder / "state"
    common = [artifact, "--data", runs.data["f64"], "--no-shuffle", "--lr", split.RATE, "--progress", "none", "--names", "framework"]
    run("accum-run", *common, "--steps", 2, "--checkpoint", state)
    run("accum-run", *common, "--steps", split.STEPS, "--checkpoint", state, "--resume", "auto", "--save", saved)
    found = {key: value for key, value in split.trained(saved).items() if key in expected[2]}
    split.compare(f"{name} resumed: parameters", found, expected[2], split.TOLERANCE["f64"])


def main():
    name, folder, ways = sys.argv[1], pathlib.Path(sys.argv[2]), "--ways" in sys.argv
    folder.mkdir(parents=True, exist_ok=True)
    runs = SizedRuns(*(MODELS / "split").glob(f"{name}-[dt][yo]*.onnx"), name, folder, [])
    drawn = not (MODELS / "split" / f"{name}.reference.safetensors").exists()
    expected = runs.train("f64", 5, *dims(name, largest=True)) if drawn else split.expectations(name)
    for precision, cut, *options in WAYS if ways else CASES:
        found = runs.train(precision, cut, *dims(name), *options)
        what = f"{name} in {precision}, micro-batch {cut} {options}"
        split.compare_runs(what, found, expected, split.TOLERANCE[precision])
        if not drawn:
            split.compare(f"{what}: evaluation", {"loss": [runs.evaluate(precision)]}, {"loss": [found[0]]}, split.TOLERANCE[precision])
    if ways:
        check_resumed(runs, name, expected)
        found = runs.train("f32", 3, *dims(name), "--precision", "bf16")
        split.compare(f"{name} in bf16: gradient", found[1], expected[1], BF16, 0.1)
    if not ways:
        check_arena(folder / "split-f32.accum", [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()])
    run("accum-run", folder / "split-f32.accum", "--verify")
    print(len(WAYS) + 2 if ways else len(CASES), "runs agree")


if __name__ == "__main__":
    main()
