# SPDX-License-Identifier: Apache-2.0
"""A run by batches from Python, without PyTorch (oracle: losses that PyTorch computed on the undivided batch in float64,
examples/gpt2-tiny.losses, and runs that are cut or interrupted otherwise)."""
import gc
import io
import json
import os
import pathlib
import re
import signal
import sys
import threading
import warnings

import numpy
import pytest

import accum
from accum import _safetensors

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODEL = SOURCE / "examples" / "gpt2-tiny.onnx"
LOSSES = [float(line.split()[-1]) for line in (SOURCE / "examples" / "gpt2-tiny.losses").read_text().splitlines()
          if line and not line.startswith("#")]
TOKENS = _safetensors.read(SOURCE / "examples" / "tokens.safetensors")
BATCH = len(TOKENS["input_ids"])


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    return accum.compile(MODEL, batch=64, output=tmp_path_factory.mktemp("runner") / "tiny.accum", micro_batch=24)


def windows(steps, size=64):
    """Batches in order, over and over."""
    for step in range(steps):
        first = step * size % BATCH
        yield {name: array[first:first + size] for name, array in TOKENS.items()}


def test_losses_are_pytorchs(tmp_path):
    """The batch of the recorded run, in eleven micro-steps of which the last is ragged."""
    whole = accum.compile(MODEL, batch=BATCH, output=tmp_path / "whole.accum", micro_batch=100)
    with accum.Runner(whole, lr=1e-3) as run:
        losses = [run.step(TOKENS).loss for _ in range(5)]
    assert whole.plan.micro_batch == 100 and whole.plan.steps == 11 and whole.plan.last == 24
    assert numpy.allclose(losses, LOSSES[:5], rtol=1e-4)


def test_metrics(artifact):
    with accum.Runner(artifact, lr=1e-3, schedule="linear", warmup=2, steps=8) as run:
        first, ragged = run.step(next(windows(1))), run.step({name: array[:30] for name, array in TOKENS.items()})
        assert (first.step, first.samples, first.micro_steps, first.skipped) == (1, 64, 3, "")
        assert (ragged.step, ragged.samples, ragged.micro_steps) == (2, 30, 2)
        assert ragged.targets == int((TOKENS["labels"][:30, 1:] != -100).sum())
        assert first.lr == pytest.approx(5e-4) and ragged.lr == pytest.approx(1e-3)
        assert first.gradient_norm > 0 and first.peak_bytes > 0 and 0 <= first.data_seconds <= first.seconds
        assert run.steps == 2


def test_a_list_of_samples_is_their_batch(artifact):
    """As a data set gives them, without a collator."""
    batch = next(windows(1, 6))
    samples = [{name: array[at] for name, array in batch.items()} for at in range(6)]
    with accum.Runner(artifact, lr=1e-3) as run:
        as_lists = [{name: row.tolist() for name, row in sample.items()} for sample in samples]
        assert run.evaluate(batch).loss == run.evaluate([batch]).loss
        losses = [run.accumulate(form).loss for form in (batch, samples, as_lists)]
        assert losses[1] == losses[0] == losses[2]
        with pytest.raises(accum.DataError, match="samples 0 and 1 of the batch do not have the same arrays: labels"):
            run.step([samples[0], {"input_ids": samples[1]["input_ids"]}])
        with pytest.raises(accum.DataError, match="`input_ids` has another length in each sample") as caught:
            run.step([samples[0], {**samples[1], "input_ids": samples[1]["input_ids"][:5]}])
        assert "pad them" in caught.value.notes[0]


def test_gradients_are_those_of_the_norm(artifact):
    with accum.Runner(artifact, lr=0) as run:
        metrics = run.step(next(windows(1)))
        squares = sum(float((run.read(name, "gradient").astype("f8") ** 2).sum()) for name in run.trained)
        assert squares ** 0.5 == pytest.approx(metrics.gradient_norm, rel=1e-5)


