# SPDX-License-Identifier: Apache-2.0
"""Makes the cases of models that switch gradients off in a part of their forward, as exporters write them."""
import functools
import json
import pathlib
import re
import sys
import types

import onnx
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

CASES = pathlib.Path(__file__).resolve().parents[1] / "cases"
BATCH, RATE = 6, 0.5


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.head, self.other = nn.Linear(4, 6), nn.Linear(6, 5), nn.Linear(4, 6)
        self.codes = nn.Embedding(7, 6)


class UnderNoGrad(Model):
    def forward(self, x, y):
        h = self.body(x)
        with torch.no_grad():
            target = torch.tanh(self.other(x))
        return F.cross_entropy(self.head(h), y) + (h * target).mean()


class IndexUnderNoGrad(Model):
    """No gradient goes back through an index: the block loses nothing."""
    def forward(self, x, y):
        h = self.body(x)
        with torch.no_grad():
            index = (h.pow(2).sum(1, keepdim=True) - 2 * h @ self.codes.weight.T + self.codes.weight.pow(2).sum(1)).argmin(1)
        near = self.codes(index)
        return F.cross_entropy(self.head(h + near), y) + F.mse_loss(near, h)


class MaskUnderNoGrad(Model):
    """Nor through a comparison."""
    def forward(self, x, y):
        h = self.body(x)
        with torch.no_grad():
            seen = (h > 0).float()
        return F.cross_entropy(self.head(h * seen), y)


class ComparedDetached(Model):
    """The exporter leaves the detach out, and no gradient goes back through a comparison."""
    def forward(self, x, y):
        h = self.body(x)
        seen = h.detach() > 0
        return F.cross_entropy(self.head(torch.where(seen, h, 0.1 * h)), y)


class StackedWithItself(Model):
    def forward(self, x, y):
        h = self.body(x)
        return F.cross_entropy(self.head(torch.stack([h, h.detach()], 1).mean(1)), y)


class EqualInputs(Model):
    """The exporter merges them, and splits what projects them: of the calls' values the file lacks several."""
    def __init__(self):
        super().__init__()
        self.attention, self.class_of = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 5)
        for bias in (self.attention.in_proj_bias, self.attention.out_proj.bias):
            nn.init.normal_(bias)

    def forward(self, x, y):
        q, k, v = (x[:, None].repeat(1, 3, 1) for _ in range(3))
        return F.cross_entropy(self.class_of(self.attention(q, k, v, need_weights=False)[0].mean(1)), y)


class Hooked(Model):
    """What a full backward hook does to the gradient is in no file."""
    def __init__(self):
        super().__init__()
        self.body.register_full_backward_hook(lambda module, given, taken: tuple(None if g is None else g / 2 for g in given))

    def forward(self, x, y):
        return F.cross_entropy(self.head(torch.tanh(self.body(torch.tanh(x * self.other.weight[0])))), y)


class TableTwice(Model):
    """The optimiser merges two lookups that are one, as it would if the table of one were detached."""
    def forward(self, x, y):
        return F.cross_entropy(self.head(self.body(x) * torch.tanh(self.codes(y)) + self.codes(y)), y)


class FrameworkSteps(Model):
    """Losses multiply by a delta of 1 and add a margin of 0; an index is copied: no step of the model's."""
    def forward(self, x, y):
        h, other = torch.tanh(self.body(x)), torch.tanh(self.other(x))
        sign = (y > 1) * 2.0 - 1
        near = F.huber_loss(h, other) + F.smooth_l1_loss(h[:, 1:], other[:, :5])
        near = near + F.cosine_similarity(h, other, 1).mean()
        near = near + F.cosine_embedding_loss(h, other, sign)
        near = near + F.margin_ranking_loss(h[:, 0], other[:, 1], sign)
        h = h.index_fill(1, torch.tensor([2]), 0.0)
        return F.cross_entropy(self.head(h), y) + near


class ComplexViews(Model):
    """Rotated in pairs, as complex numbers."""
    def forward(self, x, y):
        pairs = torch.view_as_complex(self.body(x).reshape(-1, 3, 2))
        h = torch.view_as_real(pairs * torch.polar(torch.ones(3), torch.arange(3.0))).flatten(1)
        return F.cross_entropy(self.head(h), y)


class CopiedAfterDetach(Model):
    """The optimiser drops both, and the file is that of a copy alone."""
    def forward(self, x, y):
        h = torch.tanh(self.body(x))
        target = h.detach().clone()
        return F.cross_entropy(self.head(torch.sin(h)), y) + F.mse_loss(torch.cos(h), target)


