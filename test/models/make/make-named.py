# SPDX-License-Identifier: Apache-2.0
"""Makes `named/`: exports of the first families, and the names, shapes and a print of each tensor that a strict load_state_dict takes."""
import json
import pathlib
import sys

import torch
import transformers as tf

from export import Recipe, export

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "named"
VOCABULARY, LENGTH = 29, 6
SMALL = dict(vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, max_position_embeddings=9,
             pad_token_id=0, bos_token_id=1, eos_token_id=2)


def gpt2():
    return tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=VOCABULARY, n_positions=9, n_embd=8, n_layer=1, n_head=2, use_cache=False))


def bert():
    return tf.BertForMaskedLM(tf.BertConfig(**SMALL))


def llama():
    return tf.LlamaForCausalLM(tf.LlamaConfig(**SMALL, num_key_value_heads=1, use_cache=False))


def t5():
    return tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=VOCABULARY, d_model=8, d_kv=4, d_ff=12, num_layers=1, num_heads=2, use_cache=False,
                                                     decoder_start_token_id=0, attn_implementation="eager"))


def bart():
    return tf.BartForConditionalGeneration(tf.BartConfig(
        vocab_size=VOCABULARY, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=12,
        decoder_ffn_dim=12, max_position_embeddings=9, use_cache=False, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2))


def vit():
    return tf.ViTForImageClassification(tf.ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, image_size=8,
                                                     patch_size=4, num_labels=3))


class Twice(torch.nn.Module):
    """Modules that are called twice: a trace numbers the scope of the second call."""
    def __init__(self):
        super().__init__()
        self.table, self.fc = torch.nn.Embedding(VOCABULARY, 8), torch.nn.Linear(8, 8)

    def forward(self, input_ids, attention_mask, labels):
        h = self.fc(torch.tanh(self.table(input_ids)))
        logits = self.fc(h * attention_mask[..., None] + self.table(input_ids.flip(1)))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten() % 8), logits


# Whether the dynamo exporter folds; TorchScript keeps what it would fold in training mode.
DYNAMO = {"gpt2": (gpt2, True), "llama": (llama, True), "vit": (vit, True), "t5": (t5, False), "bart": (bart, False)}
TORCHSCRIPT = {"bert": bert, "t5": t5, "bart": bart, "twice": Twice}


def arrays(model):
    if isinstance(model, tf.ViTForImageClassification):
        return {"pixel_values": torch.randn(3, 3, 8, 8), "labels": torch.randint(3, (3,))}
    ids = torch.randint(3, VOCABULARY, (3, LENGTH))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}


def apart(build):
    torch.manual_seed(7)
    model = build()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def of_each(state):
    """Shape, and a sum that another layout or another tensor does not have."""
    return {name: [list(tensor.shape), (tensor.double().flatten() * torch.arange(1, tensor.numel() + 1).double()).sum().item()]
            for name, tensor in state.items()}


def main(*only):
    FOLDER.mkdir(exist_ok=True)
    recipes = [(name, build, Recipe(exporter="dynamo", opset=20, fold=fold, brief=True)) for name, (build, fold) in DYNAMO.items()]
    recipes += [(name, build, Recipe(exporter="torchscript", opset=17, train=True)) for name, build in TORCHSCRIPT.items()]
    for name, build, recipe in recipes:
        model = apart(build)
        if only and f"{name}-{recipe.exporter}" not in only:
            continue
        stem = FOLDER / f"{name}-{recipe.exporter}"
        stem.with_suffix(".json").write_text(json.dumps(of_each(model.state_dict()), indent=0) + "\n")
        export(model, arrays(model), f"{stem}.onnx", recipe)


main(*sys.argv[1:])