def test_a_step_in_two_halves_has_its_bits(artifact):
    """And what stands between them acts: gradients that are halved are those of half the loss."""
    with accum.Runner(artifact, lr=1e-2) as run, accum.Runner(artifact, lr=1e-2) as other:
        for batch in windows(3):
            whole, half = run.step(batch), other.accumulate(batch)
            assert half.loss == whole.loss and half.step == whole.step - 1
            assert other.update().step == whole.step
        assert all((run.read(name) == other.read(name)).all() for name in run.trained)
        with pytest.raises(accum.UsageError):
            other.update()
        name = run.trained[0]
        other.accumulate(batch)
        gradient = other.read(name, "gradient")
        other.accumulate(batch)
        assert numpy.allclose(other.read(name, "gradient"), 2 * gradient, rtol=1e-5, atol=1e-9)
        other.write(name, gradient, "gradient")
        assert (other.read(name, "gradient") == gradient).all()
        with pytest.raises(accum.UsageError):
            other.write(name, gradient.astype("f8"), "gradient")


def test_calls_of_one_update_draw_as_one_step(tmp_path):
    """Equal halves: the sum of their gradients is twice that of one step over both, dropout included; and shared terms count in each."""
    model = SOURCE / "test" / "models" / "gpt2-dynamo-train.onnx"
    dropping = accum.compile(model, batch=12, output=tmp_path / "dropping.accum", micro_batch=5)
    data = _safetensors.read(model.with_name("gpt2-dynamo-train.data.safetensors"))
    half = {name: numpy.concatenate([array, array])[:6] for name, array in data.items()}
    whole = {name: numpy.concatenate([array, array]) for name, array in half.items()}
    with accum.Runner(dropping, lr=0, seed=5) as run, accum.Runner(dropping, lr=0, seed=5) as parts:
        for _ in range(2):
            expected = run.step(whole)
            first, second = parts.accumulate(half), parts.accumulate(half)
            with pytest.raises(accum.UsageError, match="wait for an update"):
                parts.checkpoint(tmp_path / "runs")
            assert abs(first.loss - second.loss) > 1e-6 and first.loss + second.loss == pytest.approx(2 * expected.loss, rel=1e-5)
            for name in run.trained:
                twice = 2 * run.read(name, "gradient")
                assert numpy.allclose(parts.read(name, "gradient"), twice, rtol=1e-3, atol=1e-5 * abs(twice).max()), name
            assert parts.update().loss == second.loss
        parts.checkpoint(tmp_path / "runs")


def test_batches_of_every_kind_are_one(artifact):
    """A mapping, a tuple, lists, other integers, what is not dense, and read-only arrays."""
    batch = next(windows(1))
    order = [batch.get(name) for name in artifact.input_names]  # None: not in the data
    frozen = {name: array.copy() for name, array in batch.items()}
    for array in frozen.values():
        array.flags.writeable = False
    kinds = [batch, tuple(order), {name: array.tolist() for name, array in batch.items()},
             {name: array.astype("i4") for name, array in batch.items()},
             {name: numpy.repeat(array, 2, axis=1)[:, ::2] for name, array in batch.items()}, frozen,
             {name: memoryview(array) for name, array in batch.items()}]
    with accum.Runner(artifact, lr=0) as run:
        losses = {run.step(kind).loss for kind in kinds}
    assert len(losses) == 1


def test_data_that_does_not_fit_is_refused(artifact):
    batch = next(windows(1))
    with accum.Runner(artifact, lr=1e-3) as run:
        before = run.state_dict()
        for wrong, words in [({**batch, "input_ids": batch["input_ids"] + 97}, "expected"),
                             ({**batch, "input_ids": batch["input_ids"][:, :5]}, "input_ids"),
                             ({**batch, "labels": batch["labels"][:5]}, "samples"),
                             ({"labels": batch["labels"]}, "input_ids"),
                             ({**batch, "input_ids": "text"}, "expected an array"),
                             ({name: array[:0] for name, array in batch.items()}, "at least one"),
                             (tuple(batch.values()) + (1, 2), "the model 3 inputs")]:
            with pytest.raises(accum.DataError, match=words) as caught:
                run.step(wrong)
            assert caught.value.exit_code == 3 and caught.value.slug == "bad-data"
        after = run.state_dict()
        assert run.steps == 0 and all((before[name] == after[name]).all() for name in before)


