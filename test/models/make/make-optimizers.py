# SPDX-License-Identifier: Apache-2.0
"""Makes optimizers/: a small model with a tied table, a frozen vector and a convolution, and its parameters after ten steps of every
optimizer in float64, in `values.safetensors` as `RUN/NAME` with the framework's names. `runs.json` has the flags of each run.

Oracles: torch.optim for all but Lion, whose formula is that of its paper (Chen et al. 2023, algorithm 2)."""
import json
import pathlib

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

import export

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "optimizers"
WORDS, WIDTH, HIDDEN, SAMPLES, TOKENS, STEPS = 11, 6, 5, 5, 4, 10


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.scale = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.mix, self.norm = nn.Conv1d(WIDTH, WIDTH, 3, padding=1), nn.LayerNorm(WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens, labels):
        x = self.words(tokens) * self.scale
        x = x + self.mix(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.narrow(torch.tanh(self.wide(self.norm(x))))
        return F.cross_entropy(self.head(x).reshape(-1, WORDS), labels.reshape(-1))


class Lion(torch.optim.Optimizer):
    def __init__(self, groups, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(groups, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            one, two = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                c = one * m + (1 - one) * p.grad
                p -= group["lr"] * (torch.sign(c) + group["weight_decay"] * p)
                m.copy_(two * m + (1 - two) * p.grad)


KINDS = {
    "sgd": (torch.optim.SGD, {}),
    "sgd-momentum": (torch.optim.SGD, {"momentum": 0.9}),
    "sgd-nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "adam": (torch.optim.Adam, {}),
    "adamw": (torch.optim.AdamW, {"weight_decay": 0.0}),
    "lion": (Lion, {}),
    "adagrad": (torch.optim.Adagrad, {}),
    "adafactor": (torch.optim.Adafactor, {}),
}
RATES = {"sgd": 0.2, "sgd-momentum": 0.05, "sgd-nesterov": 0.05, "adam": 0.02, "adamw": 0.02, "lion": 0.01, "adagrad": 0.1, "adafactor": 0.1}
DECAY, CLIP = 0.125, 0.25
# The first pattern that matches wins: the bias's rate is that of the first one.
SCALES = (("mix.bias", 0.5), ("mix.*", 0.0625), ("words*", 2.0))
DECAYED = ("mix.*", "wide.weight")


def scale_of(name):
    return next((x for pattern, x in SCALES if pathlib.PurePath(name).match(pattern)), 1.0)


def is_decayed(name):
    return any(pathlib.PurePath(name).match(pattern) for pattern in DECAYED)


def trained(model, arrays, kind, groups=(), clip=None, **options):
    """Parameters after ten steps. `groups`: a dictionary per parameter, by name."""
    torch.manual_seed(7)
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    make, own = KINDS[kind]
    sets = [{"params": [p], **(groups[name] if groups else {})} for name, p in named.items()]
    optimizer = make(sets, **{**own, **options})
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(**arrays).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(named.values(), clip)
        optimizer.step()
    return {name: p.detach().clone() for name, p in named.items()}


def fresh(state):
    model = Model()
    model.load_state_dict(state)
    model.scale.requires_grad_(False)
    return model.double()


def main():
    FOLDER.mkdir(exist_ok=True)
    torch.manual_seed(3)
    model = Model()
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    tokens = torch.randint(0, WORDS, (SAMPLES, TOKENS))
    labels = torch.randint(0, WORDS, (SAMPLES, TOKENS))
    arrays = {"tokens": tokens, "labels": labels}
    export.export(model, arrays, FOLDER / "model.onnx", export.Recipe("dynamo", 20, outputs=("loss",), brief=True))
    save_file(arrays, FOLDER / "data.safetensors")
    runs, values = {}, {}

    def add(name, kind, flags, **options):
        runs[name] = {"optimizer": kind, "flags": flags}
        for parameter, tensor in trained(fresh(state), arrays, kind, **options).items():
            values[f"{name}/{parameter}"] = tensor

    for kind, rate in RATES.items():
        words = ["--lr", str(rate)]
        decay = ["--weight-decay", str(DECAY)]
        add(f"{kind}-all", kind, [*words, *decay, "--decay", "all"], lr=rate, weight_decay=DECAY)
        flags = [*words, *decay, *(f"--lr-scale={pattern}={x}" for pattern, x in SCALES), *(f"--decay={pattern}" for pattern in DECAYED)]
        groups = {name: {"lr": rate * scale_of(name), "weight_decay": DECAY if is_decayed(name) else 0.0} for name in dict(model.named_parameters())}
        add(f"{kind}-groups", kind, flags, groups=groups, lr=rate)
        add(f"{kind}-clip", kind, [*words, "--clip-norm", str(CLIP)], lr=rate, clip=CLIP)
    save_file(values, FOLDER / "values.safetensors")
    (FOLDER / "runs.json").write_text(json.dumps({"batch": SAMPLES, "steps": STEPS, "frozen": "scale", "runs": runs}, indent=1) + "\n")
    for file in FOLDER.iterdir():
        file.chmod(0o644)


if __name__ == "__main__":
    main()
