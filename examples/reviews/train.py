#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A BERT of `transformers` on reviews that are made here, to more than 95 % of those it has not seen. A review has clauses
that praise or blame, some of them with `not`; what counts is the clause behind the last `but`.
train.py [--epochs N] [--picture FILE]"""
import argparse
import pathlib
import random
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification

import accum

BATCH, LENGTH, REVIEWS, UNSEEN = 128, 24, 6000, 1000
THINGS = "food service room view music price staff bed coffee garden".split()
GOOD, BAD = "good great lovely fresh kind".split(), "bad awful dull cold rude".split()
WORDS = ["[pad]", "[cls]", "the", "was", "not", "and", "but", *THINGS, *GOOD, *BAD]


def clause(chance):
    praises, negated = chance.random() < 0.5, chance.random() < 0.3
    words = ["the", chance.choice(THINGS), "was", *["not"] * negated, chance.choice(GOOD if praises else BAD)]
    return words, praises != negated


def review(chance):
    """(words, whether it is a good one); one to three clauses, joined by `but`, or by `and`, which repeats a judgement."""
    words, judgement = clause(chance)
    for _ in range(chance.randrange(3)):
        more, next_judgement = clause(chance)
        words += ["but" if next_judgement != judgement else "and", *more]
        judgement = next_judgement
    return ["[cls]", *words], judgement


def reviews(count):
    chance = random.Random(0)
    tokens, mask = torch.zeros(count, LENGTH, dtype=torch.int64), torch.zeros(count, LENGTH, dtype=torch.int64)
    labels = torch.zeros(count, dtype=torch.int64)
    for row in range(count):
        words, judgement = review(chance)
        tokens[row, :len(words)] = torch.tensor([WORDS.index(word) for word in words])
        mask[row, :len(words)] = 1
        labels[row] = int(judgement)
    return tokens, mask, labels


def named(batch):
    return dict(zip(("input_ids", "attention_mask", "labels"), batch))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--picture")
    options = parser.parse_args()
    torch.manual_seed(0)
    data = reviews(REVIEWS)
    seen, unseen = [part[UNSEEN:] for part in data], [part[:UNSEEN] for part in data]
    loader = DataLoader(TensorDataset(*seen), batch_size=BATCH, shuffle=True)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=len(WORDS), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=LENGTH, num_labels=2))

    run = accum.Trainer(model.train(), named(next(iter(loader))), batch=BATCH, memory="1GiB", metric="accuracy", lr=2e-3,
                        weight_decay=0.01, schedule="cosine", warmup="10%", steps=options.epochs * len(loader), clip_norm=1.0)
    print(run.plan)
    accuracies = []
    for epoch in range(options.epochs):
        losses = [run.step(named(batch)).loss for batch in loader]
        unknown = run.evaluate(named(unseen))
        accuracies.append(unknown.accuracy)
        print(f"epoch {epoch + 1:2}  loss {sum(losses) / len(losses):.4f}  of unseen reviews {unknown.loss:.4f}, {unknown.accuracy:.1%}")
    run.load_into(model)

    with torch.no_grad():
        guessed = model.eval()(**named(unseen)).logits.argmax(-1)
    print(f"{(guessed == unseen[2]).float().mean():.1%} of {UNSEEN} unseen reviews are understood")
    if options.picture:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
        from picture import curves
        curves(options.picture, "epoch", "unseen reviews that are understood", {"BERT, 2 layers of 64": accuracies})


if __name__ == "__main__":
    main()
