# SPDX-License-Identifier: Apache-2.0
"""States of random number generators: Python's, NumPy's and torch's, and those that objects hold, as a collator may."""
from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import pathlib
import random
import types
from typing import Any, Iterator, Mapping

from . import _errors

_DEEPEST, _WIDEST, _MOST = 8, 64, 20_000  # how far objects are followed; samples are no place to look in
_CALLED = ("__call__", "__getitem__", "__getitems__", "__iter__", "collate_batch")

States = dict[str, Any]


def _parts(owner: Any) -> Mapping[str, Any]:
    """What an object refers to, by names that it has in another process too."""
    if isinstance(owner, Mapping):
        return {f"[{name!r}]": value for name, value in owner.items()} if len(owner) <= _WIDEST else {}
    if isinstance(owner, (list, tuple)):
        return {f"[{at}]": value for at, value in enumerate(owner)} if len(owner) <= _WIDEST else {}
    if isinstance(owner, functools.partial):
        return {"func": owner.func, "args": owner.args, "keywords": owner.keywords}
    if isinstance(owner, types.MethodType):
        return {"self": owner.__self__, "func": owner.__func__}
    if isinstance(owner, types.FunctionType):
        return _parts_of_function(owner)
    methods = {name: value for name in _CALLED
               if isinstance(value := getattr(type(owner), name, None), types.FunctionType)}
    return {**methods, **getattr(owner, "__dict__", {})}


def _parts_of_function(function: Any) -> dict[str, Any]:
    code = function.__code__
    found = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # of a name without a value
            found[name] = cell.cell_contents
    return {**found, "defaults": function.__defaults__ or (), "keywords": function.__kwdefaults__ or {}}


def _is_closed(value: Any) -> bool:
    """Modules and classes belong to all, arrays hold no generators, and networks do not load data."""
    return isinstance(value, (types.ModuleType, type, str, bytes, int, float)) or hasattr(
        value, "__array__") or hasattr(value, "named_parameters")


def _kind(value: Any) -> str:
    import numpy
    import torch
    kinds = {"python": random.Random, "numpy": numpy.random.Generator, "numpy-state": numpy.random.RandomState,
             "torch": torch.Generator}
    return next((name for name, kind in kinds.items() if isinstance(value, kind)), "")


def _places(root: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """(path, owner, name, value) where a generator stands, or nothing does, in whose place one may be made later."""
    seen, level, left = {id(root)}, [("", root)], _MOST
    for _ in range(_DEEPEST):
        below = []
        for path, owner in level:
            for name, value in list(_parts(owner).items()):
                own = f"{path}.{name}"
                if value is None or _kind(value):
                    yield own, owner, name, value
                elif id(value) not in seen and not _is_closed(value):
                    seen.add(id(value))
                    below.append((own, value))
        level = list(itertools.islice(below, left))
        left -= len(level)


def _plain(value: Any) -> Any:
    """Arrays as JSON has them."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if hasattr(value, "dtype") and getattr(value, "ndim", 0):
        return {"dtype": str(value.dtype), "values": value.tolist()}
    return value.item() if hasattr(value, "item") else value


def _unplain(value: Any) -> Any:
    import numpy
    if isinstance(value, Mapping) and value.keys() == {"dtype", "values"}:
        return numpy.array(value["values"], value["dtype"])
    return {name: _unplain(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def _state(generator: Any) -> dict[str, Any]:
    kind = _kind(generator)
    if kind == "python":
        version, words, gauss = generator.getstate()
        return {"kind": kind, "state": [version, list(words), gauss]}
    if kind == "torch":
        return {"kind": kind, "state": bytes(generator.get_state().tolist()).hex()}
    state = generator.bit_generator.state if kind == "numpy" else generator.get_state(legacy=False)
    return {"kind": kind, "state": _plain(state)}


def _set(generator: Any, state: Mapping[str, Any]) -> None:
    import torch
    kind, value = state["kind"], state["state"]
    if kind == "python":
        generator.setstate((value[0], tuple(value[1]), value[2]))
    elif kind == "torch":
        generator.set_state(torch.tensor(list(bytes.fromhex(value)), dtype=torch.uint8))
    elif kind == "numpy":
        generator.bit_generator.state = _unplain(value)
    else:
        generator.set_state(_unplain(value))


def _made(owner: Any, name: str, state: Mapping[str, Any]) -> Any:
    """A generator where there is none yet; a collator of transformers makes its own, and knows that it has."""
    import numpy
    import torch
    if hasattr(owner, "create_rng"):
        owner.create_rng()
    else:
        setattr(owner, name, {"python": random.Random, "torch": torch.Generator, "numpy-state": numpy.random.RandomState,
                              "numpy": lambda: numpy.random.Generator(getattr(
                                  numpy.random, state["state"]["bit_generator"])())}[state["kind"]]())
    return getattr(owner, name)


def _of_all() -> dict[str, Any]:
    import numpy
    import torch
    return {"python": random._inst, "numpy": numpy.random.mtrand._rand,  # type: ignore[attr-defined]
            "torch": torch.default_generator}


def states(root: Any) -> States:
    """Of the generators of the process, and of those that `root` holds, by their paths."""
    held = {path: _state(value) for path, _, _, value in _places(root) if value is not None}
    return {**{name: _state(generator) for name, generator in _of_all().items()}, **held}


def restore(root: Any, before: States) -> None:
    """Generators that were not there are none again."""
    for path, owner, name, value in list(_places(root)):
        if path in before:
            generator = value if value is not None and _kind(value) == before[path]["kind"] else _made(
                owner, name, before[path])
            _set(generator, before[path])
        elif value is not None and getattr(owner, "__dict__", {}).get(name) is value:
            setattr(owner, name, None)
    for name, generator in _of_all().items():
        _set(generator, before[name])


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write(path: pathlib.Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with open(part, "w") as file:
        json.dump({"content": content, "sha256": _checksum(content)}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def read(path: pathlib.Path) -> Any:
    try:
        found = json.loads(path.read_text())
        if found["sha256"] == _checksum(found["content"]):
            return found["content"]
    except (ValueError, KeyError, TypeError):
        pass
    raise _errors.DataError(f"{path}: is damaged: its checksum is not that of its content", slug="bad-data", exit_code=3,
                            notes=["without the file the run goes on, and a collator that draws draws other numbers"])
