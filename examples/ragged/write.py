#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts of their own lengths, one after the other and without padding: write.py FILE.npz, or FILE.safetensors."""
import random
import sys

import numpy

numbers = random.Random(0)
sums = [(numbers.randrange(10 ** numbers.randint(1, 4)), numbers.randrange(10 ** numbers.randint(1, 3))) for _ in range(4096)]
texts = [f"{a}+{b}={a + b};" for a, b in sums]

rows = [[ord(letter) - ord(" ") for letter in text] for text in texts]
tokens = numpy.concatenate(rows)
offsets = numpy.cumsum([0] + [len(row) for row in rows])  # where each text begins, and the last one ends
arrays = {"input_ids": tokens, "input_ids.offsets": offsets, "labels": tokens, "labels.offsets": offsets}

if sys.argv[1].endswith(".npz"):
    numpy.savez(sys.argv[1], **arrays)
else:
    import safetensors.numpy
    safetensors.numpy.save_file(arrays, sys.argv[1])
