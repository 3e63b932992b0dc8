# SPDX-License-Identifier: Apache-2.0
"""A user's batch as named arrays: a mapping, a tuple in the order of the inputs, or one array."""
from __future__ import annotations

from typing import Any, Mapping, Sequence

from . import _errors


def is_positional(batch: Any) -> bool:
    return isinstance(batch, (tuple, list)) and not hasattr(batch, "keys")


def named(batch: Any, names: Sequence[str], renamed: Mapping[str, str]) -> list[tuple[str, Any]]:
    """(name, array) of each input that the batch has. names: the inputs, in the order that a tuple has them. renamed:
    inputs by the names of a mapping, where the two differ."""
    if isinstance(batch, Mapping):
        return [(renamed.get(str(name), str(name)), _on_host(value)) for name, value in batch.items()
                if value is not None]
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


def _concatenated(parts: Sequence[Any]) -> Any:
    """Tensors by PyTorch: NumPy has no bf16."""
    if any(hasattr(part, "detach") for part in parts):
        import torch
        return torch.cat([torch.as_tensor(part) for part in parts])
    import numpy
    return numpy.concatenate([numpy.asarray(part) for part in parts])


def joined(batches: Sequence[list[tuple[str, Any]]]) -> list[tuple[str, Any]]:
    """Several batches as one, one after the other."""
    if not batches:
        raise _errors.DataError("there is no batch to evaluate", slug="bad-data", exit_code=3)
    if len(batches) == 1:
        return batches[0]
    columns: dict[str, list] = {}
    for batch in batches:
        for name, value in batch:
            columns.setdefault(name, []).append(value)
    for name, parts in columns.items():
        if len(parts) != len(batches):
            raise _errors.DataError(f"`{name}` is in {len(parts)} of {len(batches)} batches", slug="bad-data",
                                    exit_code=3)
    return [(name, _concatenated(parts)) for name, parts in columns.items()]
