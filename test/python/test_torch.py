# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch, trained by accum (oracle: PyTorch's own loop over the same batches, undivided: 20 losses within 1e-4,
and the weights behind them)."""
import math
import os
import pathlib
import signal
import threading

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
transformers = pytest.importorskip("transformers")

import accum  # noqa: E402

VOCABULARY, LENGTH, STEPS, PEAK, WARMUP = 97, 16, 20, 3e-3, 3
SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))


def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=VOCABULARY, max_position_embeddings=32, **SIZES))


def t5():
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=0))


def vit():
    return transformers.ViTForImageClassification(transformers.ViTConfig(image_size=8, patch_size=4, num_labels=10, **SIZES))


def texts(count, random):
    """Every third one is padded, and its padding is no target."""
    tokens = torch.randint(3, VOCABULARY, (count, LENGTH), generator=random)
    mask, labels = torch.ones_like(tokens), tokens.clone()
    mask[::3, 12:], labels[::3, 12:] = 0, -100
    return dict(input_ids=tokens, attention_mask=mask, labels=labels)


def images(count, random):
    return dict(pixel_values=torch.randn(count, 3, 8, 8, generator=random),
                labels=torch.randint(10, (count,), generator=random))


def batches(make, steps=STEPS, size=24):
    """Every fifth one is smaller."""
    random = torch.Generator().manual_seed(1)
    return [make(17 if step % 5 == 0 else size, random) for step in range(steps)]


def seeded(build):
    torch.manual_seed(0)
    return build().eval()


def factor(step):
    falling = (step - WARMUP) / (STEPS - 1 - WARMUP)
    return (step + 1) / WARMUP if step < WARMUP else (1 + math.cos(math.pi * falling)) / 2


def by_torch(module, loss_of, data, weight_decay=0.01):
    """AdamW, cosine with warm-up, clipping; the losses."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=PEAK, weight_decay=weight_decay)
    losses = []
    for step, batch in enumerate(data):
        for group in optimizer.param_groups:
            group["lr"] = PEAK * factor(step)
        loss = loss_of(module, batch)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def trainer(module, example, **more):
    return accum.Trainer(module, example, batch=24, memory="1GiB", micro_batch=5, lr=PEAK, weight_decay=0.01, decay="all",
                         schedule="cosine", warmup=WARMUP, steps=STEPS, clip_norm=1.0, **more)


def check(run, module, theirs, data, expected):
    losses = [run.step(batch).loss for batch in data]
    assert losses == pytest.approx(expected, rel=1e-4)
    run.load_into(module)
    for (name, own), other in zip(module.named_parameters(), theirs.parameters()):
        assert torch.allclose(own, other, atol=1e-3), name


@pytest.mark.parametrize("build, make", [(gpt2, texts), (bert, texts), (t5, texts), (vit, images)])
def test_transformers_train_as_in_pytorch(build, make):
    data, theirs, module = batches(make), seeded(build), seeded(build)
    expected = by_torch(theirs, lambda model, batch: model(**batch).loss, data)
    with trainer(module, data[0]) as run:
        check(run, module, theirs, data, expected)


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = torch.nn.Linear(12, 32).requires_grad_(False)
        self.norm = torch.nn.LayerNorm(32)
        self.head = torch.nn.Linear(32, 5)
        self.unread = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.head(self.norm(torch.nn.functional.gelu(self.frozen(x))))


def pairs(count, random):
    return torch.randn(count, 12, generator=random), torch.randint(5, (count,), generator=random)


def test_a_module_with_a_loss_and_tuples():
    """A frozen layer keeps its weights, and one that the loss does not read its own; the loader's tensors may be any."""
    entropy = torch.nn.functional.cross_entropy
    data, theirs, module = batches(pairs), seeded(Classifier), seeded(Classifier)
    expected = by_torch(theirs, lambda model, batch: entropy(model(batch[0]), batch[1]), data)
    before = {name: each.clone() for name, each in module.state_dict().items()}
    with trainer(module, data[0], loss=entropy) as run:
        assert run.export.lost == ("unread.weight", "unread.bias")
        assert set(run.export.frozen) == {"frozen.weight", "frozen.bias"}
        check(run, module, theirs, data, expected)
    for name in ("frozen.weight", "unread.weight"):
        assert (module.state_dict()[name] == before[name]).all()


