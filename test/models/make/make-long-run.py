#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make-long-run.py: 300 steps of ../gpt2-dynamo.onnx as PyTorch takes them in float64, with everything that a run has: warm-up, cosine,
clipping, decay of the matrices, batches that grow, a last incomplete window, labels that are left out, and evaluations.

Writes ../long-run.json (the words of the run, the loss of every step, and the evaluations) and the data of both kinds,
../long-run.safetensors and ../long-run.eval.safetensors."""
import json
import math
import pathlib

import families
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file

MODELS = pathlib.Path(__file__).resolve().parent.parent
STEPS, WARMUP, RATE, FLOOR, CLIP, DECAY, EVERY = 300, 20, 3e-3, 0.1, 1.0, 0.1, 60
BATCHES = [(0, 4), (100, 7), (200, 16)]
SAMPLES, HELD_OUT, LENGTH, VOCABULARY = 50, 11, 16, 97


def load_model():
    """The exported weights in transformers' own GPT-2."""
    about = json.loads((MODELS / "gpt2-dynamo.json").read_text())
    weights = {t.name: torch.tensor(numpy_helper.to_array(t)) for t in onnx.load(MODELS / "gpt2-dynamo.onnx").graph.initializer}
    model = families.gpt2("eager", 0.0).double()
    own = dict(model.named_parameters())
    for name, copies in about["parameters"].items():
        value = weights[copies[0]["onnx"]]
        value = value.T if copies[0]["transposed"] else value
        own[name].data.copy_(value.reshape(own[name].shape))
    return model


def make_data(count, seed):
    """Sequences that can be learnt: the next token is a function of the last one, with noise; some labels are left out."""
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, VOCABULARY, (count, LENGTH), generator=random)
    for t in range(1, LENGTH):
        noise = torch.rand(count, generator=random) < 0.2
        tokens[:, t] = torch.where(noise, tokens[:, t], (tokens[:, t - 1] * 3 + 1) % 23)
    labels = torch.where(torch.rand(tokens.shape, generator=random) < 0.15, -100, tokens)
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels}


def windows():
    """One after the other, by what is left of the epoch."""
    start = 0
    for step in range(STEPS):
        batch = [size for first, size in BATCHES if first <= step][-1]
        yield step, slice(start, min(start + batch, SAMPLES))
        start = 0 if start + batch >= SAMPLES else start + batch


def factor(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - 1 - WARMUP))) / 2


def loss_of(model, data):
    """transformers' own loss rounds the logits to float32."""
    logits, labels = model(data["input_ids"], attention_mask=data["attention_mask"]).logits[:, :-1], data["labels"][:, 1:]
    return torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), labels.reshape(-1), ignore_index=-100), logits, labels


@torch.no_grad()
def evaluate(model, data):
    loss, logits, labels = loss_of(model, data)
    predicted, counted = logits.argmax(-1), labels != -100
    return {"eval_loss": loss.item(), "eval_samples": HELD_OUT, "eval_targets": int(counted.sum()),
            "eval_accuracy": ((predicted == labels) & counted).sum().item() / counted.sum().item()}


def main():
    torch.set_num_threads(1)
    model, data, held_out = load_model(), make_data(SAMPLES, 1), make_data(HELD_OUT, 2)
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": DECAY},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    losses, norms, evaluations = [], [], []
    for step, window in windows():
        for group in optimizer.param_groups:
            group["lr"] = RATE * factor(step)
        optimizer.zero_grad()
        loss, _, _ = loss_of(model, {name: array[window] for name, array in data.items()})
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % EVERY == 0:
            evaluations.append({"step": step + 1, **evaluate(model, held_out)})
    words = ["--steps", STEPS, "--no-shuffle", "--lr", RATE, "--schedule", "cosine", "--warmup", WARMUP, "--lr-floor", f"{FLOOR:.0%}",
             "--clip-norm", CLIP, "--weight-decay", DECAY, "--batch-schedule", ",".join(f"{step}:{batch}" for step, batch in BATCHES),
             "--eval-every", EVERY]
    for name, arrays in [("long-run", data), ("long-run.eval", held_out)]:
        save_file({key: array.to(torch.int32) for key, array in arrays.items()}, MODELS / f"{name}.safetensors")
    text = json.dumps({"words": [str(word) for word in words], "losses": losses, "gradient_norms": norms, "evaluations": evaluations}, indent=1)
    (MODELS / "long-run.json").write_text(text + "\n")


main()
