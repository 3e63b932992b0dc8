# SPDX-License-Identifier: Apache-2.0
"""What the compiler decided, and why."""
from __future__ import annotations

import dataclasses
import html
import itertools
from typing import Any, Sequence


@dataclasses.dataclass(frozen=True)
class MemoryLine:
    """One line of the memory table. bytes: of it, per device."""

    kind: str
    name: str
    bytes: int


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A micro-batch size that was compared.

    micro_batch: samples; steps: micro-steps of an optimizer step; last: samples of the last of them. arena_bytes: state
    and scratch; counted_bytes: what counts towards the budget. seconds: of an optimizer step, predicted. verdict:
    "chosen", "does-not-fit", "slower", "more-memory" or "not-divisible"; over_bytes: how much it is over the budget.
    """

    micro_batch: int
    steps: int
    last: int
    arena_bytes: int
    counted_bytes: int
    seconds: float
    verdict: str
    over_bytes: int = 0
    note: str = ""


def _size(bytes: int) -> str:
    value, unit = bytes / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if value >= 1024:
            value, unit = value / 1024, larger
    return f"{value:.{1 if value >= 9.995 else 2}f} {unit}"  # three digits at least, as base/FormatBytes


@dataclasses.dataclass(frozen=True, repr=False)
class Plan:
    """How an optimizer step is cut, and what it takes of a device. Bytes and seconds; print it for the table.

    micro_batch, steps, last: samples of a micro-step, how many there are, and samples of the last; None where nothing
    fits. budget_bytes: what a plan may count; total_bytes: what the process takes. peak: the moment at which scratch
    is fullest, and what is held then. candidates: every size that was compared. report: a page that draws it all.
    notices: what was decided about the model, a sentence each. lengths: of a program of several, each one's sizes,
    micro-batch, predicted seconds of a micro-step, and bytes; micro_batch is then that of the largest. process_bytes: of
    a run, what the process had in memory on the host before it (Python, PyTorch, the script's data); no budget counts it.
    """

    batch: int
    devices: int
    target: str
    budget_bytes: int
    micro_batch: int | None = None
    steps: int | None = None
    last: int | None = None
    total_bytes: int | None = None
    counted_bytes: int | None = None
    state_bytes: int | None = None
    scratch_bytes: int | None = None
    seconds: float | None = None
    recompute: tuple = ()
    memory: tuple[MemoryLine, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    notices: tuple[str, ...] = ()
    lengths: tuple[dict[str, Any], ...] = ()
    peak: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    text: str = dataclasses.field(default="", repr=False)
    report: str = dataclasses.field(default="", repr=False)
    json: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    process_bytes: int | None = dataclasses.field(default=None, compare=False)

    @property
    def why(self) -> str:
        """What the sizes beside the chosen one would take."""
        lines = self.text.splitlines()
        first = next((at for at, line in enumerate(lines) if line.startswith("why")), len(lines))
        behind = itertools.takewhile(lambda line: line.startswith("   "), lines[first + 1:])
        return " ".join(line.removeprefix("why").strip() for line in [*lines[first:first + 1], *behind])

    def __str__(self) -> str:
        text = self.text.rstrip("\n")
        if self.process_bytes is None:
            return text
        return (f"{text}\nprocess  {_size(self.process_bytes)} before the run (Python, its libraries, the script's data), "
                "which the total does not count")

    def __repr__(self) -> str:
        """How the step is cut, what it takes, and why; `print` has the whole table."""
        if self.micro_batch is None:
            return f"plan     none: no micro-batch of a batch of {self.batch} fits into {_size(self.budget_bytes)}"
        lines = [line for line in self.text.splitlines() if line.startswith("plan ")][:1] or [
            f"plan     micro-batch {self.micro_batch} x {self.steps}"]
        process = "" if self.process_bytes is None else f"; {_size(self.process_bytes)} of the process before the run"
        lines.append(f"memory   {_size(self.total_bytes or 0)} of {_size(self.budget_bytes)} per device{process}")
        return "\n".join([*lines, *([f"why      {self.why}"] if self.why else [])])

    def _repr_html_(self) -> str:
        if not self.report:
            return f"<pre>{html.escape(str(self))}</pre>"
        return f'<iframe srcdoc="{html.escape(self.report)}" style="width: 100%; height: 40em; border: 0"></iframe>'


def _fields(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def from_search(search: dict[str, Any], text: str = "", report: str = "", notices: Sequence[str] = (),
                lengths: Sequence[dict[str, Any]] = ()) -> Plan:
    """Of the objects `search` and `lengths` that --json prints (docs/json.md)."""
    chosen = _fields(Plan, search.get("plan", {}))
    chosen["recompute"] = tuple(chosen.get("recompute", ()))
    candidates: Sequence[dict] = search.get("candidates", ())
    return Plan(batch=search["batch"], devices=search["devices"], target=search["target"],
                budget_bytes=search["budget_bytes"],
                memory=tuple(MemoryLine(**_fields(MemoryLine, line)) for line in search.get("memory", ())),
                candidates=tuple(Candidate(**_fields(Candidate, each)) for each in candidates),
                peak=search.get("peak", {}), text=text, report=report, json=search,
                notices=tuple(notices), lengths=tuple(lengths), **chosen)