def test_a_module_with_a_loss_and_mappings():
    """The loss has the whole batch; forward gets what it takes."""
    def loss(output, batch):
        return ((output - batch["wanted"]) ** 2).mean()

    def make(count, random):
        return dict(x=torch.randn(count, 12, generator=random), wanted=torch.randn(count, 5, generator=random))

    data, theirs, module = batches(make), seeded(Classifier), seeded(Classifier)
    expected = by_torch(theirs, lambda model, batch: loss(model(batch["x"]), batch), data)
    with trainer(module, data[0], loss=loss) as run:
        check(run, module, theirs, data, expected)


class Translator(torch.nn.Module):
    """torch.nn.Transformer with its defaults, sequence first; it looks at the values of its mask."""

    def __init__(self):
        super().__init__()
        self.source, self.target = torch.nn.Embedding(VOCABULARY, 32), torch.nn.Embedding(VOCABULARY, 32)
        self.body = torch.nn.Transformer(32, 4, 1, 1, 64, dropout=0.0)
        self.head = torch.nn.Linear(32, VOCABULARY)

    def forward(self, x, y):
        mask, padding = torch.nn.Transformer.generate_square_subsequent_mask(y.shape[1]), x.eq(0)
        hidden = self.body(self.source(x).transpose(0, 1), self.target(y).transpose(0, 1), tgt_mask=mask,
                           src_key_padding_mask=padding, memory_key_padding_mask=padding)
        scores = self.head(hidden.transpose(0, 1))
        return torch.nn.functional.cross_entropy(scores[:, :-1].flatten(0, 1), y[:, 1:].flatten())


