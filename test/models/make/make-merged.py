# SPDX-License-Identifier: Apache-2.0
"""Makes merged/: exports of models whose parameters are equal when they are exported, with PyTorch's losses of three SGD steps in float64, and what
is trained then."""
import copy
import json
import pathlib
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

import export

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "merged"
WORDS, WIDTH, SAMPLES, TOKENS, RATE = 8, 6, 4, 5, 0.25


class Distilled(nn.Module):
    """A teacher that begins as the student; each reads tokens of its own, so that no call of one is a call of the other."""
    frozen = "teacher."

    def __init__(self):
        super().__init__()
        self.student = nn.Sequential(nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS))
        self.teacher = copy.deepcopy(self.student)

    def forward(self, tokens, labels):
        scores, other = self.student(tokens), self.teacher(labels)
        return F.cross_entropy(scores.reshape(-1, WORDS), labels.reshape(-1)) + ((scores - other) ** 2).mean()


class Same(Distilled):
    """Both read the same tokens: all that the teacher computes is merged with what the student does."""

    def forward(self, tokens, labels):
        scores, other = self.student(tokens), self.teacher(tokens)
        return F.cross_entropy(scores.reshape(-1, WORDS), labels.reshape(-1)) + ((scores - other - 0.5) ** 2).mean()


class Symmetric(nn.Module):
    """A table, a weight and its transpose that are equal, two numbers, and a buffer and constants that equal parameters."""
    frozen = "nothing."

    def __init__(self):
        super().__init__()
        self.table, self.other = nn.Embedding(WORDS, WORDS), nn.Embedding(WORDS, WORDS)
        self.linear, self.plain = nn.Linear(WORDS, WORDS, bias=False), nn.Parameter(torch.empty(WORDS, WORDS))
        weight = torch.randn(WORDS, WORDS)
        for parameter in (self.table.weight, self.other.weight, self.linear.weight, self.plain):
            parameter.data = (weight + weight.T) / 4
        self.norm = nn.LayerNorm(WORDS)
        self.register_buffer("ones", torch.ones(WORDS))
        self.gain, self.temperature = nn.Parameter(torch.tensor(2.0)), nn.Parameter(torch.tensor(2.0))

    def forward(self, tokens, labels):
        x = self.table(tokens)
        x = self.norm(x + self.other(labels)) + torch.tanh(x) * self.ones
        x = self.gain * torch.tanh(2.0 * self.linear(x)) + torch.tanh(torch.sin(x) @ self.plain) ** 2.0
        return F.cross_entropy((self.temperature * x).reshape(-1, WORDS), labels.reshape(-1))


class Tower(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens):
        return self.head(self.encoder(tokens))


class Siamese(nn.Module):
    """Two towers over one encoder, one of which runs twice as the last norm does: nothing of that is several parameters."""
    frozen = "nothing."

    def __init__(self):
        super().__init__()
        encoder = nn.Sequential(nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH))
        self.left, self.right, self.last = Tower(encoder), Tower(encoder), nn.LayerNorm(WIDTH)

    def forward(self, tokens, labels):
        a, b = self.last(self.left(tokens)), self.last(self.right(labels))
        return ((a - 0.5 * torch.tanh(b) + 0.1 * self.left(labels.flip(1))) ** 2).mean()


def three_steps(model, arrays):
    model = copy.deepcopy(model).double()
    trained = [p for name, p in model.named_parameters() if not name.startswith(model.frozen)]
    optimizer, losses = torch.optim.SGD(trained, lr=RATE), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(**arrays)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: p.detach() for name, p in model.named_parameters() if not name.startswith(model.frozen)}


def main():
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    for kind in (Distilled, Same, Symmetric, Siamese):
        torch.manual_seed(7)
        name, model = kind.__name__.lower(), kind().eval()
        arrays = {key: torch.randint(0, WORDS, (SAMPLES, TOKENS)) for key in ("tokens", "labels")}
        for exporter in ("dynamo", "torchscript"):
            recipe = export.Recipe(exporter, 18 if exporter == "dynamo" else 17, outputs=("loss",))
            traced = {key: array.clone() for key, array in arrays.items()}
            export.export(model, traced, FOLDER / f"{name}-{exporter}.onnx", recipe)
        losses, trained = three_steps(model, arrays)
        save_file(arrays, FOLDER / f"{name}.safetensors")
        save_file(trained, FOLDER / f"{name}.after.safetensors")
        facts = {"batch": SAMPLES, "rate": RATE, "losses": losses}
        (FOLDER / f"{name}.json").write_text(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main()
