# SPDX-License-Identifier: Apache-2.0
"""Whether a module on standard input is that of a file: the same text but for the phase that a dump records."""
import re
import subprocess
import sys


def module(text):
    text = re.sub(r'accum\.phase = "\w+"(, )?', "", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


# Without locations, which grow with every reading.
dump = subprocess.run(["accum-opt", sys.argv[1]], capture_output=True, text=True, check=True).stdout
got, wanted = module(sys.stdin.read()), module(dump)
differing = [pair for pair in zip(got, wanted) if pair[0] != pair[1]]
if len(got) < 10 or len(got) != len(wanted) or differing:
    print(len(got), len(wanted), *(differing[0] if differing else ()), sep="\n", file=sys.stderr)
    sys.exit(1)
