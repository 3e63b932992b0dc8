#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A vision transformer of `transformers` on scikit-learn's handwritten digits, to more than 95 % of those it has not seen.
train.py [--epochs N]"""
import argparse

import numpy
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset
from transformers import ViTConfig, ViTForImageClassification

import accum

BATCH = 128


def named(batch):
    return {"pixel_values": batch[0], "labels": batch[1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=60)
    options = parser.parse_args()
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 8 - 1
    labels = torch.tensor(labels)
    order = torch.randperm(len(labels))
    seen, unseen = order[360:], order[:360]
    loader = DataLoader(TensorDataset(images[seen], labels[seen]), batch_size=BATCH, shuffle=True)

    model = ViTForImageClassification(ViTConfig(
        image_size=8, patch_size=2, num_channels=1, hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=128, num_labels=10, hidden_dropout_prob=0, attention_probs_dropout_prob=0))
    run = accum.Trainer(model, named(next(iter(loader))), batch=BATCH, memory="1GiB", lr=3e-3, weight_decay=0.01,
                        schedule="cosine", warmup="10%", steps=options.epochs * len(loader), clip_norm=1.0)
    print(run.plan)
    for epoch in range(options.epochs):
        losses = [run.step(named(batch)).loss for batch in loader]  # the last batch of an epoch is smaller
        if epoch % 10 == 9 or epoch == options.epochs - 1:
            unknown = run.evaluate({"pixel_values": images[unseen], "labels": labels[unseen]})
            print(f"epoch {epoch + 1:3}  loss {numpy.mean(losses):.4f}  of unseen digits {unknown.loss:.4f}")
    run.load_into(model)

    with torch.no_grad():
        guessed = model.eval()(pixel_values=images[unseen]).logits.argmax(-1)
    print(f"{(guessed == labels[unseen]).float().mean():.1%} of {len(unseen)} unseen digits are recognised")


main()
