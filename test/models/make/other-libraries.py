# SPDX-License-Identifier: Apache-2.0
"""Trains models of timm, peft, diffusers and x-transformers through accum.Trainer, and writes docs/other-libraries.md.

    python other-libraries.py [PATTERN]...      with a pattern: prints the rows whose names have it, writes nothing

Each model is fresh (parameters that begin at zero are drawn), in evaluation mode. One step on five samples in micro-batches
of two; oracle: PyTorch's loss and gradients of the undivided batch, in float64 where the model runs in it: in float32 a near
tie of a pool's maximum may go either way.
"""
import copy
import gc
import importlib.metadata
import inspect
import logging
import pathlib
import sys
import warnings

import accum
import torch
from torch import nn
from torch.nn import functional as F

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "other-libraries.md"
SAMPLES, CLASSES, VOCABULARY, LENGTH = 5, 7, 99, 12
# Of timm's models: what makes them small.
SMALL = {
    "vit_tiny_patch16_224": dict(img_size=32), "deit_tiny_distilled_patch16_224": dict(img_size=32),
    "swin_tiny_patch4_window7_224": dict(img_size=56, depths=(1, 1, 1, 1), embed_dim=24, num_heads=(1, 2, 3, 6)),
    "swinv2_tiny_window8_256": dict(img_size=64, depths=(1, 1, 1, 1), embed_dim=24, num_heads=(1, 2, 3, 6)),
    "eva02_tiny_patch14_224": dict(img_size=28), "vit_small_patch16_dinov3": dict(img_size=32), "mixer_s32_224": dict(img_size=64),
    "cait_xxs24_224": dict(img_size=32, depth=2), "xcit_nano_12_p16_224": dict(img_size=32),
    "beit_base_patch16_224": dict(img_size=32, depth=2, embed_dim=48, num_heads=4), "vit_relpos_small_patch16_224": dict(img_size=32),
    "hiera_tiny_224": dict(img_size=64), "twins_svt_small": dict(img_size=64), "tnt_s_patch16_224": dict(img_size=32),
    "coatnet_nano_rw_224": dict(img_size=64), "maxvit_pico_rw_256": dict(img_size=64), "gcvit_xxtiny": dict(img_size=64),
    "mvitv2_tiny": dict(img_size=64), "vitamin_small_224": dict(img_size=64), "convnext_atto": {}, "mobilevitv2_050": {}, "pvt_v2_b0": {},
    "levit_128s": {}, "davit_tiny": {}, "efficientformer_l1": {}, "focalnet_tiny_srf": {}, "poolformer_s12": {}, "edgenext_xx_small": {},
}
ADAPTERS = ("LoRA", "rsLoRA, head saved", "DoRA", "IA3", "prompt tuning", "prefix tuning")
FEATURES = {
    "rotary positions": dict(rotary_pos_emb=True), "ALiBi": dict(alibi_pos_bias=True, alibi_num_heads=1),
    "T5's bias": dict(rel_pos_bias=True), "dynamic bias": dict(dynamic_pos_bias=True), "RMSNorm, SwiGLU": dict(use_rmsnorm=True, ff_glu=True, ff_swish=True),
    "talking heads": dict(attn_pre_talking_heads=True), "normalised queries": dict(attn_qk_norm=True), "one key head": dict(attn_kv_heads=1),
    "memory keys": dict(attn_num_mem_kv=2), "gated values, sandwich norm": dict(sandwich_norm=True, attn_gate_values=True),
    "shifted tokens": dict(shift_tokens=1), "macaron": dict(macaron=True), "residual attention": dict(residual_attn=True),
    "LASER": dict(attn_laser=True), "data-dependent ALiBi": dict(attn_data_dependent_alibi=True), "hyper-connections": dict(num_residual_streams=2),
}
DIFFUSION = ("DiTTransformer2DModel", "SD3Transformer2DModel", "UNet2DConditionModel", "AutoencoderKL")


def normal(*shape):
    return torch.randn(*shape)


def image_model(name):
    import timm

    module = timm.create_model(name, pretrained=False, num_classes=CLASSES, **SMALL[name])
    size = SMALL[name].get("img_size") or module.default_cfg["input_size"][-1]
    return module, (normal(SAMPLES, 3, size, size), torch.randint(0, CLASSES, (SAMPLES,))), F.cross_entropy


