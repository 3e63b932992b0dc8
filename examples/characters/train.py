#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GPT over characters, written in plain PyTorch: from text to generated text in a minute on two cores.
train.py [--steps N] [--text FILE...]"""
import argparse
import pathlib

import numpy
import torch
from torch import nn

import accum

CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 64, 64, 4, 2, 64
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class CharacterGPT(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.token, self.position = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def cross_entropy(logits, targets):
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def batches(tokens, steps):
    """Windows at random places, and the same one character on."""
    random = numpy.random.default_rng(0)
    for _ in range(steps):
        at = random.integers(0, len(tokens) - CONTEXT - 1, BATCH)
        windows = numpy.stack([tokens[start:start + CONTEXT + 1] for start in at])
        yield windows[:, :-1], windows[:, 1:]


@torch.no_grad()
def generate(model, tokens, count):
    for _ in range(count):
        logits = model(tokens[:, -CONTEXT:])[:, -1] / 0.7
        tokens = torch.cat([tokens, torch.multinomial(logits.softmax(-1), 1)], dim=1)
    return tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--text", nargs="+", default=sorted(DOCS.glob("*.md")), type=pathlib.Path)
    options = parser.parse_args()
    text = "".join(path.read_text() for path in options.text)
    alphabet = sorted(set(text))
    tokens = numpy.array([alphabet.index(letter) for letter in text])
    print(f"{len(text):,} characters, {len(alphabet)} different ones")

    torch.manual_seed(0)
    model = CharacterGPT(len(alphabet))
    example = next(batches(tokens, 1))
    run = accum.Trainer(model, example, batch=BATCH, memory="1GiB", loss=cross_entropy, lr=3e-3, clip_norm=1.0,
                        schedule="cosine", warmup="5%", steps=options.steps)
    print(run.plan)
    for batch in batches(tokens, options.steps):
        metrics = run.step(batch)
        if metrics.step in (1, options.steps) or metrics.step % 100 == 0:
            print(f"step {metrics.step:4}  loss {metrics.loss:.3f}  lr {metrics.lr:.1e}  {metrics.seconds * 1e3:.0f} ms")
    run.load_into(model)

    start = torch.tensor([[alphabet.index(letter) for letter in "The "]])
    print("".join(alphabet[token] for token in generate(model, start, 300)[0]))


main()
