# SPDX-License-Identifier: Apache-2.0
"""Two runs have equal bits: a GPU's artifact with other numbers of host threads and other orders of streams.

Usage: bits.py MODEL FOLDER --precision f32|bf16 --driver BUILD. Three steps of AdamW in the simulator, and three on BUILD's fake
driver, which replays them as graphs. Losses and final weights are compared byte by byte among the runs of each.
"""
import argparse

from fake_gpu import FakeGpu
from program import Model

STEPS = 3
RUNS = [(1, 1), (5, 2), (9, 3)]  # seed of the order of streams, host threads


def check(name, outcomes):
    for (seed, threads), outcome in outcomes.items():
        if outcome != outcomes[RUNS[0]]:
            raise SystemExit(f"{name}: seed {seed} with {threads} threads has other bits than {RUNS[0]}")
    print(f"{name}: {len(outcomes)} runs of equal bits")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--precision", choices=["f32", "bf16"], required=True)
    parser.add_argument("--driver", metavar="BUILD", required=True, help="the build folder of the fake driver")
    options = parser.parse_args()
    model = Model(options.model, options.folder)
    artifact = model.compile("--optimizer", "adamw", "--precision", options.precision, "--micro-batch", "3", "--target", "h100",
                             "--with-sim")

    def outcome(threads, *device):
        weights = model.folder / "weights.safetensors"
        weights.unlink(missing_ok=True)
        log = model.train(artifact, STEPS, *device, "--lr", 1e-3, "--threads", threads, weights=weights)
        return [line["loss"] for line in log], weights.read_bytes()

    check("simulator", {(seed, threads): outcome(threads, "--target", "sim") for seed, threads in RUNS})
    model.gpu, on_driver = FakeGpu(options.driver, options.folder), {}
    for seed, threads in RUNS:
        model.gpu.seed = seed
        on_driver[seed, threads] = outcome(threads)
    check("driver", on_driver)


if __name__ == "__main__":
    main()
