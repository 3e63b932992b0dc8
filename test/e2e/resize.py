# SPDX-License-Identifier: Apache-2.0
"""Resize of a sample and of a parameter, in every mode, against loops: loss, and gradients by central differences.

Usage: resize.py FOLDER. The loss is the mean of the squares of resize(x * w) * resize(p), in f64 on the reference and in f32 on the
host. Scales are such that every weight is a number of f32, as which weights are computed; but for ROUNDED.
"""
import argparse
import itertools
import math
import pathlib
import sys

import windows
from program import MODELS

sys.path.insert(0, str(MODELS))
import onnx_graph

CHANNELS, EXTENTS = 2, [4, 3]
HALF, CORNERS = {"coordinate_transformation_mode": "pytorch_half_pixel"}, {"coordinate_transformation_mode": "align_corners"}
FLOOR = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
# (opset, scales or sizes along both axes, attributes)
CASES = {
    "nearest_twice": (17, [2.0, 3.0], FLOOR),
    "nearest_between": (17, [1.5, 0.75], FLOOR),
    "nearest_sizes": (13, [6, 7], FLOOR),
    "nearest_ceil": (18, [2.0, 2.0], {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}),
    "linear_up": (17, [2.0, 2.0], {"mode": "linear", **HALF}),
    "linear_down": (19, [0.5, 1.0], {"mode": "linear"}),
    "linear_corners": (17, [7, 5], {"mode": "linear", **CORNERS}),
    "linear_asymmetric": (13, [2.0, 4.0], {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}),
    "linear_symmetric": (19, [1.125, 1.0], {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}),
    "cubic_up": (17, [2.0, 4.0], {"mode": "cubic", **HALF}),
    "cubic_outside": (18, [8, 6], {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1}),
    "named_axes": (18, [2.0, 2.0], {"mode": "linear", "axes": [2, 3]}),
}

ROUNDED = {"linear_symmetric", "cubic_outside"}


def round_to(mode, position):
    return {"floor": math.floor, "ceil": math.ceil, "round_prefer_ceil": lambda x: math.floor(x + 0.5),
            "round_prefer_floor": lambda x: math.ceil(x - 0.5)}[mode](position)


def keys(a, distance):
    """The cubic kernel."""
    d = abs(distance)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0


def taps(extent, asked, attributes):
    """For each place of the result: index -> weight, as the operator's specification says."""
    to, scale = (asked, asked / extent) if isinstance(asked, int) else (math.floor(extent * asked), asked)
    rows = []
    for place in range(to):
        mode = attributes.get("coordinate_transformation_mode", "half_pixel")
        position = (place + 0.5) / scale - 0.5
        if mode == "asymmetric":
            position = place / scale
        elif mode == "align_corners":
            position = place * (extent - 1) / (to - 1) if to > 1 else 0
        elif mode == "half_pixel_symmetric":
            position += extent / 2 * (1 - to / (scale * extent))
        if attributes["mode"] == "nearest":
            weights = {round_to(attributes.get("nearest_mode", "round_prefer_floor"), position): 1.0}
        elif attributes["mode"] == "linear":
            weights = {math.floor(position) + i: 1 - abs(math.floor(position) + i - position) for i in (0, 1)}
        else:
            first = math.floor(position) - 1
            weights = {first + i: keys(attributes.get("cubic_coeff_a", -0.75), first + i - position) for i in range(4)}
        if attributes.get("exclude_outside"):
            weights = {i: w for i, w in weights.items() if 0 <= i < extent}
            weights = {i: w / sum(weights.values()) for i, w in weights.items()}
        row = [0.0] * extent
        for i, weight in weights.items():
            row[min(max(i, 0), extent - 1)] += weight
        rows.append(row)
    return rows


def resized(values, rows, columns):
    width = EXTENTS[1]
    return [sum(r * c * values[i * width + j] for i, r in enumerate(row) if r for j, c in enumerate(column) if c)
            for row, column in itertools.product(rows, columns)]


def loss_of(case, x, parameters):
    _, asked, attributes = case
    rows, columns = (taps(extent, to, attributes) for extent, to in zip(EXTENTS, asked))
    size, total, count = math.prod(EXTENTS), 0, 0
    table = resized(parameters["table"], rows, columns)
    for sample in x:
        for c in range(CHANNELS):
            values = [v * parameters["scale"][c] for v in sample[c * size:(c + 1) * size]]
            products = [a * b for a, b in zip(resized(values, rows, columns), table)]
            total, count = total + sum(p * p for p in products), count + len(products)
    return total / count


def write_model(case, path):
    opset, asked, attributes = case
    graph = onnx_graph.Graph(path.name + ".data")
    x = graph.input("x", onnx_graph.FLOAT, ["batch", CHANNELS, *EXTENTS])
    scale, table = graph.parameter("scale", [CHANNELS, 1, 1]), graph.parameter("table", [1, 1, *EXTENTS])

    def resize(value, lead):
        lead = [] if "axes" in attributes else lead
        if isinstance(asked[0], float):
            return graph.node("Resize", [value, "", graph.constant([1.0] * len(lead) + asked, onnx_graph.FLOAT)], **attributes)
        sizes = graph.constant([*asked])
        if lead == [1, 1]:
            sizes = graph.node("Concat", [graph.constant([1, 1]), sizes], axis=0)
        elif lead:
            first = graph.node("Slice", [graph.node("Shape", [value]), graph.constant([0]), graph.constant([2])])
            sizes = graph.node("Concat", [first, sizes], axis=0)
        return graph.node("Resize", [value, "", "", sizes], **attributes)

    product = graph.node("Mul", [resize(graph.node("Mul", [x, scale]), [1, CHANNELS]), resize(table, [1, 1])])
    loss = graph.node("ReduceMean", [graph.node("Mul", [product, product])], keepdims=0)
    graph.output(loss, "loss", onnx_graph.FLOAT, [])
    path.write_bytes(graph.model("resize", opset))
    return {"scale": CHANNELS, "table": math.prod(EXTENTS)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    shape = [CHANNELS, *EXTENTS]
    count = 0
    for name, case in CASES.items():
        rounded = {**windows.TOLERANCE, "f64": 2e-6} if name in ROUNDED else windows.TOLERANCE
        count += windows.check(name, case, folder, shape, write_model, loss_of, rounded)
    print(f"{count} gradients of {len(CASES)} graphs agree")


if __name__ == "__main__":
    main()
