#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""break-accumulation.py DIR.accum: rebuilds the program so that every micro-step overwrites the gradients of the ones before,
as a loop does that clears them in the wrong place. For tests that must notice."""
import pathlib
import re
import sys

from artifact import build_program

path = pathlib.Path(sys.argv[1]) / "program.cpp"
source = path.read_text()
loops = [match for match in re.finditer(r"const bool first = k == 0;", source)]
if len(loops) < 2:
    sys.exit("the program has no second loop")
path.write_text(source[:loops[1].start()] + "const bool first = true;" + source[loops[1].end():])
build_program(path.parent)
