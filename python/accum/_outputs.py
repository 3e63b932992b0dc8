# SPDX-License-Identifier: Apache-2.0
"""Which of the things that a module returns is its loss."""
from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Mapping, Sequence

from . import _errors


def _parts(output: Any) -> dict[str, Any]:
    """What an output consists of, by how Python reaches it."""
    if isinstance(output, Mapping):
        return {f"[{name!r}]": value for name, value in output.items()}
    if isinstance(output, (tuple, list)):
        return {f"[{at}]": value for at, value in enumerate(output)}
    if dataclasses.is_dataclass(output):
        return {f".{field.name}": getattr(output, field.name) for field in dataclasses.fields(output)}
    return {}


def _tensors(output: Any, name: str = "output") -> Iterator[tuple[str, Any]]:
    if hasattr(output, "requires_grad") and hasattr(output, "dim"):
        yield name, output
    for part, value in _parts(output).items():
        yield from _tensors(value, name + part)


def _is_one_number(tensor: Any) -> bool:
    # The number of samples is a symbol here, and no int.
    return tensor.dim() == 1 and isinstance(tensor.shape[0], int) and tensor.shape[0] == 1


def _scalars(output: Any) -> dict[str, Any]:
    """By name; tensors of one axis with one element only where there are no others. Of several those that depend on
    parameters: the rest is for the user to look at."""
    floats = {id(tensor): (name, tensor) for name, tensor in _tensors(output) if tensor.is_floating_point()}
    found = dict(each for each in floats.values() if each[1].dim() == 0) or dict(
        each for each in floats.values() if _is_one_number(each[1]))
    return {name: tensor for name, tensor in found.items() if tensor.requires_grad} or found


def _named(output: Any, name: str) -> Any:
    return output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)


def scalar(value: Any, what: str) -> Any:
    """The loss itself, which is a number."""
    found = _scalars(value)
    if len(found) > 1:
        raise _errors.Error(f"{what} has several scalars, and none is named `loss`: {', '.join(found)}",
                            slug="ambiguous-loss", exit_code=1,
                            notes=[f"loss=lambda output, batch: {name} takes that one" for name in found])
    if not found:
        shapes = ", ".join(str([size if isinstance(size, int) else "batch" for size in tensor.shape])
                           for _, tensor in _tensors(value)) or type(value).__name__
        raise _errors.UsageError(f"{what} is no scalar: {shapes}", slug="usage", exit_code=2,
                                 notes=["a loss is the mean over samples, or over what it counts"])
    loss = next(iter(found.values()))
    return loss.reshape(()) if loss.dim() else loss


def loss_of(output: Any) -> Any:
    """The loss where the module computed one: what is named so, or the only scalar. Else the logits, or the first output, of
    which accumc knows a loss."""
    loss = _named(output, "loss")
    if loss is not None:
        return scalar(loss, "the output `loss`")
    # Models of transformers have the name and no value where a batch has no labels; other scalars are parts of a loss.
    is_left_out = hasattr(output, "loss") or (isinstance(output, Mapping) and "loss" in output)
    if not is_left_out and _scalars(output):
        return scalar(output, "what the module returns")
    logits = _named(output, "logits")
    if logits is not None:
        return logits
    return output[0] if isinstance(output, (tuple, list)) else output


def scores_of(output: Any) -> Any:
    """What a loss by name is put on: the logits, or the first of several; names of a mapping stay for it to choose."""
    logits = _named(output, "logits")
    if logits is not None or isinstance(output, Mapping):
        return output if logits is None else logits
    return next((tensor for _, tensor in _tensors(output) if tensor.is_floating_point() and tensor.dim()), output)


def _direct(output: Any) -> dict[str, Any]:
    """Tensors that a module returns, by name; one alone is `output`, those of a tuple `output_0`, `output_1`, ..."""
    if hasattr(output, "dim"):
        return {"output": output}
    if isinstance(output, Mapping):
        parts = {str(name): value for name, value in output.items()}
    elif isinstance(output, (tuple, list)):
        parts = {f"output_{at}": value for at, value in enumerate(output)}
    elif dataclasses.is_dataclass(output):
        parts = {field.name: getattr(output, field.name) for field in dataclasses.fields(output)}
    else:
        parts = {}
    return {name: value for name, value in parts.items() if hasattr(value, "dim")}


def beside(output: Any, loss: Any, inputs: Sequence[Any]) -> dict[str, Any]:
    """What a module returns beside its loss: outputs of the file too, for a run to predict. None where the loss is no number:
    then accumc puts one on it."""
    if loss.dim() != 0:
        return {}
    taken = {id(loss), *map(id, inputs)}
    found = {}
    for name, value in _direct(output).items():
        if name != "loss" and id(value) not in taken:
            taken.add(id(value))
            found[name] = value
    return found


def name_outputs(graph: Any, names: Sequence[str]) -> None:
    """The file's outputs: `loss`, then those of these names, without what reads parameters that the loss does not read."""
    loss, *others = list(graph.outputs)
    if len(others) != len(names):
        return
    known = {id(value) for value in _behind(loss)}
    taken = {each.name for each in graph.inputs} | {"loss"}
    for value, name in zip(others, names):
        read = _behind(value)
        is_own = value.producer() is not None and value is not loss and sum(value is each for each in others) == 1
        lacks = [each for each in read if (each.is_initializer() or each.is_graph_input()) and id(each) not in known]
        if is_own and name not in taken and not lacks:
            value.name = name
            taken.add(name)
        else:
            graph.outputs.pop(next(at for at, each in enumerate(graph.outputs) if at > 0 and each is value))
    loss.name = "loss"
    _remove_unused(graph)


def _behind(value: Any) -> list[Any]:
    """The value, and all that it is computed from."""
    found, seen, open_values = [], set(), [value]
    while open_values:
        each = open_values.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        found.append(each)
        node = each.producer()
        if node is not None:
            open_values.extend(node.inputs)
            for attribute in node.attributes.values():
                inner = attribute.value if type(attribute.value).__name__ == "Graph" else None
                open_values.extend(used for own in (inner or ()) for used in own.inputs)
    return found


def _remove_unused(graph: Any) -> None:
    """Nodes that only an output had, and parameters that only those read."""
    def is_unused(value: Any) -> bool:
        return not value.uses() and not value.is_graph_output()

    for node in reversed(list(graph)):
        if all(is_unused(value) for value in node.outputs):
            graph.remove(node, safe=True)
    for name, value in list(graph.initializers.items()):
        if is_unused(value):
            del graph.initializers[name]
