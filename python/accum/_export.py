# SPDX-License-Identifier: Apache-2.0
"""A PyTorch module as an ONNX file that can be trained: docs/exporting.md as code."""
from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import pathlib
import warnings
from typing import Any, Callable, Iterator, Mapping, Sequence

from . import _errors, _forms, _lengths, _refusals
from ._batch import collated, is_positional, is_setting, plain
from ._outputs import beside, loss_of, name_outputs, scalar, scores_of
from ._substitutes import traceable
from ._words import page

OLDEST_TORCH = (2, 9)
_OPEN = ("lengths= keeps the number of positions open, for which a module must not compute with it as a number; without lengths= "
         "every sample is padded to one length")
_IN_ONE_FILE = 1 << 30  # bytes of weights that the file itself may hold; a protobuf ends at 2 GiB


@dataclasses.dataclass(frozen=True)
class Export:
    """What `export` wrote.

    path: the ONNX file; larger weights lie beside it. input_names: its inputs, in the order of a batch that is a tuple.
    training: whether dropout lives. frozen: parameters that keep their values. lost: parameters that the file lacks,
    since the loss does not read them. notices: sentences about all that. renamed: the input's name by that of a batch's
    array, where the two differ. widths: of each dimension that stays open other than the samples, the example's size.
    returned: the names of what the module returns beside its loss, where it returns a mapping. settings: what a batch has
    that is no array, such as `return_loss=True`: part of the program.
    """

    path: str
    input_names: tuple[str, ...]
    training: bool
    frozen: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    widths: Mapping[str, int] = dataclasses.field(default_factory=dict)
    returned: tuple[str, ...] = ()
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def _usage(message: str, *notes: str) -> _errors.UsageError:
    return _errors.UsageError(message, slug="usage", exit_code=2, notes=notes)


def _torch() -> Any:
    try:
        import torch
        import onnxscript  # noqa: F401: the exporter needs it
    except ImportError as missing:
        raise _usage(f"export needs PyTorch with its exporter: {missing}", "pip install torch onnxscript",
                     "compile takes an ONNX file, and Trainer an artifact, without PyTorch") from None
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST_TORCH:
        raise _errors.UnsupportedError(f"export is not built for PyTorch {torch.__version__}", slug="not-built",
                                       exit_code=2, notes=["2.9 and later are; a recipe for older ones, by the "
                                                           f"TorchScript exporter: {page('exporting.md')}"])
    return torch


def _named_batch(module: Any, batch: Any, loss: Callable | None) -> dict[str, Any]:
    """A mapping as it is; of a tuple what forward calls its arguments, then the targets of the loss."""
    if isinstance(batch, Mapping):
        return {str(name): value for name, value in batch.items() if value is not None}
    values = list(batch) if is_positional(batch) else [batch]
    count = len(values) - (loss is not None)
    if count < 1:
        raise _usage("with a loss the batch is a tuple whose last array is the targets")
    names = _forms.names_of_first(module, count)
    if len(names) < count:
        takes = f"the batch has {len(values)} arrays, and forward takes {len(names)}"
        raise _usage(f"{takes}: loss=FUNCTION takes the last one as targets" if loss is None
                     else f"{takes}, and the loss one")
    if loss is not None:
        names.append("targets" if "targets" not in names else "loss_targets")
    return dict(zip(names, values))


class _Answer:
    """What a traced step returns: the loss, and behind it what else the module returned, under `names`."""

    def __init__(self, takes_others: bool):
        self.takes_others, self.names, self.returned = takes_others, [], ()

    def __call__(self, loss: Any, output: Any, inputs: Sequence[Any]) -> Any:
        self.returned = tuple(str(name) for name in output if name != "loss") if isinstance(output, Mapping) else ()
        others = beside(output, loss, inputs) if self.takes_others else {}
        self.names = list(others)
        return (loss, *others.values()) if others else loss


