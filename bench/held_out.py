# SPDX-License-Identifier: Apache-2.0
"""Shapes that nothing was fitted to or chosen by: drawn from a seed, two of each family, of other widths, depths, lengths and
vocabularies than the tables, the probes and the cases of time_cases.py."""
import random

from model_shapes import Shape

FAMILIES = ("gpt", "llama", "bert", "vit")
TOKENS = 1100  # of a batch, about


def draw_shape(draw, family):
    heads = draw.choice((4, 6, 8, 10))
    hidden = heads * draw.choice((36, 44, 52, 60, 68))
    inner = 16 * round(hidden * draw.uniform(2.4, 3.6) / 16) if family == "llama" else 0
    groups = heads // 2 if family == "llama" and draw.random() < 0.5 else 0
    vocabulary = draw.randrange(10, 1200) if family == "vit" else draw.randrange(2500, 16000)
    return Shape(family, draw.randrange(2, 6), hidden, heads, vocabulary, groups=groups, inner=inner)


def draw_run(draw, family):
    """A sequence and a batch that quarters divide."""
    sequence = draw.randrange(6, 14) ** 2 if family == "vit" else draw.randrange(36, 220)
    return sequence, max(4, 4 * round(TOKENS * draw.uniform(0.7, 1.3) / sequence / 4))


def shapes(seed):
    """By name, as time_cases.SHAPES."""
    draw, found = random.Random(seed), {}
    for number in range(2 * len(FAMILIES)):
        family = FAMILIES[number % len(FAMILIES)]
        found[f"{family}{seed}{'xy'[number // len(FAMILIES)]}"] = (draw_shape(draw, family), [draw_run(draw, family)])
    return found
