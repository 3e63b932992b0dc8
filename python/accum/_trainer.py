# SPDX-License-Identifier: Apache-2.0
"""From a PyTorch module to a run in one call."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import tempfile
import weakref
from typing import Any, Callable, Mapping, Sequence

from . import _errors, _lengths, _options, _ragged, _ranks
from ._batch import collated, is_positional
from ._compile import Artifact, compile, require_options
from ._export import Export, export
from ._runner import Runner


def _is_file(model: Any) -> bool:
    return isinstance(model, (str, os.PathLike))


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # and no forked child of it, which ends earlier
        shutil.rmtree(folder, ignore_errors=True)


class Trainer(Runner):
    """Exports a module, checks and plans it, compiles it, and trains it.

    model: a PyTorch module, an ONNX file, or an artifact. example_batch: of a module, one batch as the loader gives it
    (see `export`, as for loss and training). batch: samples of an optimizer step, for which the plan is made; of an
    artifact it is known.

    lengths: sizes such as [32, 64, 128] to which texts are padded, or "auto": one program computes each sample at the smallest
    that holds it, and a batch may be padded to any length up to the largest, or be a list of samples of their own lengths.
    length_sample: lengths of some samples, for "auto". Of an ONNX file: dim={"sequence": [32, 64, 128]}.

    memory="8GiB" per device, optimizer, precision, micro_batch and the other options of accumc with `_` for `-`; lr,
    clip_norm, schedule and the others as for `Runner`. folder: where the ONNX file and the artifact are kept; without
    it they are gone with the Trainer.

    Of several processes (see `Runner`) rank 0 exports and compiles, for all of them, and training starts from its
    weights. On several machines they all see `folder`.

    The module's weights are those that training starts from; `load_into` brings the trained ones back.
    """

    @_options.with_run_options
    def __init__(self, model: Any, example_batch: Any = None, *, batch: int | None = None,
                 folder: str | os.PathLike[str] | None = None, loss: Callable | str | None = None,
                 training: bool | None = None, lengths: Sequence[int] | str | None = None,
                 length_sample: Sequence[int] | None = None, devices: int | None = None, launcher: str | None = None,
                 _computed: Callable | None = None, **options: Any):
        compiled = self._required(model, batch, loss, {**options, "devices": devices, "launcher": launcher})
        options = {name: value for name, value in options.items() if name not in compiled}
        self.export: Export | None = None
        self._order: Sequence[str] = ()
        self._is_kept = folder is not None
        self._folder = pathlib.Path(folder) if folder is not None else self._temporary()
        self._computed = _computed
        rank, ranks = (0, 1) if devices == 1 else _ranks.join(launcher)
        if not self._is_compiled(model):
            compiled["devices"] = devices or ranks
            compiled["ema"] = options.get("ema") is not None  # the number itself is the run's

        def prepared() -> tuple[Any, ...]:
            made = self._prepared(model, example_batch, batch, loss, training, compiled, lengths, length_sample)
            return made, self.export, self._order

        artifact, self.export, self._order = _ranks.from_first(rank, ranks, prepared)
        super().__init__(artifact, devices=devices, launcher=launcher, **options)
        self._names = self._order or self._names
        self._renamed = self.export.renamed if self.export else {}
        self._settings = self.export.settings if self.export else None

    @classmethod
    def _required(cls, model: Any, batch: int | None, loss: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the compiler; all of them are checked before anything is exported."""
        of_run = _options.names_of(Runner.__init__, Trainer.__init__)
        of_compiler = _options.of_compiler() - of_run - {"output"}
        _options.require_known(options, of_run | of_compiler)
        compiled = {name: value for name, value in options.items() if name in of_compiler}
        _options.require_run(options)
        if not cls._is_compiled(model):
            words = {"batch": 1 if batch is None else batch, "loss": loss if isinstance(loss, str) else None}
            require_options({**words, **compiled})
            keeps = "" if options.get("ema") is None else "-ema"
            _options.require_numbers((compiled.get("optimizer") or "adamw") + keeps, options)
        return compiled

    def _temporary(self) -> pathlib.Path:
        made = tempfile.mkdtemp(prefix="accum-")
        weakref.finalize(self, _remove, made, os.getpid())
        return pathlib.Path(made)

    @staticmethod
    def _is_compiled(model: Any) -> bool:
        return isinstance(model, Artifact) or (_is_file(model) and pathlib.Path(model).suffix == ".accum")

    def _prepared(self, model: Any, example_batch: Any, batch: int | None, loss: Any, training: bool | None,
                  compiled: Mapping[str, Any], lengths: Any, length_sample: Sequence[int] | None) -> Artifact:
        if length_sample is not None and lengths != "auto":
            raise _options.usage("length_sample says what lengths=\"auto\" chooses sizes for")
        if self._is_compiled(model):
            given = [name for name, value in (("batch", batch), ("loss", loss), ("lengths", lengths))
                     if value is not None] + list(compiled)
            if given:
                raise _errors.UsageError(f"an artifact is compiled already: leave {', '.join(given)} out", slug="usage",
                                         exit_code=2)
            return model if isinstance(model, Artifact) else Artifact(os.fspath(model))
        if batch is None:
            raise _errors.UsageError("batch=N is missing: the samples of an optimizer step", slug="usage", exit_code=2)
        self._folder.mkdir(parents=True, exist_ok=True)
        if _is_file(model) and lengths is not None:
            raise _options.usage("lengths is of a module: of a file dim={\"sequence\": [32, 64, 128]} names the dimension")
        if _is_file(model):
            return self._compiled(model, batch=batch, loss=loss, **compiled)
        if example_batch is None:
            raise _errors.UsageError("example_batch is missing: a module is exported by what it computes of one batch",
                                     slug="usage", exit_code=2)
        example_batch = _ragged.example(collated(example_batch))
        of_module = loss if callable(loss) else None
        self.export = export(model, example_batch, self._folder / "model.onnx", loss=of_module, training=training,
                             _computed=self._computed, _has_named_loss=isinstance(loss, str) and loss != "auto",
                             _has_lengths=lengths is not None,
                             _relates_samples=compiled.get("on_cross_batch") in ("split", "disable"))
        if lengths is not None:
            sizes = _lengths.compiler_options(lengths, length_sample, self.export.widths, _lengths.limit_of(model),
                                              self._folder)
            compiled = {**compiled, **sizes, "dim": {**(compiled.get("dim") or {}), **sizes["dim"]}}
        self._order = self.export.input_names if not isinstance(example_batch, Mapping) or is_positional(
            example_batch) else ()
        return self._compiled(self.export.path, batch=batch, loss=None if of_module else loss, **compiled)

    def _compiled(self, path: str | os.PathLike[str], **options: Any) -> Artifact:
        """Where nothing is kept, the plan does not say where it is, and what to do with it."""
        made = compile(path, output=self._folder / "model.accum", **options)
        if self._is_kept or made.plan is None:
            return made
        lines = [line for line in made.plan.text.splitlines() if not line.startswith(("wrote ", "next "))]
        return dataclasses.replace(made, plan=dataclasses.replace(made.plan, text="\n".join(lines)))

    @property
    def notices(self) -> list[str]:
        of_model = self.plan.notices if self.plan else ()
        return [*(self.export.notices if self.export else ()), *of_model, *super().notices]

    def _unread(self) -> Sequence[str]:
        return self.export.lost if self.export else ()
