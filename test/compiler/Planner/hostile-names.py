# SPDX-License-Identifier: Apache-2.0
"""hostile-names.py PROBLEM OUTPUT: the same problem with names that are markup, quoted, very long, or written from the right."""
import itertools
import pathlib
import re
import sys

NAMES = ["<script>document.title = 1</script>", "a\"b'c&d</svg></title>", "x" * 10_000, "\u202egnp.exe \u05d0 \U0001f600", "wide " * 300]


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    source, output = map(pathlib.Path, sys.argv[1:])
    names = itertools.cycle(NAMES)
    text = re.sub(r'((?:node|label)=)("[^"]*"|\S+)', lambda match: match[1] + quoted(next(names)), source.read_text())
    text = re.sub(r"^name .*$", lambda _: "name " + quoted(NAMES[0] + NAMES[1] + 200 * "model-"), text, flags=re.M)
    fixed = itertools.count()
    text = re.sub(r'^fixed state ("[^"]*"|\S+)', lambda _: f"fixed state {quoted(str(next(fixed)) + '</td><td>' + 300 * 'w')}", text, flags=re.M)
    output.write_text(text)


if __name__ == "__main__":
    main()
