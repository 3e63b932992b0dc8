# SPDX-License-Identifier: Apache-2.0
"""Losses that relate the samples of a batch, on tiny encoders: see make-split.py. Numbers are exact in f32, as files have them."""
import copy
import dataclasses
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

BOTH = ("dynamo", "torchscript")


def normal(*shape):
    return lambda generator, samples: torch.randn(samples, *shape, generator=generator)


def classes(count):
    return lambda generator, samples: torch.randint(count, (samples,), generator=generator)


@dataclasses.dataclass
class Case:
    module: Callable
    inputs: dict
    exporters: tuple = BOTH

    def module_again(self, module):
        return copy.deepcopy(module)


def encoder(width_in=5, width=6):
    return nn.Sequential(nn.Linear(width_in, 8), nn.Tanh(), nn.Linear(8, width))


class InfoNce(nn.Module):
    """Two towers, a temperature that is learnt, both directions."""

    def __init__(self):
        super().__init__()
        self.text, self.image = encoder(), encoder(7)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, text, image):
        a, b = F.normalize(self.text(text), dim=-1), F.normalize(self.image(image), dim=-1)
        scores = self.scale.exp() * a @ b.T
        labels = torch.arange(scores.shape[0])
        return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.T, labels)) / 2


class Shared(nn.Module):
    """One encoder for both views, in-batch and hard negatives."""

    def __init__(self):
        super().__init__()
        self.encode = encoder()

    def forward(self, query, positive, negative):
        q, p, n = (F.normalize(self.encode(x), dim=-1) for x in (query, positive, negative))
        scores = q @ torch.cat([p, n]).T / 0.5
        return F.cross_entropy(scores, torch.arange(scores.shape[0]))


class SigLip(nn.Module):
    """Temperature and bias; each pair on its own."""

    def __init__(self):
        super().__init__()
        self.text, self.image = encoder(), encoder(7)
        self.scale, self.bias = nn.Parameter(torch.tensor(0.7)), nn.Parameter(torch.tensor(-1.0))

    def forward(self, text, image):
        a, b = F.normalize(self.text(text), dim=-1), F.normalize(self.image(image), dim=-1)
        scores = self.scale.exp() * a @ b.T + self.bias
        signs = 2 * torch.eye(scores.shape[0]) - 1
        return -F.logsigmoid(signs * scores).sum() / scores.shape[0]


class SupCon(nn.Module):
    """Supervised contrastive; some rows have no positive."""

    def __init__(self):
        super().__init__()
        self.encode = encoder()

    def forward(self, x, labels):
        z = F.normalize(self.encode(x), dim=-1)
        scores = z @ z.T * 4
        count = scores.shape[0]
        others = 1 - torch.eye(count, dtype=z.dtype)
        same = (labels[:, None] == labels[None, :]).to(z.dtype) * others
        scores = scores - scores.max(dim=1, keepdim=True).values.detach()
        log_sum = torch.log((scores.exp() * others).sum(1, keepdim=True))
        positives = same.sum(1)
        each = (same * (scores - log_sum)).sum(1) / positives.clamp(min=1)
        return -each.sum() / (positives > 0).to(z.dtype).sum()


class Triplet(nn.Module):
    """Batch-hard: the farthest of the class against the nearest of the others."""

    def __init__(self):
        super().__init__()
        self.encode = encoder()

    def forward(self, x, labels):
        z = self.encode(x)
        squares = (z * z).sum(1)
        distance = (squares[:, None] + squares[None, :] - 2 * z @ z.T).clamp(min=1e-9).sqrt()
        same = labels[:, None] == labels[None, :]
        farthest = torch.where(same, distance, torch.zeros_like(distance)).amax(1)
        nearest = torch.where(same, torch.full_like(distance, 1e6), distance).amin(1)
        return F.relu(farthest - nearest + 0.5).mean()


