# SPDX-License-Identifier: Apache-2.0
"""Text of several lengths: which axes of a batch are padded, and the sizes that a program is compiled of."""
from __future__ import annotations

import os
import pathlib
import re
from typing import Any, Mapping, Sequence

from . import _options

_LEADERS = ("input_ids", "attention_mask", "input_values")
_STEP = 8  # what the longest is rounded up to: kernels work on whole vectors
LENGTH, TARGET_LENGTH = "length", "target_length"


def axis_of(value: Any) -> int:
    """The positions': of [samples, positions], [samples, positions, features], and ids of [samples, choices, positions]."""
    is_ids = "int" in str(getattr(value, "dtype", ""))
    return 2 if is_ids and len(getattr(value, "shape", ())) == 3 else 1


def _extent(value: Any) -> int | None:
    shape, axis = getattr(value, "shape", ()), axis_of(value)
    return int(shape[axis]) if len(shape) > axis else None


_OF_TEXT = re.compile(r"(.+?)_?(input_ids|attention_mask|token_type_ids|ids|mask)$")


def _own_texts(batch: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """Ids and masks of further texts of a sample, such as `positive_ids` and `positive_mask`, which have a length of their own.
    Ids alone, or a mask, may be anything: of users, of a picture's regions."""
    texts: dict[str, list[str]] = {}
    for name, value in batch.items():
        text = _OF_TEXT.match(name)
        if text and name not in known and len(getattr(value, "shape", ())) == 2:
            texts.setdefault(text[1], []).append(name)
    axes: dict[str, str] = {}
    for text, names in texts.items():
        has_both = {name.rsplit("_", 1)[-1] for name in names} >= {"ids", "mask"}
        if has_both and len({_extent(batch[name]) for name in names}) == 1:
            axes.update({name: f"{text}_{LENGTH}" for name in names})
    return axes


def padded_axes(module: Any, batch: Mapping[str, Any]) -> dict[str, str]:
    """The dimension that the positions of an array are (`axis_of`), by the array's name. What an encoder-decoder's decoder sees has a length
    of its own, and so have texts that are wider or narrower than the first one."""
    leader = next((name for name in _LEADERS if name in batch), None)
    if leader is None:
        leader = next((name for name, value in batch.items() if _extent(value)), None)
    if leader is None:
        raise _options.usage("lengths: no array of the example batch has an axis of positions, expected [samples, positions]")
    of_decoder = set()
    if getattr(getattr(module, "config", None), "is_encoder_decoder", False):
        of_decoder = {name for name in batch if name == "labels" or name.startswith("decoder_")}
    axes = {name: LENGTH for name, value in batch.items()
            if name not in of_decoder and _extent(value) == _extent(batch[leader])}
    extents = {_extent(batch[name]) for name in of_decoder} - {None}
    if len(extents) == 1:
        axes.update({name: TARGET_LENGTH for name in of_decoder if _extent(batch[name])})
    return {**axes, **_own_texts(batch, {**axes, **dict.fromkeys(of_decoder, TARGET_LENGTH)})}


def widest(batch: Mapping[str, Any], axes: Mapping[str, str]) -> dict[str, int]:
    """Of each dimension what the example has."""
    found: dict[str, int] = {}
    for name, dimension in axes.items():
        found[dimension] = max(found.get(dimension, 0), _extent(batch[name]) or 0)
    return found


_SCANNED = 200_000  # samples; of more the model's own limit is the longest


def limit_of(model: Any) -> int | None:
    """How many positions its table has, where it says so."""
    config = getattr(model, "config", None)
    most = getattr(config, "max_position_embeddings", None)
    # RoBERTa and its kin count positions from after the pad id.
    offset = (getattr(config, "pad_token_id", None) or 0) + 1 if "roberta" in getattr(config, "model_type", "") else 0
    return int(most) - offset if most else None


def of_datasets(model: Any, *datasets: Any) -> list[int]:
    """How many `input_ids` the samples of data sets have; nothing where that is not known, or the same for all."""
    found: list[int] = []
    for dataset in datasets:
        if dataset is None:
            continue
        try:
            count = len(dataset)
            first = dataset[0]["input_ids"]
            found += [len(first)] + [len(dataset[at]["input_ids"]) for at in range(1, min(count, _SCANNED))]
        except (TypeError, KeyError, IndexError, AttributeError):
            return []
        if count > _SCANNED and limit_of(model):
            found.append(limit_of(model))
    return found if len(set(found)) > 1 else []


def _sizes(lengths: Sequence[int]) -> list[int]:
    _options.require_whole(1, **{f"lengths[{i}]": size for i, size in enumerate(lengths)})
    if not lengths:
        raise _options.usage("lengths is empty, expected sizes such as [32, 64, 128], or \"auto\"")
    return sorted({int(size) for size in lengths})


def _halves(longest: Sequence[int]) -> list[list[int]]:
    """Sizes of several dimensions, taken together: all of them grow from one to the next, up to the longest of each."""
    found = [list(longest)]
    for part in (2, 4, 8):
        smaller = [-(-most // (_STEP * part)) * _STEP for most in longest]
        if all(size < last for size, last in zip(smaller, found[0])):
            found.insert(0, smaller)
    return found


def compiler_options(lengths: Any, sample: Sequence[int] | None, examples: Mapping[str, int], limit: int | None,
                     folder: pathlib.Path) -> dict[str, Any]:
    """`dim` and `lengths` of the compiler. lengths: sizes, or "auto". sample: lengths of some samples. examples: widths of
    the example batch, by dimension. limit: positions that the model has."""
    if lengths != "auto" and (isinstance(lengths, str) or not hasattr(lengths, "__iter__")):
        raise _options.usage(f"lengths is {lengths!r}, expected \"auto\" or a list of sizes")
    if not isinstance(lengths, str):
        sizes = _sizes(list(lengths))
        return {"dim": {name: ",".join(map(str, sizes)) for name in examples}}
    sample = [] if sample is None else [int(length) for length in sample]
    longest = {name: max(sample) if sample else width for name, width in examples.items()}
    rounded = {name: max(most, min(-(-most // _STEP) * _STEP, limit or most + _STEP)) for name, most in longest.items()}
    if len(rounded) > 1:
        tuples = _halves(list(rounded.values()))
        return {"dim": {name: ",".join(str(sizes[at]) for sizes in tuples) for at, name in enumerate(rounded)}}
    options: dict[str, Any] = {"dim": {name: f"auto:{most}" for name, most in rounded.items()}}
    if sample:
        path = folder / "lengths.txt"
        counts: dict[int, int] = {}
        for length in sample:
            counts[int(length)] = counts.get(int(length), 0) + 1
        path.write_text("".join(f"{length} {count}\n" for length, count in sorted(counts.items())))
        options["lengths"] = os.fspath(path)
    return options
