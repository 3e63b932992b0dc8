#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""break-arrival.py DIR.accum all_gather|reduce_scatter: rebuilds the program so that nobody waits for the first such call that is begun
in a micro-step. For tests that must notice."""
import pathlib
import re
import sys

from artifact import build_program

path = pathlib.Path(sys.argv[1]) / "program.cpp"
source = path.read_text()
begun = re.search(rf"^    if \(int failed = ctx->rt->start_{sys.argv[2]}(\(.*\))\)\n", source, re.MULTILINE)
if not begun:
    sys.exit("the program begins none")
wait = f"    if (int failed = ctx->rt->{sys.argv[2]}{begun[1]})\n      return failed;\n"
at = source.find(wait, begun.end())
if at < 0:
    sys.exit("the program does not wait for it")
path.write_text(source[:at] + source[at + len(wait):])
build_program(path.parent)
