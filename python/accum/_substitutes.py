# SPDX-License-Identifier: Apache-2.0
"""What the exporter stumbles over, for the time of a trace in a form that it takes, of the same values."""
from __future__ import annotations

import builtins
import contextlib
import sys
import threading
import types
from typing import Any, Callable, Iterator

from . import _errors, _recurrence


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
    before = {name: vars(owner).get(name) for name in values if hasattr(owner, name)}
    inherited = [name for name in before if name not in vars(owner)]
    for name in before:
        setattr(owner, name, values[name])
    try:
        yield
    finally:
        for name, value in before.items():
            delattr(owner, name) if name in inherited else setattr(owner, name, value)


@contextlib.contextmanager
def _without_idle_autocast(torch: Any) -> Iterator[None]:
    """Outside of another one a block of enabled=False changes nothing. A trace of it looks like torch.no_grad()."""
    autocast = torch.amp.autocast_mode.autocast
    enter, leave = autocast.__enter__, autocast.__exit__
    skipped: list[Any] = []

    def entered(self: Any) -> Any:
        if self._enabled or torch.is_autocast_enabled(self.device):
            return enter(self)
        skipped.append(self)
        return self

    def left(self: Any, *failed: Any) -> Any:
        if not skipped or skipped[-1] is not self:
            return leave(self, *failed)
        skipped.pop()
        return None

    with _replaced(autocast, __enter__=entered, __exit__=left):
        yield


def _is_of_pytorch(caller: types.FrameType) -> bool:
    """Of a frame that enters a context: as a decorator that is a function of torch's, which holds the user's."""
    while caller.f_back is not None and caller.f_globals.get("__name__") == "contextlib":
        caller = caller.f_back
    name = caller.f_globals.get("__name__", "")
    if name == "torch.utils._contextlib":
        name = getattr(caller.f_locals.get("func"), "__module__", None) or name
    return name.split(".")[0] in ("torch", "onnxscript")


def _refused_write(func: Callable) -> _errors.Error:
    return _errors.UnsupportedError(
        f"forward writes into a tensor that has a gradient, by {func.__name__} where gradients are off", slug="lost-in-export",
        exit_code=1, notes=["the gradient would be that of the former values, which a file cannot say: y = x + (new - x).detach()"])


def _is_in_place(func: Callable) -> bool:
    """Whether it changes its first argument."""
    name = getattr(func, "__name__", "")
    is_operator = name.startswith("__i") and name not in ("__int__", "__index__", "__invert__", "__iter__")
    return name == "__setitem__" or is_operator or (name.endswith("_") and not name.endswith("__"))


_OF_THE_TENSOR = {"__get__", "__set__", "__delete__", "requires_grad_", "detach", "detach_", "retain_grad", "register_hook"}


