# SPDX-License-Identifier: Apache-2.0
"""FAMILY.bf16.json: how far PyTorch's gradients in bf16 (model.bfloat16(), logits widened for the loss) are from those
in float64, per parameter, as the norm of the difference over the norm. What another program in bf16 is measured by."""
import copy
import json
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import torch

import families
import reference
import samples

MODELS = pathlib.Path(__file__).resolve().parents[1]
FAMILIES = ("gpt2", "bert-mlm", "bert-classification", "llama")


def loss_in_float32(causal):
    def loss(model, arrays):
        logits = model(**{name: array for name, array in arrays.items() if name != "labels"})[0].float()
        labels = arrays["labels"]
        return reference.cross_entropy(logits[:, :-1], labels[:, 1:]) if causal else reference.cross_entropy(logits, labels)
    return loss


def distance(ours, exact):
    return float((ours.double() - exact).norm() / exact.norm())


def errors(family):
    causal, arrays = family in families.CAUSAL, samples.arrays(family)
    exact = families.build(family).double()
    narrow = copy.deepcopy(exact).bfloat16()
    loss = float(reference.gradients(exact, reference.loss_of("causal-lm" if causal else "cross-entropy"), arrays))
    narrow_loss = float(reference.gradients(narrow, loss_in_float32(causal), arrays))
    pairs = {name: (ours.grad, p.grad) for (name, p), ours in zip(exact.named_parameters(), narrow.parameters())
             if p.grad is not None and p.grad.norm() > 1e-9}  # what is zero in exact arithmetic has no relative error
    return {"torch": torch.__version__.split("+")[0], "loss": abs(narrow_loss - loss) / loss,
            "all": distance(*(torch.cat([pair[i].double().flatten() for pair in pairs.values()]) for i in (0, 1))),
            "parameters": {name: distance(*pair) for name, pair in pairs.items()}}


def main():
    for family in FAMILIES:
        values = errors(family)
        values["parameters"] = {name: float(f"{error:.3g}") for name, error in values["parameters"].items()}
        (MODELS / f"{family}.bf16.json").write_text(json.dumps(values, indent=1) + "\n")
        print(family, values["loss"], values["all"])


if __name__ == "__main__":
    main()
