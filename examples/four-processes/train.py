#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GPT-2 that one process trains, and four of which each holds a quarter of its weights and moments: the same losses.
train.py [--steps N] [--picture FILE]"""
import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import numpy
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import accum

BATCH, LENGTH, PROCESSES = 32, 64, 4
LETTERS = "0123456789+=; "


def sums(count):
    """Sums as text: 47+8=55; 3+91=94; ..."""
    draw = numpy.random.default_rng(0)
    text = " ".join(f"{a}+{b}={a + b};" for a, b in draw.integers(0, 100, (count, 2)))
    return numpy.array([LETTERS.index(letter) for letter in text], dtype=numpy.uint16)


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def train(artifact, folder, steps, processes):
    """The lines of the log. Without MPI processes meet at a port, as those of torchrun do."""
    log = folder / f"log-{processes}.jsonl"
    words = ["accum-run", artifact, "--data", folder / "tokens.bin", "--steps", str(steps), "--lr", "1e-3", "--clip-norm", "1",
             "--schedule", "cosine", "--log", log, "--save", folder / "weights.safetensors", "--progress", "none"]
    if processes > 1:
        words += ["--launcher", "env"]
    place = dict(MASTER_ADDR="localhost", MASTER_PORT=str(free_port()), WORLD_SIZE=str(processes))
    running = [subprocess.Popen([str(word) for word in words], env={**os.environ, **place, "RANK": str(rank)},
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for rank in range(processes)]
    said = [process.communicate()[1] for process in running]
    if any(process.returncode for process in running):
        sys.exit(said[0])
    return [json.loads(line) for line in log.read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--picture")
    options = parser.parse_args()
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(LETTERS), n_positions=LENGTH, n_embd=384, n_layer=8, n_head=6,
                                       resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0))
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        sums(4000).tofile(folder / "tokens.bin")
        tokens = torch.zeros(2, LENGTH, dtype=torch.long)
        exported = accum.export(model, dict(input_ids=tokens, labels=tokens.clone()), folder / "gpt.onnx")
        logs = {}
        for processes, shard in ((1, "none"), (PROCESSES, "zero3")):
            artifact = accum.compile(exported.path, batch=BATCH, devices=processes, shard=shard, micro_batch="8",
                                     output=folder / f"{shard}.accum")
            print(artifact.plan)
            logs[processes] = train(artifact.path, folder, options.steps, processes)
    for one, four in zip(logs[1], logs[PROCESSES]):
        if one["step"] % 10 == 0:
            print(f"step {one['step']:3}  loss {one['loss']:.6f}  of four processes {four['loss']:.6f}")
    off = max(abs(four["loss"] / one["loss"] - 1) for one, four in zip(logs[1], logs[PROCESSES]))
    print(f"largest difference {off:.1e}")
    for processes, lines in logs.items():
        print(f"memory of a process of {processes}: {lines[-1]['peak_bytes'] / 2**20:.0f} MiB")
    print(f"sent in a step by each of {PROCESSES}: {logs[PROCESSES][-1]['sent_bytes'] / 2**20:.0f} MiB")
    if options.picture:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
        from picture import curves
        curves(options.picture, "step", "loss", {"one process": [line["loss"] for line in logs[1]],
                                                 "four, a quarter of the state each": [line["loss"] for line in logs[PROCESSES]]},
               dashed=["four, a quarter of the state each"])


main()
