# SPDX-License-Identifier: Apache-2.0
"""`FOLDER`: numbers that a model draws itself. Sample i reads row i of each weight, and the loss is a sum of weights times what is drawn, so
that the gradient of a weight is what its samples drew, digit by digit. Oracles: the distributions themselves (moments, chi-square and
Kolmogorov-Smirnov), and the numbers of the undivided batch for every other cut, device and target."""
import itertools
import math
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import wire
from onnx_graph import FLOAT, INT64, Graph, tensor

BATCH, WIDTH, KEEP = 33, 256, 0.8
SEEDS = {"seed-a": 5.0, "seed-b": 5.0, "seed-c": 6.0}


def of_shape(graph, h, kind, value=0.0, **attributes):
    """[N, 1] numbers, as an exporter writes `torch.rand(x.shape[0], 1)`."""
    rows = graph.node("Gather", [graph.node("Shape", [h]), graph.constant([0])], axis=0)
    filled = tensor("", FLOAT, [1], wire.message(9, struct.pack("<f", value)))
    shape = graph.node("Concat", [rows, graph.constant([1])], axis=0)
    return graph.node(kind, [graph.node("ConstantOfShape", [shape], value=filled)], **attributes)


def stochastic_depth(graph, h):
    kept = graph.node("Less", [of_shape(graph, h, "RandomUniformLike"), graph.constant(KEEP, FLOAT)])
    return graph.node("Div", [graph.node("Cast", [kept], to=FLOAT), graph.constant(KEEP, FLOAT)])


def written_with_floor(graph, h):
    """floor(keep + u), multiplied by what was divided before."""
    u = of_shape(graph, h, "RandomUniformLike")
    return graph.node("Floor", [graph.node("Add", [u, graph.constant(KEEP, FLOAT)])])


DRAWS = {
    "uniform": lambda g, h: g.node("RandomUniformLike", [h]),
    "range": lambda g, h: g.node("RandomUniformLike", [h], low=-2.0, high=3.0, dtype=FLOAT),
    "normal": lambda g, h: g.node("RandomNormalLike", [h], mean=1.0, scale=0.5),
    "bernoulli": lambda g, h: g.node("Bernoulli", [g.node("Clip", [h, g.constant(0.3, FLOAT), g.constant(0.3, FLOAT)])]),
    "shared": lambda g, h: g.node("RandomNormal", [], shape=[1, WIDTH]),
    "shared-uniform": lambda g, h: g.node("RandomUniform", [], shape=[WIDTH], low=2.0, high=4.0),
    "row": lambda g, h: of_shape(g, h, "RandomNormalLike"),
    "depth": stochastic_depth,
    **{name: lambda g, h, seed=seed: g.node("RandomUniformLike", [h], seed=seed) for name, seed in SEEDS.items()},
}
MASKS = {"depth": stochastic_depth, "floor": written_with_floor, "bernoulli": lambda g, h: g.node(
    "Div", [of_shape(g, h, "Bernoulli", KEEP), g.constant(KEEP, FLOAT)])}


def make(path, draws):
    graph = Graph(path.name + ".data")
    x, terms = graph.input("x", FLOAT, ["batch", BATCH]), []
    for name, draw in draws.items():
        graph.scope = f"/{name}"
        h = graph.node("MatMul", [x, graph.parameter(f"{name}.weight", [BATCH, WIDTH])])
        drawn = draw(graph, h)
        if draw is written_with_floor:
            h = graph.node("Div", [h, graph.constant(KEEP, FLOAT)])
        terms.append(graph.node("ReduceSum", [graph.node("Mul", [h, drawn])], keepdims=0))
    total = terms[0] if len(terms) == 1 else graph.node("Sum", terms)
    graph.output(total, "loss", FLOAT, [])
    path.write_bytes(graph.model("random-numbers", 17))
    weights = [((5 * i) % 13) / 8 - 0.75 for i in range(len(draws) * BATCH * WIDTH)]
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(weights)}f", *weights))
    return sum(weights)


class Model:
    def __init__(self, folder, name, draws):
        self.folder, self.path = folder, folder / f"{name}.onnx"
        self.sum = make(self.path, draws)
        self.data = folder / "data.safetensors"
        eye = [float(i == j) for i, j in itertools.product(range(BATCH), repeat=2)]
        tensors.write(self.data, {"x": ("F32", [BATCH, BATCH], struct.pack(f"<{len(eye)}f", *eye))})

    def compile(self, *options):
        artifact = self.folder / "model.accum"
        result = run("accumc", self.path, "--batch", BATCH, "--optimizer", "sgd", "-o", artifact, *options)
        return artifact, result.stdout + result.stderr

    def drawn(self, *options, device=(), steps=1, seed=3):
        """Name -> a row of numbers for each sample, in the last step."""
        artifact, _ = self.compile(*options)
        gradients = self.folder / "gradients.safetensors"
        run("accum-run", artifact, "--data", self.data, "--no-shuffle", "--steps", steps, "--seed", seed, "--lr", 0, "--dump-gradients",
            gradients, "--save", self.folder / "unused.safetensors", *device)
        return {name.removesuffix(".weight"): rows_of(array) for name, array in tensors.read(gradients).items()}

    def evaluated(self, *options):
        artifact, said = self.compile(*options)
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        run("accum-run", artifact, "--eval", self.data, "--eval-only", "--log", log)
        return float(log.read_text().split('"eval_loss":')[1].split(",")[0].strip(" }\n")), said


