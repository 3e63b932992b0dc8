# SPDX-License-Identifier: Apache-2.0
"""The model families: small transformers configurations with seeded weights, no two tensors equal."""
import zlib

import torch
import transformers

HIDDEN, LAYERS, HEADS = 32, 2, 4
DROPOUT = 0.1


def gpt2(attention, dropout, vocabulary=97):
    config = transformers.GPT2Config(
        vocab_size=vocabulary, n_positions=16, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, bos_token_id=0, eos_token_id=0,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, attn_implementation=attention)
    return transformers.GPT2LMHeadModel(config)


def gpt2_wide(attention, dropout):
    """An embedding of more than 8192 elements, whose transpose the dynamo exporter does not fold: it stays shared."""
    return gpt2(attention, dropout, vocabulary=263)


def gpt2_fresh(attention, dropout):
    """As initialised: every gain is one, every bias zero, and exporters merge equal tensors."""
    torch.manual_seed(11)
    return gpt2(attention, dropout)


def bert_config(attention, dropout, **more):
    return transformers.BertConfig(
        vocab_size=131, max_position_embeddings=28, hidden_size=HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=64, hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout, attn_implementation=attention, **more)


def bert_mlm(attention, dropout):
    return transformers.BertForMaskedLM(bert_config(attention, dropout))


def bert_classification(attention, dropout):
    config = bert_config(attention, dropout, num_labels=3, problem_type="single_label_classification")
    return transformers.BertForSequenceClassification(config)


def llama(attention, dropout):
    config = transformers.LlamaConfig(
        vocab_size=101, max_position_embeddings=64, hidden_size=HIDDEN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=2, intermediate_size=56, attention_dropout=dropout,
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=0, attn_implementation=attention)
    return transformers.LlamaForCausalLM(config)


def bloom(attention, dropout):
    """Products over batch * heads, and a slope over distances that is added to the scores."""
    config = transformers.BloomConfig(
        vocab_size=79, hidden_size=24, n_layer=1, n_head=3, hidden_dropout=dropout, attention_dropout=dropout,
        bos_token_id=0, eos_token_id=0, attn_implementation=attention)
    return transformers.BloomForCausalLM(config)


def falcon(attention, dropout):
    """All heads read the same keys and values, by broadcasting in the product."""
    config = transformers.FalconConfig(
        vocab_size=79, hidden_size=24, num_hidden_layers=1, num_attention_heads=3, multi_query=True,
        parallel_attn=True, max_position_embeddings=32, hidden_dropout=dropout, attention_dropout=dropout,
        bos_token_id=0, eos_token_id=0, attn_implementation=attention)
    return transformers.FalconForCausalLM(config)


def gemma(attention, dropout):
    """Norms multiply by 1 + w, which the dynamo exporter folds."""
    config = transformers.GemmaConfig(
        vocab_size=83, max_position_embeddings=32, hidden_size=24, num_hidden_layers=1, num_attention_heads=3,
        num_key_value_heads=1, head_dim=10, intermediate_size=28, attention_dropout=dropout, bos_token_id=0,
        eos_token_id=0, attn_implementation=attention)
    return transformers.GemmaForCausalLM(config)


def gemma2(attention, dropout):
    """One layer sees a window of keys, the other all of them; scores and logits are capped by a tanh."""
    config = transformers.Gemma2Config(
        vocab_size=83, max_position_embeddings=32, hidden_size=24, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=10, intermediate_size=28, sliding_window=6, query_pre_attn_scalar=10,
        attention_dropout=dropout, bos_token_id=0, eos_token_id=0, attn_implementation=attention)
    return transformers.Gemma2ForCausalLM(config)


def t5(attention, dropout):
    """An encoder and a decoder that reads it, with one table of relative positions each; one embedding for both and the head."""
    config = transformers.T5Config(
        vocab_size=89, d_model=24, d_kv=6, num_heads=3, d_ff=40, num_layers=2, relative_attention_num_buckets=8,
        relative_attention_max_distance=16, feed_forward_proj="gated-gelu", dropout_rate=dropout, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0, use_cache=False, attn_implementation=attention)
    return transformers.T5ForConditionalGeneration(config)


BUILD = {"bloom": bloom, "falcon": falcon, "gemma": gemma, "gemma2": gemma2, "t5": t5, "gpt2": gpt2, "gpt2-wide": gpt2_wide, "gpt2-fresh": gpt2_fresh, "bert-mlm": bert_mlm, "bert-classification": bert_classification, "llama": llama}
CAUSAL = {"bloom", "falcon", "gemma", "gemma2", "gpt2", "gpt2-wide", "gpt2-fresh", "llama"}


def seeded(name, shape, scale):
    """Normal numbers that depend on the name only, so that every export of a family has the same weights."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return torch.randn(shape, generator=generator, dtype=torch.float32) * scale


def fill(model):
    """Gains lie about one, all else about zero; larger than a fresh model's, so that every gradient is far from zero."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            gain = parameter.dim() == 1 and name.endswith("weight")
            values = seeded(name, parameter.shape, 0.1)
            parameter.copy_(1 + values if gain else values)
    return model


def build(family, attention="eager", train=False):
    model = BUILD[family](attention, DROPOUT if train else 0.0)
    if family != "gpt2-fresh":
        fill(model)
    model.config.use_cache = False
    return model.train(train)
