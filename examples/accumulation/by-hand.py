# SPDX-License-Identifier: Apache-2.0
"""The accumulation loop as one writes it by hand in PyTorch, twice: right, and as it was once published.

Both see micro-batches i = 0..11 of two samples (the first 24 of tokens.safetensors), plain SGD with lr 0.1. Writes the
biases and gains that each ends with; needs the environment of test/models/make. `run` needs only the files.
"""
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "test" / "models" / "make"))

import torch
from safetensors.torch import load_file, save_file

MICRO_BATCH, MICRO_STEPS, LEARNING_RATE = 2, 12, 0.1


def train(steps_at):
    """Divides by 4 and accumulates; updates after micro-batch i where steps_at(i)."""
    model = importlib.import_module("make-example").model().double()
    ids = load_file(HERE.parent / "tokens.safetensors")["input_ids"]
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    optimizer.zero_grad()
    for i in range(MICRO_STEPS):
        batch = ids[i * MICRO_BATCH:(i + 1) * MICRO_BATCH]
        loss = model(input_ids=batch, labels=batch).loss
        (loss / 4).backward()
        if steps_at(i):
            optimizer.step()
            optimizer.zero_grad()
    return {name: value.detach().float().clone() for name, value in model.named_parameters() if value.dim() == 1}


def main():
    save_file(train(lambda i: (i + 1) % 4 == 0), HERE / "by-hand.safetensors")
    save_file(train(lambda i: i % 3 == 0), HERE / "published.safetensors")


if __name__ == "__main__":
    main()
