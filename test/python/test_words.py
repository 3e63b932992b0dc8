# SPDX-License-Identifier: Apache-2.0
"""What is said in Python speaks Python: notes name arguments, and a plan's repr is three lines."""
import pathlib

import pytest

import accum
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
    with pytest.raises(accum.DoesNotFitError) as caught:
        accum.plan(MODEL, batch=64, memory="1MiB")
    assert repr(caught.value.plan) == "plan     none: no micro-batch of a batch of 64 fits into 1.0 MiB"
