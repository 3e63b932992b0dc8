# SPDX-License-Identifier: Apache-2.0
"""accum-run --verify on a card, whose inputs are fetched ahead: across the end of the pre-pass too, which counts other samples.

Usage: verify-on-card.py MODEL FOLDER BUILD.
oracle: the same step cut in other ways, by --verify.
"""
import subprocess
import sys

from fake_gpu import FakeGpu
from program import Model, environment

model = Model(sys.argv[1], sys.argv[2])
artifact = model.compile("--target", "a100-80g", "--with-sim", "--micro-batch", "2", "--optimizer", "sgd")
gpu = FakeGpu(sys.argv[3], model.folder)
sys.exit(subprocess.run(["accum-run", artifact, "--verify", "--verify-seconds", "20"], env={**environment(), **gpu.settings(artifact)}).returncode)
