# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's exporter fails on, in a sentence: its own message, which may hold the whole graph, goes to a file."""
from __future__ import annotations

import contextlib
import functools
import io
import os
import pathlib
import re
import sys
import tempfile
import traceback
from typing import Any, Callable

from . import _errors

_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_FIXED = re.compile(r"tracing inferred a static shape of (\d+) for dimension inputs\['([^']+)'\]\.shape\[0\]")
_LINE = re.compile(r'The following call raised this error:\s+File "([^"]+)", line (\d+), in \w+\s+(.*)')
SPECTRA = ("SpecAugment draws its masks with NumPy, for the traced batch alone: model.config.apply_spec_augment = False, "
           "or export after model.eval()")


def _root(failed: BaseException) -> BaseException:
    """The exporter wraps what it met first."""
    while failed.__cause__:
        failed = failed.__cause__
    return failed


def _saved(text: str) -> str:
    with tempfile.NamedTemporaryFile("w", prefix="accum-export-", suffix=".txt", delete=False) as file:
        file.write(text)
    return file.name


def _of_the_user(cause: BaseException) -> tuple[str, int, str] | None:
    """The last line that is neither PyTorch's nor of this package, which stands in between under torch.no_grad()."""
    own = [str(pathlib.Path(each).parent) + os.sep for each in (__file__, sys.modules["torch"].__file__)]
    lines = [each for each in traceback.extract_tb(cause.__traceback__)
             if not any(os.path.abspath(each.filename).startswith(folder) for folder in own)]
    return (lines[-1].filename, lines[-1].lineno, (lines[-1].line or "").strip()) if lines else None


def _sentence(cause: BaseException, text: str) -> tuple[str, list[str]]:
    """What failed, and its way out."""
    line = _LINE.search(text)
    if type(cause).__name__ == "GuardOnDataDependentSymNode" and line:
        file, number, code = _of_the_user(cause) or line.groups()
        return (f"line {number} of {file} decides by values of the data: `{code.strip()}`",
                [f"line {number} checks values: remove it, or choose with torch.where; a file holds one branch for all batches"])
    if fixed := _FIXED.search(text):
        return (f"forward computes with the batch size of the example, {fixed[1]}, as a number (input `{fixed[2]}`)",
                ["the batch size has to stay a tensor's: x.shape[0], and no int() or NumPy of it"])
    first = next((line for line in text.splitlines() if line.strip()), "")
    return f"{type(cause).__name__}: {first.strip()}", []


def _ways_out(module: Any) -> list[str]:
    """Of models that are known not to be exported as they are."""
    configs = [config for each in module.modules() if (config := getattr(each, "config", None)) is not None]
    notes = []
    draws = any(getattr(config, "apply_spec_augment", False) and
                (getattr(config, "mask_time_prob", 0) or getattr(config, "mask_feature_prob", 0)) for config in configs)
    if module.training and draws:
        notes.append(SPECTRA)
    return notes


def _in_a_sentence(error: _errors.Error, module: Any, printed: str) -> _errors.Error:
    cause = _root(error)
    text = _COLOUR.sub("", str(cause))
    sentence, notes = _sentence(cause, text)
    whole = _saved("\n\n".join((_COLOUR.sub("", str(error)), text, printed)))
    return _errors.UnsupportedError(f"PyTorch's exporter does not take the module: {sentence}", slug=error.slug,
                                    exit_code=error.exit_code,
                                    notes=[*_ways_out(module), *notes, *error.notes, f"the exporter's own message: {whole}"])


def shortened(traced: Callable) -> Callable:
    """Of a function of torch, the module and more, which raises `not-exported`. The exporter prints graphs on stderr."""
    @functools.wraps(traced)
    def wrapped(torch: Any, module: Any, *more: Any) -> Any:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stderr(printed):
                return traced(torch, module, *more)
        except _errors.UnsupportedError as error:
            if error.slug != "not-exported":
                raise
            raise _in_a_sentence(error, module, printed.getvalue()) from error.__cause__

    return wrapped
