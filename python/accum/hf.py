# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's training arguments, trained by accum: the loss curve is that of transformers.Trainer.

What has a meaning here is taken over; any other argument that is not at its default is refused by name.
"""
from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import os
import pathlib
import tempfile
import time
import warnings
from typing import Any, Callable, Iterator, Sequence

from . import _accum, _batch, _errors, _generators, _lengths, _options, _ragged
from ._draws import Draws
from ._runner import Metrics
from ._trainer import Trainer
from ._watchers import Best, Watchers, predicted_metrics, require_lookers

_TAKEN = {"output_dir", "per_device_train_batch_size", "num_train_epochs", "max_steps", "learning_rate", "lr_scheduler_type",
          "lr_scheduler_kwargs", "warmup_steps", "warmup_ratio", "optim", "weight_decay", "adam_beta1", "adam_beta2",
          "adam_epsilon", "gradient_accumulation_steps", "max_grad_norm", "bf16", "tf32", "eval_strategy", "eval_steps",
          "eval_on_start", "per_device_eval_batch_size", "save_strategy", "save_steps", "save_total_limit", "seed",
          "data_seed", "dataloader_drop_last", "label_smoothing_factor", "resume_from_checkpoint", "logging_steps",
          "logging_strategy", "logging_first_step", "report_to", "load_best_model_at_end", "metric_for_best_model",
          "greater_is_better", "include_for_metrics", "batch_eval_metrics", "eval_do_concat_batches", "label_names"}
# They change how fast or loud a run is, or how batches are loaded, which is the Trainer's own loader.
_HARMLESS = {"logging_dir", "logging_nan_inf_filter", "log_level", "log_level_replica",
             "log_on_each_node", "disable_tqdm", "run_name", "project", "do_train", "do_eval", "do_predict",
             "dataloader_num_workers", "dataloader_pin_memory", "dataloader_persistent_workers",
             "dataloader_prefetch_factor", "dataloader_multiprocessing_context", "dataloader_in_order",
             "remove_unused_columns", "use_cpu", "no_cuda", "use_cache", "skip_memory_metrics",
             "prediction_loss_only", "gradient_checkpointing", "gradient_checkpointing_kwargs", "activation_checkpointing",
             "activation_checkpointing_kwargs", "average_tokens_across_devices", "torch_compile", "torch_compile_backend",
             "torch_compile_mode", "auto_find_batch_size", "eval_accumulation_steps", "full_determinism",
             "torch_empty_cache_steps", "save_safetensors", "overwrite_output_dir", "train_sampling_strategy",
             "length_column_name", "group_by_length", "accelerator_config", "local_rank"}
_OPTIMIZERS = {"adamw_torch": "adamw", "adamw_torch_fused": "adamw", "adamw_hf": "adamw", "sgd": "sgd", "adagrad": "adagrad"}


@dataclasses.dataclass(frozen=True)
class TrainOutput:
    """What a run came to.

    global_step: optimizer steps. training_loss: their mean. metrics: of each step. log_history: lines as
    transformers.Trainer writes them, of steps (at logging_steps) and evaluations.
    """

    global_step: int
    training_loss: float
    metrics: tuple[Metrics, ...] = dataclasses.field(repr=False)
    log_history: tuple[dict[str, Any], ...] = dataclasses.field(repr=False)


def _text(value: Any) -> str:
    return str(getattr(value, "value", value))


def _refuse(name: str, value: Any, note: str = "") -> None:
    raise _errors.UnsupportedError(f"TrainingArguments: {name}={_text(value)} has no meaning here", slug="not-built",
                                   exit_code=2, notes=[note] if note else [])


def _check(args: Any) -> None:
    default = type(args)(output_dir=args.output_dir)
    for field in dataclasses.fields(args):
        value = getattr(args, field.name)
        if field.name not in _TAKEN | _HARMLESS and value != getattr(default, field.name):
            _refuse(field.name, value)
    if _text(args.optim) not in _OPTIMIZERS:
        _refuse("optim", args.optim, "taken are " + ", ".join(_OPTIMIZERS))
    if _text(args.save_strategy) == "best":
        _refuse("save_strategy", args.save_strategy)


def _factors(args: Any, steps: int) -> list[float]:
    """Of the learning rate at each step, as transformers computes them."""
    import torch
    import transformers

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = transformers.get_scheduler(args.lr_scheduler_type, optimizer, num_warmup_steps=args.get_warmup_steps(steps),
                                          num_training_steps=steps, scheduler_specific_kwargs=args.lr_scheduler_kwargs)
    factors = []
    for _ in range(steps):
        factors.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        schedule.step()
    return factors


def _schedule_file(factors: list[float], folder: str) -> str:
    path = pathlib.Path(folder) / "schedule.csv"
    path.write_text("".join(f"{step},{factor!r}\n" for step, factor in enumerate(factors)))
    return str(path)


def _grouped(loader: Any, count: int, padding: Callable[[str], float | None]) -> Iterator[dict[str, Any]]:
    """So many of the loader's batches as one: accumulation is here the plan's matter. padding: of inputs that may have other
    widths in other batches."""
    batches = iter(loader)
    while group := list(itertools.islice(batches, count)):
        import torch

        settings = {name: _batch.plain(value) for name, value in group[0].items() if _batch.is_setting(value)}
        group = [{name: value for name, value in _batch.without_settings(batch, settings).items() if value is not None}
                 for batch in group]
        parts = {name: _ragged.widened([batch[name] for batch in group], padding(name)) for name in group[0]}
        shapes = {name: {tuple(part.shape[1:]) for part in own} for name, own in parts.items()}
        if any(len(own) > 1 for own in shapes.values()):
            raise _errors.DataError("batches of several lengths cannot be one step", slug="bad-data", exit_code=3,
                                    notes=["pad all texts to one length: padding=\"max_length\""])
        yield {name: torch.cat([torch.as_tensor(part) for part in own]) for name, own in parts.items()} | settings


def _every(strategy: Any, steps: Any, step: int, ends_epoch: bool) -> bool:
    kind = _text(strategy)
    return (kind == "steps" and step % max(1, int(steps)) == 0) or (kind == "epoch" and ends_epoch)


class _Run:
    """The loop of transformers.Trainer around accum's steps."""

    def __init__(self, loaders: Any, run: Trainer, per_epoch: int, steps: int, on_step: Callable | None):
        self.args, self.loaders, self.run, self.per_epoch, self.steps = loaders.args, loaders, run, per_epoch, steps
        self.has_evaluation, self.on_step = loaders.eval_dataset is not None, on_step
        self.metrics: list[Metrics] = []
        self.unlogged: list[float] = []
        self.checkpoints = os.path.join(self.args.output_dir, "accum-checkpoints")
        self.watchers = Watchers(loaders, steps, per_epoch)
        self.best = Best(self.args, loaders.state, self.checkpoints)

    def evaluate(self) -> None:
        from transformers.trainer_utils import speed_metrics

        began = time.time()
        batches = [dict(batch) for batch in self.loaders.get_eval_dataloader()]
        found = self.run.evaluate(batches)
        line = {"eval_loss": found.loss}
        if not math.isnan(found.accuracy):
            line["eval_accuracy"] = found.accuracy
        self.run.load_into(self.loaders.model)  # for compute_metrics, and callbacks that look at it
        line.update(predicted_metrics(self.loaders, self.run))
        line.update(speed_metrics("eval", began, num_samples=found.samples, num_steps=len(batches)))
        self.watchers.log(line)
        self.watchers.tell("on_evaluate", line)
        self.best.judge(line, self.run)

    def log(self, metrics: Metrics) -> None:
        """The loss is the mean over the steps since the line before."""
        line = {"loss": sum(self.unlogged) / len(self.unlogged), "grad_norm": metrics.gradient_norm, "learning_rate": metrics.lr}
        self.unlogged.clear()
        self.watchers.log(line)

    def after(self, metrics: Metrics, ends_epoch: bool) -> None:
        args, step = self.args, metrics.step
        self.metrics.append(metrics)
        self.unlogged.append(metrics.loss)
        self.watchers.reach(step)
        for event in ("on_step_end", "on_epoch_end") if ends_epoch else ("on_step_end",):
            self.watchers.tell(event)
            if self.watchers.wants_log and self.unlogged:
                self.log(metrics)
            if self.watchers.wants_evaluation and self.has_evaluation:
                self.evaluate()
        if self._saves(step, ends_epoch):
            self.draws.save(self.checkpoints, step)
            self.run.checkpoint(self.checkpoints, args.save_total_limit or 0)
            self.draws.forget(self.checkpoints)
            self.watchers.tell("on_save")
        if self.on_step:
            self.on_step(metrics)

    def _saves(self, step: int, ends_epoch: bool) -> bool:
        return _every(self.args.save_strategy, self.args.save_steps, step, ends_epoch) or (
            _text(self.args.save_strategy) != "no" and step == self.steps)

    def _first_epoch(self, draws: Draws) -> int:
        given = self.args.resume_from_checkpoint
        if not given:
            return 0
        where = self.checkpoints if given in (True, "True", "true") else given
        return draws.resume(where, self.run.steps) if self.run.resume(where) else 0

    def loop(self) -> None:
        loader = self.loaders.get_train_dataloader()
        self.draws = Draws(loader, self.per_epoch)
        first = self._first_epoch(self.draws)
        resumed = self.run.steps
        if resumed:
            self.best.resume()
        self.watchers.begin(loader, resumed)
        if self.args.eval_on_start and self.has_evaluation and resumed == 0:
            self.evaluate()
        for epoch in itertools.count(first):
            if epoch * self.per_epoch >= max(resumed, self.steps):
                break
            self.draws.begin_epoch(epoch)
            if hasattr(loader, "set_epoch"):
                loader.set_epoch(epoch)
            self.watchers.tell("on_epoch_begin")
            if not self.makes_epoch(epoch, loader, resumed):
                break
        losses = [each.loss for each in self.metrics]
        self.watchers.end(losses, sum(each.samples for each in self.metrics))

    def makes_epoch(self, epoch: int, loader: Any, resumed: int) -> bool:
        """The steps of an epoch that are not made; whether there may be another one."""
        groups = _grouped(loader, self.args.gradient_accumulation_steps, self.run._padding_of)
        for position in range(self.per_epoch):
            reached, ends_epoch = epoch * self.per_epoch + position, position + 1 == self.per_epoch
            if reached >= max(resumed, self.steps) or self.watchers.wants_end:
                return False
            with self.draws.fetching(reached, self._saves(reached + 1, ends_epoch)):
                batch = next(groups, None)
            if batch is None:
                break
            if reached >= resumed:
                self.watchers.tell("on_step_begin")
                self.after(self.run.step(batch), ends_epoch)
        return not self.watchers.wants_end

