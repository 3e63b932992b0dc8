# SPDX-License-Identifier: Apache-2.0
"""What an exporter alone would lose, refuse or bake in: arguments that are no arrays, len() of a tensor, blocks without gradient,
checkpoints (oracle: PyTorch's step in f64)."""
import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils import checkpoint  # noqa: E402

import accum  # noqa: E402

from modules import check_step, classes, rows, trainer  # noqa: E402


class Switched(nn.Module):
    """What it returns depends on arguments that are no arrays."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x, labels, return_loss=False, scale=1.0, kind="sum"):
        scores = self.layer(x) * scale
        assert kind == "mean"
        return (functional.cross_entropy(scores, labels), scores) if return_loss else scores


def test_what_is_no_array_goes_to_forward_as_it_is():
    batch = dict(x=rows(6, 5), labels=classes(6), return_loss=True, scale=2.0, kind="mean", weights=None)
    module = Switched()
    loss = module(**{name: value for name, value in batch.items() if value is not None and name != "weights"})[0].item()
    with accum.Trainer(module, batch, batch=6, micro_batch=4, memory="1GiB", optimizer="sgd", lr=0.1) as run:
        assert run.step(batch).loss == pytest.approx(loss, rel=1e-5)
        assert run.evaluate([batch, batch]).loss < loss
        arrays = dict(x=batch["x"], labels=batch["labels"])
        run.step(arrays)  # what is part of the program need not be said again
        with pytest.raises(accum.DataError, match="`scale` is 3.0 in this batch, and was 2.0 in the example batch"):
            run.step({**batch, "scale": numpy.float32(3)})
        with pytest.raises(accum.DataError, match="`scale` is an array in this batch, and was 2.0 in the example batch"):
            run.step({**batch, "scale": torch.full((6,), 3.0)})
        run.step({**batch, "scale": torch.tensor(2.0)})
        with pytest.raises(accum.DataError, match="`more` is True in this batch, and the example batch does not have it"):
            run.step({**batch, "more": True})


class CountsByLen(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x, labels):
        return functional.cross_entropy(self.layer(x), labels, reduction="sum") / len(x)


def test_len_of_a_tensor_stays_open():
    check_step(CountsByLen(), (rows(6, 5), classes(6)), sizes=(None, 4))

    def own(scores, labels):
        return functional.cross_entropy(scores, labels, reduction="sum") / len(labels)

    module, batch = nn.Linear(5, 3), (rows(6, 5), classes(6))
    loss = own(module(batch[0]), batch[1]).item()
    with trainer(module, batch, loss=own, micro_batch=4) as run:
        assert run.step(batch).loss == pytest.approx(loss, rel=1e-5)
    assert "len" not in vars(type(module)) and "len" not in globals()


class Distilled(nn.Module):
    """A teacher under torch.no_grad(), as a block and as a decorator, and the student's own weights there."""

    def __init__(self):
        super().__init__()
        self.student, self.head = nn.Linear(5, 4), nn.Linear(4, 3)
        self.teacher = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))

    @torch.no_grad()
    def target(self, x):
        return torch.tanh(self.student(x))

    def other(self, x):
        with torch.inference_mode():
            found = self.head(self.student(x))
        return found

    def forward(self, x, labels):
        with torch.no_grad():
            wanted = self.teacher(x).softmax(-1)
        hidden = self.student(x)
        scores = self.head(hidden)
        return (functional.cross_entropy(scores, labels) + functional.cross_entropy(scores, wanted)
                + (hidden - self.target(x.flip(1))).pow(2).mean() + (scores - self.other(x.flip(1))).pow(2).mean())


def test_no_gradient_passes_a_block_without_it():
    module, batch = Distilled(), (rows(6, 5), classes(6))
    check_step(module, batch, sizes=(None, 4))
    before = module.teacher[0].weight.detach().clone()
    with accum.Trainer(module, batch, batch=6, memory="1GiB", lr=0.1, weight_decay=0.5) as run:  # which moves what is trained
        run.step(batch)
        run.load_into(module)
    assert torch.equal(before, module.teacher[0].weight)


class Blocks(nn.Module):
    """What a block without gradient may hold, one kind an object."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.layer, self.other = kind, nn.Linear(5, 3), nn.Linear(5, 3)

    def in_place(self, x, hidden):
        with torch.no_grad():
            wanted = self.other(x).softmax(-1)
            wanted.mul_(0.5).add_(hidden, alpha=0.5)
        return wanted

    def written(self, x, hidden):
        with torch.no_grad():
            wanted = torch.zeros_like(hidden)
            wanted[:, 1:] = hidden[:, :-1]
        return wanted

    def turned_on(self, x, hidden):
        with torch.no_grad():
            kept = self.other(x)
            with torch.enable_grad():
                live = self.other(x)
        return kept + live

    def by_mode(self, x, hidden):
        with torch.no_grad(), torch.set_grad_enabled(self.training):
            return self.other(x)

    def asked(self, x, hidden):
        with torch.no_grad():
            return self.other(x) * (2 if torch.is_grad_enabled() else 1)

    def unpacked(self, x, hidden):
        with torch.no_grad():
            first, second = torch.stack([hidden, self.other(x)])
        return first + second

    def forward(self, x, labels):
        hidden = self.layer(x)
        return functional.cross_entropy(hidden, labels) + (hidden * getattr(self, self.kind)(x, hidden)).mean()


@pytest.mark.parametrize("kind", ["in_place", "written", "turned_on", "by_mode", "asked", "unpacked"])
def test_what_a_block_without_gradient_may_hold(kind):
    check_step(Blocks(kind).train(), (rows(6, 5), classes(6)), sizes=(4,))
    assert torch.is_grad_enabled() and "apply" not in vars(checkpoint.CheckpointFunction)


class Overwritten(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x, labels):
        hidden = self.layer(x)
        with torch.no_grad():
            hidden.clamp_(-0.5, 0.5)
        return functional.cross_entropy(hidden, labels)


def test_a_write_over_a_value_that_has_a_gradient_is_refused():
    with pytest.raises(accum.UnsupportedError, match="writes into a tensor that has a gradient, by clamp_"):
        trainer(Overwritten(), (rows(6, 5), classes(6)))


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, x, labels):
        hidden = checkpoint.checkpoint(lambda value: torch.tanh(self.layer(value)), x, use_reentrant=True)
        scores = checkpoint.checkpoint(self.head, hidden + self.layer(x), use_reentrant=True)
        return functional.cross_entropy(scores, labels)


def test_a_reentrant_checkpoint_is_as_in_pytorch():
    """No gradient comes in where no input has one."""
    check_step(Checkpointed(), (rows(6, 5), classes(6)), sizes=(4,))
