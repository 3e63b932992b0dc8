# SPDX-License-Identifier: Apache-2.0
"""Families of transformers and their heads: tiny configurations with seeded weights, and samples for each."""
import dataclasses

import torch
import transformers

import families

SAMPLES, LENGTH, VOCABULARY, CLASSES, IGNORED = 7, 12, 97, 3, -100
TEXT = dict(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
            max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, num_labels=CLASSES,
            type_vocab_size=2)
GROUPED = dict(num_key_value_heads=2, head_dim=8)
IMAGE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=16, patch_size=4,
             num_channels=3, num_labels=CLASSES, encoder_stride=4)
ENCODER_DECODER = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                       encoder_ffn_dim=64, decoder_ffn_dim=64, decoder_start_token_id=1, forced_eos_token_id=None)

CAUSAL, MASKED, CLASSIFY, TAG, SPAN, CHOICE = ("CausalLM", "MaskedLM", "SequenceClassification", "TokenClassification",
                                               "QuestionAnswering", "MultipleChoice")
PICTURE, SOUND, TRANSLATE, SERIES = "ImageClassification", "AudioClassification", "Seq2SeqLM", "TimeSeriesPrediction"
BATCHED = {"experts_implementation": "batched_mm"}
ENCODER_HEADS = (MASKED, CLASSIFY, TAG, SPAN, CHOICE)
DECODER_HEADS = (CAUSAL, CLASSIFY, TAG, SPAN)


@dataclasses.dataclass(frozen=True)
class Family:
    title: str
    kind: str                       # of transformers' AutoConfig
    config: dict                    # empty: two towers
    heads: tuple


def text(title, kind, heads, **more):
    return Family(title, kind, {**TEXT, **more}, heads)


