# SPDX-License-Identifier: Apache-2.0
"""A run of a compiled artifact, a step a batch. Needs no PyTorch."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence

from . import _accum, _errors, _options, _ragged, _ranks, _safetensors
from ._batch import joined, named, without_settings
from ._compile import Artifact
from ._forms import unwrapped
from ._plan import Plan
from ._resident import resident_bytes
from ._verification import Check, Verification
from ._words import in_python


@dataclasses.dataclass(frozen=True)
class Metrics:
    """Of one optimizer step.

    step: how many were made, with this one. loss: of the batch, as the model defines it, before the update.
    gradient_norm: the 2-norm of all gradients, before clipping; NaN where nothing looked at them. lr: the learning rate.
    samples: of the batch; targets: that the loss was divided by, 0 where it is no mean over targets. seconds: of the
    step; data_seconds: of them, until rows were in place. micro_steps: the batch was cut into. skipped: "" or why the
    step changed nothing, "not-finite" or "spike". peak_bytes: the most memory in use so far. outputs: by name, the model's
    scalar outputs that the loss is computed from, such as auxiliary losses, over the batch as the model defines them.
    """

    step: int
    loss: float
    gradient_norm: float
    lr: float
    samples: int
    targets: int
    seconds: float
    data_seconds: float
    micro_steps: int
    skipped: str
    peak_bytes: int
    outputs: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The loss over all samples of an evaluation at once; accuracy, perplexity: NaN where they have no meaning; outputs: as
    Metrics has them."""

    loss: float
    accuracy: float
    perplexity: float
    samples: int
    targets: int
    seconds: float
    is_best: bool
    outputs: Mapping[str, float] = dataclasses.field(default_factory=dict)


_SKIPPED = {0: "", 1: "not-finite", 2: "spike"}


def _metrics(values: Sequence[Any]) -> Metrics:
    return Metrics(*values[:9], skipped=_SKIPPED[values[9]], peak_bytes=values[10], outputs=values[11])


def _each(batches: Any) -> Iterable[Any]:
    """One batch as an iterable of one."""
    is_one = isinstance(batches, Mapping) or hasattr(batches, "__array__") or (
        isinstance(batches, tuple) and bool(batches) and hasattr(batches[0], "shape"))
    return [batches] if is_one else batches


def _setting(name: str) -> property:
    """A number of the update that can be set between two steps."""
    def read(run: Runner) -> float | None:
        return run._numbers.get(name)

    def write(run: Runner, value: float | None) -> None:
        run._set_number(name, value)

    return property(read, write, doc=f"{_options.of_run()[name].help}; None where it is not given. Set, it holds from the next step on.")


