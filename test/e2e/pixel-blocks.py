# SPDX-License-Identifier: Apache-2.0
"""`make FILE.onnx` writes DepthToSpace in both modes and SpaceToDepth, each times a weight of its own; `check GRADIENTS` compares the
weights' gradients with the elements that the definition of the operators names (oracle: the definition)."""
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

N, C, H, W, B = 3, 8, 2, 4, 2
X = [((i * 37) % 101 - 50) / 16 for i in range(N * C * H * W)]
NODES = {"dcr": ("DepthToSpace", {"mode": "DCR"}), "crd": ("DepthToSpace", {"mode": "CRD"}), "blocks": ("SpaceToDepth", {})}


def shape_of(name):
    return [C * B * B, H // B, W // B] if name == "blocks" else [C // (B * B), H * B, W * B]


def source(name, c, h, w):
    """The place in x of one sample that the result's element is read from."""
    if name == "blocks":
        block, c = divmod(c, C)
        return c, h * B + block // B, w * B + block % B
    i, j = h % B, w % B
    channel = (i * B + j) * (C // (B * B)) + c if name == "dcr" else c * B * B + i * B + j
    return channel, h // B, w // B


def make(path):
    graph = Graph(path.name + ".data")
    x, total, sizes = graph.input("x", FLOAT, ["batch", C, H, W]), None, 0
    for name, (operator, attributes) in NODES.items():
        moved = graph.node(operator, [x], blocksize=B, **attributes)
        mean = graph.node("ReduceMean", [graph.node("Mul", [moved, graph.parameter(name, shape_of(name))])], keepdims=0)
        total = mean if total is None else graph.node("Add", [total, mean])
        sizes += C * H * W
    graph.output(total, "loss", FLOAT, [])
    path.write_bytes(graph.model("pixel-blocks", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{sizes}f", *([1.0] * sizes)))
    tensors.write(path.with_suffix(".safetensors"), {"x": ("F32", [N, C, H, W], struct.pack(f"<{len(X)}f", *X))})


def check(gradients):
    found = tensors.read(gradients)
    for name in NODES:
        channels, height, width = shape_of(name)
        values = iter(struct.unpack(f"<{C * H * W}f", found[name][2]))
        for c in range(channels):
            for h in range(height):
                for w in range(width):
                    sc, sh, sw = source(name, c, h, w)
                    expected = sum(X[((n * C + sc) * H + sh) * W + sw] for n in range(N)) / (N * C * H * W)
                    got = next(values)
                    assert abs(got - expected) <= 1e-6, f"{name} {c} {h} {w}: {got}, expected {expected}"


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
