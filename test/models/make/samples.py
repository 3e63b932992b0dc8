# SPDX-License-Identifier: Apache-2.0
"""The samples of each family: seven, ragged, one of them without a single counted label."""
import torch

SAMPLES, IGNORED = 7, -100
LENGTH = {"bloom": 15, "falcon": 15, "gemma": 13, "gemma2": 20, "t5": 14, "gpt2": 16, "gpt2-wide": 16, "gpt2-fresh": 16, "bert-mlm": 20, "bert-classification": 20, "llama": 18}
VOCABULARY = {"bloom": 79, "falcon": 79, "gemma": 83, "gemma2": 83, "t5": 89, "gpt2": 97, "gpt2-wide": 263, "gpt2-fresh": 97, "bert-mlm": 131, "bert-classification": 131, "llama": 101}
# Valid tokens of each sample as a share of the sequence; at least two remain.
FILLED = (1.0, 0.55, 1.0, 0.3, 0.75, 0.9, 0.15)
UNCOUNTED = 4  # the sample whose labels are all ignored


def tokens(family, masked):
    length, generator = LENGTH[family], torch.Generator().manual_seed(20)
    ids = torch.randint(1, VOCABULARY[family], (SAMPLES, length), generator=generator)
    filled = torch.tensor([max(2, round(share * length)) for share in FILLED])
    mask = (torch.arange(length)[None, :] < filled[:, None]).long()
    return ids * mask if masked else ids, mask, generator


def causal_labels(ids, mask, generator):
    """Unshifted, as Hugging Face models take them; padding and a tenth of the rest are ignored."""
    dropped = torch.rand(ids.shape, generator=generator) < 0.1
    labels = torch.where((mask == 1) & ~dropped, ids, IGNORED)
    labels[UNCOUNTED] = IGNORED
    return labels


def masked_labels(ids, mask, generator):
    """A third of the valid tokens is to be predicted; a few of those in a random place of the vocabulary."""
    chosen = torch.rand(ids.shape, generator=generator) < 0.33
    labels = torch.where((mask == 1) & chosen, ids.flip(0), IGNORED)
    labels[UNCOUNTED] = IGNORED
    return labels


def target_labels(ids, generator):
    """Sequences of their own, shorter than the input, with an end of text; what is behind it is ignored."""
    count = LENGTH["t5"] - 4
    labels = torch.randint(2, VOCABULARY["t5"], (len(ids), count), generator=generator)
    for row, share in zip(labels, FILLED):
        end = max(1, round(share * count)) - 1
        row[end] = 1
        row[end + 1:] = IGNORED
    labels[UNCOUNTED] = IGNORED
    return labels


def arrays(family, masked=True):
    """Model inputs by name, samples leading, in the order of the model's signature; `labels` last.
    Without a mask no token is padding: PyTorch's `padding_idx` drops that row's gradient, and ONNX cannot say so."""
    ids, mask, generator = tokens(family, masked)
    result = {"input_ids": ids}
    if masked:
        result["attention_mask"] = mask
    if masked and family.startswith("bert"):
        result["token_type_ids"] = (torch.arange(ids.shape[1])[None, :] >= mask.sum(1, keepdim=True) // 2).long() * mask
    if family == "bert-classification":
        result["labels"] = torch.tensor([0, 2, 1, 1, IGNORED, 0, 2])
    elif family == "bert-mlm":
        result["labels"] = masked_labels(ids, mask, generator)
    elif family == "t5":
        result["labels"] = target_labels(ids, generator)
    else:
        result["labels"] = causal_labels(ids, mask, generator)
    return result


def left_padded(family):
    """The same samples padded on the left: under a causal mask their first rows see nothing at all. The first real
    token is not counted: it is predicted from such a row, where framework gradients are not the derivative."""
    result = arrays(family)
    valid = result["attention_mask"].sum(1)
    for i, count in enumerate(valid.tolist()):
        for name in result:
            result[name][i] = result[name][i].roll(-count)
        result["labels"][i, -count] = IGNORED
    return result