def _decay(loaders: Any, model: Any, args: Any) -> dict[str, Any]:
    """What decays there: no biases, no norms."""
    if not args.weight_decay:
        return {}
    return {"weight_decay": args.weight_decay, "decay": list(loaders.get_decay_parameter_names(model))}


def _items(loaders: Any) -> Callable | None:
    """What transformers divides a loss by: all labels that are not ignored, those among them that a causal loss then
    shifts away. Only models that take the number are told."""
    if not loaders.model_accepts_loss_kwargs:
        return None
    return lambda batch: {"num_items_in_batch": batch["labels"].ne(-100).sum()} if "labels" in batch else {}


def _smoothed(loaders: Any, model: Any) -> Callable | None:
    """The loss of transformers' LabelSmoother, where label_smoothing_factor asks for it."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    if loaders.label_smoother is None:
        return None
    smoother, items = loaders.label_smoother, _items(loaders)
    is_causal = type(model).__name__ in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
    # Earlier versions divide by what the loss counts.
    if items is None or "num_items_in_batch" not in inspect.signature(type(smoother).__call__).parameters:
        return lambda output, batch: smoother(output, batch["labels"], shift_labels=is_causal)
    return lambda output, batch: smoother(output, batch["labels"], shift_labels=is_causal, **items(batch))


def _trainer(model: Any, example: Any, lengths: Sequence[int], **options: Any) -> Trainer:
    """With several lengths, where the data has them and the model can be computed so; else with that of the example."""
    if not lengths or options.get("lengths") is not None:
        return Trainer(model, example, **options)
    try:
        return Trainer(model, example, lengths="auto", length_sample=lengths, **options)
    except _errors.Error as refused:
        if refused.slug not in ("padding-reaches-loss", "not-exported", "not-built", "unsupported"):
            raise
        warnings.warn(f"texts of several lengths have one size here: {refused}", stacklevel=3)
        return Trainer(model, example, **options)


def train(model: Any, train_dataset: Any, args: Any, *, eval_dataset: Any = None, data_collator: Callable | None = None,
          processing_class: Any = None, compute_metrics: Callable | None = None,
          preprocess_logits_for_metrics: Callable | None = None, callbacks: Sequence[Any] | None = None,
          memory: str | None = None, on_step: Callable[[Metrics], None] | None = None, **options: Any) -> TrainOutput:
    """Trains `model` as transformers.Trainer(model, args, ...) does, and leaves the trained weights in it.

    args: TrainingArguments. The optimizer step has per_device_train_batch_size x gradient_accumulation_steps samples (of
    all devices that the arguments see), in the order of the Trainer's own loader; how it is cut is the plan's matter.
    Losses are means over all targets of the step. Where texts have several lengths (those of `input_ids` in the data sets),
    each is computed at a size that holds it, as `lengths="auto"` of `Trainer` does.

    memory="8GiB", micro_batch and the other options of accumc: as for `Trainer`. on_step: called with each step's
    Metrics. Checkpoints are in output_dir/accum-checkpoints; resume_from_checkpoint=True goes on from the newest.

    eval_loss is a mean over all targets; transformers averages means over batches, which is the same where every text has
    the same number of targets.

    compute_metrics, preprocess_logits_for_metrics: as for the Trainer; they get the model's outputs with the weights of
    that step (see `Trainer.predict`; PyTorch computes them where the artifact does not have all of them). callbacks: they
    look on, and may end the run (EarlyStoppingCallback); whatever report_to names is written, and load_best_model_at_end
    leaves the weights of the best evaluation in `model`.
    """
    import transformers

    if _accum.launched() > 1:
        raise _errors.UnsupportedError("accum.hf.train is for one process: its loader is that of transformers.Trainer",
                                       slug="not-built", exit_code=2,
                                       notes=["accum.Trainer trains in several; each passes it the whole batch"])
    _check(args)
    require_lookers(callbacks or ())
    loaders = transformers.Trainer(model=model, args=args, train_dataset=train_dataset, eval_dataset=eval_dataset,
                                   data_collator=data_collator, processing_class=processing_class, callbacks=callbacks,
                                   compute_metrics=compute_metrics,
                                   preprocess_logits_for_metrics=preprocess_logits_for_metrics)
    accumulation = args.gradient_accumulation_steps
    drawn_from = (loaders.train_dataset, loaders.data_collator)
    before = _generators.states(drawn_from)
    per_epoch = math.ceil(len(loaders.get_train_dataloader()) / accumulation)
    steps = args.max_steps if args.max_steps > 0 else math.ceil(args.num_train_epochs * per_epoch)
    example = next(_grouped(loaders.get_train_dataloader(), 1, lambda _: None))
    lengths = _lengths.of_datasets(model, train_dataset, eval_dataset)
    precision = "bf16" if args.bf16 else "tf32" if args.tf32 and options.get("target") else "f32"
    was_training = model.training
    model.train()
    with tempfile.TemporaryDirectory(prefix="accum-hf-") as folder:
        numbers = dict(lr=args.learning_rate, clip_norm=args.max_grad_norm or None, **_decay(loaders, model, args))
        if _OPTIMIZERS[_text(args.optim)] == "adamw":
            numbers.update(beta1=args.adam_beta1, beta2=args.adam_beta2, eps=args.adam_epsilon)
        said = dict(batch=args.train_batch_size * accumulation, precision=precision,
                    optimizer=_OPTIMIZERS[_text(args.optim)], steps=steps, seed=args.seed,
                    schedule=_schedule_file(_factors(args, steps), folder), loss=_smoothed(loaders, model), **numbers)
        if twice := sorted(options.keys() & said.keys()):
            raise _options.usage(f"{', '.join(twice)}: TrainingArguments say it, or the model does")
        with _trainer(model, example, lengths, memory=memory, _computed=_items(loaders), **said, **options) as run:
            own = _Run(loaders, run, per_epoch, steps, on_step)
            _generators.restore(drawn_from, before)  # the example is no step's
            own.loop()
            own.best.load_into(model, run)
            made = run.steps
    model.train(was_training)
    losses = [metrics.loss for metrics in own.metrics]
    return TrainOutput(made, sum(losses) / len(losses) if losses else math.nan, tuple(own.metrics),
                       tuple(own.watchers.history))
