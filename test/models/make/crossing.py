# SPDX-License-Identifier: Apache-2.0
"""Models whose loss is not a sum over samples, and their harmless twins: batch norm, contrastive, balance, softmax."""
import torch
import torchvision
import transformers
from torch import nn

import families


class NarrowResNet(torchvision.models.ResNet):
    """torchvision's ResNet, a sixteenth as wide after the stem; the loss inside."""

    def __init__(self):
        super().__init__(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1])
        self.fc = nn.Linear(32, 5)

    def _make_layer(self, block, planes, *rest, **options):
        return super()._make_layer(block, planes // 16, *rest, **options)

    def forward(self, pixel_values, labels):
        logits = super().forward(pixel_values)
        return nn.functional.cross_entropy(logits, labels), logits


class BatchSoftmax(nn.Module):
    """A weight for every sample from all samples: softmax over axis 0."""

    def __init__(self):
        super().__init__()
        self.score, self.head = nn.Linear(12, 1), nn.Linear(12, 5)

    def forward(self, features, labels):
        weights = torch.softmax(self.score(features), dim=0)
        logits = self.head(features) * weights
        return nn.functional.cross_entropy(logits, labels), logits


def resnet():
    model = families.fill(NarrowResNet())
    for name, buffer in model.named_buffers():
        if buffer.is_floating_point():
            values = families.seeded(name, buffer.shape, 0.1)
            buffer.copy_(1 + values.abs() if name.endswith("var") else values)
    return model


def clip():
    text = dict(vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
                max_position_embeddings=12, bos_token_id=58, eos_token_id=60, pad_token_id=59)
    vision = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4, image_size=8,
                  patch_size=4)
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16,
                                     attn_implementation="eager")
    model = families.fill(Contrastive(config))
    model.logit_scale.requires_grad_(False)  # dynamo folds its exponential into a constant
    return model


class Contrastive(transformers.CLIPModel):
    def forward(self, input_ids, attention_mask, pixel_values):
        found = super().forward(input_ids=input_ids, attention_mask=attention_mask, pixel_values=pixel_values,
                                return_loss=True)
        return found.loss, found.logits_per_text


class Balanced(transformers.MixtralForCausalLM):
    def forward(self, input_ids, attention_mask, labels):
        found = super().forward(input_ids=input_ids, attention_mask=attention_mask, labels=labels,
                                output_router_logits=True)
        return found.loss, found.logits


def mixtral():
    config = transformers.MixtralConfig(
        vocab_size=67, hidden_size=32, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=32,
        router_aux_loss_coef=0.1, use_cache=False, attn_implementation="eager", bos_token_id=0, eos_token_id=0)
    config._experts_implementation = "batched_mm"  # the default one cannot be exported
    return families.fill(Balanced(config))


def batch_softmax():
    return families.fill(BatchSoftmax())


def tokens(vocabulary, length, samples=7):
    return torch.randint(1, vocabulary, (samples, length), generator=torch.Generator().manual_seed(21))


def pixels(size, samples=7):
    return families.seeded(f"pixels {size}", (samples, 3, size, size), 1.0)


def arrays(kind):
    """Seven samples of each model's inputs."""
    labels = torch.tensor([0, 3, 1, 4, 2, 2, 0])
    if kind == "resnet":
        return {"pixel_values": pixels(32), "labels": labels}
    if kind == "batch-softmax":
        return {"features": families.seeded("features", (7, 12), 1.0), "labels": labels}
    if kind == "clip":
        ids = tokens(58, 12)
        ids[:, -1] = 60
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "pixel_values": pixels(8)}
    ids = tokens(67, 10)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}


BUILD = {"resnet": resnet, "clip": clip, "mixtral": mixtral, "batch-softmax": batch_softmax}
