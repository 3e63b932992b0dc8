# SPDX-License-Identifier: Apache-2.0
"""A PyTorch module as an ONNX file that can be trained: docs/exporting.md as code."""
from __future__ import annotations

import contextlib
import dataclasses
import inspect
import logging
import os
import pathlib
import warnings
from typing import Any, Callable, Iterator, Mapping

from . import _errors, _refusals
from ._batch import is_positional

OLDEST_TORCH = (2, 9)
_IN_ONE_FILE = 1 << 30  # bytes of weights that the file itself may hold; a protobuf ends at 2 GiB


@dataclasses.dataclass(frozen=True)
class Export:
    """What `export` wrote.

    path: the ONNX file; larger weights lie beside it. input_names: its inputs, in the order of a batch that is a tuple.
    training: whether dropout lives. frozen: parameters that keep their values. lost: parameters that the file lacks,
    since the loss does not read them. notices: sentences about all that.
    """

    path: str
    input_names: tuple[str, ...]
    training: bool
    frozen: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


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
                                       exit_code=2, notes=["2.9 and later are; for older ones docs/exporting.md has "
                                                           "a recipe by the TorchScript exporter"])
    return torch


def _unwrapped(module: Any) -> Any:
    """The module itself, of one that torch.compile or DistributedDataParallel made."""
    for inner in ("_orig_mod", "module"):
        kind = type(module).__name__
        if kind in ("OptimizedModule", "DistributedDataParallel", "DataParallel") and hasattr(module, inner):
            return _unwrapped(getattr(module, inner))
    return module


def _input_names(module: Any, batch: Any, loss: Callable | None) -> list[str]:
    """Of a batch that is a tuple: what forward calls its arguments, then the targets of the loss."""
    own = [name for name, each in inspect.signature(type(module).forward).parameters.items()
           if each.kind in (each.POSITIONAL_OR_KEYWORD, each.POSITIONAL_ONLY)][1:]
    count = len(batch) if is_positional(batch) else 1
    if loss is None:
        if count > len(own):
            raise _usage(f"the batch has {count} arrays, and forward takes {len(own)}: loss=FUNCTION takes the last one "
                         "as targets")
        return own[:count]
    if count < 2:
        raise _usage("with a loss the batch is a tuple whose last array is the targets")
    target = "targets" if "targets" not in own[:count - 1] else "loss_targets"
    return own[:count - 1] + [target]


def _named_batch(module: Any, batch: Any, loss: Callable | None) -> dict[str, Any]:
    if isinstance(batch, Mapping):
        return {str(name): value for name, value in batch.items() if value is not None}
    values = list(batch) if is_positional(batch) else [batch]
    return dict(zip(_input_names(module, batch, loss), values))


def _traced_batch(torch: Any, module: Any, batch: dict[str, Any]) -> dict[str, Any]:
    """At least two samples, since one would be baked in; a few, since more tell nothing; each a tensor of its own."""
    device = next((each.device for each in module.parameters()), torch.device("cpu"))
    tensors = {name: torch.as_tensor(value) for name, value in batch.items()}
    sizes = {tensor.shape[0] if tensor.dim() else 0 for tensor in tensors.values()}
    if len(sizes) != 1 or 0 in sizes:
        shapes = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in tensors.items())
        raise _errors.DataError(f"the arrays of the example batch do not hold the same number of samples: {shapes}",
                                slug="bad-data", exit_code=3, notes=["axis 0 of each input counts the samples"])
    if sizes == {1}:
        tensors = {name: torch.cat([tensor, tensor]) for name, tensor in tensors.items()}
    return {name: tensor[:3].detach().to(device).clone() for name, tensor in tensors.items()}


def _loss_of(output: Any) -> Any:
    """The loss where the model computed one, else the logits, of which accumc knows a loss."""
    for name in ("loss", "logits"):
        value = output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)
        if value is not None:
            return value
    return output[0] if isinstance(output, (tuple, list)) else output


def _forward(own: Callable, names: list[str], loss: Callable | None, positional: bool,
             computed: Callable | None) -> Callable:
    """A forward with the inputs as arguments of these names, which the exporter takes for those of the file. computed:
    more arguments, of the batch."""
    def call(self: Any, *values: Any) -> Any:
        if loss is not None:
            if positional:
                return loss(own(self, *values[:-1]), values[-1])
            batch = dict(zip(names, values))
            return loss(own(self, **{name: batch[name] for name in _read_by(own, names)}), batch)
        if positional:
            return _loss_of(own(self, *values))
        batch = dict(zip(names, values))
        return _loss_of(own(self, **batch, **(computed(batch) if computed else {})))

    scope: dict[str, Any] = {"call": call}
    exec(f"def forward(self, {', '.join(names)}):\n    return call(self, {', '.join(names)})\n", scope)
    return scope["forward"]


def _read_by(own: Callable, names: list[str]) -> list[str]:
    """Of a batch with targets in it what forward takes."""
    known = inspect.signature(own).parameters
    if any(each.kind == each.VAR_KEYWORD for each in known.values()):
        return names
    return [name for name in names if name in known]


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
def _as_step(module: Any, forward: Callable, training: bool) -> Iterator[None]:
    """A class of its own for the time of the export: parameters keep their names, as a module around it would not."""
    own, modes = type(module), {each: each.training for each in module.modules()}
    module.__class__ = type(own.__name__, (own,), {"forward": forward})
    module.train(training) if training != module.training else None
    try:
        yield
    finally:
        module.__class__ = own
        for each, mode in modes.items():
            each.training = mode


