# SPDX-License-Identifier: Apache-2.0
"""Who looks on while accum.hf trains: transformers' own callbacks, which print, show a bar and write what report_to names,
and the user's."""
from __future__ import annotations

import inspect
import json
import math
import os
import pathlib
import time
from typing import Any, Callable, Sequence

from . import _errors, _generators, _safetensors

# Between backward and update there is nothing that they could look at.
_WITHOUT_MEANING = ("on_substep_end", "on_pre_optimizer_step", "on_optimizer_step")


def require_lookers(callbacks: Sequence[Any]) -> None:
    """Refuses callbacks for events that a step of accum does not have."""
    from transformers import TrainerCallback

    for each in callbacks:
        kind = each if inspect.isclass(each) else type(each)
        for event in _WITHOUT_MEANING:
            if getattr(kind, event, None) not in (None, getattr(TrainerCallback, event, None)):
                raise _errors.UnsupportedError(
                    f"callback {kind.__name__}: {event} has no meaning here, as a step is one call", slug="not-built",
                    exit_code=2, notes=["on_step_end, on_log and on_evaluate come as they do in the Trainer; accum.Trainer's "
                                        "`accumulate` and `update` show gradients in between"])


class Watchers:
    """The Trainer's handler of callbacks and its state, told as its loop would tell them."""

    def __init__(self, loaders: Any, steps: int, per_epoch: int):
        self.loaders, self.per_epoch, self.batches = loaders, per_epoch, 1
        state = loaders.state
        state.max_steps, state.num_train_epochs = steps, math.ceil(steps / per_epoch)
        state.is_hyper_param_search = False
        if hasattr(state, "compute_steps"):
            state.compute_steps(loaders.args, steps)  # of those that are parts of the run
        self.began = time.time()

    def tell(self, event: str, *more: Any) -> None:
        trainer = self.loaders
        trainer.control = getattr(trainer.callback_handler, event)(trainer.args, trainer.state, trainer.control, *more)

    def begin(self, loader: Any, step: int) -> None:
        self.loaders.callback_handler.train_dataloader = loader
        self.batches = len(loader)
        self.reach(step)
        self.tell("on_train_begin")

    def reach(self, step: int) -> None:
        """An epoch is counted by the loader's batches, of which its last step may have fewer."""
        epoch, within = divmod(step, self.per_epoch)
        self.loaders.state.global_step = step
        self.loaders.state.epoch = epoch + within * self.loaders.args.gradient_accumulation_steps / self.batches

    def log(self, line: dict[str, Any]) -> None:
        """Into the history, the terminal, and wherever report_to says."""
        self.loaders.log(line)

    def end(self, losses: Sequence[float], samples: int) -> None:
        from transformers.trainer_utils import speed_metrics

        line = speed_metrics("train", self.began, num_samples=samples, num_steps=len(losses))
        self.log({**line, "train_loss": sum(losses) / len(losses) if losses else math.nan})
        self.tell("on_train_end")

    @property
    def wants_log(self) -> bool:
        """As the arguments say, whose callback transformers brings along, or another callback."""
        return bool(self.loaders.control.should_log)

    @property
    def wants_evaluation(self) -> bool:
        return bool(self.loaders.control.should_evaluate)

    @property
    def wants_end(self) -> bool:
        """Whether a callback has asked for the end of the run, such as early stopping."""
        return bool(self.loaders.control.should_training_stop)

    @property
    def history(self) -> list[dict[str, Any]]:
        return self.loaders.state.log_history


def _alone(values: tuple) -> Any:
    """One by itself, several as they are: the Trainer has them so."""
    return values[0] if len(values) == 1 else values


def _predicted_step(loaders: Any, run: Any) -> Callable | None:
    """The Trainer's prediction_step, of outputs that accum computes. None where the artifact does not have all that the module
    returns, or the losses of batches are asked for."""
    args, returned = loaders.args, run.export.returned if run.export else ()
    wants_loss = args.prediction_loss_only or "loss" in getattr(args, "include_for_metrics", ())

    def names_of(ignored: Any) -> list[str]:
        if ignored is None:
            ignored = getattr(loaders.model.config, "keys_to_ignore_at_inference", ["past_key_values"])
        return [name for name in returned if name not in ignored]

    if wants_loss or not hasattr(loaders.model, "config") or not names_of(None) or not set(names_of(None)) <= set(run.outputs):
        return None

    def step(model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: Any = None) -> tuple[Any, Any, Any]:
        import torch

        names = names_of(ignore_keys)
        found = run.predict({**inputs}, names)
        logits = tuple(torch.from_numpy(found[name]).to(args.device) for name in names)
        labels = tuple(inputs[name] for name in loaders.label_names if inputs.get(name) is not None)
        return None, _alone(logits), _alone(labels) if labels else None

    return step


def predicted_metrics(loaders: Any, run: Any) -> dict[str, float]:
    """What compute_metrics says of the model's outputs, in the Trainer's own loop: those that accum predicts, or where it does
    not have all of them, that PyTorch computes. What is drawn for it was drawn for the evaluation already."""
    if loaders.compute_metrics is None:
        return {}
    drawn_from = (loaders.eval_dataset, loaders.data_collator)
    before, mode = _generators.states(drawn_from), loaders.model.training
    if step := _predicted_step(loaders, run):
        loaders.prediction_step = step
    output = loaders.evaluation_loop(loaders.get_eval_dataloader(), description="Evaluation", metric_key_prefix="eval")
    _generators.restore(drawn_from, before)
    loaders.model.train(mode)
    return {name: value for name, value in output.metrics.items()
            if name not in ("eval_loss", "eval_model_preparation_time")}


class Best:
    """The weights of the best evaluation, in a file, by metric_for_best_model."""

    def __init__(self, args: Any, state: Any, folder: str):
        self.args, self.state = args, state
        self.path, self.facts = pathlib.Path(folder, "best.safetensors"), pathlib.Path(folder, "best.json")

    def resume(self) -> None:
        if self.args.load_best_model_at_end and self.facts.exists() and self.path.exists():
            facts = json.loads(self.facts.read_text())
            self.state.best_metric, self.state.best_global_step = facts["metric"], facts["step"]

    def judge(self, metrics: dict[str, float], run: Any) -> None:
        """After the callbacks, which compare with the best so far."""
        if self.args.metric_for_best_model is None:
            return
        name = self.args.metric_for_best_model
        name = name if name.startswith("eval_") else f"eval_{name}"
        if name not in metrics:
            raise _errors.UsageError(f"metric_for_best_model: an evaluation has no {name}", slug="usage", exit_code=2,
                                     notes=["it has " + ", ".join(sorted(metrics))])
        value, best = float(metrics[name]), self.state.best_metric
        if best is not None and not (value > best if self.args.greater_is_better else value < best):
            return
        self.state.best_metric, self.state.best_global_step = value, self.state.global_step
        if self.args.load_best_model_at_end:
            self._keep(run, value)

    def _keep(self, run: Any, value: float) -> None:
        """Whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        made = self.path.with_suffix(".part")
        run._save_state(os.fspath(made))
        os.replace(made, self.path)
        self.facts.write_text(json.dumps({"metric": value, "step": self.state.global_step}))
        self.state.best_model_checkpoint = os.fspath(self.path)

    def load_into(self, module: Any, run: Any) -> None:
        """The best weights where they are asked for and there was an evaluation, otherwise the latest."""
        if self.args.load_best_model_at_end and self.state.best_global_step is not None and self.path.exists():
            run._load(module, _safetensors.read(os.fspath(self.path)))
        else:
            run.load_into(module)
