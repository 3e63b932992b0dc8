# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch that draw numbers, in training mode: what a sample draws does not depend on the cut (oracle: one undivided
batch), and what belongs to training is left out of an evaluation (oracle: PyTorch's loss in evaluation mode)."""
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

import accum  # noqa: E402

F = torch.nn.functional
KEEP, SAMPLES = 0.8, 6


def depth(h, training):
    return h * torch.empty(h.shape[0], 1).bernoulli_(KEEP) / KEEP if training else h


def depth_by_floor(h, training):
    return h.div(KEEP) * (KEEP + torch.rand(h.shape[0], 1, dtype=h.dtype)).floor_() if training else h


def depth_of_all(h, training):
    return h * (torch.empty(1, 1).bernoulli_(KEEP) / KEEP) if training else h


def masked_by_hand(h, training):
    return h * (torch.rand_like(h) > 0.3).to(h.dtype) / 0.7 if training else h


def features(h, training):
    return F.dropout1d(h.unflatten(1, (4, 2)), 0.4, training).flatten(1)


# What an evaluation leaves out, and what it draws too.
MASKS = [depth, depth_by_floor, depth_of_all, masked_by_hand, features]
NOISE = {
    "gaussian": lambda h: h + 0.3 * torch.randn_like(h),
    "scaled": lambda h: h * torch.rand(h.shape[0], 1),
    "shared": lambda h: h + 0.3 * torch.randn(8),
    "bernoulli": lambda h: h * torch.bernoulli(torch.sigmoid(h)),
    "alpha dropout": lambda h: F.alpha_dropout(h, 0.3, True),
    "gumbel softmax": lambda h: F.gumbel_softmax(h, tau=0.7),
    "integers": lambda h: h * torch.randint(1, 4, (h.shape[0], 1)),
    "hidden tokens": lambda h: torch.where(torch.rand(h.shape) < 0.15, 0.0, h),
}


class Drawing(torch.nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.first, self.second, self.draw = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3), draw

    def forward(self, x):
        return self.second(self.draw(self.first(x)))


def batch():
    random = torch.Generator().manual_seed(1)
    return torch.randn(SAMPLES, 4, generator=random), torch.tensor([0, 1, 2, 0, 1, 2])


def trainer(module, micro_batch, lr=0.1):
    return accum.Trainer(module, batch(), batch=SAMPLES, memory="256MiB", micro_batch=micro_batch, optimizer="sgd", lr=lr,
                         loss=F.cross_entropy, training=True)


def losses(module):
    """Of two steps, undivided and cut."""
    found = []
    for micro_batch in (SAMPLES, 4):
        with trainer(module, micro_batch) as run:
            found.append([run.step(batch()).loss for _ in range(2)])
    return found


class Switched(Drawing):
    def forward(self, x):
        return self.second(self.draw(self.first(x), self.training))


@pytest.mark.parametrize("draw", MASKS, ids=lambda draw: draw.__name__)
def test_masks_are_the_samples_and_left_out_of_an_evaluation(draw):
    module = Switched(draw).train()
    whole, cut = losses(module)
    assert cut == pytest.approx(whole, rel=1e-5)
    with trainer(module, 2, lr=0.0) as run, torch.no_grad():
        drawn = {run.step(batch()).loss for _ in range(8)}
        x, y = batch()
        expected = F.cross_entropy(module.eval()(x), y).item()
        assert len(drawn) > 1 and run.evaluate(batch()).loss == pytest.approx(expected, rel=1e-5)
        assert not any("in evaluation too" in notice for notice in run.notices)


@pytest.mark.parametrize("name", NOISE)
def test_numbers_are_the_samples(name):
    module = Drawing(NOISE[name]).train()
    whole, cut = losses(module)
    assert cut == pytest.approx(whole, rel=1e-5)
    assert whole[0] != whole[1]
