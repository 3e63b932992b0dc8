# SPDX-License-Identifier: Apache-2.0
"""Makes the test models: `make.py [--only NAME...]`, in an environment of requirements-current.txt or -torch26.txt."""
import argparse
import json
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import onnxruntime
import torch
from safetensors.torch import load_file, save_file

import catalogue
import export
import families
import names
import reference
import samples

MODELS = pathlib.Path(__file__).resolve().parents[1]


def convention(entry):
    if entry.family not in families.CAUSAL:
        return "cross-entropy"
    return "causal-lm" if entry.loss else "next-token"


def loss_of(entry):
    """A decoder's input is made from the labels, in the model."""
    return reference.in_graph if entry.family == "t5" else reference.loss_of(convention(entry))


def runtime_outputs(path, arrays):
    """All outputs of ONNX Runtime on all samples: a batch that was not traced."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = {i.name: arrays[i.name].numpy() for i in session.get_inputs()}
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


def check_forward(entry, path, arrays, expected):
    outputs = runtime_outputs(path, arrays)
    logits = torch.from_numpy(outputs["logits"]).double()
    if entry.loss:
        loss = float(outputs["loss"])
    elif convention(entry) == "next-token":
        loss = float(reference.cross_entropy(logits[:, :-1], arrays["input_ids"][:, 1:]))
    else:
        loss = float(reference.cross_entropy(logits, arrays["labels"]))
    error = abs(loss - expected) / abs(expected)
    print(f"  forward by onnxruntime: loss {loss:.7f}, reference {expected:.7f}, relative error {error:.1e}")
    assert error < 1e-5, entry.name


def inputs_of(entry):
    """The arrays that a user has to bring: labels where the graph or the loss convention takes them."""
    arrays = samples.arrays(entry.family, entry.mask)
    return {k: v for k, v in arrays.items() if k != "labels" or convention(entry) != "next-token"}


def description(entry, path, model):
    import transformers
    held = names.parameter_map(path, model) if entry.reference else {}
    return {
        "family": entry.family, "exporter": entry.exporter, "opset": entry.opset, "attention": entry.attention,
        "mode": "training" if entry.train else "evaluation", "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__, "loss": "output" if entry.loss else convention(entry),
        **({"verdict": "reject", "why": "the traced batch is baked in", "nodes": []} if entry.static else {}),
        "inputs": names.signature(path), "samples": samples.SAMPLES, "parameters": held,
        "ties": [[c["onnx"] for c in copies] for copies in held.values() if len(copies) > 1],
        "missing": [name for name, copies in held.items() if not copies],
    }


def without_gradient(values):
    """Parts [from, to, from, to, ...] of biases whose gradient is zero in exact arithmetic: softmax does not see a
    key's bias."""
    result = {}
    for name, gradient in values.items():
        if not name.startswith("grad/") or gradient.dim() != 1:
            continue
        zero = [False, *(gradient.abs() < 1e-12).tolist(), False]
        bounds = [i for i in range(len(zero) - 1) if zero[i] != zero[i + 1]]
        if bounds:
            result[name.removeprefix("grad/")] = bounds
    return result


def written(values):
    """JSON with one entry a line, one parameter a line."""
    parameters = ",\n".join(f'  "{name}": {json.dumps(held)}' for name, held in values.pop("parameters").items())
    lines = [f' "{name}": {json.dumps(value)}' for name, value in values.items()]
    return "{\n" + ",\n".join(lines) + ',\n "parameters": {\n' + parameters + "\n }\n}\n"


def linked(entry, kind, compute):
    """Data and reference values depend on family and loss only: made once, by the current stack; a link per export."""
    unmasked = "" if entry.mask else "-nomask"
    shared = MODELS / f"{entry.family}{unmasked}.{convention(entry)}.{kind}.safetensors"
    if entry.stack == "current":
        save_file(compute(), shared)
        shared.chmod(0o644)
    link = MODELS / f"{entry.name}.{kind}.safetensors"
    link.unlink(missing_ok=True)
    link.symlink_to(shared.name)
    return load_file(link)


def recipe(entry):
    symbolic = () if entry.static else ("batch", "sequence") if entry.sequence else ("batch",)
    return export.Recipe(entry.exporter, entry.opset, ("loss", "logits") if entry.loss else ("logits",), symbolic,
                         entry.train, entry.optimize, entry.external, brief=entry.sequence or not entry.optimize)


def make(entry):
    print(entry.name)
    path = MODELS / f"{entry.name}.onnx"
    model = families.build(entry.family, entry.attention, entry.train)
    traced = {k: v for k, v in samples.arrays(entry.family, entry.mask).items() if k != "labels" or entry.loss}
    export.export(model, traced, path, recipe(entry))
    facts = description(entry, path, model)
    if not entry.static:
        arrays = linked(entry, "data", lambda: inputs_of(entry))
    if entry.reference and not entry.train and not entry.static:
        values = linked(entry, "reference", lambda: reference.reference(
            families.build(entry.family), loss_of(entry), arrays))
        assert {f"grad/{name}" for name, _ in model.named_parameters()} == {n for n in values if n.startswith("grad/")}
        check_forward(entry, path, arrays, float(values["loss"]))
        facts["zero_gradient"] = without_gradient(values)
    path.with_suffix(".json").write_text(written(facts))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    chosen = parser.parse_args().only
    stack = "torch26" if torch.__version__.startswith("2.6") else "current"
    table = catalogue.entries()
    for name in chosen or [n for n, e in table.items() if e.stack == stack]:
        make(table[name])


if __name__ == "__main__":
    main()