def _given_hint(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """torch.nn.Transformer and its parts look at the values of a mask, which a trace has not, to find out whether it is
    causal. That is a hint for kernels: the mask is applied as it is either way."""
    return bool(is_causal)


def _of_four_axes(own: Callable) -> Callable:
    """Attention over [..., heads, rows, width] with any axes in front, which the exporter takes with one."""
    def attend(query: Any, key: Any, value: Any, attn_mask: Any = None, *more: Any, **named: Any) -> Any:
        if query.dim() == 4:
            return own(query, key, value, attn_mask, *more, **named)
        if query.dim() < 4:
            mask = attn_mask.unsqueeze(1) if attn_mask is not None and attn_mask.dim() == 3 else attn_mask
            return own(query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1), mask, *more, **named).squeeze(1)
        front = query.shape[:-3]
        if attn_mask is not None and attn_mask.dim() > 3:
            attn_mask = attn_mask.expand(*front, *attn_mask.shape[-3:]).flatten(0, -4)
        result = own(*(each.flatten(0, -4) for each in (query, key, value)), attn_mask, *more, **named)
        return result.reshape(*front, *result.shape[-3:])

    return attend


@contextlib.contextmanager
def _replaced(owner: Any, **values: Any) -> Iterator[None]:
    before = {name: getattr(owner, name) for name in values if hasattr(owner, name)}
    for name in before:
        setattr(owner, name, values[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


@contextlib.contextmanager
def _traceable() -> Iterator[None]:
    """Leaves out what the exporter stumbles over and what has no effect on values."""
    import torch
    from torch.nn.modules import transformer

    autocast = torch.amp.autocast_mode.autocast
    enter, leave = autocast.__enter__, autocast.__exit__
    skipped: list[Any] = []

    def entered(self: Any) -> Any:
        # Outside of another one a block of enabled=False changes nothing. A trace of it looks like torch.no_grad().
        if self._enabled or torch.is_autocast_enabled(self.device):
            return enter(self)
        skipped.append(self)
        return self

    def left(self: Any, *failed: Any) -> Any:
        if not skipped or skipped[-1] is not self:
            return leave(self, *failed)
        skipped.pop()
        return None

    functional = torch.nn.functional
    attend = _of_four_axes(functional.scaled_dot_product_attention)
    with _replaced(functional, scaled_dot_product_attention=attend), \
            _replaced(transformer, _detect_is_causal_mask=_given_hint), \
            _replaced(autocast, __enter__=entered, __exit__=left):
        yield


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


def _refused(failed: Exception) -> _errors.Error:
    cause = failed.__cause__ or failed
    return _errors.UnsupportedError(f"PyTorch's exporter does not take the module: {type(cause).__name__}: {cause}",
                                    slug="not-exported", exit_code=1,
                                    notes=["docs/exporting.md has recipes by other exporters; compile and Trainer take "
                                           "the file"])


@_refusals.shortened
def _traced(torch: Any, module: Any, batch: dict[str, Any]) -> tuple[Any, list[str]]:
    """The exporter's program, and what had to be done for it. Names stay with optimize=False; accumc folds shapes by
    itself. A cache is no output of a training step."""
    def traced(**settings: Any) -> Any:
        with _configured(module, use_cache=False, **settings):
            return torch.onnx.export(module, args=(), kwargs=batch, dynamo=True, optimize=False, verbose=False,
                                     dynamic_shapes={name: {0: "batch"} for name in batch})

    try:
        try:
            return traced(), []
        except Exception as failed:
            if "Cannot view a tensor" not in str(failed):
                raise
        # The second of the exporter's traces took another kernel for attention than the first, of other strides.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return traced(), []
    except Exception as failed:
        if getattr(getattr(module, "config", None), "_attn_implementation", "eager") in (None, "eager"):
            raise _refused(failed) from failed
    try:
        return traced(_attn_implementation="eager"), ["attention is exported in its eager form: PyTorch's exporter does "
                                                      "not take scaled_dot_product_attention of this model"]
    except Exception as failed:
        raise _refused(failed) from failed


def export(module: Any, example_batch: Any, path: str | os.PathLike[str], *, loss: Callable | None = None,
           training: bool | None = None, _computed: Callable | None = None) -> Export:
    """Writes `module` as an ONNX file that accumc can train.

    example_batch: one batch as the loader gives it, axis 0 of every array the samples: a mapping of forward's arguments
    (`labels` in it, as models of transformers want), a tuple, or one tensor. Values do not matter, shapes and types do;
    the number of samples stays open.

    loss: where the module does not return a scalar loss (or an output with `loss` or `logits`):
    `loss(output, targets)` with the last array of a tuple, or `loss(output, batch)` with the whole mapping. It must be
    a mean over samples, or over what it counts, written in torch.

    training: whether dropout lives; by default as the module's own mode is.

    The module is left as it was. Parameters with requires_grad=False and buffers are written down as frozen.
    """
    torch = _torch()
    module = _unwrapped(module)
    training = module.training if training is None else training
    batch = _traced_batch(torch, module, _named_batch(module, example_batch, loss))
    forward = _forward(type(module).forward, list(batch), loss, not isinstance(example_batch, Mapping),
                       _computed)
    with _as_step(module, forward, training), _traceable(), _quietly():
        program, notices = _traced(torch, module, batch)
    return _write(program, module, pathlib.Path(path), list(batch), training, notices)


def _lost(module: Any, held: set[str]) -> tuple[str, ...]:
    """Trained parameters that the file has under none of their names: a tied one has several."""
    names: dict[int, list[str]] = {}
    for name, each in module.named_parameters(remove_duplicate=False):
        if each.requires_grad:
            names.setdefault(id(each), []).append(name)
    return tuple(own[0] for own in names.values() if not held.intersection(own))


def _write(program: Any, module: Any, path: pathlib.Path, names: list[str], training: bool,
           notices: list[str]) -> Export:
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
    return Export(str(path), tuple(names), training, frozen, lost, tuple(notices))
