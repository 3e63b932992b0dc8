# SPDX-License-Identifier: Apache-2.0
"""Flags of the command line, which notes name, as the arguments that they are in Python: `--on-nan skip` is on_nan="skip"."""
from __future__ import annotations

import functools
import re
from typing import Match

# What stands after a flag and is its value: a number or size, a word in capitals in the place of one, or one of these.
_CHOICES = ("auto", "none", "explore", "stop", "skip", "split", "disable", "error", "zero1", "zero2", "zero3", "parameters",
            "speed", "memory", "f32", "bf16", "tf32", "f64", "env", "mpi", "slurm", "framework", "onnx", "all", "matrices")
_VALUE = rf"\d[\w.%]*(?: [KMGT]iB)?|[A-Z][A-Z0-9_]*\b|(?:{'|'.join(_CHOICES)})\b"
_FLAG = re.compile(rf"(?<![\w-])--([a-z][a-z0-9-]*)(?:[ =]({_VALUE}))?")
_SWITCHES = {"init_partial", "local_batches", "dry_run", "truncate"}


@functools.cache
def _arguments() -> frozenset[str]:
    from . import _options
    from ._runner import Runner

    return frozenset(_options.of_compiler() | _options.names_of(Runner.__init__))


def _argument(found: Match[str]) -> str:
    name, value = found[1].replace("-", "_"), found[2]
    if name not in _arguments():
        return found[0]
    if value is None:
        return f"{name}=True" if name in _SWITCHES else f"{name}="
    is_bare = value.isupper() or re.fullmatch(r"\d+(\.\d+)?", value)
    return f"{name}={value}" if is_bare else f'{name}="{value}"'


def in_python(text: str) -> str:
    """Flags that Python has no argument for stay as they are: they are those of another program."""
    return _FLAG.sub(_argument, text)