def rows_of(array):
    kind, (count, width), values = array
    assert kind == "F32"
    return [list(struct.unpack_from(f"<{width}f", values, 4 * i * width)) for i in range(count)]


def flat(rows):
    return [value for row in rows for value in row]


def check_distribution(name, values, cumulative, mean, deviation):
    n = len(values)
    found = sum(values) / n
    assert abs(found - mean) < 4 * deviation / math.sqrt(n), f"{name}: the mean is {found}"
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / n)
    assert abs(spread / deviation - 1) < 4 / math.sqrt(n), f"{name}: the deviation is {spread}"
    parts = [cumulative(v) for v in sorted(values)]
    gap = max(max(abs(p - i / n), abs(p - (i + 1) / n)) for i, p in enumerate(parts))
    assert gap < 2.2 / math.sqrt(n), f"{name}: Kolmogorov-Smirnov finds {gap}"
    bins = [0] * 64
    for part in parts:
        bins[min(63, int(part * 64))] += 1
    square = sum((count - n / 64) ** 2 for count in bins) / (n / 64)
    assert 25 < square < 120, f"{name}: chi-square of 63 degrees is {square}"


def check_independent(name, rows):
    """Of each other: the products of standardised neighbours have the mean 0."""
    assert len({tuple(row) for row in rows}) == len(rows), f"{name}: two samples draw the same"
    values = flat(rows)
    mean = sum(values) / len(values)
    square = sum((v - mean) ** 2 for v in values) / len(values)
    for what, pairs in (("samples", zip(flat(rows[:-1]), flat(rows[1:]))), ("elements", zip(values[:-1], values[1:]))):
        products = [(a - mean) * (b - mean) / square for a, b in pairs]
        found = sum(products) / len(products)
        assert abs(found) < 4 / math.sqrt(len(products)), f"{name}: neighbouring {what} correlate by {found}"


def check_numbers(drawn):
    normal = lambda mean, deviation: lambda v: (1 + math.erf((v - mean) / deviation / math.sqrt(2))) / 2
    check_distribution("uniform", flat(drawn["uniform"]), lambda v: v, 0.5, math.sqrt(1 / 12))
    check_distribution("range", flat(drawn["range"]), lambda v: (v + 2) / 5, 0.5, 5 * math.sqrt(1 / 12))
    check_distribution("normal", flat(drawn["normal"]), normal(1, 0.5), 1, 0.5)
    for name in ("uniform", "range", "normal", "bernoulli"):
        check_independent(name, drawn[name])
    for name, low, high in (("uniform", 0, 1), ("range", -2, 3), ("shared-uniform", 2, 4)):
        assert all(low <= v < high for v in flat(drawn[name])), f"{name} is not in [{low}, {high})"
    hits = flat(drawn["bernoulli"])
    assert set(hits) == {0, 1} and abs(sum(hits) / len(hits) - 0.3) < 4 * math.sqrt(0.21 / len(hits)), "bernoulli"
    for name in ("shared", "shared-uniform"):
        assert len({tuple(row) for row in drawn[name]}) == 1 and len(set(drawn[name][0])) == WIDTH, f"{name} is not one draw for all"
    for name in ("row", "depth"):
        assert all(len(set(row)) == 1 for row in drawn[name]), f"{name} differs within a sample"
    assert len({row[0] for row in drawn["row"]}) == BATCH and {row[0] for row in drawn["depth"]} == {0, 1.25}, "rows"
    assert drawn["seed-a"] == drawn["seed-b"] != drawn["seed-c"], "nodes of one seed draw the same, others do not"


def main():
    folder = pathlib.Path(sys.argv[1])
    model = Model(folder, "draws", DRAWS)
    whole = model.drawn("--micro-batch", BATCH)
    check_numbers(whole)
    for options, device in ((("--micro-batch", 4), ()), (("--micro-batch", 5, "--devices", 2), ()),
                            (("--micro-batch", 7, "--target", "reference"), ()),
                            (("--micro-batch", 6, "--target", "h100", "--with-sim"), ("--target", "sim"))):
        other = model.drawn(*options, device=device)
        assert other == whole, f"{options}: other numbers for {[name for name in whole if other[name] != whole[name]]}"
    print("every cut, target and number of devices draws the same numbers")
    for name, rows in model.drawn("--micro-batch", 9, steps=2).items():
        assert rows != whole[name], f"{name}: two steps draw the same"
    for name, rows in model.drawn("--micro-batch", 9, seed=4).items():
        assert (rows == whole[name]) == (name in SEEDS), f"{name}: the seed of the run"
    loss, said = model.evaluated("--micro-batch", 9)
    other, noise = model.evaluated("--micro-batch", 4)[0], 1e-6 * len(DRAWS) * BATCH * WIDTH
    assert "random numbers in evaluation too" in said and abs(loss - other) < noise, f"evaluated: {loss} and {other}"
    masks = Model(folder, "masks", MASKS)
    drawn = masks.drawn("--micro-batch", 5)
    for name, rows in drawn.items():
        assert {round(row[0], 6) for row in rows} == {0, 1.25}, f"{name} draws {rows}"
        assert sum(row[0] > 0 for row in rows) in range(18, 33)
    loss, said = masks.evaluated("--micro-batch", 5)
    assert "evaluation" not in said and "no dropout" not in said, said
    assert abs(loss - masks.sum) < 1e-5 * len(MASKS) * BATCH * WIDTH, f"evaluated without masks: {loss}, expected {masks.sum}"
    print("masks are left out of an evaluation, other numbers are drawn")


if __name__ == "__main__":
    main()
