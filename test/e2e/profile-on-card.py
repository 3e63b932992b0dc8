# SPDX-License-Identifier: Apache-2.0
"""The times of calls on a card that waits for each of them, and the refusal where it does not.

Usage: profile-on-card.py MODEL FOLDER BUILD.
"""
import json
import subprocess
import sys

from fake_gpu import FakeGpu
from program import Model, environment


def main():
    model = Model(sys.argv[1], sys.argv[2])
    artifact = model.compile("--target", "h100", "--with-sim", "--micro-batch", "3", "--optimizer", "sgd")
    gpu = FakeGpu(sys.argv[3], model.folder)
    profile = model.folder / "profile.json"
    command = ["accum-run", artifact, "--data", model.data, "--steps", "1", "--progress", "none",
               "--save", model.folder / "unused.safetensors", "--profile", profile]
    settings = {**environment(), **gpu.settings(artifact)}
    late = subprocess.run(command, env=settings, capture_output=True, text=True)
    if late.returncode != 2 or "ACCUM_CUDA_STEPWISE=1" not in late.stderr:
        sys.exit(f"without waits: exit {late.returncode}, {late.stderr}")
    subprocess.run(command, env={**settings, "ACCUM_CUDA_STEPWISE": "1"}, check=True)
    events = json.loads(profile.read_text())["traceEvents"]
    names = [event["name"] for event in events if event["cat"] == "kernel"]
    known = {kernel["name"] for kernel in json.loads((artifact / "manifest.json").read_text())["kernels"]}
    if set(names) - known:
        sys.exit(f"not of the artifact: {set(names) - known}")
    print(f"{len(names)} launches, {sum(event['cat'] == 'gemm' for event in events)} products, {len(events)} events")


if __name__ == "__main__":
    main()
