#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make-split-lengths.py FOLDER [NAME...]: losses that relate texts of several lengths, for test/models/split (torch, safetensors).

As make-split.py's: NAME-EXPORTER.onnx has dimensions of its own for the positions, NAME.data.safetensors 12 samples of 1 to 16
positions, padded to the longest, NAME.reference.safetensors PyTorch's values in f64 of the padded batch at once (none where
dropout draws, and where the loss is refused)."""
import importlib.util
import pathlib
import sys

import torch

import losses_split_lengths as losses

SAMPLES, NO_REFERENCE = 12, ("pairs-dropout", "late")
spec = importlib.util.spec_from_file_location("make_split", pathlib.Path(__file__).with_name("make-split.py"))
make_split = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_split)


def samples(axes, generator):
    rows, lengths = {}, {}
    for name, axis in axes.items():
        if axis and axis not in lengths:
            lengths[axis] = torch.randint(1, losses.LONGEST + 1, (SAMPLES,), generator=generator)
            lengths[axis][0] = losses.LONGEST
        if name == "image":
            rows[name] = torch.randn(SAMPLES, 7, generator=generator)
        elif name == "labels":
            rows[name] = torch.randint(3, (SAMPLES,), generator=generator)
        else:
            mask = (torch.arange(losses.LONGEST)[None, :] < lengths[axis][:, None]).long()
            rows[name] = mask if name.endswith("mask") else mask * torch.randint(1, losses.WORDS, mask.shape, generator=generator)
    return rows


def make(folder, name):
    module_of, axes = losses.CASES[name]
    torch.manual_seed(0)
    module = module_of().train()
    rows = samples(axes, torch.Generator().manual_seed(1))
    dims = {key: {0: "batch", **({1: axis} if axis else {})} for key, axis in axes.items()}
    example = tuple(value[:4] for value in rows.values())
    if name in NO_REFERENCE:
        torch.onnx.export(module, example, folder / f"{name}-torchscript.onnx", input_names=list(rows), output_names=["loss"], dynamo=False,
                          opset_version=17, dynamic_axes=dims, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    else:
        torch.onnx.export(module, example, folder / f"{name}-dynamo.onnx", input_names=list(rows), output_names=["loss"], dynamo=True,
                          dynamic_shapes=tuple(dims.values()), external_data=False, optimize=False)
    make_split.save(folder / f"{name}.data.safetensors", {key: value.double() if value.is_floating_point() else value for key, value in rows.items()})
    if name not in NO_REFERENCE:
        make_split.save(folder / f"{name}.reference.safetensors", make_split.reference(module, list(rows.values())))


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in losses.CASES:
        if not sys.argv[2:] or name in sys.argv[2:]:
            make(folder, name)
            print(name)


if __name__ == "__main__":
    main()
