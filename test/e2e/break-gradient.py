#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""break-gradient.py DIR.accum FAULT: rebuilds the program (of gpt2-dynamo) with one thing wrong. For tests that must notice.

  scale  one gradient is a hundredth too large
  lose   the tied table gets no gradient from its use as embedding
  store  each micro-step overwrites one gradient instead of adding to it
  stale  a kernel is left out of the first micro-step, so that its result is the step's before
"""
import pathlib
import re
import sys

from artifact import build_program

WEIGHT = "gradient_of_transformer_h_0_mlp_c_fc_weight"
TABLE = "gradient_of_lm_head_weight"
BIAS = "gradient_of_transformer_h_1_ln_1_bias"


def scale(source):
    last = "  if (int failed = ctx->rt->all_reduce(ctx, all_gradients"
    loop = f"  for (int i = 0; i < 32 * 128; ++i)\n    reinterpret_cast<float *>({WEIGHT})[i] *= 1.01f;\n"
    return source.replace(last, loop + last)


def lose(source):
    return re.sub(rf"    if \(launch\(ctx, Kernel::scatter_add_\w+,[^;]*{TABLE},\s+add\)\)\n      return \d+;[^\n]*\n", "", source)


def store(source):
    return re.sub(rf"(Kernel::[^;]*{BIAS},[^;]*)accumulate\)\)", r"\1write))", source)


def stale(source):
    micro = source.index("phase::micro, k,")
    return source[:micro] + source[micro:].replace("if (launch(ctx, Kernel::add_gelu", "if (!first && launch(ctx, Kernel::add_gelu", 1)


path = pathlib.Path(sys.argv[1]) / "program.cpp"
text = path.read_text()
broken = {"scale": scale, "lose": lose, "store": store, "stale": stale}[sys.argv[2]](text)
if broken == text:
    sys.exit(f"the program has no place for the fault `{sys.argv[2]}`")
path.write_text(broken)
build_program(path.parent)
