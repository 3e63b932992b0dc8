# SPDX-License-Identifier: Apache-2.0
"""Flags of the command line, which messages name, as what they are in Python: `--on-nan skip` is on_nan="skip"."""
from __future__ import annotations

import functools
import pathlib
import re
from typing import Callable, Match, Sequence

# What stands after a flag and is its value: a number or size, a word in capitals in the place of one, or one of these.
_CHOICES = ("auto", "none", "explore", "stop", "skip", "split", "disable", "error", "zero1", "zero2", "zero3", "parameters",
            "optimizer", "speed", "memory", "f32", "bf16", "tf32", "f64", "env", "mpi", "slurm", "framework", "onnx", "all",
            "matrices", "trained", "ema", "sgd", "cross-entropy", "causal-lm", "next-token", "mse", "bce", "accuracy")
_VALUE = (rf"'[^']*'|[A-Za-z_][\w.]*=[A-Z0-9][\w.:]*(?:,[\w.:]+)*|FILE\.\w+|\d[\w.%]*(?: [KMGT]iB)?|[A-Z][A-Z0-9_]*\b|"
          rf"[a-z][a-z-]*\d[\w-]*|(?:{'|'.join(_CHOICES)})(?![\w-])")
_FLAG = re.compile(rf"(?:accumc |accum-run )?(?<![\w-])--([a-z][a-z0-9-]*)(?:[ =]({_VALUE}))?")
# A whole command, for a shell, and flags that stay: behind the name of their program.
_COMMAND = re.compile(r"((?:accumc|accum-run) [^\s-]\S* --[^\n]*|--gpus all)")
_LEFT = re.compile(r"(?<!accumc )(?<!accum-run )(?<![\w-])--[a-z]")
_NEW_RUN = re.compile(r"--resume (\w+) --resume-weights-only")
_SWITCHES = {"init_partial", "local_batches", "dry_run", "untie", "require_divisible", "with_sim", "ema", "background",
             "truncate"}
_RENAMED = {"checkpoint_background": "background", "export_dtype": "dtype"}
_CALLS = ("resume", "checkpoint", "save", "evaluate")
_INSTEAD = {"resume_weights_only": "resume(..., weights_only=True)", "explain": "plan.candidates", "json": "plan.json",
            "plan_only": "accum.plan", "list_targets": "accumc --list-targets",
            "verify_seconds": "verify(seconds=...)"}


@functools.cache
def _arguments() -> frozenset[str]:
    from . import _options
    from ._runner import Runner
    from ._trainer import Trainer

    functions: list[Callable] = [Runner.__init__, Trainer.__init__, Runner.save, Runner.resume, Runner.checkpoint]
    return frozenset((_options.of_compiler() | _options.names_of(*functions)) - set(_INSTEAD))


def _assigned(name: str, value: str | None, is_subject: bool) -> str:
    if value is None:
        return f"{name}=True" if name in _SWITCHES and not is_subject else name if is_subject else f"{name}="
    if name == "dim" and "=" in value:
        key, _, size = value.partition("=")
        return f'dim={{"{key}": {f"[{size}]" if "," in size else size}}}'
    is_bare = value.isupper() or value.startswith("'") or re.fullmatch(r"\d+(\.\d+)?", value)
    return f"{name}={value}" if is_bare else f'{name}="{value}"'


def _argument(found: Match[str], is_message: bool) -> str:
    name, value = found[1].replace("-", "_"), found[2]
    name = _RENAMED.get(name, name)
    if name in _INSTEAD:
        return _INSTEAD[name] + (f" {value}" if value else "")
    if name in _CALLS:
        return f"{name}({'' if value in (None, 'auto') else value})"
    if name in _arguments():
        return _assigned(name, value, is_message)
    return found[0] if found[0].startswith("accum") else f"accum-run {found[0]}"


def in_python(text: str, *, is_message: bool = False) -> str:
    """Commands for a shell stay as they are, and what accum-run alone has is said to be its. is_message: a name alone is that
    of an argument that something is wrong with, not one to give."""
    parts = _COMMAND.split(_NEW_RUN.sub(r"resume(\1, weights_only=True)", text))
    parts[::2] = [_FLAG.sub(lambda found: _argument(found, is_message), part) for part in parts[::2]]
    return "".join(parts)


def leaks(text: str) -> bool:
    """Whether a flag is left that a reader in Python has no use for."""
    return any(_LEFT.search(part) for part in _COMMAND.split(text)[::2])


def notes_in_python(notes: Sequence[str]) -> list[str]:
    """A way out that only the command line has is none here."""
    said = [(note, in_python(note)) for note in notes]
    return [text for note, text in said if text.count("accum-run --") <= note.count("accum-run --")]


def page(name: str) -> str:
    """Where a page of the documentation is on this machine."""
    return str(pathlib.Path(__file__).parent / "docs" / name)
