# SPDX-License-Identifier: Apache-2.0
"""A user's batch as named arrays: a mapping, a list of one for each sample, a tuple in the order of the inputs, or one array."""
from __future__ import annotations

from typing import Any, Mapping, Sequence

from . import _errors, _ragged


def is_positional(batch: Any) -> bool:
    return isinstance(batch, (tuple, list)) and not hasattr(batch, "keys")


def _stacked(name: str, values: Sequence[Any]) -> Any:
    """Of samples, each of one shape, or one after the other where they differ along their first axis."""
    shapes = {tuple(getattr(value, "shape", ())) if not isinstance(value, (list, tuple)) else (len(value),) for value in values}
    if len({shape[1:] for shape in shapes}) == 1 < len(shapes) and () not in shapes:
        return _ragged.Ragged.of([_on_host(value) for value in values])
    if len(shapes) > 1:
        raise _errors.DataError(f"`{name}` has other shapes in other samples: {', '.join(map(str, sorted(shapes)))}",
                                slug="bad-data", exit_code=3, notes=["pad them to one length, as a collator does"])
    if any(hasattr(value, "detach") for value in values):
        import torch
        return torch.stack([torch.as_tensor(value) for value in values])
    import numpy
    return numpy.stack([numpy.asarray(value) for value in values])


def collated(batch: Any) -> Any:
    """A list of mappings, one for each sample as a data set has them, as one mapping; any other batch as it is."""
    if not is_positional(batch) or not batch or not all(isinstance(sample, Mapping) for sample in batch):
        return batch
    names = list(batch[0])
    for at, sample in enumerate(batch):
        if set(sample) != set(names):
            odd = ", ".join(map(str, sorted(set(sample) ^ set(names))))
            raise _errors.DataError(f"samples 0 and {at} of the batch do not have the same arrays: {odd}", slug="bad-data",
                                    exit_code=3)
    return {name: _stacked(str(name), [sample[name] for sample in batch]) for name in names}


def is_setting(value: Any) -> bool:
    """An argument of forward that is no data: `return_loss=True`, as the collators of CLIP have it."""
    return isinstance(value, (bool, int, float, str)) or getattr(value, "ndim", None) == 0


def plain(value: Any) -> Any:
    """A setting as Python has it: numpy.float32(2) and torch.tensor(2.0) are 2.0."""
    return value.item() if hasattr(value, "item") else value


def without_settings(batch: Any, known: Mapping[str, Any] | None, inputs: Sequence[str] = ()) -> Any:
    """A mapping's arrays. known: the settings with which the module was exported; None where that is not known. inputs: the
    model's, whose names are no settings'."""
    if not isinstance(batch, Mapping):
        return batch
    settings = {str(name): plain(value) for name, value in batch.items() if is_setting(value) and str(name) not in inputs}
    for name in (known or {}).keys() & {str(name) for name in batch} - settings.keys():
        if batch[name] is not None:
            raise _errors.DataError(f"`{name}` is an array in this batch, and was {known[name]!r} in the example batch",
                                    slug="bad-data", exit_code=3)
    for name, value in settings.items() if known is not None else ():
        if name not in known:
            raise _errors.DataError(f"`{name}` is {value!r} in this batch, and the example batch does not have it",
                                    slug="bad-data", exit_code=3)
        if value != known[name]:
            raise _errors.DataError(f"`{name}` is {value!r} in this batch, and was {known[name]!r} in the example batch",
                                    slug="bad-data", exit_code=3,
                                    notes=["what is no array is part of the program: each value has a Trainer of its own",
                                           "a number that changes from step to step is an array with its value for each sample, "
                                           "in the example batch too: numpy.full(samples, value, numpy.float32)"])
    return {name: value for name, value in batch.items() if str(name) not in settings}


def named(batch: Any, names: Sequence[str], renamed: Mapping[str, str],
          padding: Mapping[str, float] | None = None) -> list[tuple[str, Any]]:
    """(name, array) of each input that the batch has. names: the inputs, in the order that a tuple has them. renamed:
    inputs by the names of a mapping, where the two differ. padding: inputs whose samples may have lengths of their own."""
    batch = collated(batch)
    if isinstance(batch, Mapping):
        found = [(renamed.get(str(name), str(name)), _on_host(value)) for name, value in batch.items()
                 if value is not None]
        return [each for name, value in found for each in _ragged.arrays(name, value, padding or {})]
    values = list(batch) if is_positional(batch) else [batch]
    if len(values) > len(names):
        raise _errors.DataError(f"the batch has {len(values)} arrays, and the model {len(names)} inputs: "
                                + ", ".join(names), slug="bad-data", exit_code=3)
    return [(name, _on_host(value)) for name, value in zip(names, values) if value is not None]


def _on_host(value: Any) -> Any:
    """Tensors without their graph, on the host; lists as arrays. Nothing is copied that is there already."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return value.detach().cpu()
    if isinstance(value, (list, tuple)):
        import numpy
        return numpy.asarray(value)
    return value


def joined(batches: Sequence[list[tuple[str, Any]]], padding: Mapping[str, float] | None = None) -> list[tuple[str, Any]]:
    """Several batches as one, one after the other. padding: of inputs that are padded, to the widest of all."""
    if not batches:
        raise _errors.DataError("there is no batch to evaluate", slug="bad-data", exit_code=3)
    if len(batches) == 1:
        return batches[0]
    columns: dict[str, list] = {}
    for batch in _ragged.aligned(batches):
        for name, value in batch:
            columns.setdefault(name, []).append(value)
    for name, parts in columns.items():
        if len(parts) != len(batches):
            raise _errors.DataError(f"`{name}` is in {len(parts)} of {len(batches)} batches", slug="bad-data",
                                    exit_code=3)
    fills = {} if any(name.endswith(_ragged.OFFSETS) for name in columns) else padding or {}
    return [(name, _ragged.offsets(parts) if name.endswith(_ragged.OFFSETS)
             else _ragged.concatenated(_ragged.widened(parts, fills.get(name)))) for name, parts in columns.items()]
