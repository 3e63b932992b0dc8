# SPDX-License-Identifier: Apache-2.0
"""make-split.py FOLDER [NAME...]: losses that relate samples, for test/models/split.

Each NAME-EXPORTER.onnx is a tiny model whose output `loss` compares the samples of a batch; NAME.data.safetensors has 12
samples, NAME.reference.safetensors what PyTorch has in f64 on all of them at once: the loss, every gradient, and the
parameters after three steps of SGD (lr 0.1), under the framework's names. Needs torch 2.15 and safetensors."""
import copy
import logging
import pathlib
import sys
import warnings

import torch

import losses_split

SAMPLES, RATE, STEPS = 12, 0.1, 3


def save(path, tensors):
    from safetensors.torch import save_file
    save_file({name: value.detach().contiguous() for name, value in tensors.items()}, path)


def reference(module, inputs):
    module = module.double()
    inputs = [value.double() if value.is_floating_point() else value for value in inputs]
    values = {}
    for step in range(STEPS):
        module.zero_grad()
        loss = module(*inputs)
        loss.backward()
        if step == 0:
            values["loss"] = loss.detach()
            values.update({f"grad/{name}": p.grad.clone() for name, p in module.named_parameters() if p.grad is not None})
        with torch.no_grad():
            for p in module.parameters():
                if p.grad is not None:
                    p -= RATE * p.grad
    values.update({f"sgd/{name}": p for name, p in module.named_parameters() if p.grad is not None})
    return values


def export(module, inputs, names, path, dynamo):
    module.train()
    if dynamo:
        shapes = {name: {0: torch.export.Dim("batch")} for name in names}
        torch.onnx.export(module, tuple(inputs), path, input_names=names, output_names=["loss"], dynamo=True,
                          dynamic_shapes=tuple(shapes[name] for name in names), external_data=False, optimize=False)
    else:
        torch.onnx.export(module, tuple(inputs), path, input_names=names, output_names=["loss"], dynamo=False, opset_version=17,
                          dynamic_axes={name: {0: "batch"} for name in names}, training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False)


def make(folder, name, case):
    torch.manual_seed(0)
    module = case.module()
    generator = torch.Generator().manual_seed(1)
    inputs = {key: draw(generator, SAMPLES) for key, draw in case.inputs.items()}
    for dynamo in (True, False):
        kind = "dynamo" if dynamo else "torchscript"
        if kind in case.exporters:
            example = [value[:4] for value in inputs.values()]
            try:
                export(copy.deepcopy(module), example, list(inputs), folder / f"{name}-{kind}.onnx", dynamo)
            except Exception as error:
                print(name, kind, "FAILED", str(error)[:300])
    save(folder / f"{name}.data.safetensors", {key: value.double() if value.is_floating_point() else value for key, value in inputs.items()})
    save(folder / f"{name}.reference.safetensors", reference(case.module_again(module), list(inputs.values())))


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in losses_split.CASES.items():
        if not sys.argv[2:] or name in sys.argv[2:]:
            make(folder, name, case)
            print(name)


if __name__ == "__main__":
    main()
