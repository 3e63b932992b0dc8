# SPDX-License-Identifier: Apache-2.0
"""contradictions.py FOLDER: graphs whose nodes take what their operators do not, one after the other, and names that are no
text. Prints accumc's exit code and its first error for each."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from onnx_graph import FLOAT, INT64, Graph


def sum_of(graph, value):
    return graph.node("ReduceSum", [value], keepdims=0)


def graph_with(loss):
    """The loss is what `loss` makes of floats [N, 4, 5] that depend on a parameter, and of integers [N, 4]."""
    graph = Graph("none.data")
    x, ids = graph.input("x", FLOAT, ["batch", 4, 3]), graph.input("ids", INT64, ["batch", 4])
    scores = graph.node("MatMul", [x, graph.parameter("w", [3, 5])])
    graph.output(loss(graph, scores, ids), "loss", FLOAT, [])
    return graph


def added(updates):
    def loss(graph, scores, ids):
        tuples = graph.node("Unsqueeze", [ids, graph.constant([2])])
        table = graph.node("ScatterND", [graph.parameter("table", [7, 5]), tuples, updates(graph, scores, ids)], reduction="add")
        return graph.node("Add", [sum_of(graph, table), sum_of(graph, scores)])
    return loss


def written(updates):
    def loss(graph, scores, ids):
        places = graph.node("Unsqueeze", [ids, graph.constant([2])])
        return sum_of(graph, graph.node("ScatterElements", [scores, places, updates(graph, scores, ids)], axis=2))
    return loss


def classes_second(graph, scores):
    return graph.node("Transpose", [scores], perm=[0, 2, 1])


def integers(graph, scores, ids):
    return graph.node("Cast", [scores], to=INT64)


def entropy(kind, *, of=lambda graph, scores, ids: scores, labels=lambda graph, scores, ids: ids, weights=None):
    def loss(graph, scores, ids):
        inputs = [classes_second(graph, of(graph, scores, ids)), labels(graph, scores, ids)]
        return graph.node(kind, inputs + ([weights(graph)] if weights else []))
    return loss


def float_labels(graph, scores, ids):
    return graph.node("Cast", [ids], to=FLOAT)


def undeclared(name):
    return lambda graph, scores, ids: sum_of(graph, graph.node("Add", [scores, name]))


def of_integers(kind):
    return lambda graph, scores, ids: graph.node("Add", [sum_of(graph, scores), sum_of(graph, graph.node(
        "Cast", [graph.node(kind, [ids])], to=FLOAT))])


def integer_scale(graph, scores, ids):
    return sum_of(graph, graph.node("LayerNormalization", [scores, graph.constant([1, 2, 3, 4, 5])]))


def none_picked(graph, scores, ids):
    best = graph.node("TopK", [scores, graph.constant([0])], outputs=2)[0]
    return graph.node("Add", [sum_of(graph, scores), sum_of(graph, best)])


def zeros_of_another_shape(graph, scores, ids):
    return sum_of(graph, graph.node("Mul", [graph.node("ConstantOfShape", [graph.constant([1, 1, 2])]), scores]))


LOSSES = {
    **{f"{kind}-of-integers": of_integers(kind) for kind in ("Erf", "Floor", "IsInf", "Softmax", "Neg")},
    "integer-scale": integer_scale,
    "none-picked": none_picked,
    "zeros-of-another-shape": zeros_of_another_shape,
    "integers-added": added(integers),
    "few-added": added(lambda graph, scores, ids: graph.node("Slice", [scores, *(graph.constant([i]) for i in (0, 4, 2))])),
    "rows-added": added(lambda graph, scores, ids: scores),
    "integers-written": written(lambda graph, scores, ids: graph.node("Unsqueeze", [ids, graph.constant([2])])),
    "integer-scores": entropy("SoftmaxCrossEntropyLoss", of=integers),
    "float-labels": entropy("NegativeLogLikelihoodLoss", labels=float_labels),
    "two-weights": entropy("SoftmaxCrossEntropyLoss", weights=lambda graph: graph.parameter("weights", [2])),
    "integer-weights": entropy("NegativeLogLikelihoodLoss", weights=lambda graph: graph.constant([1, 2, 3, 4, 5])),
    "class-weights": entropy("NegativeLogLikelihoodLoss", weights=lambda graph: graph.constant([1.0, 2.0, 3.0, 4.0, 5.0], FLOAT)),
    "baked-in": lambda graph, scores, ids: sum_of(graph, graph.node("Expand", [graph.parameter("table", [3, 4, 5]), graph.node("Shape", [scores])])),
    "control-characters": undeclared("a\0b\nerror: c\x1b[31m"),
    "long-name": undeclared("long" * 5000),
}


def integer_logits():
    graph = Graph("none.data")
    graph.node("MatMul", [graph.input("x", FLOAT, ["batch", 4, 3]), graph.parameter("w", [3, 5])])
    graph.output(graph.input("ids", INT64, ["batch", 4]), "logits", FLOAT, ["batch", 4])
    return graph


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, graph in [(name, graph_with(loss)) for name, loss in LOSSES.items()] + [("integer-logits", integer_logits())]:
        path = folder / f"{name}.onnx"
        path.write_bytes(graph.model(name, 18))
        run = subprocess.run(["accumc", path, "--batch", "6", "--plan-only"], capture_output=True)
        errors = [line for line in run.stderr.split(b"\n") if line.startswith(b"error: ")]
        print(name, run.returncode, errors)
    path.write_bytes(graph_with(LOSSES["rows-added"]).model("gpt3", 18).replace(b"make-gpt3", b"a\x1b[1mb\0c!"))
    run = subprocess.run(["accumc", path, "--batch", "6", "--plan-only"], capture_output=True)
    print(run.stdout.split(b"\n")[0])


if __name__ == "__main__":
    main()
