# SPDX-License-Identifier: Apache-2.0
"""Options of a run and of the compiler as arguments: which there are, and what is wrong with them before anything is done."""
from __future__ import annotations

import ast
import functools
import inspect
import re
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from . import _accum, _errors, _words

DEFAULT_STEPS = 1000


class RunOption(NamedTuple):
    """A row of the runtime's table of options."""

    flag: str  # without its dashes
    type: str
    default: Any
    help: str
    is_set: bool  # the session takes it, and not this package

    @property
    def is_number(self) -> bool:
        """It can be set between two steps."""
        return self.is_set and self.type == "float | None"


@functools.cache
def of_run() -> dict[str, RunOption]:
    """By the names of arguments."""
    rows = {}
    for flag, python, text, is_set in _accum.run_options():
        kind, default = python.split(" = ")
        text = re.sub(r"--([a-z-]+)", lambda found: found[1].replace("-", "_"), text)
        rows[flag.replace("-", "_")] = RunOption(flag, kind, ast.literal_eval(default), text, is_set)
    return rows


def with_run_options(function: Callable) -> Callable:
    """Its signature, with the table's options in front of those that `**` takes."""
    signature = inspect.signature(function)
    own = signature.parameters
    rows = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=row.default, annotation=row.type)
            for name, row in of_run().items() if name not in own]
    *named, rest = own.values()
    setattr(function, "__signature__", signature.replace(parameters=[*named, *rows, rest]))
    return function


def documented(owner: type) -> type:
    """With a line for each option of a run that its text does not name."""
    lines = [f"    {name}: {row.help}." for name, row in of_run().items() if not re.search(rf"\b{name}\b", owner.__doc__ or "")]
    owner.__doc__ = "\n".join([(owner.__doc__ or "").rstrip(), "", *lines, ""])
    return owner


def usage(message: str, *notes: str) -> _errors.UsageError:
    return _errors.UsageError(message, slug="usage", exit_code=2, notes=notes)


def names_of(*functions: Callable) -> set[str]:
    """Their arguments, but for those that only this package passes."""
    found = {name for function in functions for name, each in inspect.signature(function).parameters.items()
             if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}
    return {name for name in found if name != "self" and not name.startswith("_")}


def of_compiler() -> set[str]:
    return {name.replace("-", "_") for name in _accum.compiler_options()}


def _meant(name: str, known: Iterable[str]) -> str:
    return _accum.meant_by(name, [each.replace("_", "-") for each in sorted(known)]).replace("-", "_")


def require_known(given: Iterable[str], known: set[str]) -> None:
    for name in given:
        if name not in known:
            meant = _meant(name, known)
            raise usage(f"`{name}` is no option" + (f": nearest is `{meant}`" if meant else ""),
                        f"{_words.page('guide.md')} lists those of a run, accumc --help those of the compiler")


def attribute_error(owner: str, name: str, known: Iterable[str]) -> AttributeError:
    meant = _meant(name, known)
    return AttributeError(f"{name} of a {owner} cannot be set" + (f": nearest is `{meant}`" if meant else ""))


def number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        raise usage(f"{name} is {value!r}, expected a number") from None


def require_whole(least: int, **values: Any) -> None:
    """None is not given."""
    for name, value in values.items():
        is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
        if value is not None and not (is_whole and least <= int(value) < 1 << 64):
            raise usage(f"{name} is {value!r}, expected a whole number from {least} on")


def _texts(name: str, value: Any) -> list[str]:
    """As the command line has them."""
    if of_run()[name].is_number:
        return [repr(number(name, value))]
    if isinstance(value, Mapping):
        return [f"{key}={each}" for key, each in value.items()]
    return [str(value)] if isinstance(value, str) or not isinstance(value, Sequence) else [str(each) for each in value]


def settings_of(options: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """What a session takes of them, as accum_set has it."""
    require_whole(1, steps=options.get("steps"))
    given = {**options, "steps": options.get("steps") or DEFAULT_STEPS}
    return [(row.flag, text) for name, row in of_run().items() if row.is_set and given.get(name) is not None
            for text in _texts(name, given[name])]


def setting(name: str, value: Any) -> tuple[str, str | None]:
    """One number; None: as if it were not given."""
    return of_run()[name].flag, None if value is None else repr(number(name, value))


def require_run(options: Mapping[str, Any]) -> None:
    """What needs no artifact to be found wrong."""
    if options.get("on_nan", "stop") not in ("stop", "skip"):
        raise usage(f"on_nan is {options['on_nan']!r}, expected \"stop\" or \"skip\"")
    require_whole(0, seed=options.get("seed"), threads=options.get("threads"), random_params=options.get("random_params"))
    require_whole(1, devices=options.get("devices"))


def require_numbers(optimizer: str, options: Mapping[str, Any]) -> None:
    """Ranges, and which numbers this optimizer has."""
    _accum.check_options(optimizer, settings_of(options))