class StraightThrough(Model):
    """Codes have the value of what is near them and the gradient of what they stand for."""
    def forward(self, x, y):
        h = self.body(x)
        near = self.codes((h[:, None] - self.codes.weight).pow(2).sum(2).argmin(1))
        passed = h + (near - h).detach()
        return F.cross_entropy(self.head(torch.tanh(passed)), y) + F.mse_loss(near, h.detach())


class Continued(Model):
    """Rows that go on behind their ends."""
    def forward(self, x, y):
        h = self.body(x)[:, None]
        h = F.pad(h, (2, 1), "reflect") + 2 * F.pad(h, (2, 1), "replicate") - 3 * F.pad(h, (2, 1), "circular")
        h = torch.tanh(h[:, 0])
        return F.cross_entropy(self.head(h[:, :6] * h[:, 3:]), y)


class SmoothedLabels(Model):
    """The exporter leaves the smoothing out of each node."""
    def forward(self, x, y):
        h, labels = self.head(torch.tanh(self.body(x))), torch.where(y == 1, -100, y)
        weights = h.new_tensor([0.5, 1, 2, 0.25, 1.5])
        loss = F.cross_entropy(h, y, label_smoothing=0.1) + F.cross_entropy(h, labels, weights, label_smoothing=0.3)
        loss = loss + 0.1 * F.cross_entropy(h.view(-1, 5, 1), labels[:, None], weights, reduction="sum", label_smoothing=1.0)
        return loss + (F.cross_entropy(h, labels, weights, reduction="none", label_smoothing=0.2) * x[:, 0]).mean()


class TwoHalves(Model):
    """Two batches go through the model as one, and are split again."""
    def forward(self, x, y):
        n = x.shape[0]
        first, second = self.head(torch.tanh(self.body(torch.cat([x, x.flip(1)])))).split([n, n])
        near, far = (F.log_softmax(h, 1).gather(1, y[:, None]) for h in (first, second))
        return -F.logsigmoid(near - far).mean() - near.mean()


class TransposedConvolutions(Model):
    """In blocks, with taps that overlap, in groups, and with what the strides leave open."""
    def __init__(self):
        super().__init__()
        self.blocks, self.over = nn.ConvTranspose1d(2, 4, 3, 3), nn.ConvTranspose1d(4, 3, 4, 2, padding=1, output_padding=1, dilation=2)
        self.parts, self.plane = nn.ConvTranspose1d(4, 6, 3, 2, 1, groups=2), nn.ConvTranspose2d(1, 2, (3, 2), (2, 2), (1, 0))

    def forward(self, x, y):
        h = torch.tanh(self.blocks(self.body(x).unflatten(1, (2, 3))))
        seen = self.over(h).pow(2).mean() + torch.sin(self.parts(h)).mean()
        return F.cross_entropy(self.head(h[:, 0, :6]), y) + seen + self.plane(h[:, None]).tanh().mean()


class FirstOfEqual(Model):
    """Prompts are the same for all samples: any of them gives the prompt."""
    def forward(self, x, y):
        codes = self.codes(torch.arange(3)[None].expand(x.shape[0], -1)[:1])
        scale, shift = self.codes.weight[5].expand(x.shape[0], -1)[0], self.codes.weight[6].expand(x.shape[0], -1)[:1]
        h = (codes * torch.tanh(self.body(x))[:, None]).sum(1)
        return F.cross_entropy(self.head(h * scale + shift), y)


class Gate(nn.Module):
    def forward(self, h):
        return h * torch.sigmoid(h)


class Gated(Model):
    """Has steps of its own, and a part without a parameter."""
    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x, y):
        h = self.gate(self.body(x))
        h = torch.tanh(h) + h
        return F.cross_entropy(self.head(h), y)


class Rounded(torch.autograd.Function):
    """Its forward is steps, its backward passes all."""
    @staticmethod
    def forward(ctx, h):
        steps = torch.clamp(h, -1, 1) * 4
        return torch.round(steps) / 4 + h / 8

    @staticmethod
    def backward(ctx, gradient):
        return gradient


rounded = Rounded.apply


class GatedAndRounded(Gated):
    def forward(self, x, y):
        h = rounded(self.gate(self.body(x)))
        return F.cross_entropy(self.head(h), y)


def with_method(kind, factor=2.0):
    """A forward of the instance's own around that of the class."""
    model, inner = kind(), kind.forward

    def forward(self, x, y):
        loss = inner(self, x, y)
        return loss * factor

    model.forward = types.MethodType(forward, model)
    return model


