# SPDX-License-Identifier: Apache-2.0
"""Makes examples/gpt2-tiny.onnx, tokens for it, and the losses of PyTorch's first twenty steps on them."""
import os
import pathlib
import random

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import save_file

import export
import families
import reference

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"
SAMPLES, LENGTH, STEPS = 1024, 32, 20


def model():
    config = transformers.GPT2Config(vocab_size=97, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=4, bos_token_id=0,
                                     eos_token_id=0, attn_implementation="eager", resid_pdrop=0.0, embd_pdrop=0.0,
                                     attn_pdrop=0.0, use_cache=False)
    result = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, p in result.named_parameters():
            gain = p.dim() == 1 and name.endswith("weight")
            p.copy_(families.seeded(f"example {name}", p.shape, 0.02 if p.dim() > 1 else 0.001) + gain)
    return result


def tokens():
    """Windows of an endless list of additions, one character a token: `12+7=19;105+3=108;...`."""
    numbers, text = random.Random(0), ""
    while len(text) < SAMPLES * LENGTH:
        a, b = numbers.randrange(200), numbers.randrange(50)
        text += f"{a}+{b}={a + b};"
    ids = [ord(letter) - ord(" ") for letter in text[:SAMPLES * LENGTH]]
    return torch.tensor(ids).reshape(SAMPLES, LENGTH)


def losses(start, arrays):
    """AdamW, lr 1e-3, no decay, every step on all samples; float64."""
    trained, loss = start.double(), reference.loss_of("causal-lm")
    optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-3, weight_decay=0.0)
    for _ in range(STEPS):
        yield float(reference.gradients(trained, loss, arrays))
        optimizer.step()


def main():
    EXAMPLES.mkdir(exist_ok=True)
    ids = tokens()
    arrays = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}
    export.export(model(), arrays, EXAMPLES / "gpt2-tiny.onnx", export.Recipe("dynamo", 20))
    del arrays["attention_mask"]
    save_file(arrays, EXAMPLES / "tokens.safetensors")
    (EXAMPLES / "tokens.safetensors").chmod(0o644)
    lines = [f"{step + 1} {loss:.9f}" for step, loss in enumerate(losses(model(), arrays))]
    (EXAMPLES / "gpt2-tiny.losses").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
