# SPDX-License-Identifier: Apache-2.0
"""Compiles COUNT graphs of one operator whose operands are of any type, shape and number, with any attributes: each is compiled,
or refused in a sentence with a slug, as damaged-models.py judges. What is neither is kept in FOLDER, and named."""
import argparse
import collections
import importlib
import pathlib
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]
damaged = importlib.import_module("damaged-models")
from onnx_graph import BOOL, FLOAT, INT64, Graph  # noqa: E402

OPERATORS = damaged.OPERATORS + """LessOrEqual GreaterOrEqual Xor IsInf Celu Elu Selu Softplus Gelu PRelu LeakyRelu Clip Sin Cos Floor
Ceil Round Sign Sum Mean GroupNormalization InstanceNormalization RMSNormalization LpNormalization NegativeLogLikelihoodLoss
ReduceMin ReduceL2 ReduceLogSumExp DepthToSpace SpaceToDepth Resize CastLike SplitToSequence ConcatFromSequence""".split()
LARGE = [1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1, -(1 << 63)]
ATTRIBUTES = {
    **dict.fromkeys("keepdims transA allowzero largest exclusive is_causal training_mode".split(), [0, 1]),
    **dict.fromkeys("axis group num_groups num_outputs q_num_heads kv_num_heads blocksize batch_dims".split(), [0, 1, -1, 2, 3, *LARGE]),
    **dict.fromkeys("kernel_shape strides pads dilations axes perm".split(), [[0], [1], [1, 1], [-1, 2], [0, 2, 1], [0, 0, 0, 0], LARGE[:2]]),
    "to": [0, FLOAT, 6, INT64, BOOL, 10, 11, 99],
    "reduction": ["none", "mean", "add", "odd"],
    "mode": ["linear", "nearest", "DCR", "edge"],
    "equation": ["bij->bij", "bij,jk->bik", "bij->", "ii->i", "odd"],
    "epsilon": [0.0, -1.0, float("nan")],
}
INPUTS = [(FLOAT, ["batch", 4, 3]), (INT64, ["batch", 4]), (BOOL, ["batch", 4]), (FLOAT, ["batch"]), (11, ["batch", 3]),
          (6, ["batch", 4, 3]), (FLOAT, ["batch", 2, 4, 4])]
CONSTANTS = [0, 1, -7, [0], [1], [-1], [3], [0, 1], [0, -1], [-1, 12], [0, 4, 3], [1, 4, 3], [0, 0, 1, 1], [LARGE[1]] * 2, [LARGE[2]]]
REALS = [0.5, [0.5], [1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0], [float("nan"), 0.0, 1.0]]


def operand(graph, scores, rand):
    kind = rand.choice(["scores"] * 3 + ["input"] * 3 + ["constant", "real", "parameter", "absent"])
    if kind == "input":
        place = rand.randrange(len(INPUTS))
        return graph.known.setdefault(place, f"input_{place}")
    if kind == "constant":
        return graph.constant(rand.choice(CONSTANTS))
    if kind == "real":
        return graph.constant(rand.choice(REALS), FLOAT)
    if kind == "parameter":
        return graph.parameter(f"p{graph.bytes}", rand.choice([[3], [5], [4, 3], [3, 3], [2, 2, 3, 3]]))
    return scores if kind == "scores" else ""


def make(operator, rand):
    graph = Graph("none.data")
    graph.known = {}
    x = graph.input("x", FLOAT, ["batch", 4, 3])
    scores = graph.node("MatMul", [x, graph.parameter("w", [3, 5])])
    operands = [operand(graph, scores, rand) for _ in range(rand.choice([1, 1, 2, 2, 2, 3, 3, 4]))]
    for place, name in graph.known.items():
        graph.input(name, *INPUTS[place])
    attributes = {key: rand.choice(ATTRIBUTES[key]) for key in rand.sample(sorted(ATTRIBUTES), rand.choice([0, 0, 1, 2, 3]))}
    outputs = rand.choice([1, 1, 1, 2])
    results = graph.node(operator, operands, outputs, **attributes)
    real = graph.node("Cast", [results if outputs == 1 else rand.choice(results)], to=FLOAT)
    sums = [graph.node("ReduceSum", [value], keepdims=0) for value in (real, scores)]
    graph.output(graph.node("Add", sums), "loss", FLOAT, [])
    return graph.model(operator, rand.choice([13, 17, 18, 20, 23]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1000000)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("count", type=int)
    args = parser.parse_args()
    rand, ends, findings = random.Random(args.seed), collections.Counter(), 0
    args.folder.mkdir(parents=True, exist_ok=True)
    for number in range(args.count):
        operator = rand.choice(OPERATORS)
        path = args.folder / f"{operator}-{args.seed}-{number}.onnx"
        path.write_bytes(make(operator, rand))
        run = subprocess.run(["accumc", path, "--batch", "6", "--plan-only"], capture_output=True, text=True, errors="replace",
                             preexec_fn=damaged.limit)
        wrong = damaged.judge(run)
        if wrong:
            print(f"{path}: {wrong}\n{run.stderr[-1500:]}", flush=True)
        else:
            path.unlink()
        ends[run.returncode], findings = ends[run.returncode] + 1, findings + bool(wrong)
    print(f"seed {args.seed}: {args.count} graphs, {findings} findings; exit codes {dict(ends.most_common())}")
    return 1 if findings or not ends[0] or len(ends) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
