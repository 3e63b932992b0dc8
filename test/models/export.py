# SPDX-License-Identifier: Apache-2.0
"""One model to one ONNX file: TorchScript or dynamo, symbolic batch, weights inside, no local paths."""
import copy
import inspect
import re
import warnings

import onnx
import torch

TRACED = 3  # samples while tracing: neither 1 nor 2, which exporters specialise on, nor any other extent


def export(model, arrays, path, *, exporter, opset, outputs, train=False,
           external=False, constants_folded=None, brief=False):
    traced = {name: array[:TRACED] for name, array in arrays.items()}
    warnings.simplefilter("ignore")
    folded = not train if constants_folded is None else constants_folded
    if exporter == "dynamo":
        dynamo(model, traced, path, opset, outputs, external)
    else:
        torchscript(model, traced, path, opset, outputs, train, folded)
    finish(path, brief)


def dynamo(model, traced, path, opset, outputs, external):
    shapes = {name: {0: "batch"} for name in traced}
    program = torch.onnx.export(model, args=(), kwargs=traced, dynamo=True, opset_version=opset,
                                dynamic_shapes=shapes, output_names=outputs, verbose=False)
    program.save(path, external_data=external)


def positional(model, names):
    """TorchScript traces positions, not names. A subclass, not a wrapper: parameters keep their names."""
    kind = type(model)
    as_tuple = {"return_dict": False} if {"return_dict", "kwargs"} & set(inspect.signature(kind.forward).parameters) else {}

    def forward(self, *tensors):
        return kind.forward(self, **dict(zip(names, tensors)), **as_tuple)

    model = copy.copy(model)
    model.__class__ = type(kind.__name__, (kind,), {"forward": forward})
    return model


def torchscript(model, traced, path, opset, outputs, train, folded):
    """With nothing folded, batch norm stays a node of its own in evaluation mode too."""
    mode = torch.onnx.TrainingMode.TRAINING if train else torch.onnx.TrainingMode.EVAL
    mode = mode if train or folded else torch.onnx.TrainingMode.PRESERVE
    axes = {name: {0: "batch"} for name in traced}
    if "logits" in outputs:
        axes["logits"] = {0: "batch"}
    torch.onnx.export(positional(model, list(traced)), args=tuple(traced.values()), f=path, dynamo=False,
                      opset_version=opset,
                      input_names=list(traced), output_names=outputs, dynamic_axes=axes,
                      training=mode, do_constant_folding=folded)


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
    return re.sub(r'(?m)^/[^\s"]*/site-packages/', '/usr/lib/python3/site-packages/', text)
