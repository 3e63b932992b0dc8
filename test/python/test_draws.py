# SPDX-License-Identifier: Apache-2.0
"""Loaders that draw at random (oracle: the losses of transformers.Trainer, and of a run that nobody interrupted)."""
import dataclasses
import json
import random
import warnings

import numpy
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("onnxscript")

import accum  # noqa: E402
import accum.hf  # noqa: E402
from accum import _generators  # noqa: E402

from modules import rows  # noqa: E402

SAMPLES, SIZE = 20, 4
STEPS = SAMPLES // SIZE  # of an epoch


class Line(torch.nn.Module):
    """A model as small as one can be: an export takes seconds."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(6, 1)

    def forward(self, x, labels):
        return {"loss": ((self.layer(x)[:, 0] - labels) ** 2).mean()}


def noisy(draw):
    def collate(samples):
        batch = torch.utils.data.default_collate(samples)
        return dict(x=batch["x"] + torch.tensor(draw(batch["x"].shape), dtype=torch.float32), labels=batch["labels"])
    return collate


def by_all(shape):
    """Python's, NumPy's and torch's own."""
    return random.random() + numpy.random.standard_normal(shape) + torch.rand(shape).numpy()


class OfItsOwn:
    """Makes its generators when it first draws."""

    def __init__(self):
        self.generator = self.other = None

    def __call__(self, samples):
        if self.generator is None:
            self.generator, self.other = torch.Generator().manual_seed(5), numpy.random.default_rng(6)
        return noisy(lambda shape: torch.rand(shape, generator=self.generator).numpy() + self.other.random(shape))(samples)


class Drawing(torch.utils.data.Dataset):
    """Samples that are drawn."""

    def __init__(self):
        self.own = random.Random(7)

    def __len__(self):
        return SAMPLES

    def __getitem__(self, at):
        return dict(x=rows(6, seed=at) + random.random() + torch.rand(6) + self.own.random(), labels=rows(1, seed=99 + at)[0])


def fixed():
    return [dict(x=rows(6, seed=at), labels=rows(1, seed=99 + at)[0]) for at in range(SAMPLES)]


def arguments(folder, **more):
    return transformers.TrainingArguments(output_dir=str(folder), per_device_train_batch_size=SIZE, num_train_epochs=3,
                                          optim="sgd", learning_rate=0.01, lr_scheduler_type="constant", report_to=[],
                                          disable_tqdm=True, use_cpu=True, logging_steps=1, seed=3, max_grad_norm=0, **more)


class Stop(Exception):
    pass


def train(folder, data, collator, stop=None, resume=None, save="steps", **more):
    """Losses by step; broken off after the step `stop`."""
    found = {}

    def on_step(metrics):
        found[metrics.step] = metrics.loss
        if metrics.step == stop:
            raise Stop

    try:
        accum.hf.train(Line(), data, arguments(folder, save_strategy=save, save_steps=1, save_total_limit=2,
                                               resume_from_checkpoint=resume, **more),
                       data_collator=collator, memory="1GiB", on_step=on_step, eval_dataset=fixed()[:4])
    except Stop:
        pass
    return found


def of_transformers(folder, data, collator, **more):
    trainer = transformers.Trainer(model=Line(), args=arguments(folder, save_strategy="no", **more), train_dataset=data,
                                   eval_dataset=fixed()[:4], data_collator=collator)
    trainer.train()
    return [line["loss"] for line in trainer.state.log_history if "loss" in line]


LOADERS = {
    "collator": (fixed, lambda: noisy(by_all), {}),
    "collator of its own": (fixed, OfItsOwn, {}),
    "samples": (Drawing, lambda: None, {}),
    "evaluations between": (fixed, lambda: noisy(by_all), dict(eval_strategy="steps", eval_steps=2)),
    "accumulated": (fixed, lambda: noisy(by_all), dict(gradient_accumulation_steps=2)),
    "workers": (Drawing, lambda: noisy(by_all), dict(dataloader_num_workers=2)),
    "workers that stay": (Drawing, lambda: noisy(by_all), dict(dataloader_num_workers=1,
                                                               dataloader_persistent_workers=True)),
    "sampler": (fixed, lambda: noisy(by_all), dict(accelerator_config={"use_seedable_sampler": False})),
}


