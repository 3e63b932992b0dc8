# SPDX-License-Identifier: Apache-2.0
"""Samples of their own lengths: one after the other, with offsets, as a program of several lengths takes them."""
from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

from . import _errors

OFFSETS = ".offsets"


def concatenated(parts: Sequence[Any]) -> Any:
    """Tensors by PyTorch: NumPy has no bf16."""
    if any(hasattr(part, "detach") for part in parts):
        import torch
        return torch.cat([torch.as_tensor(part) for part in parts])
    import numpy
    return numpy.concatenate([numpy.asarray(part) for part in parts])


def _wider(array: Any, width: int, fill: float, axis: int = 1) -> Any:
    """An axis padded to `width`."""
    missing = width - array.shape[axis]
    if hasattr(array, "detach"):
        import torch
        more = array.new_full((*array.shape[:axis], missing, *array.shape[axis + 1:]), fill)
        return torch.cat([array, more], dim=axis)
    import numpy
    array = numpy.asarray(array)
    return numpy.pad(array, [(0, missing if at == axis else 0) for at in range(array.ndim)], constant_values=fill)


@dataclasses.dataclass(frozen=True)
class Ragged:
    """values: the samples, joined along their first axis. offsets: where each begins, and the last one ends."""

    values: Any
    offsets: Any

    @staticmethod
    def of(rows: Sequence[Any]) -> Ragged:
        import numpy

        lengths = [len(row) for row in rows]
        return Ragged(concatenated(rows), numpy.cumsum([0] + lengths).astype(numpy.int64))

    def padded(self, fill: float) -> Any:
        """To the longest."""
        import numpy

        rows = [self.values[begin:end][None] for begin, end in zip(self.offsets, self.offsets[1:])]
        longest = int(numpy.diff(self.offsets).max())
        return concatenated([_wider(row, longest, fill) for row in rows])


def arrays(name: str, value: Any, padding: Mapping[str, float]) -> list[tuple[str, Any]]:
    """What a session is given for it."""
    if not isinstance(value, Ragged):
        return [(name, value)]
    if name not in padding:
        raise _errors.DataError(f"`{name}` has another length in each sample, and the program has one length",
                                slug="bad-data", exit_code=3,
                                notes=["lengths=\"auto\" compiles for several; or pad them, as a collator does"])
    return [(name, value.values), (name + OFFSETS, value.offsets)]


@dataclasses.dataclass(frozen=True)
class End:
    """Where samples of an input end at the latest. axis: of an array, axis 0 the samples. tells: by its padding, where they
    end. dimension: its name."""

    axis: int
    most: int
    padding: float
    tells: bool
    dimension: str


def _cut_rows(values: Any, offsets: Any, most: int) -> tuple[Any, Any]:
    import numpy

    lengths = numpy.minimum(numpy.diff(offsets), most)
    rows = [values[begin:begin + length] for begin, length in zip(offsets, lengths)]
    return concatenated(rows), numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int64)


def cut(batch: Sequence[tuple[str, Any]], ends: Mapping[str, End]) -> tuple[list[tuple[str, Any]], set[str]]:
    """Each array up to its end, and the dimensions along which something was cut that is no padding."""
    own, found, said = dict(batch), [], set()
    told = {ends[name].dimension for name in own if name in ends and ends[name].tells}
    for name, value in batch:
        end = ends.get(name)
        if name.removesuffix(OFFSETS) in ends and end is None:
            continue  # with its values
        if end is None:
            found.append((name, value))
        elif name + OFFSETS in own:
            values, kept = _cut_rows(value, own[name + OFFSETS], end.most)
            said |= {end.dimension} if len(values) < len(value) else set()
            found += [(name, values), (name + OFFSETS, kept)]
        elif len(value.shape) > end.axis and value.shape[end.axis] > end.most:
            before = (slice(None),) * end.axis
            rest = value[(*before, slice(end.most, None))]
            is_longer = bool((rest != end.padding).any()) if end.tells else end.dimension not in told
            said |= {end.dimension} if is_longer else set()
            found.append((name, value[(*before, slice(0, end.most))]))
        else:
            found.append((name, value))
    return found, said


def widened(parts: Sequence[Any], fill: float | None) -> Sequence[Any]:
    """Arrays of different widths, padded to the widest where the input is known to be padded."""
    shapes = [tuple(getattr(part, "shape", ())) for part in parts]
    differing = [axis for axis in range(1, min(map(len, shapes))) if len({shape[axis] for shape in shapes}) > 1]
    if fill is None or len(differing) != 1:
        return parts
    return [_wider(part, max(shape[differing[0]] for shape in shapes), fill, differing[0]) for part in parts]


def aligned(batches: Sequence[list[tuple[str, Any]]]) -> Sequence[list[tuple[str, Any]]]:
    """Where an input is ragged in one batch, it is in all of them: samples that are as long as each other have arrays."""
    import numpy

    ragged = {name.removesuffix(OFFSETS) for batch in batches for name, _ in batch if name.endswith(OFFSETS)}

    def one(batch: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        own = {name for name, _ in batch}
        found: list[tuple[str, Any]] = []
        for name, value in batch:
            if name in ragged and name + OFFSETS not in own:
                count, width = value.shape[:2]
                found.append((name, value.reshape(count * width, *value.shape[2:])))
                found.append((name + OFFSETS, numpy.arange(count + 1, dtype=numpy.int64) * width))
            else:
                found.append((name, value))
        return found

    return [one(batch) for batch in batches]


def offsets(parts: Sequence[Any]) -> Any:
    """Of batches that are joined."""
    import numpy

    ends = numpy.cumsum([0] + [int(part[-1]) for part in parts])
    return numpy.concatenate([[0]] + [part[1:] + end for part, end in zip(parts, ends)])


def example(batch: Any) -> Any:
    """A collated batch whose ragged arrays are padded: an exporter needs one shape."""
    if not isinstance(batch, Mapping):
        return batch
    return {name: value.padded(-100 if name == "labels" else 0) if isinstance(value, Ragged) else value
            for name, value in batch.items()}