FAMILIES = (  # the most used first
    text("GPT-2", "gpt2", DECODER_HEADS),
    text("BERT", "bert", ENCODER_HEADS),
    text("RoBERTa", "roberta", ENCODER_HEADS, pad_token_id=1, bos_token_id=0),
    text("DistilBERT", "distilbert", ENCODER_HEADS, n_heads=4, n_layers=2, dim=32, hidden_dim=64),
    text("LLaMA", "llama", DECODER_HEADS, **GROUPED),
    text("Mistral", "mistral", DECODER_HEADS, **GROUPED, sliding_window=8),
    text("Qwen2", "qwen2", DECODER_HEADS, **GROUPED),
    text("Qwen3", "qwen3", DECODER_HEADS, **GROUPED),
    text("Gemma", "gemma", (CAUSAL, CLASSIFY, TAG), **GROUPED),
    text("Phi", "phi", (CAUSAL, CLASSIFY, TAG)),
    Family("T5", "t5", dict(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                            decoder_start_token_id=0, num_labels=CLASSES), (TRANSLATE, CLASSIFY, TAG, SPAN)),
    Family("BART", "bart", {**TEXT, **ENCODER_DECODER}, (TRANSLATE, CAUSAL, CLASSIFY, SPAN)),
    Family("ViT", "vit", IMAGE, (PICTURE, "MaskedImageModeling")),
    Family("DeiT", "deit", IMAGE, (PICTURE, "MaskedImageModeling")),
    text("ALBERT", "albert", ENCODER_HEADS, embedding_size=16),
    text("ELECTRA", "electra", ("PreTraining", *ENCODER_HEADS), embedding_size=32),
    text("DeBERTa v2", "deberta-v2", ENCODER_HEADS, relative_attention=True, pos_att_type=["p2c", "c2p"],
         position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True),
    text("OPT", "opt", (CAUSAL, CLASSIFY, SPAN), ffn_dim=64, word_embed_proj_dim=32),
    text("GPT-NeoX", "gpt_neox", DECODER_HEADS),
    text("GPT-J", "gptj", (CAUSAL, CLASSIFY, SPAN), rotary_dim=4),
    text("BLOOM", "bloom", DECODER_HEADS, n_head=4, n_layer=2),
    text("Falcon", "falcon", DECODER_HEADS, multi_query=True, parallel_attn=True),
    text("Mixtral", "mixtral", (CAUSAL, CLASSIFY), **GROUPED, num_local_experts=4, num_experts_per_tok=2),
    Family("CLIP", "clip", {}, ("Contrast", PICTURE)),
    Family("Whisper", "whisper", {**TEXT, **ENCODER_DECODER, "num_mel_bins": 8, "max_source_positions": 10,
                                  "max_target_positions": 32}, ("SpeechSeq2Seq", SOUND)),
    Family("Wav2Vec2", "wav2vec2", dict(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        conv_dim=[16, 16], conv_stride=[4, 2], conv_kernel=[8, 3], num_feat_extract_layers=2, num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=4, classifier_proj_size=16, num_labels=CLASSES, mask_time_prob=0.0,
        layerdrop=0.0), (SOUND, "CTC")),
    Family("Swin", "swin", dict(image_size=16, patch_size=2, num_channels=3, embed_dim=16, depths=[1, 1], num_heads=[2, 2],
                                window_size=4, num_labels=CLASSES, encoder_stride=4), (PICTURE, "MaskedImageModeling")),
    text("MPNet", "mpnet", ENCODER_HEADS, pad_token_id=1, bos_token_id=0),
    text("XLM-RoBERTa", "xlm-roberta", ENCODER_HEADS, pad_token_id=1, bos_token_id=0),
    text("Longformer", "longformer", ENCODER_HEADS[:-1], attention_window=[4, 4]),
    Family("Pegasus", "pegasus", {**TEXT, **ENCODER_DECODER}, (TRANSLATE, CAUSAL)),
    Family("mBART", "mbart", {**TEXT, **ENCODER_DECODER}, (TRANSLATE, CAUSAL, CLASSIFY, SPAN)),
    Family("Marian", "marian", {**TEXT, **ENCODER_DECODER, "decoder_vocab_size": VOCABULARY}, (TRANSLATE, CAUSAL)),
    text("ModernBERT", "modernbert", ENCODER_HEADS, local_attention=8, global_attn_every_n_layers=2, cls_token_id=1,
         sep_token_id=2),
    Family("SigLIP", "siglip", {}, (PICTURE, "Contrast")),
    Family("DINOv2", "dinov2", IMAGE, (PICTURE,)),
    text("ConvBERT", "convbert", ENCODER_HEADS, embedding_size=32, conv_kernel_size=3, head_ratio=2),
    Family("BEiT", "beit", {**IMAGE, "use_relative_position_bias": True}, (PICTURE,)),
    Family("SegFormer", "segformer", dict(
        num_channels=3, num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 32], patch_sizes=[3, 3],
        strides=[2, 2], num_attention_heads=[2, 4], mlp_ratios=[2, 2], decoder_hidden_size=32, num_labels=CLASSES),
           (PICTURE, "SemanticSegmentation")),
    Family("Mamba", "mamba", dict(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4, conv_kernel=4,
                                  time_step_rank=4, pad_token_id=0), (CAUSAL,)),
    Family("PatchTST", "patchtst", dict(num_input_channels=2, context_length=16, prediction_length=4, patch_length=4,
                                        patch_stride=4, d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64,
                                        loss="mse", scaling=None), (SERIES,)),
    Family("Time Series Transformer", "time_series_transformer", dict(
        prediction_length=4, context_length=8, lags_sequence=[1, 2], num_time_features=1, d_model=32, encoder_layers=2,
        decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64),
           (SERIES,)),
    text("Gemma 2", "gemma2", (CAUSAL, CLASSIFY, TAG), **GROUPED, sliding_window=8, query_pre_attn_scalar=8),
    text("Phi-3", "phi3", (CAUSAL, CLASSIFY, TAG), num_key_value_heads=2),
    text("GPT-Neo", "gpt_neo", DECODER_HEADS, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
         window_size=8),
    Family("MPT", "mpt", dict(vocab_size=VOCABULARY, d_model=32, n_heads=4, n_layers=2, max_seq_len=32, pad_token_id=0,
                              num_labels=CLASSES, expansion_ratio=2), DECODER_HEADS),
    text("Granite", "granite", (CAUSAL,), num_key_value_heads=2),
    text("OLMo", "olmo", (CAUSAL,), num_key_value_heads=2),
    text("OLMo 2", "olmo2", (CAUSAL,), num_key_value_heads=2),
    text("StableLM", "stablelm", (CAUSAL, CLASSIFY, TAG), num_key_value_heads=2),
    text("CodeGen", "codegen", (CAUSAL,), n_embd=32, n_layer=2, n_head=4, rotary_dim=4),
    Family("ConvNeXt", "convnext", dict(num_channels=3, patch_size=2, num_stages=2, hidden_sizes=[16, 32], depths=[1, 1],
                                        num_labels=CLASSES, image_size=16), (PICTURE,)),
)


