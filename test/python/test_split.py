# SPDX-License-Identifier: Apache-2.0
"""A loss that relates samples in micro-batches, from Python (oracle: the whole batch at once)."""
import pathlib
import types

import numpy
import pytest

import accum

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models" / "split"
MODEL = MODELS / "infonce-dynamo.onnx"
BATCH = 12


def batches(count, samples=BATCH):
    draw = numpy.random.default_rng(0).standard_normal
    return [{"text": draw((samples, 5), numpy.float32), "image": draw((samples, 7), numpy.float32)} for _ in range(count)]


def trainer(mode, **options):
    return accum.Trainer(MODEL, batch=BATCH, on_cross_batch=mode, optimizer="sgd", lr=0.1, **options)


def test_the_step_is_that_of_the_whole_batch():
    split, whole = trainer("split", micro_batch=5), trainer("disable")
    assert split.plan.micro_batch == 5 and whole.plan.micro_batch == BATCH
    for batch in batches(3):
        assert split.step(batch).loss == pytest.approx(whole.step(batch).loss, rel=2e-5)
    known = whole.state_dict()
    for name, value in split.state_dict().items():
        numpy.testing.assert_allclose(value, known[name], rtol=1e-4, atol=1e-6)


def test_another_number_of_samples_is_refused():
    split = trainer("split", micro_batch=5)
    with pytest.raises(accum.DataError, match="relates those of its batch to each other"):
        split.step(batches(1, 11)[0])


def test_calls_of_accumulate_add_up():
    split, whole = trainer("split", micro_batch=5), trainer("disable")
    for batch in batches(2):
        split.accumulate(batch)
        whole.accumulate(batch)
    for name in whole.state_dict():
        numpy.testing.assert_allclose(split.read(name, "gradient"), whole.read(name, "gradient"), rtol=1e-4, atol=1e-6)
    split.update(), whole.update()
    known = whole.state_dict()
    for name, value in split.state_dict().items():
        numpy.testing.assert_allclose(value, known[name], rtol=1e-4, atol=1e-6)


def check_steps(model, batches, rate=0.1):
    """In micro-batches beside PyTorch's steps on the undivided batch."""
    import torch
    with accum.Trainer(model, batches[0], batch=BATCH, micro_batch=5, on_cross_batch="split", optimizer="sgd", lr=rate) as run:
        found, trained, notices = [run.step(batch).loss for batch in batches], run.state_dict(), run.notices
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for batch, loss in zip(batches, found):
        optimizer.zero_grad()
        wanted = model(**batch).loss
        wanted.backward()
        optimizer.step()
        assert loss == pytest.approx(wanted.item(), rel=2e-5)
    for name, value in model.named_parameters():
        numpy.testing.assert_allclose(trained[name], value.detach(), rtol=1e-3, atol=1e-5) if name in trained else None
    return notices


