#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verify-models.py FOLDER [MODEL...] [--precision P] [--data] [--micro-batch M] [OPTION...]: accum-run --verify on every model
of test/models that compiles, a line each. For docs/verifying.md; with build/bin in PATH. Not a test: it takes a while."""
import argparse
import pathlib
import re
import subprocess
import sys

from program import MODELS, about, environment


def flags(name, known):
    loss = known.get("loss", "output")
    given = [] if loss == "output" else ["--loss", loss]
    symbols = {size for entry in known["inputs"] for size in entry["shape"][1:] if isinstance(size, str)}
    return given + [word for symbol in sorted(symbols) for word in ("--dim", f"{symbol}=16")]


def verify(name, options, folder):
    known, artifact = about(name), folder / f"{name}.accum"
    compiled = subprocess.run(["accumc", MODELS / f"{name}.onnx", "-o", artifact, "--batch", str(known["samples"]), "--micro-batch",
                               options.micro_batch, "--precision", options.precision, *flags(name, known), *options.rest],
                              capture_output=True, text=True)
    if compiled.returncode:
        return f"exit {compiled.returncode} of accumc: {compiled.stderr.splitlines()[0][:90]}"
    data = MODELS / f"{name}.data.safetensors"
    given = ["--data", data] if options.data and data.exists() else []
    result = subprocess.run(["accum-run", artifact, "--verify", *given], capture_output=True, text=True, env=environment())
    (folder / f"{name}.txt").write_text(result.stdout + result.stderr)
    cuts = [float(value) for value in re.findall(r"loss \S+, gradients (\S+)", result.stdout)]
    slopes = [line.strip() for line in result.stdout.splitlines() if re.match(r"\s+(along|\d+ \D)", line)]
    text = f"{max(cuts, default=0):.1e} | " + " | ".join(re.sub(r"^along ", "", line) for line in slopes)
    return text + ("" if result.returncode == 0 else f" EXIT {result.returncode} {result.stderr.splitlines()[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--micro-batch", default="3")
    parser.add_argument("--data", action="store_true", help="the model's own data, where it has some")
    options, options.rest = parser.parse_known_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    names = options.models or sorted(path.stem for path in MODELS.glob("*.onnx") if path.with_suffix(".json").exists())
    for name in names:
        print(f"{name:40} {verify(name, options, options.folder)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