def _step(names: Sequence[str], settings: Mapping[str, Any], taken: Sequence[str] | None, loss: Callable | None,
          read: Callable, computed: Callable | None, answer: _Answer) -> Callable:
    """What happens to the arrays of a mapping: forward gets those that it takes, and the loss has the whole. taken: None where
    forward takes the mapping. computed: more arguments, of the batch."""
    def step(call: Callable, *values: Any) -> Any:
        batch = {**dict(zip(names, values)), **settings}
        if taken is None:
            output = call(dict(batch))
        elif loss is None:
            output = call(**batch, **(computed(batch) if computed else {}))
        else:
            output = call(**{name: batch[name] for name in taken})
        return answer(read(output) if loss is None else scalar(loss(output, batch), "what the loss returns"), output, values)

    return step


def _step_by_position(loss: Callable | None, read: Callable, answer: _Answer) -> Callable:
    def step(call: Callable, *values: Any) -> Any:
        if loss is None:
            output = call(*values)
            return answer(read(output), output, values)
        output = call(*values[:-1])
        return answer(scalar(loss(output, values[-1]), "what the loss returns"), output, values)

    return step


def _tensor(torch: Any, name: str, value: Any) -> Any:
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as failed:
        raise _errors.DataError(f"`{name}` of the example batch is no array of numbers: {failed}", slug="bad-data", exit_code=3,
                                notes=["leave out of the batch what the model does not compute with"]) from None


def _traced_batch(torch: Any, module: Any, batch: dict[str, Any]) -> dict[str, Any]:
    """At least two samples, since one would be baked in; a few, since more tell nothing; each a tensor of its own."""
    device = next((each.device for each in module.parameters()), torch.device("cpu"))
    tensors = {name: _tensor(torch, name, value) for name, value in batch.items()}
    sizes = {tensor.shape[0] if tensor.dim() else 0 for tensor in tensors.values()}
    if len(sizes) != 1 or 0 in sizes:
        shapes = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in tensors.items())
        raise _errors.DataError(f"the arrays of the example batch do not hold the same number of samples: {shapes}",
                                slug="bad-data", exit_code=3, notes=["axis 0 of each input counts the samples"])
    if sizes == {1}:
        tensors = {name: torch.cat([tensor, tensor]) for name, tensor in tensors.items()}
    return {name: tensor[:3].detach().to(device).clone() for name, tensor in tensors.items()}


