#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An encoder of MiniLM's shape learns to find translations: in-batch negatives, 2,048 pairs a step, in 1 GiB.
train.py [--steps N] [--batch N]"""
import argparse

import torch
from transformers import BertConfig, BertModel

import accum

WORDS, LENGTH, UNSEEN, SCALE, LR = 32, 4, 512, 20.0, 1e-3


class Retrieval(torch.nn.Module):
    """The loss of a batch as if it were undivided: each text's translation among those of all others."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = BertModel(BertConfig(vocab_size=2 * WORDS, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
                                            max_position_embeddings=LENGTH), add_pooling_layer=False).eval()  # no dropout

    def embed(self, words):
        return torch.nn.functional.normalize(self.encoder(words).last_hidden_state.mean(1), dim=-1)

    def forward(self, text, translation):
        scores = SCALE * self.embed(text) @ self.embed(translation).T
        return torch.nn.functional.cross_entropy(scores, torch.arange(scores.shape[0]))


def pairs(count, seed):
    """Texts of random words; their translation has another word for each, always the same."""
    meaning = torch.randperm(WORDS, generator=torch.Generator().manual_seed(1)) + WORDS
    text = torch.randint(WORDS, (count, LENGTH), generator=torch.Generator().manual_seed(seed))
    return dict(text=text, translation=meaning[text])


@torch.no_grad()
def found(module):
    """How many unseen texts are nearest to their own translation."""
    unseen = pairs(UNSEEN, seed=2)
    nearest = (module.embed(unseen["text"]) @ module.embed(unseen["translation"]).T).argmax(1)
    return 100 * (nearest == torch.arange(UNSEEN)).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch", type=int, default=2048)
    options = parser.parse_args()
    module = Retrieval()
    before = found(module)
    run = accum.Trainer(module, pairs(2, seed=3), batch=options.batch, memory="1GiB", on_cross_batch="split", lr=LR)
    print(run.plan)
    for step in range(options.steps):
        print(f"step {step + 1}  loss {run.step(pairs(options.batch, seed=10 + step)).loss:.4f}", flush=True)
    run.load_into(module)
    print(f"{UNSEEN} unseen texts that find their translation: {before:.1f}% before, {found(module):.1f}% after")


main()
