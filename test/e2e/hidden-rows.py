# SPDX-License-Identifier: Apache-2.0
"""`FOLDER`: a mask kept as an initializer, with a row that hides everything. In f16 its lowest number is -65504, where f32 would lose the
scores and f16 loses them too; the file must train as the f32 file with f32's lowest does (oracle: the bits of that)."""
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import wire
from onnx_graph import FLOAT, Graph, tensor

SIZE, WIDTH, BATCH = 5, 4, 3
LOWEST = {"f32": struct.unpack("<f", b"\xff\xff\x7f\xff")[0], "f16": -65504.0}


def make(path, kind):
    graph = Graph(path.name + ".data")
    x = graph.input("x", FLOAT, ["batch", SIZE, WIDTH])
    # Row 0 hides all, the others what is behind them.
    mask = [LOWEST[kind] if row == 0 or column > row else 0.0 for row in range(SIZE) for column in range(SIZE)]
    raw = struct.pack(f"<{SIZE * SIZE}{'f' if kind == 'f32' else 'e'}", *mask)
    graph.parts.append(wire.message(5, tensor("mask", FLOAT if kind == "f32" else 10, [SIZE, SIZE], wire.message(9, raw))))
    keys = graph.node("MatMul", [x, graph.parameter("k.weight", [WIDTH, WIDTH])])
    scores = graph.node("MatMul", [x, graph.node("Transpose", [keys], perm=[0, 2, 1])])
    wide = "mask" if kind == "f32" else graph.node("Cast", ["mask"], to=FLOAT)
    seen = graph.node("MatMul", [graph.node("Softmax", [graph.node("Add", [scores, wide])], axis=-1), x])
    graph.output(graph.node("ReduceMean", [graph.node("Mul", [seen, seen])], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(graph.model("hidden-rows", 17))
    weights = [0.3 * ((5 * i) % 7) - 0.8 for i in range(WIDTH * WIDTH)]
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(weights)}f", *weights))


def main():
    folder, found = pathlib.Path(sys.argv[1]), {}
    flat = [((7 * i) % 13) / 4 - 1.5 for i in range(BATCH * SIZE * WIDTH)]
    data = folder / "data.safetensors"
    tensors.write(data, {"x": ("F32", [BATCH, SIZE, WIDTH], struct.pack(f"<{len(flat)}f", *flat))})
    for kind in LOWEST:
        make(folder / f"{kind}.onnx", kind)
        artifact, gradients, log = (folder / f"{kind}.{end}" for end in ("accum", "safetensors", "jsonl"))
        run("accumc", folder / f"{kind}.onnx", "--batch", BATCH, "--micro-batch", 2, "-o", artifact)
        run("accum-run", artifact, "--data", data, "--steps", 1, "--log", log, "--dump-gradients", gradients, "--save", folder / "p.safetensors")
        found[kind] = tensors.read(gradients)
    assert found["f16"] == found["f32"], f"gradients differ: {found['f16']}, expected {found['f32']}"


if __name__ == "__main__":
    main()
