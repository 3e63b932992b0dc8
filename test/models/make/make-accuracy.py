#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make-accuracy.py > ../accuracy.json: for each model, how many targets of its seven samples have their label as the largest logit, and
how many there are. Logits are those of onnx's reference evaluator, of the export without a loss; the counting is NumPy's."""
import json
import pathlib

import numpy
import onnx
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import load_file

MODELS = pathlib.Path(__file__).resolve().parent.parent
NAMES = ["gpt2-dynamo-logits", "bert-classification-dynamo-logits", "bert-mlm-dynamo-logits", "gpt2-torchscript-logits"]


def count(name):
    about = json.loads((MODELS / f"{name}.json").read_text())
    data = load_file(MODELS / f"{name}.data.safetensors")
    model = ReferenceEvaluator(onnx.load(MODELS / f"{name}.onnx"))
    inputs = {each: data[each] for each in model.input_names}
    logits = model.run(["logits"] if "logits" in model.output_names else None, inputs)[0]
    labels = data["labels"] if about["loss"] == "cross-entropy" else data["input_ids"]
    if about["loss"] == "next-token":
        logits, labels = logits[:, :-1], labels[:, 1:]
    counted = labels != -100
    return [int(((logits.argmax(-1) == labels) & counted).sum()), int(counted.sum())]


if __name__ == "__main__":
    numpy.seterr(over="ignore")
    print(json.dumps({name: count(name) for name in NAMES}, indent=1))
