#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""json-keys.py PAGE MODELS FOLDER: every key that --json prints is on the page, and every key on the page is printed by one of these runs.
oracle: exits with 1 and names the keys where not."""
import json
import os
import pathlib
import re
import subprocess
import sys

FREE = ("dims_from_file", "work", "variants", "sizes")  # objects whose keys are names
CANDIDATES = ("search.candidates[]", "search.smallest", "search.budgets[].plan")  # are alike


def documented(page):
    keys, section = set(), ""
    for line in page.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        cell = re.match(r"\| (`[^|]*`) \|", line)
        for key in re.findall(r"`([^`]+)`", cell[1]) if cell else []:
            if section == "Candidates":
                keys.add(f"{CANDIDATES[0]}.{key}")
            elif section == "search":
                keys.add(f"search.{key}")
            else:
                keys.add(key)
    return {key for key in keys if not (key.endswith(".*") and key[:-2] in CANDIDATES)} - {"search"}


def printed(value, path=""):
    """Paths of all leaves; of objects with free keys one path."""
    if isinstance(value, dict) and value and path.rsplit(".", 1)[-1] not in FREE:
        return set().union(*(printed(item, f"{path}.{key}" if path else key) for key, item in value.items()))
    if isinstance(value, dict):
        name = path.rsplit(".", 1)[-1]
        return {path + (".*" if name in ("work", "variants") else "")}
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return set().union(*(printed(item, path + "[]") for item in value))
    return {path}


def alike(name):
    for other in CANDIDATES[1:]:
        name = re.sub("^" + re.escape(other) + r"\.", CANDIDATES[0] + ".", name)
    return name


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"json-keys: {words}: not JSON: {done.stdout[:200]} {done.stderr}")


def main():
    page, models, folder = map(pathlib.Path, sys.argv[1:])
    gpt2 = models / "gpt2-dynamo.onnx"
    plan = ["--plan-only", "--json"]
    objects = [run("accumc", gpt2, "--batch", 8, "--target", "h100", "--devices", 4, "--memory", "1230MiB", "--shard", "auto", *plan),
               run("accumc", gpt2, "--batch", 8, "--memory", "1MiB", *plan),
               run("accumc", models / "gpt2-124m.onnx", "--batch", 512, "--target", "h100", "--precision", "bf16", *plan),
               run("accumc", "check", models / "batch-softmax-dynamo.onnx", "--json"),
               run("accumc", models / "gpt2-dynamo-sequence.onnx", "--batch", 8, "--dim", "sequence=8,16", *plan),
               run("accumc", gpt2, "--batch", 4, "--micro-batch", "explore:2..4", "--json", "-o", folder / "explored.accum")]
    names, on_page = {alike(name) for name in set().union(*map(printed, objects))}, documented(page)
    empty = {key.split("[]")[0] for key in on_page if "[]" in key}  # lists that had nothing in them
    for title, keys in (("not on the page", names - on_page - empty), ("printed by none of the runs", on_page - names)):
        if keys:
            sys.exit(f"json-keys: {title}: {', '.join(sorted(keys))}")


if __name__ == "__main__":
    main()
