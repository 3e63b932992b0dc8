# SPDX-License-Identifier: Apache-2.0
"""How a user calls a module: wrappers around it, what forward's arguments are called, and a forward of the object's own."""
from __future__ import annotations

import collections
import contextlib
import inspect
import keyword
import re
from typing import Any, Callable, Iterator, Sequence

# The wrappers that hand their arguments on, by the attribute that holds the module.
_WRAPPERS = {"OptimizedModule": "_orig_mod", "DistributedDataParallel": "module", "DataParallel": "module"}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def unwrapped(module: Any) -> Any:
    """The module itself, of one that torch.compile, DataParallel or DistributedDataParallel made."""
    inner = getattr(module, _WRAPPERS.get(type(module).__name__, ""), None)
    return module if inner is None else unwrapped(inner)


def own_forward(module: Any) -> Any:
    """The forward that was set on the object, in place of its class's; None where there is none."""
    return module.__dict__.get("forward")


def _arguments(forward: Any) -> dict[str, inspect._ParameterKind]:
    """Of a bound forward by name; those of any function where Python does not know them."""
    try:
        return {name: each.kind for name, each in inspect.signature(forward).parameters.items()}
    except (TypeError, ValueError):
        return {"args": inspect.Parameter.VAR_POSITIONAL, "kwargs": inspect.Parameter.VAR_KEYWORD}


def _of_class(module: Any) -> dict[str, inspect._ParameterKind]:
    own = type(module).forward
    return _arguments(own.__get__(module) if hasattr(own, "__get__") else own)


def _by_position(arguments: dict[str, inspect._ParameterKind]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, kind in arguments.items() if kind in kinds]


def names_of_first(module: Any, count: int) -> list[str]:
    """What the first `count` arguments of forward are called; fewer where it takes fewer. Of `*args` they have the names
    of the class's forward, if another one stands in its place, or numbers."""
    arguments = _arguments(module.forward)
    names = _by_position(arguments)
    rest = next((name for name, kind in arguments.items() if kind == inspect.Parameter.VAR_POSITIONAL), None)
    if rest is not None and own_forward(module) is not None:
        names += [name for name in _by_position(_of_class(module)) if name not in names]
    if rest is not None:
        names += [f"{rest}_{at}" for at in range(len(names), count)]
    return names[:count]


def names_taken(module: Any, names: Sequence[str]) -> list[str]:
    """Those that forward takes. Where another forward with `**kwargs` stands in the place of the class's, that one's."""
    known = _arguments(module.forward)
    if inspect.Parameter.VAR_KEYWORD in known.values() and own_forward(module) is not None:
        known = {**_of_class(module), **{name: kind for name, kind in known.items()
                                         if kind != inspect.Parameter.VAR_KEYWORD}}
    if inspect.Parameter.VAR_KEYWORD in known.values():
        return list(names)
    return [name for name in names if name in known]


def takes_whole(module: Any, names: Sequence[str]) -> bool:
    """Whether forward's one argument is the mapping itself, `forward(batch)`: it has none of the names of what is in it."""
    try:
        arguments = [each for each in inspect.signature(module.forward).parameters.values()]
    except (TypeError, ValueError):
        return False
    if any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) or each.name in names for each in arguments):
        return False
    return sum(each.default is each.empty for each in arguments) == 1 and arguments[0].default is inspect.Parameter.empty


def input_names(module: Any, names: Sequence[str]) -> list[str]:
    """What the inputs of these names are called in the file: an identifier each, that no parameter and no buffer has."""
    taken = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    taken |= {name for name, _ in module.named_buffers(remove_duplicate=False)} | {"self"}
    found = []
    for name in names:
        word = re.sub(r"\W", "_", name)
        if not word.isidentifier() or keyword.iskeyword(word):
            word = "input_" + word
        if word in taken:
            word += "_input"
        while word in taken:
            word += "_"
        taken.add(word)
        found.append(word)
    return found


def with_arguments(names: Sequence[str], call: Callable) -> Callable:
    """A method with arguments of these names, which the exporter takes for those of the file. It is not called forward:
    of functions of that name each is held for a module in the traces that the file keeps."""
    scope: dict[str, Any] = {"call": call}
    exec(f"def step(self, {', '.join(names)}):\n    return call({', '.join(names)})\n", scope)
    return scope["step"]


@contextlib.contextmanager
def _set(module: Any, kind: type, own: dict[str, Any]) -> Iterator[None]:
    """Class and attributes of the object, for a while; an attribute of None is not there."""
    before = type(module), {name: module.__dict__.get(name) for name in own}

    def put(kind: type, values: dict[str, Any]) -> None:
        module.__class__ = kind
        for name, value in values.items():
            module.__dict__.pop(name, None)
            if value is not None:
                module.__dict__[name] = value

    put(kind, own)
    try:
        yield
    finally:
        put(*before)


@contextlib.contextmanager
def as_step(module: Any, names: Sequence[str], step: Callable, training: bool) -> Iterator[None]:
    """The module is called with the inputs `names` and answers with what `step(call, *inputs)` makes of them; `call` is the
    module as the user has it, with its hooks and a forward of its own.

    A class of its own does that: parameters keep their names, as inside a module around it they would not.
    """
    kind, modes = type(module), {each: each.training for each in module.modules()}
    users = {name: module.__dict__.get(name) for name in ("forward", "_compiled_call_impl", *_HOOKS)}
    bare = {**{name: collections.OrderedDict() for name in _HOOKS}, "forward": None, "_compiled_call_impl": None}

    plain = next(each for each in kind.__mro__ if each.__name__ == "Module" and "__call__" in each.__dict__)
    has_own_call = kind.__call__ is not plain.__call__

    def call(*values: Any, **named: Any) -> Any:
        with _set(module, kind, users):
            # A call that is the class's own ends in that of all modules, which the exporter watches.
            return (module if has_own_call else module._call_impl)(*values, **named)

    method = with_arguments(names, lambda *inputs: step(call, *inputs))
    body = {"forward": method, "__module__": kind.__module__}
    if has_own_call:
        body["__call__"] = lambda self, *values, **named: plain.__call__(self, *values, **named)
    module.train(training) if training != module.training else None
    try:
        with _set(module, type(kind.__name__, (kind,), body), bare):
            yield
    finally:
        for each, mode in modes.items():
            each.training = mode


def hiding(module: Any) -> str:
    """A sentence about what stands in the place of the class's forward; "" where nothing does."""
    own = own_forward(module)
    if own is None:
        return ""
    of = getattr(own, "__func__", own)
    name = getattr(of, "__qualname__", None)
    what = f"`{of.__module__}.{name}`" if name else f"an object of {type(of).__module__}.{type(of).__qualname__}"
    return (f"the module's forward is {what}, which was set on the object in place of {type(module).__name__}.forward: "
            "`del module.forward` before the export takes the class's own")
