# SPDX-License-Identifier: Apache-2.0
"""What is said in Python speaks Python: notes name arguments, and a plan's repr is three lines."""
import os
import pathlib

import pytest

import accum
from accum._resident import _sum as resident_sum
from accum._words import in_python

MODEL = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gpt2-tiny.onnx"


@pytest.mark.parametrize("flags, arguments", [
    ("--on-nan skip leaves such steps out; a smaller --lr is the usual cure",
     'on_nan="skip" leaves such steps out; a smaller lr= is the usual cure'),
    ("compile with --memory 15.25 GiB, or for more devices", 'compile with memory="15.25 GiB", or for more devices'),
    ("--memory 512MiB is the least that works", 'memory="512MiB" is the least that works'),
    ("--micro-batch auto tries smaller sizes", 'micro_batch="auto" tries smaller sizes'),
    ("start from random weights: --random-params SEED", "start from random weights: random_params=SEED"),
    ("--micro-batch 8 (--init-partial)", "micro_batch=8 (init_partial=True)"),
    ("--frobnicate 3, pre--lr and ---lr stay", "--frobnicate 3, pre--lr and ---lr stay"),
])
def test_flags_become_arguments(flags, arguments):
    assert in_python(flags) == arguments


def test_notes_of_errors_name_arguments():
    with pytest.raises(accum.DoesNotFitError) as caught:
        accum.plan(MODEL, batch=64, memory="1MiB")
    notes = " ".join(caught.value.notes)
    assert 'memory="' in notes and "--memory" not in notes


def test_a_plan_is_three_lines():
    plan = accum.plan(MODEL, batch=64, memory="1GiB")
    lines = repr(plan).splitlines()
    assert [line.split()[0] for line in lines] == ["plan", "memory", "why"]
    assert f"micro-batch {plan.micro_batch} x {plan.steps}" in lines[0]
    assert lines[1].endswith("of 1.00 GiB per device")
    assert lines[2].split(maxsplit=1)[1] == plan.why
    assert plan.why.endswith(": plan.candidates") and "--" not in repr(plan)
    with pytest.raises(accum.DoesNotFitError) as caught:
        accum.plan(MODEL, batch=64, memory="1MiB")
    assert repr(caught.value.plan) == "plan     none: no micro-batch of a batch of 64 fits into 1.0 MiB"


def test_a_run_tells_what_the_process_held_before():
    held = bytearray(os.urandom(1 << 20)) * 200
    with accum.Trainer(MODEL, batch=8, memory="1GiB") as run:
        plan = run.plan
    assert plan == run.artifact.plan and run.artifact.plan.process_bytes is None
    status = pathlib.Path("/proc/self/status").read_text()
    peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024
    assert len(held) < plan.process_bytes <= peak
    said = f"{plan.process_bytes / 2**20:.1f} MiB"
    assert str(plan).splitlines()[-1].startswith(f"process  {said} before the run")
    assert repr(plan).splitlines()[1].endswith(f"; {said} of the process before the run")


def test_mappings_of_the_package_are_not_counted():
    lines = ["7f00-7f10 r-xp 00000000 fe:00 12    /site/accum/_accum.so", "Size: 64 kB", "Rss:  40 kB",
             "7f10-7f20 r-xp 00000000 fe:00 13    /site/torch/lib.so", "Rss:  24 kB", "Rss_ignored: 8 kB",
             "7f20-7f30 rw-p 00000000 00:00 0 ", "Rss:  8 kB"]
    assert resident_sum(lines, "/site/accum/") == 32 * 1024
