#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes t5.onnx, a small T5 in training mode whose inputs and targets have lengths of their own, and its samples (torch,
transformers): make-lengths.py [FOLDER]."""
import pathlib
import sys

import numpy
import safetensors.numpy
import torch
import transformers

SAMPLES, INPUTS, TARGETS, VOCABULARY, IGNORED = 22, 20, 14, 50, -100


class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = transformers.T5ForConditionalGeneration(transformers.T5Config(
            vocab_size=VOCABULARY, d_model=16, d_kv=4, d_ff=24, num_layers=1, num_heads=2, dropout_rate=0.1,
            relative_attention_num_buckets=8, relative_attention_max_distance=12, decoder_start_token_id=0, use_cache=False))

    def forward(self, input_ids, attention_mask, labels):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, labels=labels, use_cache=False).loss


def samples(generator):
    rows = {"input_ids": numpy.zeros((SAMPLES, INPUTS), numpy.int64), "attention_mask": numpy.zeros((SAMPLES, INPUTS), numpy.int64),
            "labels": numpy.full((SAMPLES, TARGETS), IGNORED, numpy.int64)}
    for i in range(SAMPLES):
        source, target = generator.integers(1, INPUTS + 1), generator.integers(1, TARGETS + 1)
        rows["input_ids"][i, :source] = generator.integers(1, VOCABULARY, source)
        rows["attention_mask"][i, :source] = 1
        rows["labels"][i, :target] = generator.integers(1, VOCABULARY, target)
    return rows


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "lengths")
    rows = samples(numpy.random.default_rng(1))
    safetensors.numpy.save_file(rows, folder / "t5.data.safetensors")
    torch.manual_seed(0)
    axes = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "sequence"},
            "labels": {0: "batch", 1: "target"}}
    torch.onnx.export(Loss().train(), tuple(torch.tensor(rows[name][:3]) for name in axes), folder / "t5.onnx",
                      input_names=list(axes), output_names=["loss"], dynamic_axes=axes, dynamo=False, opset_version=17,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)


if __name__ == "__main__":
    main()
