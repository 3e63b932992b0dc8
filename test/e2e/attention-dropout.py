# SPDX-License-Identifier: Apache-2.0
"""`FOLDER`: the dropout of fused attention as PyTorch's exporters write it, switched off or not at all. Oracle: the bits of the gradients
of a file whose Dropout says training_mode."""
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import wire
from onnx_graph import BOOL, FLOAT, Graph, tensor

SIZE, WIDTH, BATCH, RATIO = 6, 4, 3, 0.25
TOLD = f"notice: dropout {RATIO} on attention probabilities: the exporter left that of scaled_dot_product_attention out or switched it off"


def node(kind, inputs, output, name, call=None, **attributes):
    body = [*(wire.message(1, i) for i in inputs), wire.message(2, output), wire.message(3, name), wire.message(4, kind)]
    if call:
        text = f"%attention : [num_users=1] = call_function[target=torch.ops.aten.scaled_dot_product_attention.default](args = ({call}), kwargs = {{}})"
        body.append(wire.message(9, wire.message(1, "pkg.torch.onnx.fx_node") + wire.message(2, text)))
    return wire.message(1, b"".join(body))


def make(path, dropout, call=None, producer="pytorch", product="product", mask=False):
    """`dropout`: the inputs of the node behind the probabilities, None for no node. `mask`: a guard against rows that see nothing."""
    graph = Graph(path.name + ".data")
    x = graph.input("x", FLOAT, ["batch", SIZE, WIDTH])
    keys = graph.node("MatMul", [x, graph.parameter("k.weight", [WIDTH, WIDTH])])
    values = graph.node("MatMul", [x, graph.parameter("v.weight", [WIDTH, WIDTH])])
    scores = graph.node("MatMul", [x, graph.node("Transpose", [keys], perm=[0, 2, 1])])
    ratio, zero = graph.constant(RATIO, FLOAT), graph.constant(0.0, FLOAT)
    mode = graph.node("Constant", [], value=tensor("", BOOL, [], wire.message(9, b"\x01")))
    known = {"ratio": ratio, "mode": mode}
    graph.parts.append(node("Softmax", [scores], "probabilities", "softmax", call))
    weights = "probabilities"
    if mask:
        graph.parts.append(node("IsNaN", ["probabilities"], "isnan", "isnan", call))
        graph.parts.append(node("Where", ["isnan", zero, "probabilities"], "guarded", "where", call))
        weights = "guarded"
    if dropout is not None:
        graph.parts.append(node("Dropout", [weights, *(known[i] for i in dropout)], "dropped", "product/dropout", call))
        weights = "dropped"
    graph.parts.append(node("MatMul", [weights, values], "seen", product, call))
    graph.output(graph.node("ReduceMean", [graph.node("Mul", ["seen", "seen"])], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(graph.model("attention-dropout", 17) + wire.message(2, producer))
    numbers = [0.3 * ((5 * i) % 7) - 0.8 for i in range(2 * WIDTH * WIDTH)]
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(numbers)}f", *numbers))


CALL, CALL_WITHOUT = f"%x, %p_k_weight, %p_v_weight, None, {RATIO}", "%x, %p_k_weight, %p_v_weight, None, 0.0"
# What the file holds, and whether it must train as the one that says training_mode, and what is told.
FILES = {
    "said": (dict(dropout=["ratio", "mode"]), True, ""),
    "switched-off": (dict(dropout=["ratio"], call=CALL), True, TOLD),
    "switched-off-without-call": (dict(dropout=["ratio"]), True, TOLD),
    "left-out": (dict(dropout=None, call=CALL), True, TOLD),
    "left-out-behind-mask": (dict(dropout=None, call=CALL, mask=True), True, TOLD),
    "none": (dict(dropout=None), False, "no dropout in this file"),
    "of-zero": (dict(dropout=None, call=CALL_WITHOUT), False, "no dropout in this file"),
    "of-others": (dict(dropout=["ratio"], producer="others"), False, "notice: `product/dropout`: without training_mode a Dropout does nothing"),
}


def main():
    folder, found = pathlib.Path(sys.argv[1]), {}
    flat = [((7 * i) % 13) / 4 - 1.5 for i in range(BATCH * SIZE * WIDTH)]
    data = folder / "data.safetensors"
    tensors.write(data, {"x": ("F32", [BATCH, SIZE, WIDTH], struct.pack(f"<{len(flat)}f", *flat))})
    for name, (form, drops, told) in FILES.items():
        make(folder / f"{name}.onnx", **form)
        artifact, gradients = folder / f"{name}.accum", folder / f"{name}.safetensors"
        result = run("accumc", folder / f"{name}.onnx", "--batch", BATCH, "--micro-batch", 2, "-o", artifact)
        said = result.stdout + result.stderr
        assert told in said, f"{name}: `{told}` is not in {said}"
        run("accum-run", artifact, "--data", data, "--steps", 1, "--dump-gradients", gradients, "--save", folder / "p.safetensors")
        found[name] = tensors.read(gradients)
        assert (found[name] == found["said"]) == drops, f"{name}: {found[name]}, with dropout {found['said']}"
    assert found["none"] == found["of-zero"] == found["of-others"], "a file without dropout trains otherwise"
    print("dropout is as it was in the model")


if __name__ == "__main__":
    main()
