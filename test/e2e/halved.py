# SPDX-License-Identifier: Apache-2.0
"""halved.py FOLDER: what half the activations cost on GPT-2, BERT and LLaMA shapes, against the bars of docs/decisions/recomputation.md.
oracle: exits with 1 where a plan costs more."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import model_shapes  # noqa: E402

SHAPES = {"GPT-2 124M": (model_shapes.Shape("gpt", 12, 768, 12, 50257), 1024),
          "BERT base": (model_shapes.Shape("bert", 12, 768, 12, 30522), 512),
          "GPT-2 1.5B": (model_shapes.Shape("gpt", 48, 1600, 25, 50257), 1024),
          "LLaMA 7B": (model_shapes.Shape("llama", 32, 4096, 32, 32000, groups=32, inner=11008), 2048),
          "LLaMA 1B": (model_shapes.Shape("llama", 16, 2048, 32, 32000, groups=8, inner=5632), 2048)}
# model, target, precision, micro-batch, bars in percent: half of all, half of the activations with logits whole, half of all with any
# smaller micro-batch as well
CASES = [("GPT-2 124M", "host", "f32", 8, 1.6, 4.5, 0.5),
         ("GPT-2 124M", "h100", "f32", 16, 0.9, 4.3, 0.5),
         ("GPT-2 124M", "h100", "bf16", 16, 5, 7, 3.5),
         ("BERT base", "host", "f32", 16, 3.4, 5, 0.5),
         ("BERT base", "h100", "bf16", 32, 6.2, 7.4, 4.2),
         ("LLaMA 1B", "host", "f32", 4, 7, 7.5, 0.5),
         ("LLaMA 1B", "h100", "bf16", 8, 7.7, 7.7, 1.2),
         ("GPT-2 1.5B", "h100", "bf16", 8, 8, 8.5, 2.4),
         ("LLaMA 7B", "h100", "bf16", 4, 9, 9, 0.8)]


def planned(problem, target, sizes, memory, *more):
    command = ["accum-plan", problem, "--target", target, "--micro-batch", str(sizes), "--memory", str(memory), "--prefer", "speed", "--json",
               *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def held(search, kinds=("activations", "logits", "activation gradients")):
    return sum(line["bytes"] for line in search["memory"] if line["kind"] == "scratch" and line["name"] in kinds)


def cost(problem, target, m, kinds, *more, sizes=None):
    whole = planned(problem, target, m, 1 << 50)
    taken = sum(line["bytes"] for line in whole["memory"])
    less = planned(problem, target, sizes or m, taken - held(whole, kinds) // 2, *more)
    return 100 * (less["plan"]["seconds"] / whole["plan"]["seconds"] - 1), held(whole)


def write_models(folder):
    run = subprocess.run
    subprocess.run = lambda *_, **__: None  # no weights
    for name, (shape, tokens) in SHAPES.items():
        model_shapes.write_model(folder / f"{name}.onnx", shape, tokens)
    subprocess.run = run


def write_problem(folder, name, target, precision, m):
    """The planner's problem of a model in `folder`; a file beside it."""
    dumps = folder / f"{name}-{target}-{precision}"
    subprocess.run(["accumc", folder / f"{name}.onnx", "--batch", "64", "--micro-batch", str(m), "--memory", "64TiB", "--plan-only",
                    "--target", target, "--precision", precision, "--dump-phases", dumps], check=True, capture_output=True)
    return dumps / "problem.txt"


def main():
    folder = pathlib.Path(sys.argv[1])
    os.environ["OMP_NUM_THREADS"] = "2"  # a host's rates are by threads
    failed = False
    write_models(folder)
    for name, target, precision, m, *bars in CASES:
        _, tokens = SHAPES[name]
        problem = write_problem(folder, name, target, precision, m)
        text = problem.read_text()
        whole = problem.with_name("whole.txt")  # with logits in one piece
        whole.write_text(re.sub(r"^variant .*\n", "", text, flags=re.M))
        kinds = ("activations", "logits", "activation gradients")
        half, size = cost(problem, target, m, kinds)
        alone, _ = cost(whole, target, m, ("activations", "activation gradients"))
        smaller, _ = cost(problem, target, m, kinds, sizes=f"1..{m}")
        figures = [half, alone, smaller]
        costs = " | ".join(f"{figure:.1f} %" for figure in figures)
        print(f"| {name}, {target}, {precision} | {m} x {tokens:,} | {size / 2**30:.1f} GiB | {costs} |", flush=True)
        for figure, bar in zip(figures, bars):
            if figure > bar:
                print(f"halved: {name} on {target} costs {figure:.2f} %, at most {bar} % expected", file=sys.stderr)
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
