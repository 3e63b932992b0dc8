# SPDX-License-Identifier: Apache-2.0
"""The cases of bench/time-model: models, the sizes of each sweep, and their programs."""
import collections
import concurrent.futures
import json
import subprocess
import sys

import held_out
from model_shapes import Shape, write_model

# And (sequence, batch) pairs. Of c, g and j not even the hidden size is a point of the tables. A ViT's sequence is a square.
SHAPES = {"a": (Shape("gpt", 2, 256, 4, 5003), [(48, 16), (32, 32), (200, 8)]),
          "b": (Shape("gpt", 4, 384, 6, 8017), [(64, 16), (160, 8)]),
          "c": (Shape("gpt", 2, 640, 10, 10007), [(32, 16), (72, 8)]),
          "d": (Shape("gpt", 2, 768, 12, 12011), [(96, 8), (40, 16)]),
          "e": (Shape("gpt", 3, 192, 3, 3001), [(80, 16), (256, 8)]),
          "f": (Shape("llama", 2, 512, 8, 6007, groups=4, inner=1376), [(64, 16), (112, 8), (40, 16)]),
          "g": (Shape("llama", 4, 320, 5, 4001, inner=864), [(48, 16), (144, 8)]),
          "h": (Shape("llama", 2, 768, 12, 8009, inner=2048), [(56, 8), (176, 4)]),
          "i": (Shape("bert", 4, 384, 6, 7001), [(64, 16), (128, 8), (36, 32)]),
          "j": (Shape("bert", 2, 576, 9, 9001), [(48, 16), (120, 8)]),
          "k": (Shape("bert", 6, 256, 4, 6011), [(88, 16), (40, 32)]),
          "v": (Shape("vit", 4, 384, 6, 100), [(64, 16), (196, 4)]),
          "w": (Shape("vit", 6, 192, 3, 1000), [(100, 16)])}
RECOMPUTED = "behiv"  # their first sweep also with everything recomputed
HELD_OUT = {}  # shapes of held_out.py, instead of all these

Case = collections.namedtuple("Case", "model sequence batch m recompute")
Sweep = collections.namedtuple("Sweep", "model sequence batch recompute")


def key(case):
    return f"{case.model}-{case.sequence}-{case.batch}-m{case.m}-{case.recompute}"


def name(sweep):
    return f"{sweep.model}-{sweep.sequence}-{sweep.batch}-{sweep.recompute}"


def sizes(batch):
    """Every micro-batch that the planner compares: those of different numbers of micro-steps."""
    return sorted({-(-batch // steps) for steps in range(1, batch + 1)}, reverse=True)


def hold_out(seed):
    HELD_OUT.update(held_out.shapes(seed))
    SHAPES.update(HELD_OUT)


def held_out_sweeps():
    """Whole batches and quarters; of the second shape of each family also the half with everything recomputed."""
    for model, (_, runs) in HELD_OUT.items():
        yield Sweep(model, *runs[0], "none")
        if model.endswith("y"):
            yield Sweep(model, *runs[0], "all")


def sweeps():
    """Each is measured whole: every size that the planner compares. `auto` is a single size with half of the memory
    saved that can be (some recomputed, the loss in slices): no choice among sizes, but a time to predict."""
    if HELD_OUT:
        yield from held_out_sweeps()
        return
    for model, (_, runs) in SHAPES.items():
        for sequence, batch in runs:
            yield Sweep(model, sequence, batch, "none")
        if model in RECOMPUTED:
            yield Sweep(model, *runs[0], "all")
        yield Sweep(model, *runs[0], "auto")


def cases(sweep):
    wanted = [sweep.batch // 2] if sweep.recompute == "auto" else sizes(sweep.batch)
    if sweep.model in HELD_OUT:
        wanted = [sweep.batch, sweep.batch // 4] if sweep.recompute == "none" else [sweep.batch // 2]
    return [Case(sweep.model, sweep.sequence, sweep.batch, m, sweep.recompute) for m in wanted]


def model_file(folder, sweep):
    path = folder / f"{sweep.model}-{sweep.sequence}.onnx"
    if not path.with_suffix(".onnx.data").exists():
        write_model(path, SHAPES[sweep.model][0], sweep.sequence)
    return path


def ask(options, sweep, *more):
    """What accumc says of its search."""
    words = [options.accumc, model_file(options.folder, sweep), "--batch", sweep.batch, "--json", *more]
    if "--plan" not in more:
        words += ["--recompute", sweep.recompute]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {name(sweep)}: {done.stderr}")
    return json.loads(done.stdout)["search"]


def tight(options, case):
    """Bytes between what the case needs with nothing and with everything recomputed."""
    path = options.folder / f"{key(case)}.bytes"
    if not path.exists():
        needs = [ask(options, case._replace(recompute=way), "--micro-batch", case.m, "--plan-only")["plan"]["total_bytes"]
                 for way in ("none", "all")]
        path.write_text(str(sum(needs) // 2))
    return path.read_text()


def artifact(options, case):
    return options.folder / f"{key(case)}.accum"


def compile_case(options, case):
    memory = ["--memory", tight(options, case)] if case.recompute == "auto" else []
    # With the kernels' variants that the predictions of this profile are of.
    ask(options, case, "--micro-batch", case.m, "-o", artifact(options, case), *memory, "--target", options.profile or "host")


def compile_all(options, wanted):
    for sweep in wanted:
        model_file(options.folder, sweep)
    missing = [case for sweep in wanted for case in cases(sweep)
               if not (artifact(options, case) / "manifest.json").exists()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda case: compile_case(options, case), missing))


def of_commands(search):
    return sum(each["seconds"] * each["count"] * each["runs"] for each in search["commands"])


def predict(options, sweep, target):
    """Seconds of each case, by its key."""
    if sweep.recompute == "none":
        found = ask(options, sweep, "--plan-only", "--target", target)["candidates"]
        # A size may stand there twice: with the loss as a whole, and in slices. The faster one is compiled.
        return {key(case): min(each["seconds"] for each in found if each["micro_batch"] == case.m) for case in cases(sweep)}
    case, = cases(sweep)
    # Another profile may choose other slices or clones. A plan from a file says what was predicted when it was made;
    # its commands are timed anew, and the rest (norm, input) is that of a plan made now.
    search = ask(options, case, "--plan-only", "--target", target, "--plan", artifact(options, case) / "plan.json")
    now = ask(options, case._replace(recompute="none"), "--micro-batch", case.m, "--plan-only", "--target", target)
    return {key(case): of_commands(search) + now["plan"]["seconds"] - of_commands(now)}
