#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""command-files.py SHARE PROGRAM...: a man page and completions know every option of a program, and no other one (oracle: the
long names in what the program says with --help). Shells that are not installed are named; bash is asked always."""
import gzip
import pathlib
import re
import shutil
import subprocess
import sys


def said(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def by_bash(share, name, words):
    """What pressing Tab behind the last of `words` offers."""
    file = share / "bash-completion" / "completions" / name
    function = "_" + name.replace("-", "_")
    line = " ".join(f"'{word}'" for word in words)
    return said("bash", "-c", f"source {file}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; {function}; "
                              'printf "%s\\n" "${COMPREPLY[@]}"').split()


def by_fish(share, name, words):
    file = share / "fish" / "vendor_completions.d" / f"{name}.fish"
    return [line.split("\t")[0] for line in said("fish", "-c", f"source {file}; complete -C'{' '.join(words)}'").splitlines()]


def by_zsh(share, name):
    """The options that its file lists, where zsh can read it."""
    file = share / "zsh" / "site-functions" / f"_{name}"
    said("zsh", "-n", str(file))
    return re.findall(r"^  '\*(--[a-z0-9-]+)\[", file.read_text(), re.M)


def by_man(share, name):
    page = share / "man" / "man1" / f"{name}.1.gz"
    if shutil.which("man"):
        shown = subprocess.run(["man", "--warnings", "-P", "cat", "-l", str(page)], capture_output=True, text=True,
                               env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
        assert shown.returncode == 0 and not shown.stderr, shown.stderr
        assert all(heading in shown.stdout for heading in ("SYNOPSIS", "OPTIONS", "EXIT STATUS", "SEE ALSO")), shown.stdout
    text = gzip.decompress(page.read_bytes()).decode().replace("\\-", "-")
    return [name for line in re.findall(r"^\.TP\n(.*)", text, re.M) for name in re.findall(r"(--[a-z0-9-]+)\\fR", line)]


def check(share, name):
    """Options in lists of names: `-o,--output`, `--shuffle,--no-shuffle{false}`."""
    names = re.findall(r"^  (-\S+)", said(name, "--help"), re.M)
    expected = sorted(each for words in names for each in re.findall(r"--[a-z0-9-]+", words))
    assert len(expected) > 3 and len(set(expected)) == len(expected)
    found = {"man": by_man(share, name), "bash": by_bash(share, name, [name, "--"])}
    if shutil.which("zsh"):
        found["zsh"] = by_zsh(share, name)
    if shutil.which("fish"):
        found["fish"] = by_fish(share, name, [name, "--"])
    for shell, options in found.items():
        own = sorted(each.partition("=")[0] for each in options if each.startswith("--"))
        assert own == expected, f"{name}, {shell}: {set(own) ^ set(expected)}"
    return len(expected)


def check_values(share):
    assert by_bash(share, "accumc", ["accumc", "m.onnx", "--recompute", ""]) == ["auto", "none", "all"]
    assert by_bash(share, "accumc", ["accumc", "ch"]) == ["check"]
    assert by_bash(share, "accum-run", ["accum-run", "--on-nan", "s"]) == ["stop", "skip"]
    if shutil.which("fish"):
        assert by_fish(share, "accumc", ["accumc", "m.onnx", "--recompute", ""])[-3:] == ["all", "auto", "none"]


def main():
    share = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        print(f"{name}: {check(share, name)} options")
    check_values(share)
    print("not installed:", ", ".join(shell for shell in ("zsh", "fish", "man") if not shutil.which(shell)) or "none")


main()
