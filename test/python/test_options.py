# SPDX-License-Identifier: Apache-2.0
"""Arguments that are wrong are refused before anything is exported; numbers that are set between steps hold from the next one
on (oracle: a run that has them from its start, and PyTorch's formulas)."""
import math
import pathlib
import pickle

import numpy
import pytest

import accum
from accum import _options, _safetensors

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODEL = SOURCE / "examples" / "gpt2-tiny.onnx"
TOKENS = {name: array[:24] for name, array in _safetensors.read(SOURCE / "examples" / "tokens.safetensors").items()}


class Unexportable:
    """What reads it has come too far."""

    def __getattribute__(self, name):
        if name == "__class__":
            return Unexportable
        raise AssertionError(f"{name} is read before the options are checked")


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    return accum.compile(MODEL, batch=24, output=tmp_path_factory.mktemp("options") / "tiny.accum", micro_batch=24,
                         optimizer="sgd")


@pytest.mark.parametrize("given, meant", [
    ("learning_rate", "lr"), ("learing_rate", "lr"), ("LearningRate", "lr"), ("gradient_clip", "clip_norm"),
    ("max_grad_norm", "clip_norm"), ("micro_batch_size", "micro_batch"), ("batch_size", "batch"), ("wdecay", "weight_decay"),
    ("weightdecay", "weight_decay"), ("optimiser", "optimizer"), ("optim", "optimizer"), ("grad_clip", "clip_norm"),
    ("gradient_accumulation_steps", "accumulation_steps"), ("warmup_steps", "warmup"), ("lr_scheduler_type", "schedule"),
    ("max_steps", "steps"), ("mixed_precision", "precision"), ("memroy", "memory"), ("skip_spike", "skip_spikes"),
    ("local_batch", "local_batches"), ("folders", "folder"), ("nesterov_momentum_of_mine", "")])
def test_an_option_that_there_is_not(given, meant):
    for call in (lambda: accum.Trainer(Unexportable(), object(), batch=6, memory="1GiB", **{given: 1}),
                 lambda: accum.Trainer(MODEL, batch=6, **{given: 1})):
        with pytest.raises(accum.UsageError) as caught:
            call()
        assert caught.value.slug == "usage" and caught.value.exit_code == 2
        assert caught.value.message == f"`{given}` is no option" + (f": nearest is `{meant}`" if meant else "")


def test_what_other_programs_say_is_an_option_here():
    """Each name that is taken for another one leads to an argument."""
    known = _options.of_compiler() | _options.names_of(accum.Runner.__init__, accum.Trainer.__init__)
    assert {"memory", "optimizer", "trust_backward", "lr", "clip_norm", "folder", "loss"} <= known
    assert not known & {"_computed", "self"}


@pytest.mark.parametrize("options", [
    *[{name: value} for name in ("lr", "weight_decay", "eps", "clip_norm", "skip_spikes", "beta1")
      for value in (math.nan, math.inf, -math.inf, -1.0, numpy.float32("nan"), "a word")],
    dict(clip_norm=0), dict(momentum=0.5), dict(optimizer="sgd", beta1=0.5), dict(optimizer="sgd-momentum", momentum=1.5),
    dict(optimizer="adamx"), dict(memory="lots"), dict(micro_batch=0), dict(steps=0), dict(steps=-5), dict(steps=1.5),
    dict(seed=-1), dict(threads=-1), dict(devices=0), dict(on_nan="ignore"), dict(schedule="linear", warmup="2x"),
    dict(schedule="constant", lr_floor="10%"), dict(decay="all"), dict(lr_scale={"*": math.nan}), dict(lr_scale={"*": -1}),
    dict(precision="f16"), dict(json=True), dict(output="here"), dict(micro_batch="explore"), dict(batch=0), dict(batch=-3)])
def test_values_that_have_no_meaning_are_refused_before_the_export(options):
    with pytest.raises(accum.Error) as caught:
        accum.Trainer(Unexportable(), object(), **{"batch": 6, **options})
    assert caught.value.exit_code == 2 and caught.value.slug in ("usage", "not-built")


@pytest.mark.parametrize("options, said", [
    (dict(lr=math.nan), "lr"), (dict(clip_norm=math.inf), "^clip_norm is inf"), (dict(weight_decay=math.nan), "^weight_decay is nan"),
    (dict(learning_rate=1), "nearest is `lr`"), (dict(memory="1GiB"), "compiled already")])
