# SPDX-License-Identifier: Apache-2.0
"""Models whose loss selects rows by a mask, with a sample of which nothing is selected."""
import torch
import transformers
from torch import nn
from torch.nn import functional

import families

SAMPLES, LENGTH, WORDS, WIDTH = 7, 6, 19, 8
MISSING = 1e30
EMPTY = 4  # the sample of which nothing is selected


class SelectedTokens(nn.Module):
    """One block of a transformer; the head and the loss see the labelled tokens alone."""

    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.first, self.attention, self.back = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.second, self.wide, self.narrow = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 12), nn.Linear(12, WIDTH)
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, input_ids, labels):
        x = self.embedding(input_ids) + self.position
        query, key, value = self.attention(self.first(x)).split(WIDTH, dim=-1)
        hidden = torch.full((LENGTH, LENGTH), float("-inf"), dtype=x.dtype).triu(1)
        weights = torch.softmax(query @ key.transpose(1, 2) / WIDTH**0.5 + hidden, dim=-1)
        x = x + self.back(weights @ value)
        x = x + self.narrow(functional.gelu(self.wide(self.second(x))))
        mask = labels != -100
        logits = self.head(self.last(x[mask]))
        if torch.compiler.is_exporting():
            torch._check(logits.shape[0] > 0)  # its decomposition of the loss asks
        return functional.cross_entropy(logits, labels[mask]), x


class MaskedSquares(nn.Module):
    """Missing targets are marked by a number whose square is infinite."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(5, 7), nn.Linear(7, 3)

    def forward(self, features, targets):
        found = self.outer(torch.tanh(self.inner(features)))
        mask = targets < MISSING
        return (found - targets)[mask].pow(2).mean(), found


class MaskedSum(nn.Module):
    """A sum over what is selected, divided by how much that is; logarithms of what is not selected are -inf."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(5, 7), nn.Linear(7, 1)

    def forward(self, features, chosen):
        found = self.outer(torch.tanh(self.inner(features))).squeeze(-1)
        selected = (found.square() * (chosen == 1))[chosen == 1]
        terms = torch.log(selected)
        return terms.sum() / terms.shape[0], found


class Electra(transformers.ElectraForPreTraining):
    def forward(self, input_ids, attention_mask, labels):
        found = super().forward(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
        return found.loss, found.logits


def electra():
    config = transformers.ElectraConfig(
        vocab_size=31, embedding_size=8, hidden_size=12, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=LENGTH, hidden_dropout_prob=0, attention_probs_dropout_prob=0, attn_implementation="eager")
    return Electra(config)


BUILD = {"electra": electra, "selected-tokens": SelectedTokens, "masked-squares": MaskedSquares, "masked-sum": MaskedSum}


def build(kind):
    return families.fill(BUILD[kind]()).eval()


def arrays(kind):
    generator = torch.Generator().manual_seed(31)
    ids = torch.randint(1, WORDS, (SAMPLES, LENGTH), generator=generator)
    chosen = torch.rand((SAMPLES, LENGTH), generator=generator) < 0.4
    chosen[EMPTY] = False
    if kind == "selected-tokens":
        return {"input_ids": ids, "labels": torch.where(chosen, ids.flip(0), -100)}
    if kind == "electra":
        return {"input_ids": ids, "attention_mask": chosen.long(), "labels": (ids % 3 == 0).long()}
    features = families.seeded("features", (SAMPLES, LENGTH, 5), 1.0)
    if kind == "masked-sum":
        return {"features": features, "chosen": chosen.long()}
    targets = families.seeded("targets", (SAMPLES, LENGTH, 3), 1.0)
    return {"features": features, "targets": torch.where(chosen[:, :, None], targets, MISSING)}