@contextlib.contextmanager
def _detached_without_gradient(torch: Any) -> Iterator[None]:
    """torch.no_grad and torch.inference_mode. The exporter traces what is under the first apart, and its file does not
    say that the gradient ends there; of the second it has nothing. So gradients stay on, and what is computed there is
    detached, which the file has. Blocks that turn gradients on or off inside of one are the mode's matter, and so
    is what torch.is_grad_enabled() tells the user's code. Other threads are left alone."""
    is_enabled, own_thread = torch.is_grad_enabled, threading.get_ident()
    modes: dict[int, Any] = {}

    class Detached(torch.overrides.TorchFunctionMode):
        def __init__(self, is_final: bool):
            super().__init__()
            self.is_off, self.is_final = True, is_final

        def __torch_function__(self, func: Callable, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func is torch._C._set_grad_enabled:
                self.is_off = self.is_final or not args[0]
                return None
            if not self.is_off or not is_enabled():
                return func(*args, **kwargs)
            if getattr(func, "__name__", "") in _OF_THE_TENSOR:
                made = func(*args, **kwargs)
                return made if "detach" in func.__name__ or func.__name__ == "requires_grad_" else each_detached(made)
            if not _is_in_place(func) and kwargs.get("out") is None:
                return each_detached(func(*args, **kwargs))
            if args and getattr(args[0], "requires_grad", False) and kwargs.get("out") is None:
                raise _refused_write(func)
            return each_detached(func(*each_detached(args), **each_detached(kwargs)))  # what is written to gets no gradient

    def each_detached(values: Any) -> Any:
        return torch.utils._pytree.tree_map_only(
            torch.Tensor, lambda each: torch.Tensor.detach(each) if each.requires_grad else each, values)

    def told() -> bool:
        name = sys._getframe(1).f_globals.get("__name__", "")
        is_asked = name == "torch.autograd.grad_mode" or name.split(".")[0] not in ("torch", "onnxscript")
        is_off = is_asked and bool(modes) and threading.get_ident() == own_thread and [*modes.values()][-1].is_off
        return is_enabled() and not is_off

    def replaced(block: Any) -> contextlib.AbstractContextManager:
        enter, leave = block.__enter__, block.__exit__

        def entered(self: Any) -> None:
            own = [mode for mode in modes.values() if mode.is_off]
            if (threading.get_ident() != own_thread or not is_enabled() or own or not getattr(self, "mode", True)
                    or _is_of_pytorch(sys._getframe(1))):
                return enter(self)
            modes[id(self)] = mode = Detached(block is torch.inference_mode)
            mode.__enter__()

        def left(self: Any, *failed: Any) -> None:
            mode = modes.pop(id(self), None) if threading.get_ident() == own_thread else None
            return leave(self, *failed) if mode is None else mode.__exit__(*failed)

        return _replaced(block, __enter__=entered, __exit__=left)

    with replaced(torch.no_grad), replaced(torch.inference_mode), _replaced(torch, is_grad_enabled=told):
        yield


def _uncompiled(torch: Any, module: Any) -> contextlib.AbstractContextManager:
    """torch.compile changes no value: what it made runs as it is written."""
    def is_compiled(each: Any) -> bool:
        return (type(each).__name__ == "OptimizedModule" or each.__dict__.get("_compiled_call_impl") is not None
                or hasattr(each.forward, "_torchdynamo_orig_callable"))

    if not any(is_compiled(each) for each in module.modules()):
        return contextlib.nullcontext()
    return torch.compiler.set_stance("force_eager")


def _counted_by_shape(torch: Any) -> Callable:
    """len() of a tensor is a number of the example: Python takes nothing else from it. Its shape's may stay open."""
    def count(value: Any) -> Any:
        return value.shape[0] if isinstance(value, torch.Tensor) and value.dim() else builtins.len(value)

    return count


def _globals_of(module: Any, loss: Any) -> Iterator[dict[str, Any]]:
    """Of the files that have the classes of the modules, and the loss; PyTorch's own need nothing."""
    files = {kind.__module__ for each in module.modules() for kind in type(each).__mro__}
    for name in sorted(files):
        if name.split(".")[0] not in ("torch", "builtins") and name in sys.modules:
            yield vars(sys.modules[name])
    code = getattr(loss, "__globals__", None)
    if code is not None and not str(code.get("__name__", "")).startswith("torch."):
        yield code


@contextlib.contextmanager
def _with_open_len(torch: Any, module: Any, loss: Any) -> Iterator[None]:
    count = _counted_by_shape(torch)
    changed = [names for names in _globals_of(module, loss) if "len" not in names]
    for names in changed:
        names["len"] = count
    try:
        yield
    finally:
        for names in changed:
            names.pop("len", None)


def _checkpointed_at_once(torch: Any) -> Callable:
    """In place of a reentrant checkpoint, which is traced apart. Values are the same, and what is kept is the plan's matter.
    As there, no gradient comes in where no input has one."""
    def apply(function: Callable, preserve: Any, *values: Any) -> Any:
        made = function(*values)
        if any(isinstance(value, torch.Tensor) and value.requires_grad for value in values):
            return made
        return torch.utils._pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, made)

    return apply


def _of_the_batch(torch: Any, own: Callable) -> Callable:
    """Batch norm by the statistics of the batch, which the exporter replaces by those that were kept."""
    def norm(x: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
             momentum: float = 0.1, eps: float = 1e-5) -> Any:
        if not training:
            return own(x, running_mean, running_var, weight, bias, training, momentum, eps)
        axes, column = [0, *range(2, x.dim())], [1, -1, *(1 for _ in range(2, x.dim()))]
        centred = x - x.mean(axes, keepdim=True)
        result = centred * torch.rsqrt((centred * centred).mean(axes, keepdim=True) + eps)
        result = result if weight is None else result * weight.reshape(column)
        return result if bias is None else result + bias.reshape(column)

    return norm


@contextlib.contextmanager
def _with_batch_statistics(torch: Any, module: Any) -> Iterator[None]:
    """Batch norms in training mode compute with the batch alone: what they keep of it for evaluation is not in a file."""
    functional = torch.nn.functional
    norms = [each for each in module.modules() if each.training and getattr(each, "track_running_stats", False)]
    with _replaced(functional, batch_norm=_of_the_batch(torch, functional.batch_norm)), contextlib.ExitStack() as changed:
        for each in norms:
            changed.enter_context(_replaced(each, track_running_stats=False))
        yield


@contextlib.contextmanager
def traceable(module: Any, loss: Any = None, relates_samples: bool = False) -> Iterator[None]:
    """loss: a function alongside the module, which is traced with it. relates_samples: whether batch norms in training mode
    are to use the statistics of the batch; without it accumc refuses them, by what the exporter leaves of them."""
    import torch
    import torch.utils.checkpoint
    from torch.nn.modules import transformer

    functional = torch.nn.functional
    attend = _of_four_axes(functional.scaled_dot_product_attention)
    with _replaced(functional, scaled_dot_product_attention=attend), _without_idle_autocast(torch), \
            _detached_without_gradient(torch), \
            _replaced(torch.utils.checkpoint.CheckpointFunction, apply=staticmethod(_checkpointed_at_once(torch))), \
            _replaced(transformer, _detect_is_causal_mask=_given_hint), _uncompiled(torch, module), \
            _replaced(torch._VF, **_recurrence.step_by_step(torch)), _with_open_len(torch, module, loss), \
            (_with_batch_statistics(torch, module) if relates_samples else contextlib.nullcontext()):
        yield
