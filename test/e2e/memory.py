# SPDX-License-Identifier: Apache-2.0
"""The plan's memory is a promise: the kernel's own counter of a run stays below it, and not far.

Usage: memory.py FOLDER --cuts all|sample|I,J,... [--jobs N] [--results FILE.jsonl] `all` is every configuration of a list of
COUNT, drawn once from models, precisions, optimizers, sizes, micro-steps, devices, recomputation, tight budgets and losses in
slices; `sample` a few of them; what fails is named by its number, and `--cuts I` runs it again. With `--results` what was
measured is kept, and what is there already is not run again: so a sweep of hours can be interrupted. At the end: the closest
and the furthest promise of each kind of configuration. Besides, always, gradients of many pieces on several devices and a
model of many layers: those of the list are small and shallow.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import resource
import re
import shutil
import struct
import subprocess
import sys
import threading

from program import MODELS, about, check_arena, run
from slices import force

sys.path.insert(0, str(MODELS))
from onnx_graph import FLOAT, Graph

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
            "optimizer": draw.choice(("adamw", "adam", "sgd", "sgd-momentum", "sgd-nesterov", "lion", "adagrad", "adafactor")),
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


def write_wide(path, width, layers):
    """Products of `width` squared and nothing else: a step is short, and its gradients are large."""
    graph = Graph(path.name + ".data")
    value = graph.input("x", FLOAT, ["batch", width])
    for layer in range(layers):
        value = graph.node("MatMul", [value, graph.parameter(f"weight.{layer}", [width, width])])
    graph.output(graph.node("ReduceMean", [graph.node("Mul", [value, value])], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(graph.model("wide", 17))
    row = struct.pack("<f", 1 / width) * width
    with open(path.with_name(path.name + ".data"), "wb") as file:
        for _ in range(width * layers):  # row by row: what this process held counts as its children's peak
            file.write(row)


def check_sums(folder):
    """What a sum over devices takes besides the gradients themselves fits into what is promised."""
    model, artifact = folder / "wide.onnx", folder / "wide.accum"
    write_wide(model, 2048, 2)
    for devices in (2, 3):
        run("accumc", model, "--batch", devices, "--devices", devices, "--optimizer", "sgd", "-o", artifact)
        promise, real = promised(artifact), measured(artifact, folder)
        print(f"32 MiB of gradients on {devices} devices: promised {promise}, measured {real}", flush=True)
        if real > promise:
            raise SystemExit("that is too much")
    model.with_name("wide.onnx.data").unlink()
    shutil.rmtree(artifact)


def check_shards(folder):
    """Every way to hold the state: never over the plan, from the loading of the weights to their saving, and not far below; what
    is in parts is a part."""
    model, artifact = folder / "wide.onnx", folder / "wide.accum"
    width, layers = 1536, 8
    write_wide(model, width, layers)
    whole = width * width * layers * 4
    ways = [("adamw", *way) for way in (("zero1", "none", 4, 0), ("zero2", "none", 2, 0), ("zero3", "none", 4, 0),
                                        ("zero3", "optimizer", 2, 0), ("zero3", "parameters", 2, 0), ("none", "optimizer", 1, 0),
                                        ("none", "parameters", 1, 7), ("zero3", "parameters", 2, 7))]
    ways += [("adafactor", *way) for way in (("zero2", "none", 2, 0), ("zero3", "none", 4, 0), ("none", "parameters", 1, 0))]
    for optimizer, shard, offload, devices, frozen in ways:
        freeze = [f"--freeze=weight.{layer}" for layer in range(frozen)]
        run("accumc", model, "--batch", devices, "--devices", devices, "--optimizer", optimizer, "--shard", shard, "--offload", offload,
            *freeze, "-o", artifact)
        plan = json.loads((artifact / "plan.json").read_text())
        lines = plan["memory"]
        kept = sum(line["bytes"] for line in lines if line["kind"] == "state" and "/" in line["name"] or line["name"].endswith("f32")
                   or line["name"].endswith("adamw state"))
        promise, real = promised(artifact), measured(artifact, folder)
        print(f"{optimizer}, {shard}, {offload} offloaded, {devices} devices: promised {promise}, measured {real},"
              f" state {kept / whole:.3f}", flush=True)
        if not real <= promise <= real * 1.05 + (64 << 20):
            raise SystemExit("that is not what is promised")
        weights = 0 if offload == "parameters" else 1 / devices if shard == "zero3" else 1
        gradients = 1 / devices if plan["reduce"] == "each" else 1
        moments = 0 if offload != "none" or optimizer == "adafactor" else 2 / devices
        trained = whole * (layers - frozen) // layers
        if not 1 <= kept / trained / (weights + gradients + moments) <= 1.02:
            raise SystemExit(f"the state is not {weights} + {gradients} + {moments} times the trained weights")
        shutil.rmtree(artifact)
    model.with_name("wide.onnx.data").unlink()


def write_deep(path, layers):
    """Small layers, so many that what the runtime knows of them counts."""
    graph, width = Graph(path.name + ".data"), 8
    value = graph.input("x", FLOAT, ["batch", width])
    for layer in range(layers):
        scale, bias = (graph.parameter(f"{name}.{layer}", [width]) for name in ("scale", "bias"))
        inner = graph.node("MatMul", [graph.node("LayerNormalization", [value, scale, bias]),
                                      graph.parameter(f"weight.{layer}", [width, width])])
        value = graph.node("Add", [value, graph.node("Tanh", [inner])])
    graph.output(graph.node("ReduceMean", [graph.node("Mul", [value, value])], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(graph.model("deep", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack("<f", 0.3) * (graph.bytes // 4))


def check_commands(folder):
    """What many commands and parameters take fits into what is promised."""
    model, artifact = folder / "deep.onnx", folder / "deep.accum"
    write_deep(model, 300)
    run("accumc", model, "--batch", 8, "--micro-batch", 1, "-o", artifact)
    promise, real = promised(artifact), measured(artifact, folder)
    print(f"300 layers: promised {promise}, measured {real}", flush=True)
    if real > promise or promise - real > OVER[1]:
        raise SystemExit("that is not what is promised")
    shutil.rmtree(artifact)


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


def measured(artifact, folder, data=("--synthetic",)):
    """The largest resident set of any process of the run, by the kernel's counter: what accum-run logs of the first
    one, and what waiting for all of them gives."""
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    command = ["accum-run", artifact, *data, "--steps", STEPS, "--progress", "none", "--log", log,
               "--save", folder / "weights.safetensors"]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with open(folder / "output.txt", "w+") as output:
        # A shell between: what this process holds would count as the peak of what it starts itself.
        words = ["sh", "-c", '"$@"; exit $?', "sh", *(str(part) for part in command)]
        process = subprocess.Popen(words, stdout=output, stderr=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(str(part) for part in command)}\n{output.read()}")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    check_arena(artifact, lines)
    peaks = [line["peak_bytes"] for line in lines]
    if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:  # else it may be what that is
        peaks.append(usage.ru_maxrss << 10)
    return max(peaks)


def holds(result):
    promise, real = result.get("promised"), result.get("measured")
    return promise is not None and real <= promise <= real + max(OVER[0] * real, OVER[1])


def checked(number, chosen, folder):
    """One configuration in a folder of its own, as a result: what was promised and measured, or how it failed."""
    result = {"number": number, **chosen}
    folder.mkdir(parents=True)
    try:
        artifact = compiled(chosen, folder)
        result |= {"promised": promised(artifact), "measured": measured(artifact, folder)}
    except SystemExit as failure:
        result["failed"] = str(failure)
    shutil.rmtree(folder)
    return result


def told(result):
    words = " ".join(str(result[key]) for key in ("model", "precision", "optimizer", "recompute"))
    words = f"{result['number']}: {words}, {result['devices']} x {result['steps']} x {result['micro-batch']}: "
    if "failed" in result:
        return words + "FAILED\n" + result["failed"]
    promise, real = result["promised"], result["measured"]
    return words + f"promised {promise}, measured {real}, {over(result):+.1f} MiB{'' if holds(result) else ' BROKEN'}"


def over(result):
    return (result["promised"] - result["measured"]) / 2**20


def kept(path, everything):
    """Results of an earlier run for the same configurations, by number."""
    if not path or not path.exists():
        return {}
    wanted, found = dict(everything), {}
    for line in path.read_text().splitlines():
        result = json.loads(line)
        number = result["number"]
        if "failed" not in result and all(result.get(key) == value for key, value in wanted.get(number, {"?": 0}).items()):
            found[number] = result
    return found


def sweep(everything, options):
    """Runs what has no result yet; returns all results."""
    results, lock = kept(options.results, everything), threading.Lock()

    def one(entry):
        result = checked(*entry, options.folder / str(entry[0]))
        with lock:
            print(told(result), flush=True)
            results[entry[0]] = result
            if options.results:
                with open(options.results, "a") as file:
                    file.write(json.dumps(result) + "\n")

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, [entry for entry in everything if entry[0] not in results]))
    return [results[number] for number, _ in everything]


def print_worst(results):
    """Of each kind of configuration: how many, and how far above the measured peak the closest and the furthest are."""
    measured_ones = [result for result in results if "failed" not in result]
    for key in ("precision", "recompute", "devices", "steps", "optimizer"):
        for value in sorted({result[key] for result in measured_ones}):
            those = sorted((over(result), result["number"]) for result in measured_ones if result[key] == value)
            (least, first), (most, last) = those[0], those[-1]
            print(f"{key} {value}: {len(those)}, from {least:+.1f} MiB ({first}) to {most:+.1f} MiB ({last})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cuts", required=True, help="all, sample, or numbers separated by commas")
    parser.add_argument("--jobs", type=int, default=1, help="configurations at a time")
    parser.add_argument("--results", type=pathlib.Path, help="where results are kept")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    everything = list(enumerate(configurations()))
    if options.cuts == "sample":
        everything = random.Random("a sample").sample(everything, SAMPLED)
    elif options.cuts != "all":
        everything = [everything[int(number)] for number in options.cuts.split(",")]
    check_savings(options.folder)
    check_sums(options.folder)
    check_shards(options.folder)
    check_commands(options.folder)
    results = sweep(everything, options)
    print_worst(results)
    if broken := [result["number"] for result in results if not holds(result)]:
        raise SystemExit(f"{len(broken)} of {len(results)} promises do not hold: {broken}")
    print(f"{len(results)} promises hold")


if __name__ == "__main__":
    main()