class Biased(torch.nn.Module):
    """A trained bias of attention, whose output is reshaped: PyTorch's exporter takes it with one kernel only. It takes
    neither three axes nor five."""

    def __init__(self):
        super().__init__()
        # A bias of keys has no gradient but rounding, which AdamW makes steps of.
        self.project, self.bias = torch.nn.Linear(12, 3 * 16, bias=False), torch.nn.Parameter(torch.zeros(2, 4, 4))
        self.head = torch.nn.Linear(16, 5)

    def forward(self, x, y):
        q, k, v = self.project(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        attend = torch.nn.functional.scaled_dot_product_attention
        mixed = attend(q, k, v, attn_mask=self.bias[None]) + attend(q[:, 0], k[:, 0], v[:, 0], is_causal=True)[:, None]
        mixed = mixed + attend(q[:, None], k[:, None], v[:, None], self.bias)[:, 0]
        mixed = mixed.transpose(1, 2).reshape(x.shape[0], 4, 16)
        return torch.nn.functional.cross_entropy(self.head(mixed.mean(1)), y)


def test_a_trained_bias_of_attention():
    def make(count, random):
        return dict(x=torch.randn(count, 4, 12, generator=random), y=torch.randint(5, (count,), generator=random))

    data, theirs, module = batches(make), seeded(Biased), seeded(Biased)
    expected = by_torch(theirs, lambda model, batch: model(**batch), data)
    with trainer(module, data[0]) as run:
        check(run, module, theirs, data, expected)


def sentences(count, random):
    x, y = (torch.randint(1, VOCABULARY, (count, LENGTH), generator=random) for _ in range(2))
    x[::3, LENGTH // 2:] = 0
    return dict(x=x, y=y)


def test_a_module_of_torch_with_a_causal_mask():
    data, theirs, module = batches(sentences), seeded(Translator), seeded(Translator)
    expected = by_torch(theirs, lambda model, batch: model(**batch), data)
    with trainer(module, data[0]) as run:
        check(run, module, theirs, data, expected)


class Rotated(Classifier):
    """As libraries keep the angles of rotary positions in f32."""

    @torch.autocast("cpu", enabled=False)
    def forward(self, x):
        with torch.autocast("cuda", enabled=False):
            return super().forward(x * torch.cos(self.norm.bias[:12] + 1))


def test_switched_off_autocast_has_no_effect():
    entropy = torch.nn.functional.cross_entropy
    data, theirs, module = batches(pairs), seeded(Rotated), seeded(Rotated)
    expected = by_torch(theirs, lambda model, batch: entropy(model(batch[0]), batch[1]), data)
    with trainer(module, data[0], loss=entropy) as run:
        check(run, module, theirs, data, expected)


def test_one_sample_is_enough_of_an_example(tmp_path):
    """The module is left as it was: class, mode, configuration."""
    module = seeded(gpt2)
    module.transformer.h[0].train()
    modes = [each.training for each in module.modules()]
    example = {name: value[:1] for name, value in batches(texts)[0].items()}
    with trainer(module, example, folder=tmp_path) as run:
        assert run.step(batches(texts)[1]).samples == 24
    assert type(module) is transformers.GPT2LMHeadModel and module.config.use_cache
    assert [each.training for each in module.modules()] == modes
    assert accum.check(tmp_path / "model.onnx").trained == sum(each.numel() for each in module.parameters())


def test_a_trainer_goes_on_after_ctrl_c(ctrl_c):
    """The loop ends behind a step, as when a notebook's kernel is interrupted; the next steps and the weights are those of
    a run that nobody interrupted."""
    data, module, other = batches(pairs), seeded(Classifier), seeded(Classifier)
    entropy = torch.nn.functional.cross_entropy
    with trainer(module, data[0], loss=entropy) as run, trainer(other, data[0], loss=entropy) as undisturbed:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            while run.steps < 1_000_000:
                run.step(data[1])
        assert run.steps > 0
        for _ in range(run.steps):
            undisturbed.step(data[1])
        assert run.step(data[2]).loss == undisturbed.step(data[2]).loss
        run.load_into(module)
        undisturbed.load_into(other)
    assert all(torch.equal(own, its) for own, its in zip(module.parameters(), other.parameters()))


def test_a_table_of_datasets_is_read():
    """In its torch and its NumPy format, by a slice and by a DataLoader: the losses of the same arrays."""
    datasets = pytest.importorskip("datasets")
    whole = texts(48, torch.Generator().manual_seed(3))
    table = datasets.Dataset.from_dict({name: value.numpy() for name, value in whole.items()})
    with trainer(seeded(gpt2), {name: value[:24] for name, value in whole.items()}) as run:
        expected = [run.evaluate({name: value[first:first + 24] for name, value in whole.items()}).loss for first in (0, 24)]
        loader = torch.utils.data.DataLoader(table.with_format("torch"), batch_size=24)
        assert [run.evaluate(batch).loss for batch in loader] == expected
        assert run.evaluate(table.with_format("numpy")[24:48]).loss == expected[1]
        assert run.evaluate(table[24:48]).loss == expected[1]


def test_weights_of_another_module_are_refused():
    module = seeded(Classifier)
    with trainer(module, batches(pairs)[0], loss=torch.nn.functional.cross_entropy) as run:
        other = torch.nn.Sequential(torch.nn.Linear(3, 3))
        with pytest.raises(accum.DataError, match="no value for 0.weight"):
            run.load_into(other)
        with pytest.raises(accum.UsageError, match="example_batch is missing"):
            trainer(module, None)


def test_what_is_not_exported_is_told_in_a_sentence(tmp_path, capfd):
    class Checked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(12, 5)

        def forward(self, x, labels):
            assert (labels >= 0).all()
            return torch.nn.functional.cross_entropy(self.layer(x), labels)

    batch = {"x": torch.randn(3, 12), "labels": torch.tensor([0, 2, 1])}
    with pytest.raises(accum.UnsupportedError) as caught:
        accum.export(Checked(), batch, tmp_path / "m.onnx")
    message, said = str(caught.value).splitlines()[0], " ".join(caught.value.notes)
    assert "assert (labels >= 0).all()" in message and "checks values: remove it" in said and len(message) < 400
    whole = pathlib.Path(said.split("the exporter's own message: ")[1].split()[0])
    assert "GuardOnDataDependentSymNode" in whole.read_text() or "data-dependent" in whole.read_text()
    assert capfd.readouterr().err.count("\n") < 3


def test_modules_that_cannot_be_cut_are_refused():
    class Norm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 5))

        def forward(self, x):
            return self.layers(x)

    with pytest.raises(accum.Error) as caught:
        trainer(Norm().train(), batches(pairs)[0], loss=torch.nn.functional.cross_entropy)
    assert caught.value.exit_code == 1 and caught.value.slug in ("cross-batch", "lost-in-export")