@pytest.mark.parametrize("loader", LOADERS)
def test_draws_are_those_of_the_trainer_and_go_on(loader, tmp_path):
    """Broken off twice within one epoch and once at the end of one."""
    data, collator, more = LOADERS[loader]
    whole = train(tmp_path / "whole", data(), collator(), save="no", **more)
    theirs = of_transformers(tmp_path / "theirs", data(), collator(), **more)
    assert list(whole.values()) == pytest.approx(theirs, rel=1e-4)
    per_epoch = len(whole) // 3
    parts = {}
    for stop in (per_epoch + 1, per_epoch + 2, 2 * per_epoch, None):
        resumed = max(parts, default=0)
        found = train(tmp_path / "cut", data(), collator(), stop, resume=True if parts else None, **more)
        assert min(found) == resumed + 1
        parts.update(found)
    assert parts == whole
    left = sorted(path.name for path in (tmp_path / "cut" / "accum-checkpoints").iterdir() if path.name[0] in "gs")
    assert len(left) == 4  # two checkpoints, and the generators of both


def test_a_collator_of_transformers(tmp_path):
    """Masked language models, with the seed of the collator's own."""
    @dataclasses.dataclass
    class Tokens(transformers.DataCollatorForLanguageModeling):
        def __call__(self, samples):
            return noisy(lambda shape: torch.bernoulli(torch.full(shape, 0.5), generator=self._drawn()).numpy())(samples)

        def _drawn(self):
            if self.generator is None:
                self.create_rng()
            return self.generator

    def made():
        tokens = Tokens.__new__(Tokens)
        tokens.seed, tokens.generator, tokens.return_tensors, tokens._generator_pid = 5, None, "pt", None
        return tokens

    whole = train(tmp_path / "whole", fixed(), made(), save="no")
    first = train(tmp_path / "cut", fixed(), made(), STEPS)
    assert {**first, **train(tmp_path / "cut", fixed(), made(), resume=True)} == whole


def test_a_checkpoint_without_generators_is_resumed_with_a_warning(tmp_path):
    train(tmp_path, fixed(), noisy(by_all), stop=2)
    (tmp_path / "accum-checkpoints" / "generators-00000002.json").unlink()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert min(train(tmp_path, fixed(), noisy(by_all), stop=3, resume=True)) == 3
    assert any("draws other numbers" in str(each.message) for each in said)


def test_damaged_generators_are_refused(tmp_path):
    train(tmp_path, fixed(), noisy(by_all), stop=2)
    path = tmp_path / "accum-checkpoints" / "generators-00000002.json"
    text = path.read_text()
    for damaged in (text[:100], text.replace('"epoch": 0', '"epoch": 1'), "[]", ""):
        path.write_text(damaged)
        with pytest.raises(accum.DataError, match="is damaged"):
            train(tmp_path, fixed(), noisy(by_all), resume=True)


def test_what_arguments_say_is_not_said_twice(tmp_path):
    with pytest.raises(accum.UsageError, match="lr: TrainingArguments"):
        accum.hf.train(Line(), fixed(), arguments(tmp_path, save_strategy="no"), lr=1.0)


def test_states_of_all_kinds_go_back():
    """Through JSON too, into objects that have none yet."""
    class Holder:
        def __init__(self):
            self.torch, self.python = torch.Generator().manual_seed(1), random.Random(2)
            self.bits = [numpy.random.Generator(kind(3)) for kind in (
                numpy.random.PCG64, numpy.random.MT19937, numpy.random.Philox, numpy.random.SFC64)]
            self.old = numpy.random.RandomState(4)

        def draw(self):
            return [torch.rand(3, generator=self.torch).tolist(), self.python.gauss(0, 1), self.old.standard_normal(3).tolist(),
                    *(each.standard_normal(3).tolist() for each in self.bits), random.random(), numpy.random.rand(),
                    torch.rand(2).tolist()]

    holder = Holder()
    holder.draw()
    before = json.loads(json.dumps(_generators.states(holder)))
    drawn = holder.draw()
    assert holder.draw() != drawn
    _generators.restore(holder, before)
    assert holder.draw() == drawn
    holder.torch = holder.python = holder.old = None
    _generators.restore(holder, before)
    assert holder.draw() == drawn
    empty = Holder()
    empty.torch = None
    before = _generators.states(empty)
    empty.torch = torch.Generator()
    _generators.restore(empty, before)
    assert empty.torch is None
