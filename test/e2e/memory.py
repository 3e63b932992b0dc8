# SPDX-License-Identifier: Apache-2.0
"""The plan's memory is a promise: the kernel's own counter of a run stays below it, and not far.

Usage: memory.py FOLDER --cuts all|sample|I,J,... `all` is every configuration of a list of COUNT, drawn once from models,
precisions, optimizers, sizes, micro-steps, devices, recomputation, tight budgets and losses in slices; `sample` a few of them;
what fails is named by its number, and `--cuts I` runs it again.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys

from program import MODELS, about, check_arena, run
from slices import force

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
COUNT, SAMPLED = 240, 6
OVER = 0.01, 32 << 20  # the larger of the two is allowed
STEPS = 2
SLICES = 100  # at most


def models():
    """Those that train, by name; the example has larger matrices and a vocabulary."""
    names = sorted(path.name.removesuffix(".data.safetensors") for path in MODELS.glob("*.data.safetensors"))
    trained = [name for name in names if (MODELS / f"{name}.onnx").exists() and about(name).get("verdict") != "reject"]
    return trained + 20 * ["gpt2-tiny"]


def configurations():
    """The same list on every machine and day."""
    draw = random.Random("memory")
    names = models()
    for _ in range(COUNT):
        name = draw.choice(names)
        sizes = (1, 3, 16, 100, 300) if name == "gpt2-tiny" else (1, 3, 16, 100, 500, 1500)
        yield {
            "model": name,
            "precision": draw.choice(("f32", "f32", "bf16", "bf16", "f64")),
            "optimizer": draw.choice(("adamw", "adam", "sgd", "sgd-momentum")),
            "micro-batch": draw.choice(sizes),
            "steps": draw.choice((1, 1, 2, 3)),
            "devices": draw.choice((1, 1, 2, 3)),
            "recompute": draw.choice(("none", "all", "tight", "tight", "sliced", "sliced")),
            "tightness": draw.random(),
        }


def check_savings(folder):
    """What recomputation promises to save is saved."""
    both = []
    for way in ("none", "all"):
        artifact = compiled({"model": "gpt2-tiny", "precision": "f32", "optimizer": "adamw", "micro-batch": 512, "steps": 1,
                             "devices": 1, "recompute": way}, folder)
        both.append((promised(artifact), measured(artifact, folder)))
    promise, real = (both[0][index] - both[1][index] for index in (0, 1))
    print(f"recomputation saves {real} bytes, {promise} were promised", flush=True)
    if not real >= 0.8 * promise > 0:
        raise SystemExit("that is too little")


def compiled(chosen, folder):
    """The artifact. `tight`: a budget between the least there is and what keeping everything takes, so that the search
    recomputes and takes variants with less memory. `sliced`: one of the ways to slice the loss, where there are some."""
    artifact = folder / "model.accum"
    is_example = chosen["model"] == "gpt2-tiny"
    options, size = ["-o", artifact, "--optimizer", chosen["optimizer"]], ["--micro-batch", chosen["micro-batch"]]
    options += ["--devices", chosen["devices"]]
    options += ["--batch", chosen["micro-batch"] * chosen["steps"] * chosen["devices"]]
    if chosen["model"].endswith("-sequence"):
        options += ["--dim", "sequence=16"]
    options += ["--precision", chosen["precision"]]
    if chosen["precision"] == "f64":
        options += ["--target", "reference"]
    if not is_example and about(chosen["model"])["loss"] != "output":
        options += ["--loss", about(chosen["model"])["loss"]]
    command = ["accumc", (EXAMPLES if is_example else MODELS) / f"{chosen['model']}.onnx", *options]
    if chosen["recompute"] in ("none", "all"):
        command += [*size, "--recompute", chosen["recompute"]]
    elif chosen["recompute"] == "sliced":
        command += sliced(command, size, folder, chosen["tightness"])
    else:
        needs = [json.loads(run(*command, *size, "--recompute", way, "--plan-only", "--json").stdout)["search"]
                 for way in ("none", "all")]
        most, least = needs[0]["plan"]["counted_bytes"], needs[1]["plan"]["counted_bytes"]
        command += [*size, "--memory", least + int(chosen["tightness"] * (most - least))]
    run(*command)
    return artifact


def sliced(command, size, folder, which):
    """Options that force a slicing of the loss, samples or parts of one; the size alone where the model has no variants."""
    dumps, plan = folder / "dumps", folder / "plan.json"
    run(*command, *size, "--plan-only", "--dump-phases", dumps)
    text = (dumps / "problem.txt").read_text()
    names = sorted(set(re.findall(r"^variant \d+ (\S+) ", text, re.M)))
    # The emitted step has each slice's commands one behind the other: compiling a thousand slices takes minutes.
    names = [name for name in names if not name.startswith("slices") or size[1] <= SLICES * int(name[6:])]
    if not names:
        return size
    name = names[int(which * len(names))]
    (dumps / "problem.txt").write_text(force(text, name))
    run("accum-plan", dumps / "problem.txt", *size, "--memory", "1TiB", "-o", plan)
    if name not in json.loads(plan.read_text())["variants"].values():
        raise SystemExit(f"the plan does not slice as {name}")
    return ["--plan", plan]


def promised(artifact):
    """Bytes per process, as the plan says: everything but what was gone before."""
    plan = json.loads((artifact / "plan.json").read_text())
    return sum(line["bytes"] for line in plan["memory"] if line["kind"] != "context")


def measured(artifact, folder):
    """The largest resident set of any process of the run, by the kernel's counter: what accum-run logs of the first
    one, and what waiting for all of them gives."""
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    command = ["accum-run", artifact, "--synthetic", "--steps", STEPS, "--progress", "none", "--log", log,
               "--save", folder / "weights.safetensors"]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with open(folder / "output.txt", "w+") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(str(part) for part in command)}\n{output.read()}")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    check_arena(artifact, lines)
    return max([line["peak_bytes"] for line in lines] + [usage.ru_maxrss << 10])


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
    check_savings(options.folder)
    broken = 0
    for number, chosen in everything:
        artifact = compiled(chosen, options.folder)
        promise, real = promised(artifact), measured(artifact, options.folder)
        holds = real <= promise <= real + max(OVER[0] * real, OVER[1])
        words = " ".join(str(chosen[key]) for key in ("model", "precision", "optimizer", "recompute"))
        print(f"{number}: {words}, {chosen['devices']} x {chosen['steps']} x {chosen['micro-batch']}: "
              f"promised {promise}, measured {real}, {(promise - real) / 2**20:+.1f} MiB{'' if holds else ' BROKEN'}", flush=True)
        broken += not holds
    if broken:
        raise SystemExit(f"{broken} of {len(everything)} promises do not hold")
    print(f"{len(everything)} promises hold")


if __name__ == "__main__":
    main()
