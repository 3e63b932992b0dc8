# SPDX-License-Identifier: Apache-2.0
"""`FOLDER [CASE...]`: the operator Attention in all its forms. Oracle: the specification's sums in plain Python, gradients by
central differences; in f64 with micro-batches of two samples, in f32 with one sample and with all. `--sim TARGET`: on that GPU, simulated."""
import argparse
import json
import math
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, INT64, Graph

BATCH, QUERIES, KEYS, FEATURES, HEADS, SIZE = 5, 3, 4, 4, 2, 2
INFINITY = math.inf

# `mask`: bias, a trained table; gate, what samples say times a trained number; seen, true or false, with rows that see nothing;
# short, the same for all but the last key; hidden, bias and -inf by sample. `outputs`: which ones the loss is made of.
CASES = {
    "plain": {},
    "bias": {"mask": "bias"},
    "bias-flat-grouped": {"mask": "bias", "flat": True, "groups": 1, "scale": 0.7},
    "bias-causal": {"mask": "bias", "is_causal": 1},
    "bias-capped": {"mask": "bias", "softcap": 1.5},
    "gate": {"mask": "gate"},
    "hidden": {"mask": "hidden"},
    "seen": {"mask": "seen"},
    "seen-causal-grouped": {"mask": "seen", "is_causal": 1, "groups": 1},
    "seen-capped": {"mask": "seen", "softcap": 0.8},
    "short": {"mask": "short"},
    "causal-flat": {"is_causal": 1, "flat": True},
    "capped-causal": {"is_causal": 1, "softcap": 2.0},
    "states": {"outputs": [0, 1, 2], "flat": True},
    "products": {"mask": "bias", "outputs": [0, 3], "qk_matmul_output_mode": 0, "softcap": 1.2, "groups": 1},
    "products-capped": {"mask": "bias", "outputs": [0, 3], "qk_matmul_output_mode": 1, "softcap": 1.2},
    "products-masked": {"mask": "bias", "outputs": [0, 3], "qk_matmul_output_mode": 2, "softcap": 1.2},
    "probabilities": {"mask": "seen", "outputs": [0, 3], "qk_matmul_output_mode": 3, "groups": 1},
    "window": {"opset": 25, "left_window_size": 1, "right_window_size": 0},
    "window-bias": {"opset": 25, "mask": "bias", "left_window_size": 0, "right_window_size": 1},
}
ATTRIBUTES = ("is_causal", "softcap", "qk_matmul_output_mode", "scale", "left_window_size", "right_window_size")


def numbers(count, seed):
    return [((seed + 1) * 37 * (i + 3) % 101) / 60 - 0.8 for i in range(count)]


