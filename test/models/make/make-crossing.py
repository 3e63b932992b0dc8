# SPDX-License-Identifier: Apache-2.0
"""Makes the models whose batch cannot be cut, with the values of all samples at once, and their accepted twin; `--only
NAME...` as in make.py."""
import argparse
import dataclasses
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import onnx
import torch

import crossing
import export
import make
import names
import reference

MODELS = pathlib.Path(__file__).resolve().parents[1]
STATISTICS = "mean and variance are taken over all samples"
LOST = "exported in training mode, but the graph computes the evaluation loss; only BUFFER_MUTATION of running_mean says so"
PAIRS = "entry (i, j) pairs text i with image j"
BALANCE = "a product of two sums over the batch: expert counts and router probabilities"
SOFTMAX = "softmax over axis 0, the batch"


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    kind: str
    exporter: str
    train: bool = False
    why: str = ""              # empty: accepted
    wrong: bool = False        # the export computes something else than the model, on any other batch than the traced one
    nodes: tuple = ()          # where the check should point, by name; `op:X`: every node of that kind

    @property
    def opset(self):
        return 20 if self.exporter == "dynamo" else 17


TABLE = [
    Entry("resnet-torchscript-train", "resnet", "torchscript", True, STATISTICS, nodes=("op:BatchNormalization",)),
    Entry("resnet-dynamo-train", "resnet", "dynamo", True, LOST, wrong=True),
    Entry("resnet-torchscript-frozen", "resnet", "torchscript"),
    Entry("clip-torchscript", "clip", "torchscript", False, PAIRS, True, nodes=("/MatMul",)),
    Entry("clip-dynamo", "clip", "dynamo", False, PAIRS, nodes=("node_matmul_4",)),
    Entry("mixtral-torchscript", "mixtral", "torchscript", False, BALANCE, nodes=("/Mul_2",)),
    Entry("mixtral-dynamo", "mixtral", "dynamo", False, BALANCE, nodes=("node_mul_193",)),
    Entry("batch-softmax-torchscript", "batch-softmax", "torchscript", False, SOFTMAX, nodes=("/Softmax",)),
    Entry("batch-softmax-dynamo", "batch-softmax", "dynamo", False, SOFTMAX, nodes=("node_softmax",)),
]


def pointed_at(entry, path):
    nodes = onnx.load(path).graph.node
    found = [n.name for n in nodes if n.name in entry.nodes or f"op:{n.op_type}" in entry.nodes]
    assert bool(found) == bool(entry.nodes), entry.name
    return found


def description(entry, path, model):
    verdict = {"verdict": "reject", "why": entry.why, "nodes": pointed_at(entry, path)} if entry.why else {
        "verdict": "accept"}
    verdict["samples"] = len(next(iter(crossing.arrays(entry.kind).values())))
    return {"family": entry.kind, "exporter": entry.exporter, "opset": entry.opset,
            "mode": "training" if entry.train else "evaluation", "torch": torch.__version__.split("+")[0], **verdict,
            "loss": "output", "inputs": names.signature(path), "parameters": names.parameter_map(path, model)}


def valued(entry, path, model, arrays):
    """Reference values of all samples at once."""
    values = reference.reference(model, reference.in_graph, arrays)
    shared = f"{entry.kind}.{'whole' if entry.why else 'frozen'}"
    reference.linked(path, shared, "reference", values)
    reference.linked(path, shared, "data", arrays)
    return values


def check_forward(entry, path, arrays, values):
    loss, expected = float(make.runtime_outputs(path, arrays)["loss"]), float(values["loss"])
    print(f"  forward by onnxruntime: loss {loss:.7f}, reference {expected:.7f}")
    assert abs(loss - expected) < 1e-5 * abs(expected), entry.name


def write(entry):
    print(entry.name)
    path = MODELS / f"{entry.name}.onnx"
    model = crossing.BUILD[entry.kind]().train(entry.train)
    arrays = crossing.arrays(entry.kind)
    export.export(model, arrays, path, export.Recipe(entry.exporter, entry.opset, train=entry.train, brief=True,
                                                     fold=bool(entry.why)))
    facts = description(entry, path, model)
    if not entry.wrong:
        values = valued(entry, path, model, arrays)
        check_forward(entry, path, arrays, values)
        facts["zero_gradient"] = make.without_gradient(values)
    path.with_suffix(".json").write_text(make.written(facts))


def routed(exporter):
    """The mixture of experts without its balance loss, on the logits of the same file: routing is within a token."""
    name = f"mixtral-{exporter}"
    path = MODELS / f"{name}-logits.onnx"
    path.unlink(missing_ok=True)
    path.symlink_to(f"{name}.onnx")
    model, arrays = crossing.mixtral(), crossing.arrays("mixtral")
    generator = torch.Generator().manual_seed(5)
    arrays["labels"][torch.rand(arrays["labels"].shape, generator=generator) < 0.2] = -100
    arrays["labels"][3] = -100
    values = reference.reference(model, logits_only, arrays)
    for kind, tensors in (("reference", values), ("data", arrays)):
        reference.linked(path, "mixtral.causal-lm", kind, tensors)
    facts = description(Entry(path.stem, "mixtral", exporter), path, model)
    path.with_suffix(".json").write_text(make.written({**facts, "loss": "causal-lm",
                                                       "zero_gradient": make.without_gradient(values)}))


def logits_only(model, arrays):
    with reference.everything_in_float64():
        logits = model(**arrays)[1]
        return reference.cross_entropy(logits[:, :-1], arrays["labels"][:, 1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    chosen = parser.parse_args().only
    for entry in TABLE:
        if not chosen or entry.name in chosen:
            write(entry)
    for exporter in ("dynamo", "torchscript"):
        if not chosen or f"mixtral-{exporter}-logits" in chosen:
            routed(exporter)


if __name__ == "__main__":
    main()
