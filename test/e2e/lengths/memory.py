# SPDX-License-Identifier: Apache-2.0
"""The memory of a program of several lengths: the kernel's own counter of a run stays below what the plan says.

Usage: memory.py FOLDER --cuts all|sample|I,J,... `all` is every configuration of a list of COUNT, drawn once from models, sizes,
batches, budgets, precisions, devices and data of random lengths; `sample` a few of them. What fails is named by its number.
"""
import argparse
import itertools
import json
import pathlib
import random
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tensors
from memory import holds, measured, promised
from program import MODELS, about, run

COUNT, SAMPLED = 50, 3
LONGEST = {"gpt2-dynamo-sequence": 16, "gpt2-torchscript-sequence": 16, "bert-mlm-dynamo-sequence": 20,
           "bert-mlm-torchscript-sequence": 20}


def configurations():
    """The same list on every machine and day."""
    draw = random.Random("lengths")
    for _ in range(COUNT):
        model = draw.choice(sorted(LONGEST))
        longest = LONGEST[model]
        batch = draw.choice((7, 50, 300, 1500))
        yield {
            "model": model,
            "sizes": sorted(draw.sample(range(2, longest), draw.randint(1, 4))) + [longest],
            "batch": batch,
            "lengths": [draw.randint(1, draw.choice((longest // 4, longest))) for _ in range(draw.randint(batch, 2 * batch))],
            "precision": draw.choice(("f32", "f32", "bf16")),
            "optimizer": draw.choice(("adamw", "sgd", "adafactor")),
            "devices": draw.choice((1, 1, 1, 2)),
            "tightness": draw.choice((0, draw.random(), draw.random(), 1)),
        }


def write_data(path, chosen, draw):
    """Ragged: each input with the offsets of the samples."""
    offsets = list(itertools.accumulate(chosen["lengths"], initial=0))

    def integers(values):
        return "I64", [len(values)], struct.pack(f"<{len(values)}q", *values)

    arrays = {}
    for each in about(chosen["model"])["inputs"]:
        if each["name"] not in ("attention_mask", "token_type_ids"):
            arrays[each["name"]] = integers([draw.randrange(90) for _ in range(offsets[-1])])
            arrays[each["name"] + ".offsets"] = integers(offsets)
    tensors.write(path, arrays)


def compiled(chosen, folder):
    """Under a budget between what micro-batches of one sample take, and what the planner would take of all there is."""
    command = ["accumc", MODELS / f"{chosen['model']}.onnx", "--batch", chosen["batch"], "--devices", chosen["devices"],
               "--optimizer", chosen["optimizer"], "--precision", chosen["precision"],
               "--dim", f"sequence={','.join(map(str, chosen['sizes']))}"]
    needs = [json.loads(run(*command, "--micro-batch", way, "--plan-only", "--json").stdout)["search"]["plan"]["counted_bytes"]
             for way in (1, "auto")]
    budget = needs[0] + int(chosen["tightness"] * max(needs[1] - needs[0], 0))
    run(*command, "--memory", budget, "-o", folder / "model.accum")
    return budget, folder / "model.accum"


def checked(number, chosen, folder):
    """What was promised and measured."""
    folder.mkdir(parents=True)
    data = folder / "data.safetensors"
    write_data(data, chosen, random.Random(number))
    budget, artifact = compiled(chosen, folder)
    promise, real = promised(artifact), measured(artifact, folder, ["--data", data])
    shutil.rmtree(folder)
    result = {"promised": promise, "measured": real}
    print(f"{number}: {chosen['model']} {chosen['sizes']}, {chosen['devices']} x {chosen['batch']}: {budget} to use, promised "
          f"{promise}, measured {real}", flush=True)
    return holds(result) and promise <= budget


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cuts", required=True, help="all, sample, or numbers separated by commas")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    everything = list(enumerate(configurations()))
    if options.cuts == "sample":
        everything = random.Random("a sample").sample(everything, SAMPLED)
    elif options.cuts != "all":
        everything = [everything[int(number)] for number in options.cuts.split(",")]
    broken = [number for number, chosen in everything if not checked(number, chosen, options.folder / str(number))]
    if broken:
        raise SystemExit(f"{len(broken)} of {len(everything)} promises do not hold: {broken}")
    print(f"{len(everything)} promises hold")


if __name__ == "__main__":
    main()
