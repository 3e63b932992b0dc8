# SPDX-License-Identifier: Apache-2.0
"""check, plan, compile: accumc's options as arguments."""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
import warnings
from typing import Any, Mapping, Sequence

from . import _accum, _errors, _ragged
from ._plan import Plan, from_search
from ._words import in_python

PathLike = "str | os.PathLike[str]"


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A compiled program in a folder: native code, so load only your own.

    path: the folder. plan: how a step is cut; None where the artifact was not compiled here. input_names: the model's
    inputs, in its order.
    """

    path: str
    plan: Plan | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        """docs/manifest.md."""
        return json.loads((pathlib.Path(self.path) / "manifest.json").read_text())

    def describe(self) -> str:
        """Signature, plan, memory table and versions, as `accum-run --describe` prints them; runs nothing."""
        return _accum.describe(self.path)

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(each["name"] for each in self.manifest["inputs"][:-2]  # the last two are the runtime's
                     if each["synthesize"] != "position")

    @property
    def padding(self) -> dict[str, float]:
        """What stands after a sample's end, by the input; empty where the program has one length."""
        return {each["name"]: each["padded"]["padding"] for each in self.manifest["inputs"] if "padded" in each}


    @property
    def ends(self) -> dict[str, _ragged.End]:
        """Where samples end at the latest, by the input; empty where the program has one length."""
        read = self.manifest
        padded = {each["name"]: each["padded"] for each in read["inputs"] if "padded" in each}
        return {name: _ragged.End(each["axis"], read["lengths"]["list"][-1]["sizes"][each["dim"]], each["padding"],
                                  each["mask"], read["lengths"]["dims"][each["dim"]]) for name, each in padded.items()}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What `check` understood of a model that can be trained.

    trained, frozen: elements of parameters. loss: as the option `loss` has it; loss_output: of which output. batch_dim:
    the symbolic dimension that is the batch. notices: sentences. text: all of it for people.
    """

    trained: int
    frozen: int
    loss: str
    loss_output: str
    batch_dim: str
    notices: tuple[str, ...]
    text: str = dataclasses.field(repr=False)
    json: dict[str, Any] = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.text.rstrip("\n")


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Arguments as words of the command line: `micro_batch=4` is `--micro-batch 4`, True a flag, a list the option
    several times, `dim={"sequence": 128}` is `--dim sequence=128`. None and False: left out."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                several = isinstance(each, Sequence) and not isinstance(each, str)
                words += [flag, f"{key}={','.join(map(str, each)) if several else each}"]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for each in value:
                words += [flag, str(each)]
        else:
            words += [flag, str(value)]
    return words


_ELSEWHERE = ("json", "report", "config", "to", "dump_phases", "timing", "verbose", "list_targets", "explain", "plan_only",
              "help", "version")


def _words(words: list[str], options: Mapping[str, Any]) -> list[str]:
    for name in _ELSEWHERE:
        if name in options:
            raise _errors.UsageError(f"{name} is an option of the command accumc alone", slug="usage", exit_code=2)
    if str(options.get("micro_batch", "")).startswith("explore"):
        raise _errors.UnsupportedError("micro_batch=\"explore\" runs programs beside accumc and is not built here",
                                       slug="not-built", exit_code=2,
                                       notes=["accumc MODEL.onnx --micro-batch explore makes the artifact; "
                                              "Trainer takes its folder"])
    return words + words_of(options)


def require_options(options: Mapping[str, Any]) -> None:
    """Raises what is wrong with options of the compiler themselves; there is no model yet."""
    code, _, _, said = _accum.compile(_words(["model.onnx"], options), parses_only=True)
    if code != 0:
        raise _errors.from_diagnostics(code, said)


def _run(words: list[str], options: Mapping[str, Any], report: str | None = None) -> tuple[dict[str, Any], str]:
    """(the object of --json, the summary), or raises."""
    words = _words(words, options) + ["--json"] + (["--report", report] if report else [])
    code, text, object_text, said = _accum.compile(words)
    found = json.loads(object_text) if object_text else {}
    text = in_python(text)
    if code != 0:
        error = _errors.from_diagnostics(code, said)
        if isinstance(error, _errors.DoesNotFitError) and "search" in found:
            error.plan = from_search(found["search"], text)
        raise error
    for each in said:
        if each["severity"] == 2:
            warnings.warn(in_python(each["text"]), stacklevel=4)
    return found, text


def _planned(words: list[str], options: Mapping[str, Any]) -> tuple[Plan, str]:
    with tempfile.TemporaryDirectory(prefix="accum-report-") as folder:
        page = pathlib.Path(folder) / "plan.html"
        found, text = _run(words, options, str(page))
        notices = [in_python(notice) for notice in (*found["notices"], *found["search"].get("notices", ()))]
        return from_search(found["search"], text, page.read_text() if page.exists() else "", notices,
                           found.get("lengths", ())), text


def check(path: PathLike, **options: Any) -> Verdict:
    """What accumc understands of an ONNX file, without compiling it; raises what it refuses.

    options: those of accumc with `_` for `-` that say what is trained: loss, dim, batch_dim, trainable, freeze, ...
    """
    found, text = _run(["check", os.fspath(path)], options)
    return Verdict(trained=found["trained"]["elements"], frozen=found["frozen"]["elements"], loss=found["loss"]["kind"],
                   loss_output=found["loss"]["output"], batch_dim=found["batch_dim"], notices=tuple(map(in_python, found["notices"])),
                   text=text, json=found)


def plan(path: PathLike, *, batch: int, **options: Any) -> Plan:
    """The plan of an optimizer step over `batch` samples, without compiling; the file needs no weights.

    options: accumc's with `_` for `-`: memory="8GiB" (per device), devices, optimizer, precision, micro_batch, target,
    recompute, prefer, ... Raises DoesNotFitError, with the plan that shows by how much, where no size fits.
    """
    return _planned([os.fspath(path), "--batch", str(batch), "--plan-only"], options)[0]


def compile(path: PathLike, *, batch: int, output: PathLike | None = None, **options: Any) -> Artifact:
    """Compiles an ONNX file into an artifact in the folder `output` (by default beside it, MODEL.accum).

    batch: samples of an optimizer step over all devices. options: as for `plan`.
    """
    source = pathlib.Path(path)
    folder = os.fspath(output) if output is not None else str(source.with_suffix(".accum"))
    chosen, _ = _planned([str(source), "--batch", str(batch), "-o", folder], options)
    return Artifact(folder, chosen)
