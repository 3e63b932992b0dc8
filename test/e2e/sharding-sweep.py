# SPDX-License-Identifier: Apache-2.0
"""Sharded and offloaded steps in combinations that no other test has, drawn once from a fixed seed.

Usage: sharding-sweep.py FOLDER --cuts all|sample|I,J,...  `all` is every point of a list of COUNT, over models, modes, offload, devices,
precisions, optimizers, ragged batches, budgets from the least on, recomputation, frozen tensors, clipping and checkpoints that go
to another mode; `sample` a few of them. What fails is named by its number, and `--cuts I` runs it again. Oracles, after three
steps: losses, gradients and weights of one undivided batch on one device; one byte less than the least budget is refused; the
plan's bytes are allocated, and the kernel's peak is not over them; bytes sent are those of docs/planning.md.
"""
import argparse
import json
import pathlib
import random
import re
import shutil
import traceback

import tensors
from program import Model, compare, run

COUNT, SAMPLED = 320, (3, 17, 40, 58, 77, 104)
STEPS = 3
TOLERANCE = {"f64": 1e-12, "f32": 2e-5, "bf16": 2e-5}  # as in sharding.py
SCALARS = 64  # bytes sent besides: the loss, the norm's parts, whether all ranks are well
MODELS = ("gpt2-dynamo", "gpt2-dynamo-train", "gpt2-torchscript-train", "gpt2-dynamo-sdpa", "gpt2-dynamo-wide", "bert-mlm-dynamo",
          "bert-mlm-dynamo-train", "bert-mlm-dynamo-nomask", "bert-mlm-torch26-sdpa", "llama-dynamo", "llama-dynamo-train",
          "llama-torch26-sdpa", "t5-dynamo-unoptimized", "bloom-dynamo", "falcon-dynamo", "gemma-dynamo", "electra-dynamo",
          "selected-tokens-dynamo")


