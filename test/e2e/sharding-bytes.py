# SPDX-License-Identifier: Apache-2.0
"""oracle: the formulas of docs/planning.md. What a rank sends in a step is that of its mode, byte for byte, and where gradients
are reduced once it does not depend on the number of micro-steps.
sharding-bytes.py MODEL FOLDER --devices D [accumc options]"""
import argparse
import json
import pathlib
import re
import subprocess

MICRO_BATCH = 2
# The loss, the number of targets, the norm's parts, whether all ranks are well: a few numbers at most.
SCALARS = 64


class Mode:
    def __init__(self, options, shard, offload):
        self.options, self.shard, self.offload = options, shard, offload
        self.artifact = options.folder / f"{shard}-{offload}.accum"
        self.devices = options.devices
        subprocess.run(["accumc", options.model, "--batch", str(3 * MICRO_BATCH * self.devices), "--micro-batch", str(MICRO_BATCH),
                        "--devices", str(self.devices), "--shard", shard, "--offload", offload, "--optimizer", options.optimizer,
                        "-o", self.artifact, *options.more],
                       check=True, capture_output=True)
        self.manifest = json.loads((self.artifact / "manifest.json").read_text())

    def sent(self, micro_steps):
        """Bytes that rank 0 sent in the second step."""
        log = self.options.folder / "log.jsonl"
        batch = micro_steps * MICRO_BATCH * self.devices
        subprocess.run(["accum-run", self.artifact, "--synthetic", "--steps", "2", "--lr", "0.01", "--log", log, "--progress", "none",
                        "--batch-schedule", f"0:{batch}", "--save", self.options.folder / "weights.safetensors"],
                       check=True, capture_output=True)
        last = json.loads(log.read_text().splitlines()[-1])
        assert last["micro_steps"] == micro_steps, last
        return last["sent_bytes"]

    def passes(self, data):
        """Bytes of one pass around the ring."""
        return data * (self.devices - 1) // self.devices

    def range_bytes(self):
        """Of the gradients, and as many of the parameters, with what lies between them."""
        return self.manifest["gradients"]["bytes"]

    def gathered(self):
        """Bytes of all gatherings of a micro-step, by the program's own text."""
        text = (self.artifact / "program.cpp").read_text()
        step = text[:text.index("accum_eval")] if "accum_eval" in text else text
        inside = step[:step.index("all_reduce(ctx, loss")]
        return sum(int(part) for part in re.findall(r"(?<!start_)all_gather\(ctx, parameters_of_\w+, \w+, (\d+)\)", inside)) * self.devices

    def expected(self, micro_steps):
        one = self.passes(self.range_bytes())
        if self.shard == "none":
            return 2 * one
        reduced = micro_steps if self.manifest["shard"]["reduce"] == "each" else 1
        if self.shard != "zero3": # parameters that were updated in parts, or gradients of tensors that are updated whole
            return reduced * one + one
        updated = 2 * one if self.options.optimizer == "adafactor" else 0 # those gradients, and parameters
        return reduced * one + micro_steps * self.passes(self.gathered()) + updated

    def check(self):
        for micro_steps in (3, 1):
            sent, expected = self.sent(micro_steps), self.expected(micro_steps)
            print(f"{self.shard} {self.offload}, {micro_steps} micro-steps: {sent} bytes, {expected} expected")
            assert 0 <= sent - expected <= SCALARS, (self.shard, self.offload, micro_steps, sent, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--optimizer", default="adamw")
    options, options.more = parser.parse_known_args()
    options.folder.mkdir(parents=True)
    moments = "none" if options.optimizer == "adafactor" else "optimizer"
    for shard, offload in (("none", "none"), ("zero1", "none"), ("zero2", moments), ("zero3", "none"), ("zero3", "parameters")):
        Mode(options, shard, offload).check()


if __name__ == "__main__":
    main()