def two_towers(kind):
    part = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
    shared = dict(projection_dim=16) if kind == "clip" else {}
    return transformers.AutoConfig.for_model(
        kind, text_config=dict(**part, **shared, vocab_size=VOCABULARY, max_position_embeddings=LENGTH, pad_token_id=0,
                               bos_token_id=1, eos_token_id=2),
        vision_config=dict(**part, **shared, image_size=16, patch_size=4), num_labels=CLASSES, **shared)


def without_chance(config):
    """Training mode then computes what evaluation mode does."""
    for name, value in vars(config).items():
        if "drop" in name and isinstance(value, float):
            setattr(config, name, 0.0)
    config.classifier_dropout = 0.0  # some heads drop a tenth where the configuration says nothing
    config.apply_spec_augment = False
    return config


def build(family, head, **more):
    """In evaluation mode, without a cache; no two tensors equal. `more`: of `from_config`."""
    config = transformers.AutoConfig.for_model(family.kind, **family.config) if family.config else two_towers(family.kind)
    config = without_chance(config)
    config.architectures = []  # the auto classes ask for it
    config.use_cache = False   # before the model is built: encoder and decoder copy it
    if head == SPAN:
        config.num_labels = 2
    torch.manual_seed(5)
    if head == SERIES:  # the auto class knows one family alone
        model = getattr(transformers, type(config).__name__.replace("Config", "ForPrediction"))._from_config(config, **more)
    else:
        auto = getattr(transformers, "AutoModel" if head == "Contrast" else f"AutoModelFor{head}")
        model = auto.from_config(config, **more)
    families.fill(model)
    return model.eval()


def in_float64(family):
    """Arguments of `build` under which the model computes in float64."""
    return BATCHED if "num_local_experts" in family.config else {}


def generator():
    return torch.Generator().manual_seed(20)


def tokens(config, rng):
    """Padded on the right, ragged; ids from 3 on are words."""
    filled = torch.tensor([LENGTH, 7, LENGTH, 4, 9, 11, 3])
    mask = (torch.arange(LENGTH)[None, :] < filled[:, None]).long()
    ids = torch.randint(3, VOCABULARY, (SAMPLES, LENGTH), generator=rng)
    if getattr(config, "eos_token_id", None) is not None:
        ids[torch.arange(SAMPLES), filled - 1] = config.eos_token_id
    pad = getattr(config, "pad_token_id", None)
    return torch.where(mask == 1, ids, pad if pad is not None else 0), mask


def words(mask, rng, bound=VOCABULARY, share=0.9):
    """Labels of words; one sample counts none."""
    labels = torch.randint(3 if bound > 3 else 0, bound, mask.shape, generator=rng)
    counted = (mask == 1) & (torch.rand(mask.shape, generator=rng) < share)
    labels = torch.where(counted, labels, IGNORED)
    labels[4] = IGNORED
    return labels