def test_evaluation_is_the_loss_over_all(artifact):
    """Whether samples come at once or in batches of any size; training does not notice."""
    with accum.Runner(artifact, lr=1e-3) as run, accum.Runner(artifact, lr=1e-3) as undisturbed:
        parts = list(windows(3, 50))
        at_once = run.evaluate({name: array[:150] for name, array in TOKENS.items()})
        assert run.evaluate(parts).loss == at_once.loss
        assert run.evaluate(iter(parts)).samples == at_once.samples == 150
        assert at_once.perplexity == pytest.approx(numpy.exp(at_once.loss))
        for batch in windows(3):
            assert run.step(batch).loss == undisturbed.step(batch).loss
            run.evaluate(parts[0])


@pytest.mark.parametrize("background", [False, True])
def test_a_resumed_run_has_the_same_bits(artifact, tmp_path, background):
    """What is written in the background is whole when the run is closed."""
    with accum.Runner(artifact, lr=1e-3, schedule="cosine", steps=6, clip_norm=1.0) as run:
        expected = [run.step(batch).loss for batch in windows(6)]
    with accum.Runner(artifact, lr=1e-3, schedule="cosine", steps=6, clip_norm=1.0) as run:
        assert not run.resume(tmp_path / "runs")
        for batch in list(windows(6))[:3]:
            run.step(batch)
            run.checkpoint(tmp_path / "runs", keep=2, background=background)
        assert background == any("in the background" in notice for notice in run.notices)
    assert sorted(path.name for path in (tmp_path / "runs").glob("step-*")) == ["step-00000002", "step-00000003"]
    with accum.Runner(artifact, lr=1e-3, schedule="cosine", steps=6, clip_norm=1.0) as run:
        assert run.resume(tmp_path / "runs") and run.steps == 3
        assert [run.step(batch).loss for batch in list(windows(6))[3:]] == expected[3:]


def test_weights_come_out_and_go_in(artifact, tmp_path):
    with accum.Runner(artifact, lr=1e-2) as run:
        run.step(next(windows(1)))
        run.save(tmp_path / "trained.safetensors")
        state = run.state_dict()
        loss = run.evaluate(TOKENS).loss
    saved = _safetensors.read(tmp_path / "trained.safetensors")
    assert state.keys() == saved.keys() and all((state[name] == saved[name]).all() for name in state)
    with accum.Runner(artifact, init=tmp_path / "trained.safetensors") as run:
        assert run.evaluate(TOKENS).loss == loss


