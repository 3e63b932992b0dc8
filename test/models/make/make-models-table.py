# SPDX-License-Identifier: Apache-2.0
"""Exports every family of zoo.py by every exporter, trains three steps, compares with PyTorch; writes docs/models.md.

make-models-table.py [--build BUILD] [--only KIND...] [--keep FOLDER] [--write]: one JSON line a case is appended to
models-table.jsonl; cases that have one are not made again. --write: only the page, of the lines that are there.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"

import onnxscript  # noqa: F401, in the parent once for all children
import torch
import transformers
import transformers.exporters.exporter_onnx  # noqa: F401

import children
import models_page
import trial
import zoo

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def ways(family, exporter):
    """Arguments of from_config, the plainest first; `evaluation`: TorchScript's default mode."""
    plain = [{}, zoo.BATCHED] if "num_local_experts" in family.config else [{}]
    modes = [{}, {"evaluation": True}] if exporter == "T" else [{}]
    return [attention | experts | mode for attention in ({}, {"attn_implementation": "eager"}) for experts in plain
            for mode in modes]


def is_final(family, result):
    """No other argument changes it; but for experts, which are exported as what relates samples or as what does not."""
    relates = result.get("slug") == "cross-batch" and "num_local_experts" not in family.config
    return relates or "takes no labels" in result.get("why", "")


def case(options, family, head, exporter):
    attempts = []
    for how in ways(family, exporter):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            result = children.in_child(lambda: trial.attempt(options.build / "bin", exporter, family, head, folder, how),
                              folder / "result.json")
            attempts.append({"how": how, **result})
            if options.keep and result["kind"] not in ("same", "export"):
                kept = options.keep / "-".join((family.kind, head, exporter, *map(str, how.values())))
                shutil.copytree(folder, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.accum"))
        if result["kind"] == "same" or is_final(family, result):
            break
    return {"family": family.title, "head": head, "exporter": exporter, "attempts": attempts}


def cases(only):
    """Every family's first head by two exporters, then by the others, then every second head, and so on."""
    chosen = [family for family in zoo.FAMILIES if not only or family.kind in only]
    for place in range(max(len(family.heads) for family in chosen)):
        for exporters in ("DT", "NH"):
            for family in chosen:
                yield from ((family, head, e) for head in family.heads[place:place + 1] for e in exporters)


def known(results):
    """Read anew before each case: two runs may share the work."""
    lines = results.read_text().splitlines() if results.exists() else []
    return {(r["family"], r["head"], r["exporter"]) for r in map(json.loads, lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", nargs="+", default=[], metavar="KIND")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "models-table.jsonl")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for files that did not train the same")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for family, head, exporter in () if options.write else cases(options.only):
        if (family.title, head, exporter) in known(options.results):
            continue
        result = case(options, family, head, exporter)
        with options.results.open("a") as file:
            file.write(json.dumps(result) + "\n")
        last = result["attempts"][-1]
        print(family.title, head, exporter, last["how"], last["kind"], last.get("error", last.get("why", "")), flush=True)
    (ROOT / "docs" / "models.md").write_text(models_page.written(options.results))


if __name__ == "__main__":
    sys.exit(main())
