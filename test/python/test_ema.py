# SPDX-License-Identifier: Apache-2.0
"""A moving average of the weights from Python (oracle: ema + (w - ema) * (1 - d) in NumPy's float32, of the weights after each step)."""
import math

import numpy
import pytest

import accum
from accum import _safetensors
from test_runner import MODEL, TOKENS, windows

UNSEEN = {name: array[64:96] for name, array in TOKENS.items()}


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    return accum.compile(MODEL, batch=16, micro_batch=8, ema=True, output=tmp_path_factory.mktemp("ema") / "tiny.accum")


def read(run, kind="parameter"):
    return {name: run.read(name, kind) for name in run.trained}


def averaged(average, weights, decay):
    part = numpy.float32(1 - decay)
    return {name: average[name] + (value - average[name]) * part for name, value in weights.items()}


def same(ours, theirs):
    return ours.keys() == theirs.keys() and all(numpy.array_equal(ours[name], theirs[name]) for name in ours)


def test_bits_of_a_hundred_steps(artifact):
    with accum.Runner(artifact, lr=1e-2, ema=0.9) as run:
        assert run.ema == 0.9
        run.write(run.trained[0], run.read(run.trained[0]) * 0.5)
        average, decay = read(run), 0.9
        assert same(read(run, "ema"), average)
        for step, batch in enumerate(windows(100, 16)):
            if step == 50:
                run.ema = decay = 0.97
            run.step(batch)
            average = averaged(average, read(run), decay)
        assert same(read(run, "ema"), average) and not same(average, read(run))


def test_what_is_left_out_leaves_it(artifact):
    with accum.Runner(artifact, lr=1e-2, ema=0.9, on_nan="skip") as run:
        batches = windows(3, 16)
        run.step(next(batches))
        before = read(run, "ema")
        run.accumulate(next(batches))
        name = run.trained[0]
        run.write(name, run.read(name, "gradient") * math.nan, "gradient")
        assert run.update().skipped == "not-finite" and same(read(run, "ema"), before)
        run.step(next(batches))
        assert same(read(run, "ema"), averaged(before, read(run), 0.9))


def test_predicted_with(artifact):
    with accum.Runner(artifact, lr=1e-2, ema=0.9) as run, accum.Runner(artifact) as other:
        for batch in windows(3, 16):
            run.step(batch)
        for name, value in read(run, "ema").items():
            other.write(name, value)
        before, found = read(run), run.predict(UNSEEN, weights="ema")
        assert found and same(found, other.predict(UNSEEN)) and not same(found, run.predict(UNSEEN))
        assert same(read(run), before)


def test_evaluated_saved_and_begun_with(artifact, tmp_path):
    with accum.Runner(artifact, lr=1e-2, ema=0.9) as run, accum.Runner(artifact, lr=1e-2, ema=0.9) as other:
        assert run.evaluate(UNSEEN, weights="ema").loss == run.evaluate(UNSEEN).loss  # there is none yet
        for batch in windows(5, 16):
            run.step(batch)
            loss = run.evaluate(UNSEEN, weights="ema").loss
            other.step(batch)
        assert same(read(run), read(other)) and same(read(run, "ema"), read(other, "ema"))
        assert loss != run.evaluate(UNSEEN).loss
        run.save(tmp_path / "ema.safetensors", weights="ema", names="onnx")
        assert all(numpy.array_equal(array, run.read(name, "ema"))
                   for name, array in _safetensors.read(str(tmp_path / "ema.safetensors")).items() if name in run.trained)
        assert run.state_dict(weights="ema").keys() == run.state_dict().keys()
        run.checkpoint(tmp_path / "checkpoints")
        average = read(run, "ema")
    with accum.Runner(artifact, lr=1e-2, init=tmp_path / "ema.safetensors") as run:
        assert run.evaluate(UNSEEN).loss == loss and run.ema == 0.999
    with accum.Runner(artifact, lr=1e-2) as run:
        assert run.resume(tmp_path / "checkpoints", weights_only=True, weights="ema") and same(read(run), average)
        assert same(read(run, "ema"), average)
        with pytest.raises(accum.UsageError, match="weights_only"):
            run.resume(tmp_path / "checkpoints", weights="ema")


def test_resumed_bit_for_bit(artifact, tmp_path):
    found = []
    for stops in ((6,), (3, 3)):
        batches = windows(6, 16)
        for count in stops:
            with accum.Runner(artifact, lr=1e-2, ema=0.9) as run:
                run.resume(tmp_path / str(len(stops)))
                for _ in range(count):
                    run.step(next(batches))
                run.checkpoint(tmp_path / str(len(stops)))
                found.append(read(run, "ema"))
    assert same(found[0], found[2]) and not same(found[0], found[1])


def test_a_trainer_compiles_one_in(tmp_path):
    with accum.Trainer(MODEL, batch=16, micro_batch=8, lr=1e-2, ema=0.9, folder=tmp_path / "with") as run, \
            accum.Trainer(MODEL, batch=16, micro_batch=8, lr=1e-2, folder=tmp_path / "without") as plain:
        assert run.artifact.manifest["optimizer"] == "adamw-ema" and run.ema == 0.9
        sizes = sum(-(-run.read(name).nbytes // 256) * 256 for name in run.trained)
        assert run.artifact.manifest["state_bytes"] - plain.artifact.manifest["state_bytes"] == sizes
        for refused in (lambda: plain.evaluate(UNSEEN, weights="ema"), lambda: plain.state_dict(weights="ema"),
                        lambda: plain.save(tmp_path / "w.safetensors", weights="ema"), lambda: run.state_dict(weights="mean"),
                        lambda: run.evaluate(UNSEEN, weights="mean"), lambda: setattr(plain, "ema", 0.9)):
            with pytest.raises(accum.UsageError):
                refused()
        with pytest.raises(accum.UsageError, match="has no ema|no EMA"):
            plain.read(plain.trained[0], "ema")


@pytest.mark.parametrize("decay", [0, 1, -0.1, 1.5, math.nan, math.inf])
def test_what_is_no_decay(decay, tmp_path):
    with pytest.raises(accum.UsageError, match="expected a number"):
        accum.Trainer(MODEL, batch=16, ema=decay, folder=tmp_path)