def test_a_runner_refuses_them_too(artifact, options, said):
    with pytest.raises(accum.UsageError, match=said):
        accum.Runner(artifact, **options)


def losses(run, steps=3):
    return [run.step(TOKENS).loss for _ in range(steps)]


def test_a_rate_that_is_set_holds_from_the_next_step_on(artifact):
    with accum.Runner(artifact, lr=0.1) as run, accum.Runner(artifact, lr=0.5) as other:
        assert run.lr == 0.1
        run.lr = 0.5
        assert run.lr == 0.5 and losses(run) == losses(other)
        run.lr = numpy.float32(0)
        before = {name: run.read(name) for name in run.trained}
        metrics = run.step(TOKENS)
        assert metrics.lr == 0 and all((run.read(name) == before[name]).all() for name in run.trained)


def test_the_schedule_multiplies_the_new_rate(artifact):
    options = dict(schedule="cosine", warmup=2, steps=8, lr_floor=0.01)
    with accum.Runner(artifact, lr=0.1, **options) as run:
        first = [run.step(TOKENS).lr for _ in range(4)]
        run.lr = 0.2
        rest = [run.step(TOKENS).lr for _ in range(4)]
    floor, factors = 0.1, []
    for step in range(8):
        part = (step - 2) / (7 - 2)
        factors.append((step + 1) / 2 if step < 2 else floor + (1 - floor) * (1 + math.cos(math.pi * part)) / 2)
    assert first == pytest.approx([0.1 * factor for factor in factors[:4]], rel=1e-12)
    assert rest == pytest.approx([0.2 * factor for factor in factors[4:]], rel=1e-12)


def test_a_norm_and_a_decay_that_are_set(artifact):
    """Against PyTorch's formula for one step: p - lr (g min(1, c / (|g| + 1e-6)) + d p)."""
    with accum.Runner(artifact, lr=0.5, decay="all", weight_decay=0) as run:
        for clip, decay in ((None, 0.0), (0.25, 0.0), (None, 0.1), (0.5, 0.01)):
            run.clip_norm, run.weight_decay = clip, decay
            assert run.clip_norm == clip and run.weight_decay == decay
            before = {name: run.read(name).astype("f8") for name in run.trained}
            norm = run.step(TOKENS).gradient_norm
            factor = min(1, clip / (norm + 1e-6)) if clip else 1
            for name, old in before.items():
                wanted = old - 0.5 * (factor * run.read(name, "gradient").astype("f8") + decay * old)
                assert numpy.allclose(run.read(name), wanted, rtol=1e-5, atol=1e-6), (name, clip, decay)


def test_a_set_number_that_has_no_meaning_changes_nothing(artifact):
    with accum.Runner(artifact, lr=0.5) as run, accum.Runner(artifact, lr=0.5) as other:
        for name, value in (("lr", math.nan), ("lr", -1), ("lr", "fast"), ("clip_norm", 0), ("clip_norm", math.inf),
                            ("weight_decay", -0.1), ("momentum", 0.9), ("beta1", 0.5)):
            with pytest.raises(accum.UsageError):
                setattr(run, name, value)
            assert run.lr == 0.5 and run.clip_norm is None
        assert losses(run) == losses(other)


def test_attributes_that_there_are_not(artifact):
    class Own(accum.Runner):
        pass

    with accum.Runner(artifact, lr=0.5) as run, Own(artifact, lr=0.5) as own:
        for name, meant in (("learning_rate", "lr"), ("clip_nrom", "clip_norm"), ("wdecay", "weight_decay")):
            with pytest.raises(AttributeError, match=f"nearest is `{meant}`"):
                setattr(run, name, 1)
        for name in ("rank", "schedule", "steps", "plan"):
            with pytest.raises(AttributeError):
                setattr(run, name, 1)
        run.seed, own.label = 7, "mine"
        assert run.seed == 7 and own.label == "mine"


def test_the_package_knows_hf_by_name():
    """Without an import of its own, where transformers are not needed yet."""
    assert "hf" in dir(accum) and callable(accum.hf.train)
    with pytest.raises(AttributeError, match="fh"):
        accum.fh
    assert pickle.loads(pickle.dumps(accum.UsageError("a", slug="usage", exit_code=2))).message == "a"
