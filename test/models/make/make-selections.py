# SPDX-License-Identifier: Apache-2.0
"""Makes the models whose loss selects rows by a mask, with reference values; `--only NAME...` as in make.py."""
import argparse
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import torch

import export
import make
import names
import reference
import selections

MODELS = pathlib.Path(__file__).resolve().parents[1]


def write(kind, exporter):
    path = MODELS / f"{kind}-{exporter}.onnx"
    print(path.stem)
    opset = 20 if exporter == "dynamo" else 17
    model, arrays = selections.build(kind), selections.arrays(kind)
    export.export(model, arrays, path, export.Recipe(exporter, opset, brief=True))
    values = reference.reference(model, reference.in_graph, arrays)
    reference.linked(path, f"{kind}.output", "reference", values)
    reference.linked(path, f"{kind}.output", "data", arrays)
    loss, expected = float(make.runtime_outputs(path, arrays)["loss"]), float(values["loss"])
    print(f"  forward by onnxruntime: loss {loss:.7f}, reference {expected:.7f}")
    assert abs(loss - expected) < 1e-5 * abs(expected), path.stem
    facts = {"family": kind, "exporter": exporter, "opset": opset, "mode": "evaluation", "torch": torch.__version__.split("+")[0],
             "samples": selections.SAMPLES, "loss": "output", "inputs": names.signature(path),
             "parameters": names.parameter_map(path, model), "zero_gradient": make.without_gradient(values)}
    path.with_suffix(".json").write_text(make.written(facts))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    chosen = parser.parse_args().only
    for kind in selections.BUILD:
        for exporter in ("dynamo", "torchscript"):
            if not chosen or f"{kind}-{exporter}" in chosen:
                write(kind, exporter)


if __name__ == "__main__":
    main()
