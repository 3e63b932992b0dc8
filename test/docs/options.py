#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options.py PAGE [--write]: the page lists the options of accumc and accum-run as their help does, which is made from the tables.
oracle: exits with 1 where the page is another one; --write writes it."""
import pathlib
import re
import subprocess
import sys

HEAD = """# Options

What `accumc --help` and `accum-run --help` print. `test/docs/options.py docs/options.md --write` writes this page. In Python an
option is an argument with `_` for `-`.
"""


def listed(program):
    """(title of the group, [(option, help)]) in the order of the help."""
    groups = []
    for line in subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout.splitlines():
        option = re.match(r"  (-\S.*?)(?: {2,}(.*))?$", line)
        if re.match(r"[A-Z].*:$", line):
            groups.append((line[:-1], []))
        elif option and groups:
            groups[-1][1].append([option[1], option[2] or ""])
        elif line.startswith(" " * 20) and groups and groups[-1][1]:
            groups[-1][1][-1][1] += line.strip()
    return [(title, rows) for title, rows in groups if rows]


def page():
    lines = [HEAD]
    for program in ("accumc", "accum-run"):
        for title, rows in listed(program):
            lines += [f"## {program}: {title[0].lower()}{title[1:]}", "| option | meaning |", "|---|---|"]
            lines += ["| `{}` | {} |".format(*(cell.replace("|", "\\|") for cell in row)) for row in rows]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main():
    path = pathlib.Path(sys.argv[1])
    if "--write" in sys.argv:
        path.write_text(page())
    elif path.read_text() != page():
        sys.exit(f"options: {path.name} is not what the programs say: test/docs/options.py docs/options.md --write")


if __name__ == "__main__":
    main()
