#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sample on each page of docs/errors is what the tools print today: runs `$ command` and compares its messages.

samples.py BIN [--update]: --update writes them into the pages instead.
"""
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLE = re.compile(r"```text\n\$ (.*)\n((?:.*\n)*?)```\n")
WIDTH = 250  # longer lines of a sample are cut


def messages(words, folder):
    """The error: and note: lines that a command writes, in a folder that holds the models it names."""
    for word in words:
        for home in (ROOT / "test" / "models", ROOT / "test" / "docs") if word.endswith(".onnx") else ():
            for model in home.glob(word + "*"):
                os.symlink(model, folder / model.name)
    run = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    if run.returncode in (0, 70) or run.returncode < 0:
        sys.exit(f"error: {shlex.join(words)}: exit {run.returncode}\n{run.stderr[-2000:]}")
    lines = [line.replace(f"{folder}/", "").replace(str(folder), ".") for line in run.stderr.splitlines() if line.startswith(("error:", "note:"))]
    return [line if len(line) <= WIDTH else line[:WIDTH - 4] + " ..." for line in lines]


def shape(lines):
    """Sizes change with the cost model, and with them what a note lists: those are not compared."""
    masked = [re.sub(r"[0-9][0-9.,]*( [KMG]iB|[KMG]iB)?", "#", line) for line in lines]
    return [re.sub(r"^(note: [^:]*:).*", r"\1 ...", line) for line in masked]


def check(page, update):
    """True where the page's sample is right, or has been made so."""
    text = page.read_text()
    match = SAMPLE.search(text)
    if not match:
        print(f"{page.name}: has no sample")
        return False
    with tempfile.TemporaryDirectory() as folder:
        now = messages(shlex.split(match[1]), pathlib.Path(folder).resolve())
    if not any(f"[{slug}]" in line for line in now for slug in re.findall(r"[a-z]+(?:-[a-z]+)*", text.split(":")[0])):
        print(f"{page.name}: the sample ends in another slug:", *now, sep="\n  ")
        return False
    body = "".join(line + "\n" for line in now)
    if update:
        page.write_text(text[:match.start(2)] + body + text[match.end(2):])
    elif shape(now) != shape(match[2].splitlines()):
        print(*difflib.unified_diff(match[2].splitlines(), now, f"{page.name}", "printed now", lineterm=""), sep="\n")
        return False
    return True


def main():
    os.environ["PATH"] = f"{pathlib.Path(sys.argv[1]).resolve()}:{os.environ['PATH']}"
    pages = [page for page in sorted((ROOT / "docs" / "errors").glob("*.md")) if page.name != "README.md"]
    good = [check(page, "--update" in sys.argv) for page in pages]
    print(f"{sum(good)} of {len(pages)} samples are what the tools print")
    return 0 if all(good) and pages else 1


if __name__ == "__main__":
    sys.exit(main())