@contextlib.contextmanager
def _configured(module: Any, **values: Any) -> Iterator[None]:
    """Sets what the configurations of the module have under these names: encoder and decoder have copies."""
    configs = {id(config): config for each in module.modules() if (config := getattr(each, "config", None)) is not None}
    before = [(config, name, getattr(config, name)) for config in configs.values() for name in values
              if hasattr(config, name)]
    for config, name, _ in before:
        setattr(config, name, values[name])
    try:
        yield
    finally:
        for config, name, value in before:
            setattr(config, name, value)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """The exporter's remarks are about opsets and decompositions; what it fails on is in its exception."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.fx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, level in zip(loggers, levels):
            each.setLevel(level)


def _refused(failed: Exception, notes: Sequence[str]) -> _errors.Error:
    cause = failed.__cause__ or failed
    return _errors.UnsupportedError(f"PyTorch's exporter does not take the module: {type(cause).__name__}: {cause}",
                                    slug="not-exported", exit_code=1,
                                    notes=[*notes, "compile and Trainer take a file of any exporter; recipes: "
                                    + page("exporting.md")])


def _experts(module: Any) -> tuple[dict[str, str], list[str]]:
    """How experts of transformers are exported: its other forms are kernels without an ONNX operator, or loops over the
    experts that the data chose. The values are the same."""
    chosen = {getattr(getattr(each, "config", None), "_experts_implementation", None) for each in module.modules()
              if type(each).__name__.endswith("Experts") and hasattr(getattr(each, "config", None), "_experts_implementation")}
    if not chosen or chosen == {"batched_mm"}:
        return {}, []
    return {"_experts_implementation": "batched_mm"}, ["experts are exported in the form that experts_implementation="
                                                       "\"batched_mm\" has: the values are the same"]


@_refusals.shortened
def _traced(torch: Any, module: Any, batch: dict[str, Any], refusals: list[_errors.Error],
            notes: Sequence[str], axes: Mapping[str, str]) -> tuple[Any, list[str]]:
    """The exporter's program, and what had to be done for it. Names stay with optimize=False; accumc folds shapes by
    itself. A cache is no output of a training step. refusals: those that the traces came to, which the exporter wraps."""
    experts, notices = _experts(module)

    def traced(**settings: Any) -> Any:
        with _configured(module, use_cache=False, **experts, **settings):
            return torch.onnx.export(module, args=(), kwargs=batch, dynamo=True, optimize=False, verbose=False,
                                     dynamic_shapes={name: {0: "batch", **({_lengths.axis_of(value): axes[name]} if name in axes else {})}
                                                     for name, value in batch.items()})

    try:
        try:
            return traced(), notices
        except Exception as failed:
            if "Cannot view a tensor" not in str(failed):
                raise
        # The second of the exporter's traces took another kernel for attention than the first, of other strides.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return traced(), notices
    except Exception as failed:
        if refusals:
            raise refusals[0] from None
        if getattr(getattr(module, "config", None), "_attn_implementation", "eager") in (None, "eager"):
            raise _refused(failed, notes) from failed
    try:
        return traced(_attn_implementation="eager"), [*notices, "attention is exported in its eager form: PyTorch's exporter does "
                                                      "not take scaled_dot_product_attention of this model"]
    except Exception as failed:
        raise _refused(failed, notes) from failed


def _traced_with(answer: _Answer, *trace: Any) -> tuple[Any, list[str]]:
    """Outputs beside the loss are no reason to refuse a module."""
    try:
        return _traced(*trace)
    except Exception:
        if not answer.names:
            raise
    answer.takes_others, answer.names = False, []
    return _traced(*trace)


def _module_in(torch: Any, model: Any) -> Any:
    module = _forms.unwrapped(model)
    if isinstance(module, torch.jit.ScriptModule):
        raise _errors.UnsupportedError("the module was made by torch.jit, and PyTorch's exporter takes none of these",
                                       slug="not-exported", exit_code=1, notes=["pass the module that it was made of"])
    if not isinstance(module, torch.nn.Module):
        raise _usage(f"the model is a {type(model).__name__}, expected a torch.nn.Module, an ONNX file or an artifact")
    return module


def export(module: Any, example_batch: Any, path: str | os.PathLike[str], *, loss: Callable | None = None,
           training: bool | None = None, _computed: Callable | None = None, _has_named_loss: bool = False,
           _has_lengths: bool = False, _relates_samples: bool = False) -> Export:
    """Writes `module` as an ONNX file that accumc can train.

    example_batch: one batch as the loader gives it, axis 0 of every array the samples: a mapping of forward's arguments
    (`labels` in it, as models of transformers want), a list of one mapping per sample, a tuple, or one tensor. A mapping
    goes whole to a forward whose one argument it is. Values do not matter, shapes and types do;
    the number of samples stays open.

    loss: where the module does not return its loss: `loss(output, targets)` with the last array of a tuple, or
    `loss(output, batch)` with the whole mapping. It must be a mean over samples, or over what it counts, written in
    torch. What the module returns under the name `loss` is its loss, else its only scalar that depends on parameters;
    several are ambiguous. Of `logits`, or one tensor alone, accumc knows a loss.

    training: whether dropout lives; by default as the module's own mode is.

    What is exported is `module(...)`, with its hooks and with a forward that was set on the object. The module is left as
    it was. Parameters with requires_grad=False and buffers are written down as frozen.
    """
    torch = _torch()
    module = _module_in(torch, module)
    training = module.training if training is None else training
    example_batch = collated(example_batch)
    named = _named_batch(module, example_batch, loss)
    is_mapping = isinstance(example_batch, Mapping)
    settings = {name: plain(value) for name, value in named.items() if is_mapping and is_setting(value)}
    named = {name: value for name, value in named.items() if name not in settings}
    arrays = list(named)
    names = _forms.input_names(module, arrays)
    batch = dict(zip(names, _traced_batch(torch, module, named).values()))
    read = scores_of if _has_named_loss else loss_of
    given = [*arrays, *settings]
    taken = None if is_mapping and _forms.takes_whole(module, given) else _forms.names_taken(module, given)
    answer = _Answer(takes_others=not _has_lengths)  # of several lengths nothing is predicted
    step = (_step(arrays, settings, taken, loss, read, _computed, answer) if is_mapping
            else _step_by_position(loss, read, answer))
    refusals: list[_errors.Error] = []

    def watched(call: Callable, *values: Any) -> Any:
        try:
            return step(call, *values)
        except _errors.Error as refusal:
            refusals.append(refusal)
            raise

    hiding = _forms.hiding(module)
    with _forms.as_step(module, names, watched, training), traceable(module, loss, _relates_samples), _quietly():
        axes = _lengths.padded_axes(module, batch) if _has_lengths else {}
        notes = [*([hiding] if hiding else []), *([_OPEN] if axes else [])]
        program, notices = _traced_with(answer, torch, module, batch, refusals, notes, axes)
    if answer.names:
        name_outputs(program.model.graph, answer.names)
    if training and _relates_samples and any("BatchNorm" in type(each).__name__ for each in module.modules()):
        notices.append("batch norms use the statistics of the batch; their running mean and variance keep their values")
    renamed = {array: name for array, name in zip(arrays, names) if array != name}
    notices += [f"the input `{array}` is called `{name}` in the file" for array, name in renamed.items()]
    made = _write(program, module, pathlib.Path(path), names, training, notices, renamed)
    return dataclasses.replace(made, widths=_lengths.widest(batch, axes), returned=answer.returned, settings=settings)


def _lost(module: Any, held: set[str]) -> tuple[str, ...]:
    """Trained parameters that the file has under none of their names: a tied one has several."""
    names: dict[int, list[str]] = {}
    for name, each in module.named_parameters(remove_duplicate=False):
        if each.requires_grad:
            names.setdefault(id(each), []).append(name)
    return tuple(own[0] for own in names.values() if not held.intersection(own))


def _write(program: Any, module: Any, path: pathlib.Path, names: list[str], training: bool, notices: list[str],
           renamed: Mapping[str, str]) -> Export:
    held = set(program.model.graph.initializers)
    read = {each.name for each in program.model.graph.inputs}
    fixed = {name for name, each in module.named_parameters(remove_duplicate=False) if not each.requires_grad}
    fixed |= {name for name, each in module.named_buffers() if each.is_floating_point()}
    frozen = tuple(sorted(fixed & held))
    lost = _lost(module, held)
    program.model.metadata_props["accum.freeze"] = " ".join(frozen)  # of none, too: it is known
    weights = sum(each.numel() * each.element_size() for each in module.parameters())
    path.parent.mkdir(parents=True, exist_ok=True)
    program.save(str(path), external_data=weights > _IN_ONE_FILE)
    if unread := [name for name in names if name not in read]:
        notices.append(f"the loss does not read {', '.join(unread)}")
    if lost:
        notices.append(f"not trained, as the loss does not read them: {', '.join(lost)}")
    dropouts = [each for each in module.modules() if type(each).__name__.startswith("Dropout") and each.p > 0]
    if dropouts and not training:
        notices.append("dropout is off, as the module is in evaluation mode: module.train() before, or training=True")
    return Export(str(path), tuple(names), training, frozen, lost, tuple(notices), renamed)