def text_samples(head, config, rng):
    ids, mask = tokens(config, rng)
    inputs = {"input_ids": ids, "attention_mask": mask}
    if head == CHOICE:
        inputs = {name: torch.stack([x, x.roll(1, 0)], 1) for name, x in inputs.items()}
        return inputs | {"labels": torch.tensor([0, 1, 1, 0, 1, 0, 0])}
    if head == CLASSIFY:
        return inputs | {"labels": torch.tensor([0, 2, 1, 1, 0, 0, 2])}
    if head == SPAN:
        return inputs | {"start_positions": torch.tensor([0, 2, 5, 1, 3, 4, 1]),
                         "end_positions": torch.tensor([3, 6, 8, 2, 8, 9, 2])}
    if head == "PreTraining":
        return inputs | {"labels": torch.randint(0, 2, ids.shape, generator=rng)}
    if head == TAG:
        return inputs | {"labels": words(mask, rng, CLASSES)}
    if head == MASKED:
        return inputs | {"labels": words(mask, rng, share=0.4)}
    labels = torch.where(words(mask, rng) >= 0, ids, IGNORED)
    if config.model_type == "mbart":
        labels[4, 0] = ids[4, 0]  # it looks for the last label of each sample
    return inputs | {"labels": labels}


def sounds(family, head, rng):
    if family.kind == "whisper":
        labels = words(torch.ones(SAMPLES, 6, dtype=torch.long), rng)
        return {"input_features": torch.randn(SAMPLES, 8, 20, generator=rng), "labels": labels}
    return {"input_values": torch.randn(SAMPLES, 256, generator=rng),
            "labels": torch.randint(3, VOCABULARY, (SAMPLES, 4), generator=rng)}


def series(family, rng):
    def numbers(*shape):
        return torch.randn(SAMPLES, *shape, generator=rng)

    if family.kind == "patchtst":
        return {"past_values": numbers(16, 2), "future_values": numbers(4, 2)}
    return {"past_values": numbers(10), "past_time_features": numbers(10, 1),
            "past_observed_mask": (numbers(10) < 1).float(), "future_values": numbers(4), "future_time_features": numbers(4, 1)}


def pictures(family, head, rng):
    pixels = {"pixel_values": torch.randn(SAMPLES, 3, 16, 16, generator=rng)}
    if head == "SemanticSegmentation":
        return pixels | {"labels": torch.randint(0, CLASSES, (SAMPLES, 16, 16), generator=rng)}
    if head == "MaskedImageModeling":
        patches = (16 // family.config["patch_size"]) ** 2
        return pixels | {"bool_masked_pos": torch.rand(SAMPLES, patches, generator=rng) < 0.5}
    return pixels


def samples(family, head, model):
    """Inputs by name, samples leading, what the loss compares with last."""
    rng, config = generator(), model.config
    if head == "Contrast":
        ids, mask = tokens(config.text_config, rng)
        return {"input_ids": ids, "pixel_values": torch.randn(SAMPLES, 3, 16, 16, generator=rng), "attention_mask": mask}
    if family.kind in ("whisper", "wav2vec2"):
        arrays = sounds(family, head, rng)
    elif head == SERIES:
        arrays = series(family, rng)
    elif "vocab_size" in family.config:
        arrays = text_samples(head, config, rng)
    else:
        arrays = pictures(family, head, rng)
    if head in (PICTURE, SOUND):
        arrays["labels"] = torch.tensor([0, 2, 1, 1, 0, 0, 2])
    return arrays


def traced(model, arrays):
    """Samples as a tutorial traces them, without padding: a decision taken on their values would show in the data."""
    arrays = dict(arrays)
    if "attention_mask" in arrays:
        ids, mask = arrays["input_ids"], arrays["attention_mask"]
        end = getattr(model.config, "eos_token_id", None)
        ids = torch.where((mask == 1) & (ids != end), ids, 5) if end is not None else torch.where(mask == 1, ids, 5)
        if end is not None:
            ids[..., -1] = end
        arrays |= {"input_ids": ids, "attention_mask": torch.ones_like(mask)}
    return arrays
