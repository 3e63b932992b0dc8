# SPDX-License-Identifier: Apache-2.0
"""FAMILY.bf16.json: how far PyTorch's gradients in bf16 (model.bfloat16(), logits widened for the loss) are from those
in float64, per parameter, as the norm of the difference over the norm. What another program in bf16 is measured by."""
import copy
import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from safetensors.torch import load_file

import crossing
import families
import reference
import samples

MODELS = pathlib.Path(__file__).resolve().parents[1]
FAMILIES = ("gpt2", "bert-mlm", "bert-classification", "llama", "mixtral", "resnet")

DATA = {"mixtral": "mixtral.causal-lm.data.safetensors", "resnet": "resnet.frozen.data.safetensors"}


def loss_in_float32(causal):
    def loss(model, arrays):
        logits = model(**{name: array for name, array in arrays.items() if name != "labels"})[0].float()
        labels = arrays["labels"]
        return reference.cross_entropy(logits[:, :-1], labels[:, 1:]) if causal else reference.cross_entropy(logits, labels)
    return loss


def logits_of(model, arrays):
    """In the precision of the weights; a ResNet with frozen statistics, or a mixture of experts."""
    if "pixel_values" not in arrays:
        return model(**arrays)[1]
    return model(arrays["pixel_values"].to(next(model.parameters()).dtype), arrays["labels"])[1]


def crossing_loss(model, arrays):
    logits, labels = logits_of(model, arrays), arrays["labels"]
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return reference.cross_entropy(logits, labels) if logits.dim() == 2 else reference.cross_entropy(logits[:, :-1], labels[:, 1:])


def exactly(model, arrays):
    with reference.everything_in_float64():
        return crossing_loss(model, arrays)


def labelled(family):
    """The samples of the test model's file."""
    return load_file(MODELS / DATA[family])


def case(family):
    """The model in float64, its samples, and the loss in float64 and in bf16."""
    if family in crossing.BUILD:
        return crossing.BUILD[family]().eval().double(), labelled(family), exactly, crossing_loss
    causal = family in families.CAUSAL
    return (families.build(family).double(), samples.arrays(family),
            reference.loss_of("causal-lm" if causal else "cross-entropy"), loss_in_float32(causal))


def distance(ours, exact):
    return float((ours.double() - exact).norm() / exact.norm())


def errors(family):
    exact, arrays, loss_exactly, loss_narrow = case(family)
    narrow = copy.deepcopy(exact).bfloat16()
    loss = float(reference.gradients(exact, loss_exactly, arrays))
    narrow_loss = float(reference.gradients(narrow, loss_narrow, arrays))
    pairs = {name: (ours.grad, p.grad) for (name, p), ours in zip(exact.named_parameters(), narrow.parameters())
             if p.grad is not None and p.grad.norm() > 1e-9}  # what is zero in exact arithmetic has no relative error
    return {"torch": torch.__version__.split("+")[0], "loss": abs(narrow_loss - loss) / loss,
            "all": distance(*(torch.cat([pair[i].double().flatten() for pair in pairs.values()]) for i in (0, 1))),
            "parameters": {name: distance(*pair) for name, pair in pairs.items()}}


def main():
    for family in sys.argv[1:] or FAMILIES:
        values = errors(family)
        values["parameters"] = {name: float(f"{error:.3g}") for name, error in values["parameters"].items()}
        (MODELS / f"{family}.bf16.json").write_text(json.dumps(values, indent=1) + "\n")
        print(family, values["loss"], values["all"])


if __name__ == "__main__":
    main()