class Pearson(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = encoder(5, 1)

    def forward(self, x, y):
        p = self.encode(x)[:, 0]
        p, y = p - p.mean(), y - y.mean()
        return 1 - (p * y).sum() / ((p * p).sum().sqrt() * (y * y).sum().sqrt())


class Rmse(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = encoder(5, 1)

    def forward(self, x, y):
        return ((self.encode(x)[:, 0] - y) ** 2).mean().sqrt()


class ExpOfMean(Rmse):
    def forward(self, x, y):
        return torch.exp(((self.encode(x)[:, 0] - y) ** 2).mean())


class Product(Rmse):
    """Of two means."""

    def forward(self, x, y):
        p = self.encode(x)[:, 0]
        return ((p - y) ** 2).mean() * p.abs().mean()


class SiLog(Rmse):
    """Scale-invariant logarithmic error, of depth."""

    def forward(self, x, y):
        d = F.softplus(self.encode(x)[:, 0]).log() - y
        return (d * d).mean() - 0.875 * d.mean() ** 2


class VicReg(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = encoder()

    def forward(self, first, second):
        a, b = self.encode(first), self.encode(second)
        loss = 25 * F.mse_loss(a, b)
        for z in (a, b):
            centred = z - z.mean(0)
            spread = torch.sqrt((centred * centred).sum(0) / (z.shape[0] - 1) + 2**-13)
            covariance = centred.T @ centred / (z.shape[0] - 1)
            off = covariance * (1 - torch.eye(z.shape[1]))
            loss = loss + 25 * F.relu(1 - spread).mean() + (off * off).sum() / z.shape[1]
        return loss


class BarlowTwins(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = encoder()

    def forward(self, first, second):
        a, b = ((z - z.mean(0)) / (z.std(0, unbiased=False) + 2**-10) for z in (self.encode(first), self.encode(second)))
        c = a.T @ b / a.shape[0]
        eye = torch.eye(c.shape[0])
        return (((c - eye) ** 2) * (eye + (1 - eye) / 128)).sum()


class Dice(nn.Module):
    """Over all pixels of the batch."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))

    def forward(self, x, mask):
        p = torch.sigmoid(self.encode(x)[:, 0])
        return 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


class BatchStatistics(nn.Module):
    """Batch norm as it trains; dynamo's exporter replaces nn.BatchNorm1d by its evaluation form."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        centred = x - x.mean(0)
        return centred * torch.rsqrt((centred * centred).mean(0) + 2**-16) * self.weight + self.bias


class SimClr(nn.Module):
    """A projector with batch norm after the cut, whose scale, bias and weights are trained there."""

    def __init__(self, norm=BatchStatistics):
        super().__init__()
        self.encode = encoder()
        self.project = nn.Sequential(nn.Linear(6, 5), norm(5), nn.ReLU(), nn.Linear(5, 4))

    def forward(self, first, second):
        z = F.normalize(self.project(torch.cat([self.encode(first), self.encode(second)])), dim=-1)
        count = first.shape[0]
        scores = z @ z.T / 0.5 - 1e9 * torch.eye(2 * count)
        labels = torch.cat([torch.arange(count) + count, torch.arange(count)])
        return F.cross_entropy(scores, labels)


class Beside(nn.Module):
    """A loss of each sample beside the one that compares them; the encoder's value is used by both."""

    def __init__(self):
        super().__init__()
        self.encode, self.classify = encoder(), nn.Linear(6, 3)

    def forward(self, x, y, labels):
        a, b = self.encode(x), self.encode(y)
        scores = a @ b.T
        return F.cross_entropy(self.classify(a), labels) + 0.5 * F.cross_entropy(scores, torch.arange(scores.shape[0]))


class Frozen(nn.Module):
    """Targets of a tower without gradient; the weighted per-sample loss reads a result of the whole batch."""

    def __init__(self):
        super().__init__()
        self.encode, self.teacher = encoder(), encoder()

    def forward(self, x):
        z = self.encode(x)
        with torch.no_grad():
            t = self.teacher(x).detach()
        weights = F.softmax((z * t).sum(1), dim=0)
        return (weights * ((z - t) ** 2).sum(1)).sum() + (z.mean(0) ** 2).sum()


class Experts(nn.Module):
    """A mixture with Switch's balance loss: shares of tokens (counted, without a gradient) times mean probabilities."""

    def __init__(self):
        super().__init__()
        self.encode, self.route = encoder(), nn.Linear(6, 3)
        self.experts = nn.Parameter(torch.randn(3, 6, 2, generator=torch.Generator().manual_seed(3)))

    def forward(self, x, y):
        z = self.encode(x)
        p = self.route(z).softmax(-1)
        best = p.argmax(-1)
        out = (torch.einsum("ni,eio->neo", z, self.experts) * p[:, :, None]).sum(1)
        share = F.one_hot(best, 3).to(z.dtype).mean(0)
        return ((out - y) ** 2).mean() + 0.375 * (share * p.mean(0)).sum()


class SimCse(nn.Module):
    """Two views of a sample are two draws of dropout; no reference values."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Dropout(0.25), nn.Linear(8, 6))

    def forward(self, x):
        a, b = F.normalize(self.encode(x), dim=-1), F.normalize(self.encode(x), dim=-1)
        scores = a @ b.T * 4
        return F.cross_entropy(scores, torch.arange(scores.shape[0]))


CASES = {
    "infonce": Case(InfoNce, {"text": normal(5), "image": normal(7)}),
    "hard-negatives": Case(Shared, {"query": normal(5), "positive": normal(5), "negative": normal(5)}),
    "siglip": Case(SigLip, {"text": normal(5), "image": normal(7)}),
    "supcon": Case(SupCon, {"x": normal(5), "labels": classes(6)}),
    "triplet": Case(Triplet, {"x": normal(5), "labels": classes(4)}),
    "pearson": Case(Pearson, {"x": normal(5), "y": normal()}),
    "rmse": Case(Rmse, {"x": normal(5), "y": normal()}),
    "exp-of-mean": Case(ExpOfMean, {"x": normal(5), "y": normal()}),
    "product-of-means": Case(Product, {"x": normal(5), "y": normal()}),
    "silog": Case(SiLog, {"x": normal(5), "y": normal()}),
    "vicreg": Case(VicReg, {"first": normal(5), "second": normal(5)}),
    "barlow-twins": Case(BarlowTwins, {"first": normal(5), "second": normal(5)}),
    "dice": Case(Dice, {"x": normal(2, 4, 4), "mask": lambda g, n: (torch.rand(n, 4, 4, generator=g) > 0.5).float()}),
    "simclr": Case(SimClr, {"first": normal(5), "second": normal(5)}),
    "simclr-norm": Case(lambda: SimClr(nn.BatchNorm1d), {"first": normal(5), "second": normal(5)}, ("torchscript",)),
    "beside": Case(Beside, {"x": normal(5), "y": normal(5), "labels": classes(3)}),
    "frozen": Case(Frozen, {"x": normal(5)}),
    "simcse": Case(SimCse, {"x": normal(5)}),
    "experts": Case(Experts, {"x": normal(5), "y": normal(2)}),
}
