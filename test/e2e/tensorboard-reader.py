# SPDX-License-Identifier: Apache-2.0
"""oracle: TensorBoard's own reader finds in the event files what --log holds. tensorboard-reader.py FOLDER LOG NOT-BEFORE

Every tag, step and value of the log comes back and nothing else. Wall times are seconds of the system's clock: those of one
run lie between the change of the file NOT-BEFORE and that of the run's event file, and are apart by what the steps took."""
import itertools
import json
import math
import pathlib
import struct
import sys

from tensorboard.backend.event_processing import event_accumulator

STEP_TAGS = {"train/loss": "loss", "train/gradient_norm": "gradient_norm", "train/learning_rate": "lr", "speed/ms": "ms",
             "speed/data_wait_ms": "data_wait_ms", "speed/samples_per_s": "samples_per_s",
             "speed/tokens_per_s": "tokens_per_s"}
EVAL_TAGS = {"eval/loss": "eval_loss", "eval/accuracy": "eval_accuracy", "eval/perplexity": "eval_perplexity"}
CLOCK_TICK = 0.05  # seconds: times of files lag behind the clock


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def logged(lines):
    """tag -> step -> value"""
    curves = {}
    for line in lines:
        values = {tag: line[key] for tag, key in (EVAL_TAGS if "eval_loss" in line else STEP_TAGS).items() if key in line}
        if "eval_loss" not in line:
            values["memory/peak_gib"] = line["peak_bytes"] / 2**30
        for tag, value in values.items():
            curves.setdefault(tag, {})[line["step"]] = f32(value)
    return curves


def check_wall_times(files, earliest, lines):
    """Of each run: of the steps that a later run has not replaced."""
    took = {line["step"]: line["ms"] / 1e3 for line in lines if "ms" in line}
    for file in files:
        events = read(file).Scalars("train/loss")
        latest = file.stat().st_mtime + CLOCK_TICK
        assert earliest - CLOCK_TICK <= events[0].wall_time and events[-1].wall_time <= latest, (file, events)
        for before, after in itertools.pairwise(events):
            assert after.wall_time >= before.wall_time
            if file == files[-1]:
                assert after.wall_time - before.wall_time >= 0.9 * took[after.step], (before, after)
        earliest = events[-1].wall_time


def read(path):
    accumulator = event_accumulator.EventAccumulator(str(path), size_guidance={event_accumulator.SCALARS: 0})
    return accumulator.Reload()


folder, log, not_before = map(pathlib.Path, sys.argv[1:])
files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
lines = [json.loads(line) for line in log.read_text().splitlines()]
found, expected = read(folder), logged(lines)
assert found.file_version == 2.0
assert sorted(found.Tags()["scalars"]) == sorted(expected), (found.Tags(), sorted(expected))
for tag, curve in expected.items():
    events = found.Scalars(tag)
    assert [event.step for event in events] == sorted(curve), (tag, [event.step for event in events])
    for event in events:
        assert event.value == curve[event.step] and math.isfinite(event.value), (tag, event, curve[event.step])
check_wall_times(files, not_before.stat().st_mtime, lines)
print(len(files), "files,", len(expected), "curves,", len(expected["train/loss"]), "steps")
