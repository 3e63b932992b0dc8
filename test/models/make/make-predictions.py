#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ../predictions.safetensors: outputs of models as ONNX Runtime computes them from the file, for the file's samples.

Needs onnxruntime and safetensors.
"""
import pathlib

import onnxruntime
from safetensors.numpy import load_file, save_file

MODELS = pathlib.Path(__file__).resolve().parent.parent
# One export of each: the others have the same weights. Of `-train` files the twin in evaluation mode.
NAMES = {"gpt2": "gpt2-dynamo", "bert-classification": "bert-classification-dynamo", "llama": "llama-dynamo",
         "mixtral": "mixtral-dynamo"}

found = {}
for family, name in NAMES.items():
    session = onnxruntime.InferenceSession(MODELS / f"{name}.onnx", providers=["CPUExecutionProvider"])
    data = load_file(MODELS / f"{name}.data.safetensors")
    feeds = {each.name: data[each.name] for each in session.get_inputs()}
    found[f"{family}/logits"] = session.run(["logits"], feeds)[0]
save_file(found, MODELS / "predictions.safetensors")
