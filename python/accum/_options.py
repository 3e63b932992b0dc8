# SPDX-License-Identifier: Apache-2.0
"""Options of a run and of the compiler as arguments: which there are, and what is wrong with them before anything is done."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _accum, _errors

DEFAULT_STEPS = 1000
NUMBERS = ("lr", "weight_decay", "beta1", "beta2", "eps", "momentum", "clip_norm", "skip_spikes")


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
                        "docs/guide.md lists those of a run, accumc --help those of the compiler")


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


def hyper_of(options: Mapping[str, Any]) -> tuple[dict[str, float], list[str], list[str]]:
    """(numbers by name, what decays, factors of the rate), as accum_hyper_options has them."""
    numbers = {name: number(name, options[name]) for name in NUMBERS if options.get(name) is not None}
    decay: str | Sequence[str] | None = options.get("decay")
    rates = [f"{glob}={factor}" for glob, factor in (options.get("lr_scale") or {}).items()]
    return numbers, [decay] if isinstance(decay, str) else list(decay or ()), rates


def schedule_of(options: Mapping[str, Any]) -> tuple[int, str, str | None, str | None, str | None]:
    """(steps, kind, warm-up, floor, decay steps), as accum_schedule_options has them."""
    def text(name: str) -> str | None:
        return None if options.get(name) is None else str(options[name])

    require_whole(1, steps=options.get("steps"))
    return (int(options.get("steps") or DEFAULT_STEPS), str(options.get("schedule") or "constant"), text("warmup"),
            text("lr_floor"), text("decay_steps"))


def require_run(options: Mapping[str, Any]) -> None:
    """What needs no artifact to be found wrong."""
    if options.get("on_nan", "stop") not in ("stop", "skip"):
        raise usage(f"on_nan is {options['on_nan']!r}, expected \"stop\" or \"skip\"")
    require_whole(0, seed=options.get("seed"), threads=options.get("threads"), random_params=options.get("random_params"))
    require_whole(1, devices=options.get("devices"))


def require_numbers(optimizer: str, options: Mapping[str, Any]) -> None:
    """Ranges, and which numbers this optimizer has."""
    _accum.check_run(optimizer, *hyper_of(options), *schedule_of(options))
