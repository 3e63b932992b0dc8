# SPDX-License-Identifier: Apache-2.0
"""The emitted program of a GPU artifact, built by its reader: as program.so, and as an executable with -laccum_runtime. Both
train on the fake driver (oracle: the weights of the artifact's own program, bit for bit).

Usage: own-program.py MODEL FOLDER --driver BUILD --compiler nvcc|c++ [--precision bf16]
"""
import argparse
import os
import pathlib
import subprocess

from artifact import build_program, include_dir
from fake_gpu import FakeGpu
from program import Model, run

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "own-program.c"
SHARED = {"nvcc": ["nvcc", "-shared", "-Xcompiler", "-fPIC"], "c++": ["c++", "-std=c++20", "-O1", "-fPIC", "-shared"]}
STEPS = 2  # graphs are started from the second on


def build_executable(compiler, artifact, libraries, folder):
    """As examples/own-program.c says."""
    target, include = folder / "own-program", f"-I{include_dir()}"
    subprocess.run([compiler, include, "-c", artifact / "program.cpp", "-o", folder / "program.o"], check=True)
    subprocess.run(["cc", include, "-c", SOURCE, "-o", folder / "main.o"], check=True)
    subprocess.run([compiler, folder / "main.o", folder / "program.o", f"-L{libraries}", "-laccum_runtime", "-o", target], check=True)
    return target


def same(one, other, what):
    if one.read_bytes() != other.read_bytes():
        raise SystemExit(f"{what} trains other weights than the artifact's program")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--driver", metavar="BUILD", required=True)
    parser.add_argument("--compiler", choices=SHARED, required=True)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    options = parser.parse_args()
    model = Model(options.model, options.folder)
    model.gpu = FakeGpu(options.driver, options.folder)
    artifact = model.compile("--micro-batch", 2, "--target", "h100", "--precision", options.precision, "--with-sim", "--optimizer", "adamw", batch=3)
    given, own = model.folder / "given.safetensors", model.folder / "own.safetensors"
    original = (artifact / "program.so").read_bytes()
    model.train(artifact, STEPS, weights=given)
    libraries = pathlib.Path(options.driver).resolve() / "lib"
    executable = build_executable(options.compiler, artifact, libraries, model.folder)
    settings = dict(model.gpu.settings(artifact), LD_LIBRARY_PATH=f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    run(executable, artifact, model.data, STEPS, own, settings=settings)
    model.gpu.check(STEPS)
    same(own, given, "the executable")
    own.unlink()
    build_program(artifact, SHARED[options.compiler])
    if (artifact / "program.so").read_bytes() == original:
        raise SystemExit("program.so is still the artifact's")
    model.train(artifact, STEPS, weights=own)
    same(own, given, "program.so")


if __name__ == "__main__":
    main()
