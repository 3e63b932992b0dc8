# SPDX-License-Identifier: Apache-2.0
"""Samples of their own lengths: one behind the other, with offsets, as a program of several lengths takes them."""
from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

from . import _errors

OFFSETS = ".offsets"


@dataclasses.dataclass(frozen=True)
class Ragged:
    """values: the samples, joined along their first axis. offsets: where each begins, and the last one ends."""

    values: Any
    offsets: Any

    @staticmethod
    def of(rows: Sequence[Any]) -> Ragged:
        import numpy

        arrays = [numpy.asarray(row) for row in rows]
        return Ragged(numpy.concatenate(arrays), numpy.cumsum([0] + [len(array) for array in arrays]).astype(numpy.int64))

    def padded(self, fill: float) -> Any:
        """To the longest."""
        import numpy

        lengths = numpy.diff(self.offsets)
        array = numpy.full((len(lengths), int(lengths.max()), *self.values.shape[1:]), fill, self.values.dtype)
        for row, (begin, end) in enumerate(zip(self.offsets, self.offsets[1:])):
            array[row, :end - begin] = self.values[begin:end]
        return array


def arrays(name: str, value: Any, padding: Mapping[str, float]) -> list[tuple[str, Any]]:
    """What a session is given for it."""
    if not isinstance(value, Ragged):
        return [(name, value)]
    if name not in padding:
        raise _errors.DataError(f"`{name}` has another length in each sample, and the program has one length",
                                slug="bad-data", exit_code=3,
                                notes=["lengths=\"auto\" compiles for several; or pad them, as a collator does"])
    return [(name, value.values), (name + OFFSETS, value.offsets)]


def widened(parts: Sequence[Any], fill: float | None) -> Sequence[Any]:
    """Arrays of different widths, padded to the widest where the input is known to be padded."""
    widths = {part.shape[1] for part in parts if len(getattr(part, "shape", ())) > 1}
    if fill is None or len(widths) < 2:
        return parts
    import numpy

    def one(part: Any) -> Any:
        array = numpy.asarray(part)
        missing = max(widths) - array.shape[1]
        return numpy.pad(array, [(0, 0), (0, missing)] + [(0, 0)] * (array.ndim - 2), constant_values=fill)

    return [one(part) for part in parts]


def joined(columns: Mapping[str, Sequence[Any]]) -> list[tuple[str, Any]]:
    """Batches of ragged arrays, one after the other."""
    import numpy

    found = []
    for name, parts in columns.items():
        if name.endswith(OFFSETS):
            ends = numpy.cumsum([0] + [int(part[-1]) for part in parts])
            found.append((name, numpy.concatenate([[0]] + [part[1:] + end for part, end in zip(parts, ends)])))
        else:
            found.append((name, numpy.concatenate([numpy.asarray(part) for part in parts])))
    return found


def example(batch: Any) -> Any:
    """A collated batch whose ragged arrays are padded: an exporter needs one shape."""
    if not isinstance(batch, Mapping):
        return batch
    return {name: value.padded(-100 if name == "labels" else 0) if isinstance(value, Ragged) else value
            for name, value in batch.items()}
