#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs at two sizes: at-sizes.py FILE [SMALL LARGE]. Each part of FILE, `// -----` between, is printed as a module that
holds it twice. {S}, {S-1}, {2*S} stand for extents; #b for a batched value, #r for a replicated and #p for a summed one.
What is expected of a graph is expected of the smaller one."""
import pathlib
import re
import sys

ALIASES = "#b = #nn.batched<0>\n#r = #nn.replicated\n#p = #nn.partial<sum>\n"


def at(text, size):
    return re.sub(r"\{([0-9S+*<=?:, -]*S[0-9S+* -]*)\}", lambda match: str(eval(match[1], {"S": size})), text)


def main():
    small, large = map(int, sys.argv[2:4] or (6, 9))
    parts = []
    for part in re.split(r"^// -----$", pathlib.Path(sys.argv[1]).read_text(), flags=re.M):
        part = part.replace(" expected-", "\n// expected-").replace("//\n", "")  # one a line
        unexpected = re.sub(r"// expected-.*", "", part)
        parts.append(f"{ALIASES}module {{\nmodule @small {{{at(part, small)}}}\nmodule @large {{{at(unexpected, large)}}}\n}}\n")
    print("// -----\n".join(parts))


if __name__ == "__main__":
    main()
