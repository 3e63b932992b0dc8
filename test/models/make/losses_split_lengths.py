# SPDX-License-Identifier: Apache-2.0
"""Losses that relate texts of several lengths, on a tiny encoder with attention: see make-split-lengths.py. Numbers are exact in f32, as files have them."""
import torch
import torch.nn.functional as F
from torch import nn

WORDS, LONGEST, WIDTH = 24, 16, 8


class Encoder(nn.Module):
    """A layer of attention under a mask, and the mean of its real positions."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.randn(LONGEST, WIDTH))
        self.project, self.norm = nn.Linear(WIDTH, 3 * WIDTH), nn.LayerNorm(WIDTH, eps=2 ** -17)
        self.wide, self.narrow = nn.Linear(WIDTH, 12), nn.Linear(12, 6)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, ids, mask):
        x = self.words(ids) + self.positions[: ids.shape[1]]
        q, k, v = self.project(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / 2 + (1 - mask[:, None, :].to(x.dtype)) * -1e9
        x = self.norm(x + self.dropout(scores.softmax(-1)) @ v)
        x = self.narrow(self.dropout(torch.tanh(self.wide(x))))
        real = mask[:, :, None].to(x.dtype)
        return (x * real).sum(1) / real.sum(1)


class TextImage(nn.Module):
    """CLIP's loss of texts, and of pictures' features, which have no length."""

    def __init__(self):
        super().__init__()
        self.text, self.image = Encoder(), nn.Linear(7, 6)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, input_ids, attention_mask, image):
        a, b = F.normalize(self.text(input_ids, attention_mask), dim=-1), F.normalize(self.image(image), dim=-1)
        scores = self.scale.exp() * a @ b.T
        labels = torch.arange(scores.shape[0])
        return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.T, labels)) / 2


class Pairs(nn.Module):
    """In-batch negatives of texts that have lengths of their own, as sentence-transformers' losses; one encoder."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.encode = Encoder(dropout)

    def forward(self, anchor_ids, anchor_mask, positive_ids, positive_mask):
        a, p = F.normalize(self.encode(anchor_ids, anchor_mask), dim=-1), F.normalize(self.encode(positive_ids, positive_mask), dim=-1)
        return F.cross_entropy(4 * a @ p.T, torch.arange(a.shape[0]))


class Spread(nn.Module):
    """Sums over the batch (moments of the embeddings), and a loss of each sample with its own length alongside."""

    def __init__(self):
        super().__init__()
        self.encode, self.classify = Encoder(), nn.Linear(6, 3)

    def forward(self, input_ids, attention_mask, labels):
        z = self.encode(input_ids, attention_mask)
        deviation = ((z ** 2).mean(0) - z.mean(0) ** 2 + 0.5).sqrt()
        return F.cross_entropy(self.classify(z), labels) + F.relu(1.5 - deviation).mean()


class Late(nn.Module):
    """Every position of a text meets every position of all others: ColBERT's scores."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)

    def forward(self, input_ids, attention_mask):
        x = self.words(input_ids) * attention_mask[:, :, None].to(torch.float32)
        scores = torch.einsum("isd,jtd->ijst", x, x).amax(-1).sum(-1)
        return F.cross_entropy(scores, torch.arange(scores.shape[0]))


def texts(prefix, axis):
    """Names and the dimension of ids and mask; the last tells the lengths."""
    return {f"{prefix}_ids": axis, f"{prefix}_mask": axis}


TEXT = {"input_ids": "sequence", "attention_mask": "sequence"}
TWO = texts("anchor", "sequence") | texts("positive", "target")
CASES = {
    "text-image": (TextImage, {**TEXT, "image": None}),
    "pairs": (Pairs, TWO),
    "pairs-dropout": (lambda: Pairs(0.25), TWO),
    "spread": (Spread, {**TEXT, "labels": None}),
    "late": (Late, TEXT),
}
