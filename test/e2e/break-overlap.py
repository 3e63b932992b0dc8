#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""break-overlap.py DIR.accum: rebuilds the program so that the sum of the gradients that are final last starts with the
micro-step, before they are. For tests that must notice."""
import pathlib
import re
import sys

from artifact import build_program

path = pathlib.Path(sys.argv[1]) / "program.cpp"
source = path.read_text()
starts = list(re.finditer(r"    if \(int failed = last \? ctx->rt->start_all_reduce\(.*\)\n      return failed;\n", source))
declared = re.search(r"    const bool last = .*\n", source)
if not starts or not declared:
    sys.exit("the program starts no sums")
late = starts[-1]
source = source[:late.start()] + source[late.end():]
path.write_text(source[:declared.end()] + late[0] + source[declared.end():])
build_program(path.parent)