def test_a_loader_of_other_batches_is_told(artifact):
    """Once, and not of the last batch of an epoch."""
    with accum.Runner(artifact) as run:
        with pytest.warns(UserWarning, match="had 16, and the plan is for 64"):
            run.step(next(windows(1, 16)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run.step(next(windows(1, 16)))
    with accum.Runner(artifact) as run, warnings.catch_warnings():
        warnings.simplefilter("error")
        run.step(next(windows(1)))
        run.step(next(windows(1, 16)))


def test_weights_that_fit_in_part(artifact, tmp_path):
    with accum.Runner(artifact, random_params=1) as run:
        state = run.state_dict()
    name, value = next(iter(state.items()))
    head = json.dumps({name: {"dtype": "F32", "shape": value.shape, "data_offsets": [0, value.nbytes]}}).encode()
    (tmp_path / "one.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + value.tobytes())
    with pytest.raises(accum.DataError):
        accum.Runner(artifact, init=tmp_path / "one.safetensors")
    with accum.Runner(artifact, init=tmp_path / "one.safetensors", init_partial=True, init_names="framework") as run:
        taken = run.state_dict()
    assert (taken[name] == state[name]).all()
    assert any((taken[other] != state[other]).any() for other in state if other != name)


def test_offloaded_state_lies_where_it_is_wanted(artifact, tmp_path):
    """A file without a name in that folder; the losses of a run that keeps its state."""
    away = accum.compile(MODEL, batch=64, output=tmp_path / "away.accum", micro_batch=24, offload="optimizer")
    (tmp_path / "disk").mkdir()
    with accum.Runner(away, lr=1e-3, offload_dir=tmp_path / "disk") as run, accum.Runner(artifact, lr=1e-3) as kept:
        assert any("offloaded" in notice and str(tmp_path / "disk") in notice for notice in run.notices)
        assert [run.step(batch).loss for batch in windows(3)] == [kept.step(batch).loss for batch in windows(3)]
    with pytest.raises(accum.DataError, match="nowhere"):
        accum.Runner(away, offload_dir=tmp_path / "nowhere")


def test_an_artifact_is_described(artifact):
    text = accum.Artifact(artifact.path).describe()
    assert re.search(r"micro-batch +24$", text, re.M) and "input_ids" in text


def test_what_was_read_outlives_the_run(artifact):
    run = accum.Runner(artifact, lr=1e-3)
    name = next(entry["onnx_name"] for entry in artifact.manifest["params"] if entry["trained"])
    before = run.read(name)
    kept = before.copy()
    run.step(next(windows(1)))
    run.close()
    del run
    gc.collect()
    assert (before == kept).all()


def test_a_closed_run_says_so(artifact):
    run = accum.Runner(artifact)
    run.close()
    with pytest.raises(ValueError, match="closed"):
        run.step(next(windows(1)))


def test_ctrl_c_takes_effect_behind_the_step(artifact, ctrl_c):
    """The step is made and counted; the run goes on with the bits of one that nobody interrupted."""
    batches = list(windows(4, 256))
    with accum.Runner(artifact, lr=1e-3) as run, accum.Runner(artifact, lr=1e-3) as undisturbed:
        timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            for _ in range(1000):
                run.step(batches[0])
        made = run.steps
        assert made > 0
        for _ in range(made):
            undisturbed.step(batches[0])
        assert run.step(batches[1]).loss == undisturbed.step(batches[1]).loss


def test_progress_is_shown_where_tqdm_is_installed(artifact, monkeypatch):
    """The batches and their losses are the same with a bar and without."""
    with accum.Runner(artifact, lr=1e-3) as run, accum.Runner(artifact, lr=1e-3) as plain:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it was not installed
        losses = [plain.step(batch).loss for batch in plain.progress(windows(3))]
        assert len(losses) == 3
        monkeypatch.undo()
        pytest.importorskip("tqdm")
        shown = io.StringIO()
        assert [run.step(batch).loss for batch in run.progress(list(windows(3)), file=shown, mininterval=0)] == losses
        assert "3/3" in shown.getvalue() and f"loss={losses[-1]:.4f}" in shown.getvalue()


def test_other_threads_run_during_a_step(artifact):
    """The interpreter is free meanwhile."""
    seen, done = [], threading.Event()

    def count():
        while not done.is_set():
            seen.append(None)
            done.wait(1e-3)

    with accum.Runner(artifact, lr=1e-3) as run:
        thread = threading.Thread(target=count)
        thread.start()
        before = len(seen)
        seconds = run.step(TOKENS).seconds
        during = len(seen) - before
        done.set()
        thread.join()
    assert during > 1 or seconds < 0.02


def test_a_falling_schedule_without_an_end_warns(artifact):
    with pytest.warns(UserWarning, match="ends at step 1000"):
        accum.Runner(artifact, lr=1e-3, schedule="cosine").close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accum.Runner(artifact, lr=1e-3).close()


def test_options_that_are_wrong_are_refused(artifact):
    for options, words in [(dict(clip_norm=-1.0), "clip"), (dict(schedule="cosin", steps=5), "cosin"),
                           (dict(on_nan="ignore"), "on_nan"), (dict(lr_scale={"nobody.*": 2}), "nobody")]:
        with pytest.raises(accum.Error, match=words) as caught:
            accum.Runner(artifact, lr=1e-3, **options)
        assert caught.value.exit_code in (2, 3)
    with pytest.raises(accum.DataError):
        accum.Runner(SOURCE / "examples" / "nothing.accum")
