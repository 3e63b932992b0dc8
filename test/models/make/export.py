# SPDX-License-Identifier: Apache-2.0
"""One model to one ONNX file: TorchScript or dynamo, symbolic batch, weights inside, no local paths."""
import copy
import dataclasses
import inspect
import re
import warnings

import onnx
import torch

TRACED = 3  # samples while tracing: neither 1 nor 2, which exporters specialise on, nor any other extent


@dataclasses.dataclass(frozen=True)
class Recipe:
    exporter: str
    opset: int
    outputs: tuple = ("loss", "logits")
    symbolic: tuple = ("batch",)   # names of the leading dimensions that stay open
    train: bool = False
    fold: bool = True              # constants, and batch norm into convolutions
    external: bool = False         # weights in a second file
    brief: bool = False            # without stack traces


def export(model, arrays, path, recipe):
    traced = {name: array[:TRACED] for name, array in arrays.items()}
    warnings.simplefilter("ignore")
    (dynamo if recipe.exporter == "dynamo" else torchscript)(model, traced, path, recipe)
    finish(path, recipe.brief)


def open_dimensions(tensor, recipe):
    return dict(enumerate(recipe.symbolic[:tensor.dim()]))


def dynamo(model, traced, path, recipe):
    shapes = {name: open_dimensions(tensor, recipe) for name, tensor in traced.items()}
    program = torch.onnx.export(model, args=(), kwargs=traced, dynamo=True, opset_version=recipe.opset,
                                dynamic_shapes=shapes if recipe.symbolic else None, optimize=recipe.fold,
                                output_names=list(recipe.outputs), verbose=False)
    program.save(path, external_data=recipe.external)


def positional(model, names):
    """TorchScript traces positions, not names. A subclass, not a wrapper: parameters keep their names."""
    kind = type(model)
    as_tuple = {"return_dict": False} if {"return_dict", "kwargs"} & set(inspect.signature(kind.forward).parameters) else {}

    def forward(self, *tensors):
        return kind.forward(self, **dict(zip(names, tensors)), **as_tuple)

    model = copy.copy(model)
    model.__class__ = type(kind.__name__, (kind,), {"forward": forward})
    return model


def torchscript(model, traced, path, recipe):
    """With nothing folded, batch norm stays a node of its own in evaluation mode too."""
    mode = torch.onnx.TrainingMode.TRAINING if recipe.train else torch.onnx.TrainingMode.EVAL
    mode = mode if recipe.train or recipe.fold else torch.onnx.TrainingMode.PRESERVE
    axes = {name: open_dimensions(tensor, recipe) for name, tensor in traced.items()}
    axes["logits"] = dict(enumerate(recipe.symbolic))
    if not recipe.symbolic:
        axes = None
    torch.onnx.export(positional(model, list(traced)), args=tuple(traced.values()), f=path, dynamo=False,
                      opset_version=recipe.opset, input_names=list(traced), output_names=list(recipe.outputs),
                      dynamic_axes=axes, training=mode, do_constant_folding=recipe.fold and not recipe.train)


def finish(path, brief):
    """Source lines stay in the metadata; the folders of the machine that made the file do not."""
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        node.doc_string = local_paths_removed(node.doc_string)
        kept = [e for e in node.metadata_props if not (brief and e.key.endswith("stack_trace"))]
        for entry in kept:
            entry.value = local_paths_removed(entry.value)
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, path)
    onnx.checker.check_model(path)


def local_paths_removed(text):
    text = re.sub(r'"[^"]*/site-packages/', '"/usr/lib/python3/site-packages/', text)
    text = re.sub(r'"/[^"]*/test/models/make/', '"', text)
    return re.sub(r'(?m)^/[^\s"]*/site-packages/', '/usr/lib/python3/site-packages/', text)