def with_partial(kind):
    """Functions around bound forwards, of the model and of a part."""
    def of_part():
        def forward(own, h):
            return own(h) * 0.5
        return forward

    def forward(own, x, y):
        loss = own(x, y)
        return loss * 0.5

    model = kind()
    model.forward = functools.partial(forward, model.forward)
    model.body.forward = functools.partial(of_part(), model.body.forward)
    return model


class Weighed(Model):
    """Policy gradients: the ratio is one, its gradient that of the logarithm."""
    def forward(self, x, y):
        p = F.log_softmax(self.head(torch.tanh(self.body(x))), 1).gather(1, y[:, None])[:, 0]
        return -(torch.exp(p - p.detach()) * x[:, 0]).mean()


class WeighedTwice(Model):
    """The file computes it twice, and divides one by the other."""
    def likely(self, x, y):
        return F.softmax(self.head(torch.tanh(self.body(x))), 1).gather(1, y[:, None])[:, 0]

    def forward(self, x, y):
        return -(self.likely(x, y) / self.likely(x, y).detach() * x[:, 0]).mean()


# Whether the optimiser runs (None: the TorchScript exporter), and whether the file lost something.
MODELS = {"no-grad": (UnderNoGrad, False, True), "no-grad-index": (IndexUnderNoGrad, False, False),
          "no-grad-mask": (MaskUnderNoGrad, True, False), "detach-compared": (ComparedDetached, True, False), "detach-stacked": (StackedWithItself, True, True),
          "equal-inputs": (EqualInputs, True, False), "backward-hook": (Hooked, False, True), "table-twice": (TableTwice, True, True), "framework-steps": (FrameworkSteps, True, False),
          "complex-views": (ComplexViews, True, False), "detach-copied": (CopiedAfterDetach, True, True), "continued": (Continued, True, False),
          "straight-through": (StraightThrough, False, False), "straight-through-torchscript": (StraightThrough, None, True),
          "smoothed-labels": (SmoothedLabels, True, False), "two-halves": (TwoHalves, False, False),
          "two-halves-optimized": (TwoHalves, True, False), "transposed-convolutions": (TransposedConvolutions, True, False),
          "first-of-equal": (FirstOfEqual, False, False),
          "instance-forward": (lambda: with_method(Gated), True, False), "instance-forward-unoptimized": (lambda: with_method(Gated), False, False),
          "partial-forward": (lambda: with_partial(Gated), True, False), "function-in-instance-forward": (lambda: with_method(GatedAndRounded), True, True),
          "function-in-partial-forward": (lambda: with_partial(GatedAndRounded), False, True),
          "cancelled-torchscript": (Weighed, None, True), "cancelled-twice-torchscript": (WeighedTwice, None, True)}


def losses(model, arrays):
    model, found = model.double(), []
    for _ in range(3):
        model.zero_grad()
        loss = model(arrays[0].double(), arrays[1])
        loss.backward()
        found.append(loss.item())
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter -= RATE * parameter.grad
    return found


def shorten(path):
    """Traces name files by what lies below the packages, or by their name alone."""
    written = onnx.load(path)
    for node in written.graph.node:
        for entry in node.metadata_props:
            entry.value = re.sub(r'File "(?:[^"<]*/site-packages/|[^"<]*/(?=[^"/]*"))', 'File "', entry.value)
    onnx.save(written, path)


def write(model, traced, path, optimize):
    names = dict(input_names=["x", "y"], output_names=["loss"])
    if optimize is None:
        torch.onnx.export(model, traced, path, dynamo=False, opset_version=17, dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, **names)
        return
    torch.onnx.export(model, traced, path, dynamo=True, optimize=optimize, verbose=False, dynamic_shapes=({0: "batch"}, {0: "batch"}),
                      external_data=False, **names)
    shorten(path)


def main(*only):
    torch.manual_seed(5)
    arrays = torch.randn(BATCH, 4), torch.tensor([0, 2, 1, 4, 3, 0])
    for name, (kind, optimize, isLost) in MODELS.items():
        if only and name not in only:
            continue
        folder = CASES / name
        folder.mkdir(exist_ok=True)
        model = kind().eval()
        write(model, (arrays[0][:3], arrays[1][:3]), folder / "model.onnx", optimize)
        if isLost:
            facts = {"batch": BATCH, "refused": "lost-in-export"}
        else:
            save_file({"x": arrays[0], "y": arrays[1]}, folder / "data.safetensors")
            facts = {"batch": BATCH, "lr": RATE, "losses": losses(model, arrays)}
        (folder / "case.json").write_text(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