@_options.documented
class Runner:
    """Trains a compiled artifact on batches that come from outside.

    artifact: the folder, or what `compile` returned. lr, weight_decay, beta1, beta2, eps, momentum: PyTorch's formulas
    and defaults, except that weight_decay is 0 unless given. decay: what decays, "matrices" (default), "all" or globs
    over parameter names; lr_scale: {glob: factor}. clip_norm: the 2-norm of all gradients is at most this.

    schedule: "constant", "linear", "cosine", "inverse-sqrt", "wsd", or a file of lines `step,factor`; warmup: steps, or
    "P%"; lr_floor: a rate, or "P%" of the peak; steps: optimizer steps of the whole run, by which a schedule that
    falls knows its end (1000, with a warning, where it is not given).

    seed: of dropout, with the number of the step. on_nan: "stop" raises RunError at a loss or gradient that is not
    finite, and nothing has changed; "skip" leaves such steps out. threads: of the host, 0 for all.

    init: weights to start from instead of the artifact's, FILE.safetensors, an index of several, or their folder;
    init_partial: what fits of it; init_names: whose layouts it has, "onnx" or "framework", where its shapes do not tell.
    random_params: a seed by which all are drawn. offload_dir: the folder of the file that holds offloaded state (by default
    the artifact's).

    truncate: of a program of several lengths: samples longer than the largest size are cut there, in all their arrays;
    without it they are refused.

    Several processes, as mpirun, srun and torchrun start them, train one model: each has this program, makes the same
    calls, and passes the whole batch, of which it trains its share. local_batches: each passes samples of its own, and
    the batch is those of all. launcher: who started them ("auto", "mpi", "slurm", "env"); devices=1: this process alone.
    Results are the same on all of them, and files are written by rank 0.

    `run.lr = X` sets the rate from the next step on, and so do weight_decay, clip_norm and the other numbers; the schedule
    multiplies the new rate, and a floor keeps its part of it. Of several processes all set it, in front of the same step.

    A step is not interrupted: Ctrl-C takes effect behind it, and the run can go on.
    """

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            """The numbers of the table."""

    @_options.with_run_options
    def __init__(self, artifact: Artifact | str | os.PathLike[str], *, local_batches: bool = False, truncate: bool = False,
                 **options: Any):
        known = _options.of_run()
        unknown = [name for name in options if name not in known]
        if foreign := sorted(_options.of_compiler().intersection(unknown)):
            raise _options.usage(f"{', '.join(foreign)}: an artifact is compiled already",
                                 "accum.compile makes another one, and accum.Trainer compiles and trains")
        _options.require_known(unknown, _options.names_of(Runner.__init__))
        given = {**{name: row.default for name, row in known.items()}, **options}
        _options.require_run(given)
        self.artifact = artifact if isinstance(artifact, Artifact) else Artifact(os.fspath(artifact))
        self.seed = given["seed"]
        self._latest: Metrics | None = None
        is_there = pathlib.Path(self.artifact.path, "manifest.json").exists()
        self._names = self.artifact.input_names if is_there else ()
        self._renamed: Mapping[str, str] = {}
        self._settings: Mapping[str, Any] | None = None
        self._padding = self.artifact.padding if is_there else {}
        self._ends = self.artifact.ends if truncate and is_there else {}
        self._cut: set[str] = set()
        if truncate and is_there and not self._ends:
            raise _options.usage("truncate: the program has one length, and takes arrays of that alone")
        devices, init, launcher, folder = (given[name] for name in ("devices", "init", "launcher", "offload_dir"))
        self.rank, self.ranks = (0, 1) if devices == 1 else _ranks.join(launcher)
        self._resident = resident_bytes()
        self._is_local = local_batches
        self._session = _accum.Session(self.artifact.path, threads=given["threads"], skip_nan=given["on_nan"] == "skip",
                                       random_seed=given["random_params"], awaits_weights=init is not None,
                                       offload_dir=None if folder is None else os.fspath(folder),
                                       devices=devices or (self.ranks if self.ranks > 1 else 0), launcher=launcher,
                                       local_batches=local_batches)
        self._planned = self._session.info()["batch"]  # for the first step
        _ranks.keep(self)
        self._in_parts = self.ranks > 1 and self.artifact.manifest.get("shard", {}).get("mode", "none") != "none"
        if given["steps"] is None and _accum.schedule_ends(given["schedule"]) and self.rank == 0:
            warnings.warn(f"schedule {given['schedule']!r} ends at step {_options.DEFAULT_STEPS}, as steps=N is not given",
                          stacklevel=3)
        self._session.set(_options.settings_of(given))
        self._numbers = {name: _options.number(name, given[name]) for name, row in known.items()
                         if row.is_number and given[name] is not None}
        self._numbers.setdefault("lr", self._session.info()["lr"])
        if average := self._session.info()["ema"]:
            self._numbers.setdefault("ema", average)
        if init is not None:
            self._session.init_weights(os.fspath(init), names=given["init_names"], partial=given["init_partial"])

    def _padding_of(self, name: str) -> float | None:
        """What an array of a batch is padded with; None where it is not."""
        return self._padding.get(self._renamed.get(name, name))

    def _named(self, batch: Any) -> list[tuple[str, Any]]:
        arrays = named(without_settings(batch, self._settings, self._names), self._names, self._renamed, self._padding)
        if self._ends:
            arrays, dimensions = _ragged.cut(arrays, self._ends)
            self._cut |= dimensions
        return arrays

    def _set_number(self, name: str, value: float | None) -> None:
        self._session.set([_options.setting(name, value)])
        self._numbers.pop(name, None)
        if value is not None:
            self._numbers[name] = _options.number(name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """A name that means nothing here is not taken in silence. A class of the user's has what attributes he likes."""
        is_known = name.startswith("_") or name == "seed" or hasattr(type(self), name)
        if not is_known and "_session" in self.__dict__ and type(self).__module__.startswith("accum."):
            raise _options.attribute_error(type(self).__name__, name, {*_NUMBERS, "seed"})
        super().__setattr__(name, value)

    @property
    def plan(self) -> Plan | None:
        """How a step is cut; None for an artifact that was compiled elsewhere."""
        made = self.artifact.plan
        return made and dataclasses.replace(made, process_bytes=self._resident)

    @property
    def steps(self) -> int:
        """Optimizer steps that were made, before a resume too."""
        return self._session.steps

    @property
    def notices(self) -> list[str]:
        """What was decided for the user so far, a sentence each."""
        most = {end.dimension: end.most for end in self._ends.values()}
        cut = [f"samples longer than the largest size of `{dimension}` end after {most[dimension]} places"
               for dimension in sorted(self._cut)]
        return [in_python(notice) for notice in self._session.notices()] + cut

    def step(self, batch: Any) -> Metrics:
        """One optimizer step over the samples of `batch`, at least one, however many: micro-steps follow from their
        number, and the loss is normalised by what they hold.

        batch: a mapping of the model's inputs, a list of one such mapping per sample, a tuple in their order, or one array;
        axis 0 is the samples. Arrays are
        NumPy's, tensors, or anything that speaks DLPack or the buffer protocol; dense ones on the host are not copied.
        Raises DataError for what the model does not read, and RunError where the step fails; then nothing has changed.
        """
        self._latest = _metrics(self._session.step(self._named(batch), self.seed))
        if self._planned > self._latest.samples and self.rank == 0:
            warnings.warn(f"a step has the samples of one call: this one had {self._latest.samples}, and the plan is for "
                          f"{self._planned}; a loader with batch_size={self._planned} passes whole batches", stacklevel=2)
        self._planned = 0  # said once: other steps may be the last of an epoch
        return self._latest

    def accumulate(self, batch: Any) -> Metrics:
        """The first half of a step, for what shall happen to gradients in between: gradients of `batch`, added to those
        of the calls since the latest `update`. Each call's loss is normalised by its own samples, as backward() of a
        loop would have it; dropout is that of one step over the samples of all calls. `read(name, "gradient")` and
        `write` show and change what there is."""
        return _metrics(self._session.accumulate(self._named(batch), self.seed))

    def update(self) -> Metrics:
        """The second half: clips and updates with what was accumulated. The loss is that of the latest `accumulate`,
        samples and targets are those of all."""
        self._latest = _metrics(self._session.update())
        return self._latest

    def evaluate(self, batches: Any, *, weights: str = "trained") -> Evaluation:
        """Forward and loss, without dropout, over one batch or an iterable of batches, as if they were one: means over
        targets are means over all targets. Steps have the bits that they have without it. weights="ema": of their moving
        average."""
        arrays = joined([self._named(batch) for batch in _each(batches)], self._padding)
        return Evaluation(*self._session.evaluate(arrays, weights))

    @property
    def outputs(self) -> list[str]:
        """What `predict` gives, by the names in the model file."""
        return self._session.outputs()

    def predict(self, batches: Any, outputs: str | Sequence[str] | None = None, *,
                weights: str = "trained") -> dict[str, Any]:
        """The model's outputs with the present weights, without dropout, by name: NumPy arrays over the samples of one
        batch or an iterable of batches, in order. Micro-steps are those of the plan, the last one ragged where need be.

        outputs: names, of which one may be a text; None: all that the artifact has (`run.outputs`), which are those of the
        model beside its loss. Arrays that they do not depend on, such as labels, may be missing. Steps have the bits that they
        have without it. Of several processes each gets all rows; with local_batches its own. weights="ema":
        with their moving average.

            logits = run.predict(loader, "logits")["logits"]
        """
        parts = list(self.predictions(batches, outputs, weights=weights))
        if not parts:
            raise _errors.DataError("there is no batch to predict", slug="bad-data", exit_code=3)
        if len(parts) == 1:
            return parts[0]
        import numpy

        return {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0]}

    def predictions(self, batches: Any, outputs: str | Sequence[str] | None = None, *,
                    weights: str = "trained") -> Iterator[dict[str, Any]]:
        """What `predict` gives, batch by batch, so that no more than a batch's outputs are held."""
        names = [outputs] if isinstance(outputs, str) else list(outputs or ())
        for batch in _each(batches):
            yield self._session.predict(self._named(batch), names, weights)

    def verify(self, batch: Any = None, *, seconds: float = 60, seed: int = 0) -> Verification:
        """Whether the step does not depend on how the batch is cut into micro-steps, and whether its gradient is that of
        its loss, at the weights of the run; docs/verifying.md says how, and what it does not show.

        batch: samples, as `step` takes them, of which it takes up to two micro-steps and a third per device; without one
        synthetic samples, which seed draws, as it draws dropout and directions. Several processes pass all samples each.
        seconds: for the cuts, and as many for the gradient; 0: all cuts, and no gradient. Weights, the optimizer's state
        and later steps keep their bits; gradients do not. A wrong step is told by the report, not raised; UsageError
        between `accumulate` and `update`.

            report = run.verify()
            assert report, report
        """
        if batch is not None and self._is_local and self.ranks > 1:
            raise _options.usage("with local_batches each process has samples of its own, and verify takes those of all",
                                 "verify() without a batch draws synthetic ones, the same everywhere")
        given = [] if batch is None else self._named(batch)
        checks, text, wrong = self._session.verify(given, float(seconds), seed)
        return Verification(tuple(Check(*each) for each in checks), in_python(text), in_python(wrong))

    def progress(self, batches: Iterable[Any], **options: Any) -> Iterator[Any]:
        """The batches, one after the other, with a bar of tqdm in a terminal or a notebook that shows the loss and the
        rate of the latest step or `update`; where tqdm is not installed, the batches alone.

            for batch in run.progress(loader):
                run.step(batch)

        options: tqdm's, such as desc, leave, disable, file. Of several processes rank 0 shows it.
        """
        if self.rank != 0:
            options["disable"] = True
        try:
            from tqdm.auto import tqdm
        except ImportError:
            yield from batches
            return
        with tqdm(batches, unit="step", **options) as bar:
            for batch in bar:
                before = self._latest
                yield batch
                if self._latest is not before:
                    bar.set_postfix(loss=f"{self._latest.loss:.4f}", lr=f"{self._latest.lr:.2e}", refresh=False)

    def read(self, name: str, kind: str = "parameter") -> Any:
        """A copy of a parameter, by any of its names, as a NumPy array in the model file's layout. kind: "gradient" of
        the last step, before clipping, "ema", or a slot of the optimizer ("m", "v", "momentum", ...)."""
        return self._session.read(kind, name)

    def write(self, name: str, array: Any, kind: str = "parameter") -> None:
        """Overwrites what `read` gives, in its type and shape."""
        self._session.write(kind, name, array)

    @property
    def trained(self) -> list[str]:
        """The trained parameters, by their names in the model file."""
        return self._session.trained()

    def state_dict(self, *, weights: str = "trained") -> dict[str, Any]:
        """Name to NumPy array, as the framework's load_state_dict takes them. weights="ema": their moving average."""
        if weights not in ("trained", "ema"):
            raise _options.usage(f"weights is {weights!r}, expected \"trained\" or \"ema\"")
        return self._tensors("parameter" if weights == "trained" else weights)

    def gradients(self) -> dict[str, Any]:
        """Of the last step, before clipping and update, under the names of `state_dict`."""
        return self._tensors("gradient")

    def _save_state(self, path: str) -> None:
        """What `state_dict` gives, in a file."""
        self._session.save_tensors("parameter", "framework", path, in_parts=False)

    def _tensors(self, kind: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="accum-state-") as folder:
            path = os.path.join(folder, "state.safetensors")
            self._session.save_tensors(kind, "framework", path, in_parts=self._in_parts)
            if not self._in_parts:
                return _safetensors.read(path)
            return _ranks.from_first(self.rank, self.ranks, lambda: _safetensors.read(path))

    def load_into(self, module: Any, strict: bool = True, *, weights: str = "trained") -> None:
        """Copies the trained weights, or with weights="ema" their moving average, into a PyTorch module, by its own names.

        strict: raises DataError, and changes nothing, where a trained parameter of the module would keep its old value
        though the loss reads it, or a weight has no place. Buffers, frozen parameters, and those that the loss does not
        read keep their values.
        """
        self._load(module, self.state_dict(weights=weights), strict)

    def _load(self, module: Any, arrays: Mapping[str, Any], strict: bool = True) -> None:
        import torch

        module = unwrapped(module)
        taken = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        missing, surplus = self._unmatched(module, taken)
        if strict and (missing or surplus):
            what = [f"no value for {', '.join(missing)}"] if missing else []
            what += [f"no place for {', '.join(surplus)}"] if surplus else []
            raise _errors.DataError(f"the weights and the module do not fit: {'; '.join(what)}", slug="weights",
                                    exit_code=3, notes=["strict=False loads what fits", *self._export_notes()])
        own = module.state_dict()
        with torch.no_grad():
            for name, value in taken.items():
                if name in own:
                    own[name].copy_(value)

    def _unmatched(self, module: Any, taken: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        names: dict[int, list[str]] = {}
        for name, each in module.named_parameters(remove_duplicate=False):
            if each.requires_grad:
                names.setdefault(id(each), []).append(name)
        unread = set(self._unread())
        missing = [own[0] for own in names.values() if not any(name in taken for name in own)
                   and not unread.intersection(own)]
        own = module.state_dict()
        surplus = [name for name, value in taken.items() if name not in own or own[name].shape != value.shape]
        return missing, surplus

    def _unread(self) -> Sequence[str]:
        return ()

    def _export_notes(self) -> list[str]:
        return [notice for notice in self.notices if "framework" in notice]

    def save(self, path: str | os.PathLike[str], *, names: str | None = None, dtype: str | None = None,
             model: str | os.PathLike[str] | None = None, keep_old: bool = True, weights: str = "trained") -> None:
        """Trained weights into FILE.safetensors (names "framework", by default, or "onnx"; dtype "f16" or "bf16"), or
        into the model file, FILE.onnx (model: where that is, if not where it was compiled). An existing file is kept as
        FILE.1. weights="ema": their moving average."""
        where = os.fspath(path)
        names = names or ("onnx" if where.endswith(".onnx") else "framework")
        self._session.save_weights(where, names=names, dtype=dtype, model=None if model is None else os.fspath(model),
                                   keep_old=keep_old, weights=weights)

    def checkpoint(self, folder: str | os.PathLike[str], keep: int = 3, background: bool = False) -> None:
        """Writes FOLDER/step-NNNNNNNN: weights, optimizer state, and what else the next step needs. It appears whole or
        not at all; of the older ones the newest keep - 1 stay (0: all). Between `accumulate` and `update` it raises
        UsageError. background: a thread writes it from a copy of the
        state, whose memory a notice tells; what fails then is raised by the next checkpoint, or by `close`."""
        self._session.checkpoint(os.fspath(folder), keep, background)

    def resume(self, folder: str | os.PathLike[str], weights_only: bool = False, *, weights: str = "trained") -> bool:
        """Goes on from a checkpoint, or the newest whole one of a folder of them; False where there is none. Steps over
        the same batches then have the bits of a run that was never interrupted. weights_only: a new run from its
        weights, or with weights="ema" from their moving average."""
        if weights != "trained" and not weights_only:
            raise _options.usage("weights says which of a checkpoint's begin a new run: weights_only=True belongs to it")
        return self._session.resume(os.fspath(folder), weights_only, weights)

    def close(self) -> None:
        """Gives the memory back, behind a checkpoint that is being written; what was read stays."""
        try:
            self._session.finish_checkpoint()
        finally:
            self._session.close()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<accum.{type(self).__name__} {self.artifact.path}, {self.steps} steps made>"


_NUMBERS = [name for name, row in _options.of_run().items() if row.is_number]
for _name in _NUMBERS:
    setattr(Runner, _name, _setting(_name))
