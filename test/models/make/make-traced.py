# SPDX-License-Identifier: Apache-2.0
"""Makes traced/: TorchScript exports whose constants were folded from parameters, or from what is none, with PyTorch's losses of three SGD steps in
float64 and what is trained then. `NAME-folded.onnx` and `NAME-plain.onnx` are with and without do_constant_folding."""
import json
import pathlib
import sys
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

import export

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "traced"
WORDS, WIDTH, SAMPLES, TOKENS, RATE = 8, 6, 4, 5, 0.25


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.more()

    def loss(self, x, labels):
        return F.cross_entropy(self.head(x).reshape(-1, WORDS), labels.reshape(-1))


class Positions(Model):
    """A table of which a slice is used, and another one through an embedding."""

    def more(self):
        self.positions, self.segments = nn.Parameter(torch.randn(9, WIDTH)), nn.Embedding(7, WIDTH)

    def forward(self, tokens, labels):
        return self.loss(self.wte(tokens) + self.positions[:TOKENS] + self.segments(torch.arange(TOKENS)), labels)


class Weighted(Model):
    """Losses with learned weights."""

    def more(self):
        self.weights, self.vector = nn.Parameter(torch.randn(2)), nn.Parameter(torch.randn(2))

    def forward(self, tokens, labels):
        x = self.wte(tokens)
        losses = torch.stack([self.loss(x, labels), x.square().mean()])
        weighted = torch.exp(-self.weights[0]) * losses[0] + torch.exp(-self.weights[1]) * losses[1] + self.weights.sum()
        return weighted + (torch.exp(-self.vector) * losses + self.vector).sum()


class Rescaled(Model):
    """A gain that is no norm's, computed in two ways."""

    def more(self):
        self.gain, self.convolution = nn.Parameter(torch.randn(WIDTH)), nn.Conv1d(WIDTH, WIDTH, 1)

    def forward(self, tokens, labels):
        x = self.wte(tokens) * F.softplus(self.gain * 2)
        return self.loss(self.convolution(x.transpose(1, 2)).transpose(1, 2) * (-self.gain.exp()), labels)


class Powers(Model):
    """Numbers by a parameter's name: an exponent, as generalised means have, and a bound."""

    def more(self):
        self.exponent, self.bound = nn.Parameter(torch.tensor(2.5)), nn.Parameter(torch.tensor([1.25]))

    def forward(self, tokens, labels):
        return self.loss(torch.minimum((self.wte(tokens).abs() + 0.25) ** self.exponent, self.bound), labels)


class Fixed(Model):
    """Positions of sines, inputs that are normalised by constants, and the gain 1 + w of a norm: all of this trains as it is."""

    def more(self):
        angles = torch.arange(9)[:, None] / 10 ** (torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).reshape(9, WIDTH))
        self.register_buffer("mean", torch.tensor([0.25, -0.5, 0.125]))
        self.gain, self.colour = nn.Parameter(torch.randn(WIDTH)), nn.Linear(3, WIDTH)

    def forward(self, tokens, labels, pixels):
        x = self.wte(tokens) + self.positions[:TOKENS] + self.colour(pixels - self.mean.view(1, 1, 3))
        return self.loss(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (1 + self.gain), labels)


def three_steps(model, arrays):
    model = model.double()
    arrays = {name: array.double() if array.is_floating_point() else array for name, array in arrays.items()}
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=RATE), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(**arrays)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: p.detach() for name, p in model.named_parameters()}


def main(*only):
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    for kind in (Positions, Weighted, Rescaled, Powers, Fixed):
        if only and kind.__name__ not in only:
            continue
        torch.manual_seed(7)
        name, model = kind.__name__.lower(), kind().eval()
        arrays = {key: torch.randint(0, WORDS, (SAMPLES, TOKENS)) for key in ("tokens", "labels")}
        if kind is Fixed:
            arrays["pixels"] = torch.randn(SAMPLES, TOKENS, 3)
        # A plain file of Fixed names its buffers as parameters are named, and trains them.
        for suffix, fold in (("folded", True), ("plain", False))[:1 if kind is Fixed else 2][kind is Powers:]:
            export.export(model, arrays, FOLDER / f"{name}-{suffix}.onnx", export.Recipe("torchscript", 17, outputs=("loss",), fold=fold))
        save_file(arrays, FOLDER / f"{name}.safetensors")
        losses, trained = three_steps(model, arrays)
        if kind is not Fixed:  # its gain has no name in the file
            save_file(trained, FOLDER / f"{name}.after.safetensors")
        (FOLDER / f"{name}.json").write_text(json.dumps({"batch": SAMPLES, "rate": RATE, "losses": losses}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
