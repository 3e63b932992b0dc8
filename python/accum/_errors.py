# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions: which class an error has follows from its slug and exit code."""
from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from ._words import in_python, notes_in_python

if TYPE_CHECKING:
    from ._plan import Plan


class Error(Exception):
    """Something that accum refuses or that failed.

    slug: a stable word (docs/errors), such as "cross-batch". node: the ONNX node, tensor or input that it is about, or
    "". notes: the ways out, a sentence each. exit_code: what accumc and accum-run end with for it.
    """

    def __init__(self, message: str, *, slug: str = "internal", node: str = "", notes: Sequence[str] = (),
                 exit_code: int = 70):
        super().__init__(message)
        self.message = message
        self.slug = slug
        self.node = node
        self.notes = tuple(notes)
        self.exit_code = exit_code

    def __str__(self) -> str:
        return "\n".join([self.message, *("note: " + note for note in self.notes)])


class CrossBatchError(Error):
    """The model relates samples to each other, so cutting its batch would change the result."""


class UnsupportedError(Error):
    """The model, or an option, needs something that is not built."""


class DoesNotFitError(Error):
    """No micro-batch size fits the memory budget. plan: the sizes that were compared, and by how much each is over."""

    plan: Plan | None = None


class DataError(Error):
    """A batch, a file of data or of weights is not what the model reads."""


class RunError(Error):
    """A step failed: the device, another rank, a loss or a gradient that is not finite."""


class UsageError(Error, ValueError):
    """An argument is wrong, contradicts another one, or is missing."""


_BY_SLUG = {
    "cross-batch": CrossBatchError,
    "does-not-fit": DoesNotFitError,
    "unsupported": UnsupportedError,
    "unsupported-derivative": UnsupportedError,
    "not-built": UnsupportedError,
    "bad-data": DataError,
}
_BY_CODE = {1: UnsupportedError, 2: UsageError, 3: DataError, 4: RunError, 5: RunError}
_OTHER_REFUSALS = {"lost-in-export", "no-loss", "no-metric", "ambiguous-loss", "no-trainable-parameter", "static-batch",
                   "not-divisible", "other-plan"}


def make(message: str, *, slug: str, node: str, notes: Sequence[str], exit_code: int) -> Error:
    """The exception of the class that fits. The sentences are the command line's, and speak Python here."""
    message, notes = in_python(message, is_message=True), notes_in_python(notes)
    kind = Error if slug in _OTHER_REFUSALS else _BY_SLUG.get(slug) or _BY_CODE.get(exit_code, Error)
    return kind(message, slug=slug, node=node, notes=notes, exit_code=exit_code)


def slug_of(text: str) -> str:
    text = text.rstrip()
    return text[text.rindex("[") + 1:-1] if text.endswith("]") and "[" in text else "internal"


def from_text(code: int, text: str) -> Error:
    """Of the runtime's "error: ..." and "note: ..." lines."""
    lines = text.strip().splitlines()
    message = "\n".join(line.removeprefix("error: ") for line in lines if not line.startswith("note: "))
    notes = [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]
    return make(message or "another rank failed", slug=slug_of(message), node="", notes=notes, exit_code=code)


def from_diagnostics(code: int, said: Sequence[dict]) -> Error:
    """Of a compilation that failed: its first error, the others below it."""
    errors = [each for each in said if each["severity"] == 1]
    if not errors:
        notes = [each["text"] for each in said if each["severity"] == 4]
        return make("the compiler failed without saying why", slug="internal", node="", notes=notes, exit_code=code)
    first, others = errors[0], errors[1:]
    message = "\n".join(each["text"] for each in [first, *others[:9]])
    if len(others) > 9:
        message += f"\n{len(others) - 9} more"
    notes = list(dict.fromkeys(note for each in errors for note in each["notes"]))
    return make(message, slug=first["slug"] or "internal", node=first["node"], notes=notes, exit_code=code)
