# SPDX-License-Identifier: Apache-2.0
"""Makes own-symbols/: exports in which inputs have names of their own for the batch, or for the sequence."""
import os
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"

import onnx_ir
import torch

import export
import families
import make
import names
import samples

FOLDER = make.MODELS / "own-symbols"
CONVENTION = {"bert-mlm": "cross-entropy", "bert-classification": "cross-entropy", "llama": "causal-lm"}


def by_transformers(family, path):
    """`dynamic=True` opens every dimension, and names it by what the traced operations made equal."""
    from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter
    inputs = {name: array[:export.TRACED] for name, array in samples.arrays(family).items() if name != "labels"}
    exported = OnnxExporter().export(families.build(family, "sdpa"), inputs, OnnxConfig(dynamic=True))
    onnx_ir.save(exported.program, str(path))
    export.finish(path, brief=True)


def by_lists(family, path):
    """`dynamic_axes` as lists: TorchScript calls each dimension after its input."""
    model = families.build(family)
    inputs = {name: array[:export.TRACED] for name, array in samples.arrays(family).items() if name != "labels"}
    torch.onnx.export(export.positional(model, list(inputs)), args=tuple(inputs.values()), f=path, dynamo=False,
                      opset_version=17, input_names=list(inputs), output_names=["logits"],
                      dynamic_axes={name: [0, 1] for name in inputs})
    export.finish(path, brief=True)


def describe(name, family, exporter, path):
    model = families.build(family)
    facts = {"family": family, "exporter": exporter, "torch": torch.__version__.split("+")[0], "loss": CONVENTION[family],
             "inputs": names.signature(path), "samples": samples.SAMPLES, "parameters": names.parameter_map(path, model)}
    path.with_suffix(".json").write_text(make.written(facts))
    for kind in ("data", "reference"):
        link = FOLDER / f"{name}.{kind}.safetensors"
        link.unlink(missing_ok=True)
        link.symlink_to(f"../{family}.{CONVENTION[family]}.{kind}.safetensors")


def main():
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    for family in CONVENTION:
        path = FOLDER / f"{family}-transformers.onnx"
        by_transformers(family, path)
        describe(path.stem, family, "transformers", path)
    path = FOLDER / "bert-mlm-lists.onnx"
    by_lists("bert-mlm", path)
    describe(path.stem, "bert-mlm", "torchscript", path)


if __name__ == "__main__":
    main()