def packages():
    """torch and transformers, of which a first model is drawn."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    return torch, pytest.importorskip("transformers")


def test_a_projector_with_batch_norm_in_training_mode():
    """Its statistics are those of the batch, and what it keeps for evaluation stays."""
    torch, _ = packages()
    from torch import nn

    class SimClr(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Linear(5, 16)
            self.project = nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))

        def forward(self, first, second):
            z = nn.functional.normalize(self.project(torch.cat([self.encode(first), self.encode(second)])), dim=1)
            count = first.shape[0]
            labels = torch.cat([torch.arange(count) + count, torch.arange(count)])
            return types.SimpleNamespace(loss=nn.functional.cross_entropy(z @ z.T / 0.5 - torch.eye(2 * count) * 1e9, labels))

    model = SimClr().train()
    notices = check_steps(model, [dict(first=torch.randn(BATCH, 5), second=torch.randn(BATCH, 5)) for _ in range(3)])
    assert any("statistics of the batch" in notice for notice in notices), notices
    with pytest.raises(accum.Error, match="batch normalisation in training mode"):
        accum.Trainer(model, dict(first=torch.randn(BATCH, 5), second=torch.randn(BATCH, 5)), batch=BATCH)


LAYERS = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)


def test_clip_of_transformers_with_its_collator():
    """`return_loss` is what its collators put into a batch."""
    torch, transformers = packages()
    model = transformers.CLIPModel(transformers.CLIPConfig(
        text_config=dict(LAYERS, vocab_size=100, max_position_embeddings=24, bos_token_id=98, eos_token_id=99, pad_token_id=0),
        vision_config=dict(LAYERS, image_size=16, patch_size=8), projection_dim=16))
    steps = []
    for _ in range(3):
        ids = torch.randint(1, 97, (BATCH, 9))
        ids[:, -1] = 99
        steps.append(dict(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=torch.randn(BATCH, 3, 16, 16),
                          return_loss=True))
    check_steps(model, steps)


def test_experts_with_their_balance_loss_as_they_are():
    torch, transformers = packages()
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        **LAYERS, vocab_size=100, num_key_value_heads=1, num_local_experts=4, output_router_logits=True))
    tokens = [torch.randint(0, 100, (BATCH, 9)) for _ in range(2)]
    notices = check_steps(model, [dict(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids) for ids in tokens])
    assert any("batched_mm" in notice for notice in notices), notices
    assert getattr(model.config, "_experts_implementation", None) != "batched_mm"


def texts(name, count, longest, seed):
    draw = numpy.random.default_rng(seed)
    lengths = [longest, *draw.integers(1, longest, count - 1)]
    return [{f"{name}_ids": draw.integers(1, 24, length), f"{name}_mask": numpy.ones(length, numpy.int64)} for length in lengths]


def padded(samples, width):
    return {name: numpy.stack([numpy.pad(sample[name], (0, width - len(sample[name]))) for sample in samples]) for name in samples[0]}


def test_texts_of_several_lengths():
    pairs = [{**a, **p} for a, p in zip(texts("anchor", BATCH, 16, 1), texts("positive", BATCH, 16, 2))]
    options = dict(batch=BATCH, on_cross_batch="split", optimizer="sgd", lr=0.1)
    several = accum.Trainer(MODELS / "pairs-dynamo.onnx", micro_batch=3, dim={"sequence": [4, 9, 16], "target": [5, 8, 16]}, **options)
    one = accum.Trainer(MODELS / "pairs-dynamo.onnx", dim={"sequence": 16, "target": 16}, **options)
    assert len(several.plan.lengths) == 3
    for _ in range(3):
        assert several.step(pairs).loss == pytest.approx(one.step(padded(pairs, 16)).loss, rel=1e-5)
    known = one.state_dict()
    for name, value in several.state_dict().items():
        numpy.testing.assert_allclose(value, known[name], rtol=1e-4, atol=1e-5)
    assert several.evaluate([pairs]).loss == pytest.approx(one.evaluate(padded(pairs, 16)).loss, rel=1e-5)
    with pytest.raises(accum.DataError, match="relates those of its batch to each other"):
        several.step(pairs[:-1])


def test_sizes_that_are_chosen():
    torch = pytest.importorskip("torch")

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.words = torch.nn.Embedding(24, 8)

        def embed(self, ids, mask):
            found = (torch.tanh(self.words(ids)) * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
            return torch.nn.functional.normalize(found, dim=-1)

        def forward(self, anchor_ids, anchor_mask, positive_ids, positive_mask):
            scores = 20 * self.embed(anchor_ids, anchor_mask) @ self.embed(positive_ids, positive_mask).T
            return torch.nn.functional.cross_entropy(scores, torch.arange(scores.shape[0]))

    module = Loss()
    short, long = texts("anchor", BATCH, 16, 3), texts("positive", BATCH, 24, 4)
    batch = {name: torch.tensor(value) for name, value in {**padded(short, 16), **padded(long, 24)}.items()}
    expected = module(**batch).item()
    run = accum.Trainer(module, batch, batch=BATCH, on_cross_batch="split", lengths="auto", lr=0.1)
    assert len(run.plan.lengths) > 1 and set(run.plan.lengths[0]["sizes"]) == {"length", "positive_length"}
    assert run.step(batch).loss == pytest.approx(expected, rel=1e-5)