class Case:
    def __init__(self, name):
        self.name, self.facts = name, CASES[name]
        self.groups = self.facts.get("groups", HEADS)
        self.mask = self.facts.get("mask")
        shapes = {"wq": [FEATURES, HEADS * SIZE], "wk": [FEATURES, self.groups * SIZE], "wv": [FEATURES, self.groups * SIZE]}
        if self.mask in ("bias", "hidden"):
            shapes["bias"] = [HEADS, QUERIES, KEYS]
        if self.mask == "gate":
            shapes["bias"] = [HEADS, 1, 1]
        self.shapes = shapes
        self.values = {name: numbers(math.prod(shape), seed) for seed, (name, shape) in enumerate(shapes.items())}
        self.x = numbers(BATCH * QUERIES * FEATURES, 11)
        self.z = numbers(BATCH * KEYS * FEATURES, 12)
        # The first query of every other sample sees nothing.
        self.seen = [int(not (i % 2 == 0 and q == 0) and (i + q + k) % 3 > 0)
                     for i in range(BATCH) for q in range(QUERIES) for k in range(KEYS)]

    # --- the graph ---

    def heads(self, graph, value, rows, heads):
        if self.facts.get("flat"):
            return value
        split = graph.node("Reshape", [value, graph.constant([0, rows, heads, SIZE])])
        return graph.node("Transpose", [split], perm=[0, 2, 1, 3])

    def mask_of(self, graph):
        if self.mask == "bias":
            return graph.parameter("bias", self.shapes["bias"])
        seen = graph.input("seen", INT64, ["batch", 1, QUERIES, KEYS])
        if self.mask == "gate":
            return graph.node("Mul", [graph.node("Cast", [seen], to=FLOAT), graph.parameter("bias", self.shapes["bias"])])
        if self.mask == "short":
            seen = graph.node("Slice", [seen, graph.constant([0]), graph.constant([KEYS - 1]), graph.constant([3])])
        seen = graph.node("Greater", [seen, graph.constant(0)])
        if self.mask != "hidden":
            return seen
        hidden = graph.node("Where", [seen, graph.constant(0.0, FLOAT), graph.constant(-INFINITY, FLOAT)])
        return graph.node("Add", [hidden, graph.parameter("bias", self.shapes["bias"])])

    def write(self, path):
        graph = Graph(path.name + ".data")
        x, z = graph.input("x", FLOAT, ["batch", QUERIES, FEATURES]), graph.input("z", FLOAT, ["batch", KEYS, FEATURES])
        operands = []
        for source, name, rows, heads in ((x, "wq", QUERIES, HEADS), (z, "wk", KEYS, self.groups), (z, "wv", KEYS, self.groups)):
            product = graph.node("MatMul", [source, graph.parameter(name, self.shapes[name])])
            operands.append(self.heads(graph, product, rows, heads))
        if self.mask:
            operands.append(self.mask_of(graph))
        attributes = {key: self.facts[key] for key in ATTRIBUTES if key in self.facts}
        if self.facts.get("flat"):
            attributes |= {"q_num_heads": HEADS, "kv_num_heads": self.groups}
        chosen = self.facts.get("outputs", [0])
        results = graph.node("Attention", operands, outputs=max(chosen) + 1, **attributes)
        results = [results] if max(chosen) == 0 else results
        terms = [graph.node("ReduceMean", [graph.node("Mul", [results[i], results[i]])], keepdims=0) for i in chosen]
        total = terms[0]
        for term in terms[1:]:
            total = graph.node("Add", [total, term])
        graph.output(total, "loss", FLOAT, [])
        path.write_bytes(graph.model("attention", self.facts.get("opset", 24)))
        flat = [value for name in self.shapes for value in self.values[name]]
        path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(flat)}f", *flat))
        arrays = {"x": ("F32", [BATCH, QUERIES, FEATURES], struct.pack(f"<{len(self.x)}f", *self.x)),
                  "z": ("F32", [BATCH, KEYS, FEATURES], struct.pack(f"<{len(self.z)}f", *self.z))}
        if self.mask not in (None, "bias"):
            arrays["seen"] = ("I64", [BATCH, 1, QUERIES, KEYS], struct.pack(f"<{len(self.seen)}q", *self.seen))
        tensors.write(path.with_suffix(".safetensors"), arrays)

    # --- the specification ---

    def project(self, values, rows, name, sample):
        """[head][row][feature]"""
        weights, width = self.values[name], self.shapes[name][1]
        at = lambda row, column: sum(values[(sample * rows + row) * FEATURES + f] * weights[f * width + column] for f in range(FEATURES))
        return [[[at(row, head * SIZE + d) for d in range(SIZE)] for row in range(rows)] for head in range(width // SIZE)]

    def bias_at(self, sample, head, q, k):
        seen = self.seen[(sample * QUERIES + q) * KEYS + k]
        bias = 0.0
        if self.mask in ("bias", "hidden"):
            bias = self.values["bias"][(head * QUERIES + q) * KEYS + k]
        if self.mask == "gate":
            bias = seen * self.values["bias"][head]
        hides = self.mask in ("seen", "hidden", "short") and not seen or self.mask == "short" and k == KEYS - 1
        left, right = self.facts.get("left_window_size", -1), self.facts.get("right_window_size", -1)
        outside = left >= 0 and k < q - left or right >= 0 and k > q + right or self.facts.get("is_causal") and k > q
        return -INFINITY if hides or outside else bias

    def loss(self):
        squares, counts = [0.0] * 4, [0] * 4

        def add(output, values):
            squares[output] += sum(value * value for value in values)
            counts[output] += len(values)

        scale, cap = self.facts.get("scale", SIZE ** -0.5), self.facts.get("softcap", 0)
        mode = self.facts.get("qk_matmul_output_mode", 0)
        for sample in range(BATCH):
            query = self.project(self.x, QUERIES, "wq", sample)
            key, value = (self.project(self.z, KEYS, name, sample) for name in ("wk", "wv"))
            for output, state in ((1, key), (2, value)):
                add(output, [number for head in state for row in head for number in row])
            for head in range(HEADS):
                group = head // (HEADS // self.groups)
                for q in range(QUERIES):
                    products = [scale * sum(a * b for a, b in zip(query[head][q], key[group][k])) for k in range(KEYS)]
                    capped = [cap * math.tanh(p / cap) for p in products] if cap else products
                    masked = [p + self.bias_at(sample, head, q, k) for k, p in enumerate(capped)]
                    top = max(masked)
                    powers = [math.exp(p - top) if top > -INFINITY else 0.0 for p in masked]
                    weights = [p / (sum(powers) or 1) for p in powers]
                    add(0, [sum(weights[k] * value[group][k][d] for k in range(KEYS)) for d in range(SIZE)])
                    add(3, (products, capped, masked, weights)[mode])
        return sum(squares[i] / counts[i] for i in self.facts.get("outputs", [0]))

    def slopes(self, name, step=1e-5):
        values, slopes = self.values[name], []
        for i, value in enumerate(values):
            found = []
            for moved in (value + step, value - step):
                values[i] = moved
                found.append(self.loss())
            values[i] = value
            slopes.append((found[0] - found[1]) / (2 * step))
        return slopes


def rounded(values):
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


def check(case, folder, sim):
    for name in case.values:
        case.values[name] = rounded(case.values[name])
    case.x, case.z = rounded(case.x), rounded(case.z)
    path = folder / f"{case.name}.onnx"
    case.write(path)
    loss, expected = case.loss(), {name: case.slopes(name) for name in case.shapes}
    scale = max(abs(slope) for slopes in expected.values() for slope in slopes)
    runs = [(2, 1e-8, ["--target", "reference", "--precision", "f64"]), (1, 2e-5, []), (BATCH, 2e-5, [])]
    device = []
    if sim:
        runs, device = [(2, 2e-5, ["--target", sim, "--with-sim"])], ["--target", "sim"]
    for size, tolerance, options in runs:
        artifact, gradients, log = (folder / f"{case.name}.{end}" for end in ("accum", "g.safetensors", "jsonl"))
        log.unlink(missing_ok=True)
        run("accumc", path, "--batch", BATCH, "--micro-batch", size, "-o", artifact, *options)
        run("accum-run", artifact, "--data", path.with_suffix(".safetensors"), "--steps", 1, "--no-shuffle", "--log", log,
            "--dump-gradients", gradients, "--save", folder / "p.safetensors", *device)
        where = f"{case.name}, micro-batches of {size} {' '.join(options)}"
        got = json.loads(log.read_text().splitlines()[0])["loss"]
        assert abs(got - loss) <= tolerance * abs(loss), f"{where}: loss {got!r}, expected {loss!r}"
        found = tensors.read(gradients)
        for name, slopes in expected.items():
            dtype, _, raw = found[name]
            values = struct.unpack(f"<{len(slopes)}{'d' if dtype == 'F64' else 'f'}", raw)
            worst = max(abs(a - b) for a, b in zip(values, slopes))
            assert worst <= max(tolerance, 2e-7) * scale, f"{where}: gradient of {name} off by {worst:.1e}: {values}, expected {slopes}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--sim", metavar="TARGET")
    options = parser.parse_args()
    for name in options.cases:
        check(Case(name), options.folder, options.sim)
    print(f"{len(options.cases)} forms agree")


if __name__ == "__main__":
    main()
