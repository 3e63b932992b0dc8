# SPDX-License-Identifier: Apache-2.0
"""A loss that relates samples in micro-batches, from Python (oracle: the whole batch at once)."""
import pathlib

import numpy
import pytest

import accum

MODEL = pathlib.Path(__file__).resolve().parents[1] / "models" / "split" / "infonce-dynamo.onnx"
BATCH = 12


def batches(count, samples=BATCH):
    draw = numpy.random.default_rng(0).standard_normal
    return [{"text": draw((samples, 5), numpy.float32), "image": draw((samples, 7), numpy.float32)} for _ in range(count)]


def trainer(mode, **options):
    return accum.Trainer(MODEL, batch=BATCH, on_cross_batch=mode, optimizer="sgd", lr=0.1, **options)


def test_the_step_is_that_of_the_whole_batch():
    split, whole = trainer("split", micro_batch=5), trainer("disable")
    assert split.plan.micro_batch == 5 and whole.plan.micro_batch == BATCH
    for batch in batches(3):
        assert split.step(batch).loss == pytest.approx(whole.step(batch).loss, rel=2e-5)
    known = whole.state_dict()
    for name, value in split.state_dict().items():
        numpy.testing.assert_allclose(value, known[name], rtol=1e-4, atol=1e-6)


def test_another_number_of_samples_is_refused():
    split = trainer("split", micro_batch=5)
    with pytest.raises(accum.DataError, match="relates those of its batch to each other"):
        split.step(batches(1, 11)[0])


def test_calls_of_accumulate_add_up():
    split, whole = trainer("split", micro_batch=5), trainer("disable")
    for batch in batches(2):
        split.accumulate(batch)
        whole.accumulate(batch)
    for name in whole.state_dict():
        numpy.testing.assert_allclose(split.read(name, "gradient"), whole.read(name, "gradient"), rtol=1e-4, atol=1e-6)
    split.update(), whole.update()
    known = whole.state_dict()
    for name, value in split.state_dict().items():
        numpy.testing.assert_allclose(value, known[name], rtol=1e-4, atol=1e-6)
