# SPDX-License-Identifier: Apache-2.0
"""Losses of sentence-transformers as they are, in micro-batches (oracle: PyTorch's steps on the undivided batch)."""
import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
sentence_transformers = pytest.importorskip("sentence_transformers")
import transformers  # noqa: E402
from sentence_transformers import losses, models  # noqa: E402

import accum  # noqa: E402

BATCH, WIDTH, WORDS = 12, 16, 100


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("encoder")
    transformers.BertModel(transformers.BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=WORDS,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(WORDS - 5))]))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return sentence_transformers.SentenceTransformer(modules=[models.Transformer(str(folder), max_seq_length=WIDTH), models.Pooling(32)])


class Loss(torch.nn.Module):
    def __init__(self, loss, texts):
        super().__init__()
        self.loss, self.texts = loss, texts

    def forward(self, labels, **arrays):
        return self.loss([{"input_ids": arrays[f"ids_{at}"], "attention_mask": arrays[f"mask_{at}"]} for at in range(self.texts)],
                         labels)


def batch_of(texts, labels, seed):
    draw = torch.Generator().manual_seed(seed)
    made = {"labels": torch.randint(0, 3, (BATCH,), generator=draw) if labels == "classes" else torch.rand(BATCH, generator=draw)}
    for at in range(texts):
        made[f"ids_{at}"] = torch.randint(5, WORDS, (BATCH, WIDTH), generator=draw)
        lengths = torch.randint(3, WIDTH + 1, (BATCH, 1), generator=draw)
        made[f"mask_{at}"] = (torch.arange(WIDTH) < lengths).long()
    return made


LOSSES = {
    "MultipleNegativesRankingLoss": (losses.MultipleNegativesRankingLoss, 2, "scores", "split"),
    "hard negatives": (losses.MultipleNegativesRankingLoss, 3, "scores", "split"),
    "GISTEmbedLoss": (lambda model: losses.GISTEmbedLoss(model, copy.deepcopy(model)), 2, "scores", "split"),
    "MatryoshkaLoss": (lambda model: losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model), [32, 16]), 2, "scores",
                       "split"),
    "BatchHardTripletLoss": (losses.BatchHardTripletLoss, 1, "classes", "split"),
    "CosineSimilarityLoss": (losses.CosineSimilarityLoss, 2, "scores", "reject"),
    "TripletLoss": (losses.TripletLoss, 3, "scores", "reject"),
}


@pytest.mark.parametrize("kind", LOSSES)
def test_a_loss_of_the_library(encoder, kind):
    make, texts, labels, mode = LOSSES[kind]
    module, batches = Loss(make(copy.deepcopy(encoder)), texts), [batch_of(texts, labels, seed) for seed in range(3)]
    with accum.Trainer(module, batches[0], batch=BATCH, micro_batch=5, optimizer="sgd", lr=0.05, on_cross_batch=mode) as run:
        found = [run.step(batch).loss for batch in batches]
    optimizer = torch.optim.SGD([each for each in module.parameters() if each.requires_grad], lr=0.05)
    for batch, loss in zip(batches, found):
        optimizer.zero_grad()
        wanted = module(**batch)
        wanted.backward()
        optimizer.step()
        assert loss == pytest.approx(wanted.item(), rel=3e-5)