def adapted(kind):
    import peft
    import transformers

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=32))
    layers = dict(r=4, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM")
    virtual = dict(num_virtual_tokens=4, task_type="CAUSAL_LM")
    config = {
        "LoRA": lambda: peft.LoraConfig(**layers), "DoRA": lambda: peft.LoraConfig(use_dora=True, **layers),
        "rsLoRA, head saved": lambda: peft.LoraConfig(use_rslora=True, modules_to_save=["lm_head"], **layers),
        "IA3": lambda: peft.IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"),
        "prompt tuning": lambda: peft.PromptTuningConfig(**virtual), "prefix tuning": lambda: peft.PrefixTuningConfig(**virtual)}[kind]()
    tokens = torch.randint(3, VOCABULARY, (SAMPLES, LENGTH))
    batch = dict(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=tokens.clone())
    return peft.get_peft_model(model, config), batch, None


def decoder(feature):
    import x_transformers

    layers = x_transformers.Decoder(dim=32, depth=2, heads=2, attn_dim_head=16, **FEATURES[feature])
    module = x_transformers.TransformerWrapper(num_tokens=VOCABULARY, max_seq_len=16, attn_layers=layers)
    tokens, labels = (torch.randint(0, VOCABULARY, (SAMPLES, LENGTH)) for _ in range(2))
    return module, (tokens, labels), lambda scores, wanted: F.cross_entropy(scores.transpose(1, 2), wanted)


def denoiser(kind):
    import diffusers

    latents = normal(SAMPLES, 4, 8, 8)
    batch = dict(hidden_states=latents, timestep=torch.randint(0, 1000, (SAMPLES,)))
    if kind == "DiTTransformer2DModel":
        module = diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=4, num_layers=2,
                                                 sample_size=8, patch_size=2, num_embeds_ada_norm=10)
        batch["class_labels"] = torch.randint(0, 10, (SAMPLES,))
    elif kind == "SD3Transformer2DModel":
        module = diffusers.SD3Transformer2DModel(
            sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=16,
            caption_projection_dim=32, pooled_projection_dim=16, out_channels=4, pos_embed_max_size=8)
        batch.update(encoder_hidden_states=normal(SAMPLES, 6, 16), pooled_projections=normal(SAMPLES, 16))
    elif kind == "UNet2DConditionModel":
        module = diffusers.UNet2DConditionModel(
            sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 64), cross_attention_dim=16,
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
            attention_head_dim=8, norm_num_groups=8)
        batch = dict(sample=latents, timestep=batch["timestep"], encoder_hidden_states=normal(SAMPLES, 6, 16))
    else:
        module = diffusers.AutoencoderKL(
            in_channels=3, out_channels=3, down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
            block_out_channels=(16, 32), layers_per_block=1, latent_channels=4, norm_num_groups=8, sample_size=16)
        batch = dict(sample=normal(SAMPLES, 3, 16, 16))
    batch["wanted"] = normal(*batch["sample" if "sample" in batch else "hidden_states"].shape)
    return module, batch, lambda output, given: F.mse_loss(output.sample, given["wanted"])


LIBRARIES = {"timm": (image_model, SMALL), "peft": (adapted, ADAPTERS), "diffusers": (denoiser, DIFFUSION), "x-transformers": (decoder, FEATURES)}


def loss_of(module, batch, loss):
    if loss is None:
        return module(**batch).loss
    if isinstance(batch, tuple):
        return loss(module(*batch[:-1]), batch[-1])
    known = inspect.signature(module.forward).parameters
    return loss(module(**{name: value for name, value in batch.items() if name in known}), batch)


def prepared(make, name):
    torch.manual_seed(1)
    module, batch, loss = make(name)
    for parameter in module.parameters():
        if parameter.requires_grad and not parameter.abs().any():
            nn.init.normal_(parameter, std=0.02)
    return module.eval(), batch, loss


def in_double(value):
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {name: in_double(each) for name, each in value.items()}
    return tuple(map(in_double, value))


def reference(module, batch, loss):
    """PyTorch's loss, and the module with its gradients."""
    try:
        theirs = copy.deepcopy(module).double()
        expected = loss_of(theirs, in_double(batch), loss)
    except RuntimeError:  # some models compute parts in float32 whatever they are given
        theirs = copy.deepcopy(module)
        expected = loss_of(theirs, batch, loss)
    expected.backward()
    return expected, theirs


def differences(module, batch, loss):
    """Of the loss, relative; of the gradients, relative to the largest of all."""
    expected, theirs = reference(module, batch, loss)
    with accum.Trainer(module, batch, batch=SAMPLES, micro_batch=2, optimizer="sgd", lr=0.0, memory="3GiB", loss=loss) as run:
        found, gradients = run.step(batch).loss, run.gradients()
    known = {name: each.grad for name, each in theirs.named_parameters() if each.requires_grad and each.grad is not None}
    largest = max(float(each.abs().max()) for each in known.values())
    missing = [name for name in known if name not in gradients]
    if missing:
        raise AssertionError(f"no gradient of {missing[0]}")
    worst = max(float((torch.as_tensor(gradients[name]) - each).abs().max()) for name, each in known.items())
    return abs(found / expected.item() - 1), worst / largest


def row(library, make, name):
    try:
        case = prepared(make, name)
        loss, gradients = differences(*case)
        return f"| {library} | {name} | {'trains' if max(loss, gradients) < 1e-4 else 'DIFFERS'} | {loss:.0e} | {gradients:.0e} |"
    except accum.Error as refused:
        return f"| {library} | {name} | `{refused.slug}` | | |"


def write(rows):
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (*LIBRARIES, "torch"))
    trained = sum("| trains |" in each for each in rows)
    PAGE.write_text(f"""# Models of other libraries

Modules of timm, peft, diffusers and x-transformers, given to `accum.Trainer` as they are: one step on five
samples in micro-batches of two, in float32. *Trains* means that the loss and the gradient of every trained parameter are
PyTorch's on the undivided batch, in float64 where the model runs in it: the columns give the differences, relative to the
loss and to the largest gradient.
Models are small and fresh, in evaluation mode. A slug says why a model is refused: `not-exported` is PyTorch's exporter.
`test/models/make/other-libraries.py` writes this page. Families of transformers are in [models.md](models.md).
Versions: {versions}.

**{trained} of {len(rows)}** train.

| library | model | | loss | gradients |
|---|---|---|---|---|
""" + "\n".join(rows) + "\n")


def main(*patterns):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rows = []
    for library, (make, names) in LIBRARIES.items():
        for name in names:
            if not patterns or any(pattern in f"{library} {name}" for pattern in patterns):
                rows.append(row(library, make, name))
                print(rows[-1], flush=True)
                gc.collect()
    if not patterns:
        write(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
