# SPDX-License-Identifier: Apache-2.0
"""Exports the families of zoo.py as people wrap their models, and asks `accumc check` whether it takes the files.

make-idioms.py [--build BUILD] [--only KIND...] [--heads N] [--exporters DNT] [--folder FOLDER]: one line a case. Files
in FOLDER are not made again, only checked. The last line counts what is refused in one form and taken as it is.
"""
import argparse
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys
import types
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"

import onnxscript  # noqa: F401, in the parent once for all children
import torch
import transformers

import children
import export
import trial
import zoo

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Whole(torch.nn.Module):
    """A module around the model that returns the loss alone."""

    def __init__(self, model, names, more):
        super().__init__()
        self.model, self.names, self.more = model, names, more

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors)), **self.more).loss


def as_wrapper(model, names, more):
    return Whole(model, names, more)


def as_method(model, names, more):
    """A forward of the instance's own that calls the class's."""
    inner = type(model).forward

    def forward(self, *tensors):
        return inner(self, **dict(zip(names, tensors)), **more).loss

    model.forward = types.MethodType(forward, model)
    return model


def as_partial(model, names, more):
    """A function around the bound forward."""
    def forward(inner, *tensors):
        return inner(**dict(zip(names, tensors)), **more).loss

    model.forward = functools.partial(forward, model.forward)
    return model


IDIOMS = {"wrapper": as_wrapper, "method": as_method, "partial": as_partial}


def export_idiom(model, arrays, path, exporter):
    traced = tuple(array[:export.TRACED] for array in arrays.values())
    names = dict(input_names=list(arrays), output_names=["loss"])
    if exporter == "T":
        torch.onnx.export(model, traced, path, dynamo=False, opset_version=17, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.TRAINING, dynamic_axes={n: {0: "batch"} for n in arrays}, **names)
    else:
        program = torch.onnx.export(model, traced, dynamo=True, optimize=exporter == "D", verbose=False, opset_version=20,
                                    dynamic_shapes={"tensors": tuple({0: "batch"} for _ in traced)}, **names)
        program.save(path, external_data=False)


def check(tools, path):
    done = subprocess.run([tools / "accumc", "check", path, "--batch", str(zoo.SAMPLES)], capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stderr.splitlines() if line.startswith(("error:", "note:"))]
    return {"kind": "taken" if done.returncode == 0 else "refused", "exit": done.returncode, "why": " | ".join(lines[:4])}


def make(exporter, family, head, idiom, path, how):
    model = zoo.build(family, head, **how)
    arrays = zoo.traced(model, zoo.samples(family, head, model))
    more = {"return_loss": True} if head == "Contrast" else {}
    try:
        if idiom == "as is":
            trial.make(exporter, head, model, arrays, path, False)
        else:
            export_idiom(IDIOMS[idiom](model, list(arrays), more), arrays, path, exporter)
    except trial.Ended as end:
        return end.result
    except Exception as error:
        return {"kind": "export", "why": trial.root_of(error)}
    return {"kind": "made"}


def ways(family):
    """As the page of models says that they train."""
    experts = zoo.BATCHED if "num_local_experts" in family.config else {}
    return [experts, {**experts, "attn_implementation": "eager"}]


def case(options, family, head, exporter, idiom):
    """Of the first way that is taken, or of the last."""
    for number, how in enumerate(ways(family)):
        name = "-".join((family.kind, head, exporter, idiom.replace(" ", "-"), str(number)))
        path, said = options.folder / f"{name}.onnx", options.folder / f"{name}.json"
        made = json.loads(said.read_text()) if said.exists() else children.in_child(
            lambda: make(exporter, family, head, idiom, path, how), said)
        said.write_text(json.dumps(made))
        result = check(options.build / "bin", path) if made["kind"] == "made" else made
        if result["kind"] == "taken":
            break
    return result


def told(results):
    refused = [key for key, result in results.items()
               if result["kind"] == "refused" and results[*key[:3], "as is"]["kind"] == "taken"]
    for key in refused:
        print("refused:", *key, results[key]["why"])
    taken = sum(result["kind"] == "taken" for result in results.values())
    print(f"{len(results)} files tried, {taken} taken; {len(refused)} refused that are taken as they are")
    return 1 if refused else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", nargs="+", default=[], metavar="KIND")
    parser.add_argument("--heads", type=int, default=1, help="heads of each family")
    parser.add_argument("--exporters", default="DNT")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("idioms"))
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    results = {}
    for family in zoo.FAMILIES:
        if options.only and family.kind not in options.only:
            continue
        for head, exporter, idiom in itertools.product(family.heads[:options.heads], options.exporters, ("as is", *IDIOMS)):
            result = results[family.title, head, exporter, idiom] = case(options, family, head, exporter, idiom)
            print(family.title, head, exporter, idiom, result["kind"], result.get("why", ""), flush=True)
    return told(results)


if __name__ == "__main__":
    sys.exit(main())