def points():
    """The same list on every machine and day."""
    draw = random.Random("sharding")
    while True:
        devices = draw.choice((1, 2, 2, 3, 3, 4))
        batch = draw.randint(devices, 13)
        precision = draw.choice(("f64", "f64", "f32", "bf16"))
        point = {
            "model": draw.choice(MODELS),
            "precision": precision,
            # In f32 Adam's first steps would be those of noise.
            "optimizer": draw.choice(("adamw", "adam", "sgd", "sgd-momentum", "sgd-nesterov", "lion", "adagrad")
                                     if precision == "f64" else ("sgd", "sgd-momentum", "sgd-nesterov")),
            "devices": devices,
            "shard": "none" if devices == 1 else draw.choice(("zero1", "zero2", "zero3", "zero3")),
            "offload": draw.choice(("none", "optimizer", "parameters")),
            "batch": batch,
            "micro-batch": draw.choice(("auto", 1, draw.randint(1, -(-batch // devices)))),
            "recompute": draw.choice(("auto", "auto", "all")),
            "prefer": draw.choice(("balanced", "speed", "memory")),
            "budget": draw.choice((None, None, 0.0, 0.0, 0.3, 0.7)),  # between the least and what is taken without one
            "clip": draw.choice((0, 0.5)),
            "frozen": draw.choice((0, 0, 2, 5)),  # all but every so many-th parameter, in the model's order
            "resume": draw.choice(("no", "from one device", "on one device")),
        }
        isPossible = (point["offload"] != "parameters" or devices == 1 or point["shard"] == "zero3") and not (
            point["optimizer"] == "sgd" and point["offload"] == "optimizer") and (devices > 1 or point["offload"] != "none")
        if isPossible:
            yield point


class Point:
    def __init__(self, point, folder):
        self.point, self.folder = point, folder
        self.model = Model(point["model"], folder)
        self.model.repeat_data(point["batch"])
        self.tolerance = TOLERANCE[point["precision"]]
        names = [copies[0]["onnx"] for copies in self.model.about["parameters"].values()]
        self.trained = names[:1] + names[::point["frozen"]] if point["frozen"] else []  # the first one is a matrix
        zero = self.model.zero_gradient()
        self.zero = {name: extent for name, extent in zero.items() if not self.trained or name in self.trained}

    def common(self):
        point = self.point
        options = ["--optimizer", point["optimizer"], *(f"--trainable={name}" for name in self.trained)]
        if point["precision"] == "f64":
            return [*options, "--target", "reference", "--precision", "f64"]
        return [*options, "--precision", point["precision"]]

    def compile(self, *options):
        artifact = self.model.compile(*self.common(), *options, batch=self.point["batch"])
        return artifact.rename(self.folder / f"{'one' if not options else 'cut'}.accum")

    def train(self, artifact, tag, *more):
        files = [self.folder / f"{kind}-{tag}.safetensors" for kind in ("gradients", "weights")]
        clip = ["--clip-norm", self.point["clip"]] if self.point["clip"] else []
        log = self.model.train(artifact, STEPS, "--lr", 0.05, "--seed", 7, "--weight-decay", 0.1, *clip, *more, gradients=files[0],
                               weights=files[1])
        for file in files:
            tensors.blank(file, file, self.zero)
        return log, *files

    def check_values(self, what, found, expected):
        for name in ("loss", "gradient_norm"):
            for mine, other in zip(found[0], expected[0][-len(found[0]):]):
                if not abs(mine[name] - other[name]) <= self.tolerance * abs(other[name]):
                    raise SystemExit(f"{what}: {name} {mine[name]!r} in step {mine['step']}, on one device {other[name]!r}")
        return [compare(mine, theirs, self.tolerance) for mine, theirs in zip(found[1:], expected[1:])]

    def cut(self):
        """Options of the sharded plan."""
        point = self.point
        options = [f"--{name}={point[name]}" for name in ("devices", "shard", "offload", "micro-batch", "recompute", "prefer")]
        if point["budget"] is None:
            return options
        words = ["accumc", self.model.path, "--batch", point["batch"], *self.common(), *options, "--plan-only", "--json"]
        if self.model.about["loss"] != "output":
            words += ["--loss", self.model.about["loss"]]

        def search(*more, ok=0):
            return json.loads(run(*words, *more, ok=(ok,)).stdout)["search"]
        least = search("--memory", 1 << 20, ok=1)["smallest"]["counted_bytes"]
        search("--memory", least - 1, ok=1)
        most = search()["plan"]["counted_bytes"]
        return [*options, "--memory", least + int(point["budget"] * max(0, most - least))]

    def check_memory(self, artifact, log):
        plan = json.loads((artifact / "plan.json").read_text())
        promised = sum(line["bytes"] for line in plan["memory"] if line["kind"] != "context")
        peak = max(line["peak_bytes"] for line in log)
        if not peak <= promised <= peak * 1.05 + (64 << 20):
            raise SystemExit(f"the kernel counted {peak} bytes, promised are {promised}")

    def expected_bytes(self, artifact, micro_steps):
        """Of one step of rank 0."""
        manifest, devices = json.loads((artifact / "manifest.json").read_text()), self.point["devices"]
        text = (artifact / "program.cpp").read_text()
        text = text[text.index("int step("):]
        before, _, micro = text[:text.index("all_reduce(ctx, loss")].partition("\n  // micro-steps\n")
        if not micro:
            raise SystemExit("the program's text has no micro-steps")

        def passed(data):
            return data * (devices - 1) // devices

        def gathered(part):
            return sum(devices * int(size) for size in re.findall(r"(?<!start_)all_gather\(ctx, \w+, \w+, (\d+)\)", part))
        one = passed(manifest["gradients"]["bytes"])
        reduced = micro_steps if manifest["shard"]["reduce"] == "each" else 1
        if self.point["shard"] != "zero3":
            return reduced * one + one
        return reduced * one + micro_steps * passed(gathered(micro)) + passed(gathered(before))

    def check_bytes(self, artifact, log):
        if self.point["devices"] == 1:
            return
        expected = self.expected_bytes(artifact, log[1]["micro_steps"])
        if not 0 <= log[1]["sent_bytes"] - expected <= SCALARS * log[1]["micro_steps"]:
            raise SystemExit(f"rank 0 sent {log[1]['sent_bytes']} bytes, expected are {expected}")

    def run(self):
        resume = self.point["resume"]
        keep = ["--checkpoint", self.folder / "checkpoints", "--checkpoint-every", STEPS - 1]
        step = ["--resume", self.folder / "checkpoints" / f"step-{STEPS - 1:08}"]
        one = self.compile()
        whole = self.train(one, "one", *(keep if resume == "from one device" else []))
        cut = self.compile(*self.cut())
        found = self.train(cut, "cut", *(keep if resume == "on one device" else []))
        off = self.check_values("cut", found, whole)
        self.check_memory(cut, found[0])
        self.check_bytes(cut, found[0])
        if resume != "no":
            artifact = one if resume == "on one device" else cut
            self.check_values(f"resumed {resume}", self.train(artifact, "resumed", *step), whole)
        return f"gradients {off[0]:.1e}, weights {off[1]:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cuts", required=True, help="all, sample, or numbers separated by commas")
    options = parser.parse_args()
    every = [point for point, _ in zip(points(), range(COUNT))]
    numbers = {"all": range(COUNT), "sample": SAMPLED}.get(options.cuts) or [int(number) for number in options.cuts.split(",")]
    failed = []
    for number in numbers:
        shutil.rmtree(options.folder, ignore_errors=True)
        options.folder.mkdir(parents=True)
        point = every[number]
        told = ", ".join(f"{name} {value}" for name, value in point.items() if value not in (None, "no"))
        try:
            print(f"{number}: {told}: {Point(point, options.folder).run()}", flush=True)
        except (SystemExit, Exception) as error:  # the others say how general it is
            failed.append(number)
            print(f"{number}: {told}: FAILED\n{error if isinstance(error, SystemExit) else traceback.format_exc()}", flush=True)
    if failed:
        raise SystemExit(f"failed: {','.join(map(str, failed))}")


if __name__ == "__main__":
    main()
