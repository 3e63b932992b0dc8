# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools of every form against loops: loss, and gradients by central differences.

Usage: windows.py FOLDER. Each case is a graph of windows over one input whose loss is the mean of its squares; in f64 on
the reference and in f32 on the host, in micro-batches of 2 of 3 samples.
"""
import array
import argparse
import itertools
import json
import math
import pathlib
import random
import struct
import sys

from program import MODELS, run
import tensors

sys.path.insert(0, str(MODELS))
import onnx_graph

SAMPLES = 3
STEP = 1e-4
# What central differences of squares leave, and f32.
TOLERANCE = {"f64": 1e-7, "f32": 2e-5}


def conv(kernel, outputs, group=1, **attributes):
    return "Conv", {"kernel": kernel, "outputs": outputs, "group": group, **attributes}


def pool(kind, kernel, **attributes):
    return kind, {"kernel": kernel, **attributes}


CASES = {
    "groups": ([4, 7, 6], [conv([3, 2], 6, 2, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 2, 1])]),
    "depthwise": ([3, 5, 5], [conv([3, 3], 3, 3, pads=[1, 1, 1, 1])]),
    "patches": ([2, 4, 6], [conv([2, 3], 5, strides=[2, 3])]),
    "points": ([3, 3, 4], [conv([1, 1], 4, strides=[2, 2])]),
    "line": ([2, 9], [conv([3], 3, auto_pad="SAME_UPPER", strides=[2]), pool("MaxPool", [2], ceil_mode=1, strides=[2])]),
    "same_lower": ([1, 6, 5], [conv([2, 4], 2, auto_pad="SAME_LOWER")]),
    "volume": ([1, 3, 4, 3], [conv([2, 2, 2], 2, pads=[0, 1, 0, 0, 0, 1])]),
    "max": ([2, 6, 6], [conv([2, 2], 3), pool("MaxPool", [3, 3], strides=[2, 2], pads=[1, 1, 1, 1])]),
    "max_dilated": ([1, 7, 6], [conv([2, 2], 2), pool("MaxPool", [2, 3], dilations=[2, 1])]),
    "average": ([2, 5, 6], [conv([2, 2], 3), pool("AveragePool", [2, 3], pads=[1, 0, 0, 2], strides=[1, 2])]),
    "average_padding": ([1, 5, 5], [conv([2, 2], 2), pool("AveragePool", [3, 3], pads=[1, 1, 1, 1], count_include_pad=1)]),
    "average_ceil": ([1, 6, 6], [conv([2, 2], 2), pool("AveragePool", [2, 2], ceil_mode=1, strides=[2, 2])]),
    # The last window begins in front of the padding, at its element or at the input's last, in one, two and three dimensions.
    "ceil_line": ([2, 5], [conv([1], 2), pool("AveragePool", [3], ceil_mode=1, strides=[2], pads=[1, 1])]),
    "ceil_onto_padding": ([1, 2, 2], [conv([1, 1], 2), pool("AveragePool", [3, 3], ceil_mode=1, strides=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)]),
    "ceil_uncounted": ([1, 5, 4], [conv([1, 1], 2), pool("AveragePool", [3, 2], ceil_mode=1, strides=[3, 3], pads=[1, 0, 1, 1])]),
    "ceil_volume": ([1, 3, 4, 2], [conv([1, 1, 1], 2), pool("AveragePool", [2, 3, 2], ceil_mode=1, strides=[2, 2, 3], pads=[1, 1, 0, 0, 1, 1], count_include_pad=1)]),
    "ceil_maxima": ([1, 5, 4], [conv([1, 1], 2), pool("MaxPool", [3, 2], ceil_mode=1, strides=[2, 3], pads=[1, 0, 1, 1])]),
    # Windows at -1, 2 and 5 of six and a padding of one: the last covers one element and one place that counts.
    "average_ceil_padding": ([1, 7], [conv([2], 2), pool("AveragePool", [3], ceil_mode=1, strides=[3], pads=[1, 1], count_include_pad=1)]),
}


BEYOND = -1  # where only ceil_mode lets a window reach


class Windows:
    """Geometry of one node: which input places each output place reads, None in the padding, BEYOND behind it."""

    def __init__(self, extents, attributes):
        kernel, rank = attributes["kernel"], len(extents)
        strides = attributes.get("strides", [1] * rank)
        dilations = attributes.get("dilations", [1] * rank)
        pads = attributes.get("pads", [0] * 2 * rank)
        self.counts, axes = [], []
        for d, extent in enumerate(extents):
            reach, low, high = (kernel[d] - 1) * dilations[d] + 1, pads[d], pads[rank + d]
            automatic = attributes.get("auto_pad", "NOTSET")
            if automatic != "NOTSET":
                total = max(0, (math.ceil(extent / strides[d]) - 1) * strides[d] + reach - extent)
                low = total // 2 if automatic == "SAME_UPPER" else total - total // 2
                high = total - low
            room = (extent + low + high - reach) / strides[d]
            count = (math.ceil(room) if attributes.get("ceil_mode") else math.floor(room)) + 1
            if (count - 1) * strides[d] >= extent + low:
                count -= 1
            self.counts.append(count)
            axes.append([[at if 0 <= at < extent else None if at < extent + high else BEYOND
                          for at in (o * strides[d] - low + k * dilations[d] for k in range(kernel[d]))]
                         for o in range(count)])
        self.reads = []
        for place in itertools.product(*map(range, self.counts)):
            taps = itertools.product(*(axes[d][o] for d, o in enumerate(place)))
            self.reads.append([BEYOND if BEYOND in tap else None if None in tap else self.flat(tap, extents) for tap in taps])

    @staticmethod
    def flat(place, extents):
        at = 0
        for i, extent in zip(place, extents):
            at = at * extent + i
        return at


def convolve(channels, windows, attributes, weight, bias):
    """channels: lists of flat spatial values."""
    group, outputs = attributes["group"], attributes["outputs"]
    inputs, taps = len(channels) // group, math.prod(attributes["kernel"])
    result = []
    for o in range(outputs):
        first = o // (outputs // group) * inputs
        filters = [weight[(o * inputs + c) * taps:(o * inputs + c + 1) * taps] for c in range(inputs)]
        result.append([bias[o] + sum(w * channels[first + c][at] for c in range(inputs)
                                     for w, at in zip(filters[c], reads) if at not in (None, BEYOND))
                       for reads in windows.reads])
    return result


def pooled(kind, channels, windows, attributes):
    def one(values, reads):
        inside = [values[at] for at in reads if at not in (None, BEYOND)]
        if kind == "MaxPool":
            return max(inside)
        return sum(inside) / (len(reads) - reads.count(BEYOND) if attributes.get("count_include_pad") else len(inside))
    return [[one(values, reads) for reads in windows.reads] for values in channels]


def loss_of(case, x, parameters):
    shape, nodes = case
    total = count = 0
    for sample in x:
        extents, channels, size = shape[1:], [], math.prod(shape[1:])
        channels = [sample[c * size:(c + 1) * size] for c in range(shape[0])]
        for i, (kind, attributes) in enumerate(nodes):
            windows = Windows(extents, attributes)
            if kind == "Conv":
                channels = convolve(channels, windows, attributes, parameters[f"conv{i}.weight"], parameters[f"conv{i}.bias"])
            else:
                channels = pooled(kind, channels, windows, attributes)
            extents = windows.counts
        total += sum(value * value for values in channels for value in values)
        count += sum(map(len, channels))
    return total / count


def write_model(case, path):
    """Returns the parameters' sizes, in the order of the data file."""
    shape, nodes = case
    graph, sizes, channels = onnx_graph.Graph(path.name + ".data"), {}, shape[0]
    value, extents = graph.input("x", onnx_graph.FLOAT, ["batch", *shape]), shape[1:]
    for i, (kind, attributes) in enumerate(nodes):
        inputs, given = [value], {k: v for k, v in attributes.items() if k not in ("kernel", "outputs", "group")}
        given["kernel_shape"] = attributes["kernel"]
        if kind == "Conv":
            filters = [attributes["outputs"], channels // attributes["group"], *attributes["kernel"]]
            for name, extent in ((f"conv{i}.weight", filters), (f"conv{i}.bias", filters[:1])):
                inputs.append(graph.parameter(name, extent))
                sizes[name] = math.prod(extent)
            given["group"], channels = attributes["group"], attributes["outputs"]
        value, extents = graph.node(kind, inputs, **given), Windows(extents, attributes).counts
    loss = graph.node("ReduceMean", [graph.node("Mul", [value, value])], keepdims=0)
    graph.output(loss, "loss", onnx_graph.FLOAT, [])
    path.write_bytes(graph.model("windows", 17))
    return sizes


def f32(values):
    return list(array.array("f", values))


def differences(case, x, parameters, loss_of):
    gradients = {name: [] for name in parameters}
    for name, values in parameters.items():
        for i, at in enumerate(values):
            sides = []
            for moved in (at + STEP, at - STEP):
                values[i] = moved
                sides.append(loss_of(case, x, parameters))
            values[i] = at
            gradients[name].append((sides[0] - sides[1]) / (2 * STEP))
    return gradients


def close(what, actual, expected, tolerance):
    far, most = max(abs(a - e) for a, e in zip(actual, expected, strict=True)), max(map(abs, expected))
    if not far <= tolerance * most:
        raise SystemExit(f"{what}: off by {far:.3g} of {most:.3g}")


def check(name, case, folder, shape, write_model, loss_of, tolerance=TOLERANCE):
    """`shape` of a sample; the graph's file, and the loss by loops."""
    draw = random.Random(name)
    path, size = folder / f"{name}.onnx", math.prod(shape)
    sizes = write_model(case, path)
    parameters = {name: f32(draw.uniform(-1, 1) for _ in range(size)) for name, size in sizes.items()}
    path.with_name(path.name + ".data").write_bytes(b"".join(struct.pack(f"<{len(v)}f", *v) for v in parameters.values()))
    x = [f32(draw.uniform(-1, 1) for _ in range(size)) for _ in range(SAMPLES)]
    data = folder / f"{name}.safetensors"
    tensors.write(data, {"x": ("F32", [SAMPLES, *shape], b"".join(struct.pack(f"<{size}f", *row) for row in x))})
    loss, gradients = loss_of(case, x, parameters), differences(case, x, parameters, loss_of)
    for precision, target in (("f64", ["--target", "reference", "--precision", "f64"]), ("f32", [])):
        artifact, found, log = folder / f"{name}.accum", folder / "gradients.safetensors", folder / "log.jsonl"
        run("accumc", path, "--batch", SAMPLES, "--micro-batch", 2, "--optimizer", "sgd", "-o", artifact, *target)
        run("accum-run", artifact, "--data", data, "--steps", 1, "--no-shuffle", "--lr", 0.1, "--progress", "none",
            "--log", log, "--save", folder / "weights.safetensors", "--dump-gradients", found)
        close(f"{name} {precision} loss", [json.loads(log.read_text())["loss"]], [loss], tolerance[precision])
        for parameter, (dtype, _, values) in tensors.read(found).items():
            kind = "d" if dtype == "F64" else "f"
            close(f"{name} {precision} {parameter}", array.array(kind, bytes(values)), gradients[parameter],
                  tolerance[precision])
    return len(gradients)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    cases = [options.only] if options.only else list(CASES)
    counts = (check(name, CASES[name], options.folder, CASES[name][0], write_model, loss_of) for name in cases)
    print(sum(counts), "gradients of", len(cases), "graphs agree")


if __name__ == "__main__":
    main()
