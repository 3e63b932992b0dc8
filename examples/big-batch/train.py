#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GPT-2 with a batch of 4,096 sequences in 1 GiB, beside the losses of the undivided batch in PyTorch.
train.py [--picture FILE]; train.py --undivided writes those losses anew, which needs 16 GB."""
import argparse
import pathlib
import resource
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import accum

BATCH, LENGTH, WORDS, STEPS, LR = 4096, 128, 512, 5, 3e-3
LOSSES = pathlib.Path(__file__).parent / "undivided.losses"


def model():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_positions=LENGTH, n_embd=64, n_layer=3, n_head=2, bos_token_id=0,
                                      eos_token_id=0)).eval()  # no dropout, so that both see the same


def batches():
    """Each word follows from the one before it, but for a tenth."""
    random = torch.Generator().manual_seed(1)
    following = torch.randperm(WORDS, generator=random)
    for _ in range(STEPS):
        words = torch.randint(WORDS, (BATCH, LENGTH), generator=random)
        for at in range(1, LENGTH):
            known = torch.rand(BATCH, generator=random) < 0.9
            words[known, at] = following[words[known, at - 1]]
        # A fifth of the sequences is shorter, so that equal parts of the batch hold unequal numbers of targets.
        labels = words.clone()
        labels[::5, LENGTH // 4:] = -100
        yield dict(input_ids=words, labels=labels)


def undivided():
    """PyTorch's own loop, one backward pass for the whole batch."""
    module = model()
    optimizer = torch.optim.AdamW(module.parameters(), lr=LR)
    losses = []
    for batch in batches():
        loss = module(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        print(f"{losses[-1]:.6f}", flush=True)
    LOSSES.write_text("".join(f"{loss:.6f}\n" for loss in losses))
    print(f"most memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--undivided", action="store_true")
    parser.add_argument("--picture")
    options = parser.parse_args()
    if options.undivided:
        return undivided()
    expected = [float(line) for line in LOSSES.read_text().split()]
    run = accum.Trainer(model(), {name: value[:2] for name, value in next(batches()).items()}, batch=BATCH, memory="1GiB", lr=LR,
                        weight_decay=0.01)
    print(run.plan)
    losses = []
    for batch, other in zip(batches(), expected):
        losses.append(run.step(batch).loss)
        print(f"step {len(losses)}  loss {losses[-1]:.6f}  undivided in PyTorch {other:.6f}", flush=True)
    print(f"largest difference {max(abs(mine / other - 1) for mine, other in zip(losses, expected)):.1e}")
    if options.picture:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
        from picture import curves
        curves(options.picture, "step", "loss", {"undivided, PyTorch": expected, "accum, in 1 GiB": losses}, dashed=["accum, in 1 GiB"])


main()
