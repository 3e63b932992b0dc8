# SPDX-License-Identifier: Apache-2.0
"""Our lines of docs/coming-from.md, as they stand there (oracle: PyTorch's losses of the undivided batches before the first
update, and its clipped gradients)."""
import pathlib
import re

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("onnxscript")

import accum  # noqa: E402
import accum.hf  # noqa: E402

from test_hf import arguments, gpt2, seeded, texts  # noqa: E402

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "coming-from.md").read_text()


def lines_of(heading):
    """Our blocks of a section: those that name accum or a run."""
    section = re.search(rf"^## {re.escape(heading)}.*?\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
    found = [block for block in re.findall(r"^```python\n(.*?)^```", section, re.M | re.S) if re.search(r"accum\.|run\.", block)]
    assert found, heading
    return found


def loader(size):
    """Of 50 texts: the last batch is smaller."""
    return torch.utils.data.DataLoader(texts(gpt2), batch_size=size)


def loss_of(module, batch):
    with torch.no_grad():
        return module.eval()(**batch).loss.item()


def test_hugging_face_trainer(tmp_path):
    model, data, args = seeded(gpt2), texts(gpt2), arguments(tmp_path, max_steps=2, gradient_accumulation_steps=2)
    before = [each.clone() for each in model.parameters()]
    [ours] = lines_of("Hugging Face Trainer")
    exec(ours, {"accum": accum, "model": model, "data": data, "args": args})
    assert any(not torch.equal(old, new) for old, new in zip(before, model.parameters()))


def test_a_loop_by_hand_and_its_gradients():
    model, batches = seeded(gpt2), loader(24)
    whole, between = lines_of("A loop written by hand")
    names = {"accum": accum, "model": model, "loader": batches}
    last = list(batches)[-1]
    exec(whole, names)
    run = names["run"]
    assert run.steps == len(batches) and names["metrics"].samples == 50 % 24
    assert run.evaluate(last).loss == pytest.approx(loss_of(model, last), rel=1e-4)  # load_into brought what run has

    parts = list(batches)[:2]
    model.zero_grad()
    for part in parts:
        model.eval()(**part).loss.backward()
    name = "transformer.ln_f.weight"
    assert name in run.trained
    exec(between, {"run": run, "parts": parts, "name": name})
    assert run.steps == len(batches) + 1
    expected = model.transformer.ln_f.weight.grad.clip(-1, 1).numpy()
    assert abs(expected).max() > 1e-3
    assert run.read(name, "gradient") == pytest.approx(expected, abs=1e-5)
    run.close()


def test_lightning():
    model, batches = seeded(gpt2), loader(6)
    whole = next(iter(loader(48)))
    expected = loss_of(model, whole)
    names = {"accum": accum, "model": model, "loader": batches, "example": next(iter(batches))}
    [ours] = lines_of("Lightning")
    exec(ours, names)
    with names["run"] as run:
        assert run.step(whole).loss == pytest.approx(expected, rel=1e-2)  # bf16 has eight bits


def test_deepspeed():
    """The same numbers as its configuration, on a step that clips (oracle: PyTorch's loss)."""
    model, whole = seeded(gpt2), next(iter(loader(48)))
    expected = loss_of(model, whole)
    names = {"accum": accum, "model": model, "example": next(iter(loader(6)))}
    [ours] = lines_of("DeepSpeed")
    exec(ours, names)
    with names["run"] as run:
        assert run.step(whole).loss == pytest.approx(expected, rel=1e-2)  # bf16 has eight bits


def test_timm():
    timm = pytest.importorskip("timm")
    torch.manual_seed(0)
    images, labels = torch.randn(64, 3, 32, 32), torch.randint(10, (64,))
    names = {"accum": accum, "timm": timm, "torch": torch, "example": (images[:4], labels[:4]), "loader": [(images, labels)] * 2}
    [ours] = lines_of("timm")
    exec(ours, names)
    with names["run"] as run:
        assert run.steps == 2
        with torch.no_grad():
            entropy = torch.nn.CrossEntropyLoss(label_smoothing=0.1)(names["model"].eval()(images), labels)
        assert run.evaluate((images, labels)).loss == pytest.approx(entropy.item(), rel=1e-4)


def test_sentence_transformers():
    """The loss is theirs of the whole batch."""
    theirs = pytest.importorskip("sentence_transformers.losses")
    import sentence_transformers

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            config = transformers.BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                             intermediate_size=32)
            self.model = transformers.BertModel(config, add_pooling_layer=False).eval()

        def forward(self, features, **_):
            hidden = self.model(features["input_ids"], features["attention_mask"]).last_hidden_state
            weights = features["attention_mask"].unsqueeze(-1).float()
            return {**features, "sentence_embedding": (hidden * weights).sum(1) / weights.sum(1)}

    def drawn(count):
        torch.manual_seed(1)
        masks = {side: (torch.arange(6) < torch.randint(1, 7, (count, 1))).long() for side in ("anchor", "positive")}
        return {f"{side}_{what}": torch.randint(1, 50, (count, 6)) * mask if what == "ids" else mask
                for side, mask in masks.items() for what in ("ids", "mask")}

    model, batch = sentence_transformers.SentenceTransformer(modules=[Encoder()], device="cpu"), drawn(2048)
    features = [{"input_ids": batch[f"{side}_ids"], "attention_mask": batch[f"{side}_mask"]} for side in ("anchor", "positive")]
    with torch.no_grad():
        expected = theirs.MultipleNegativesRankingLoss(model, scale=20.0)(features, torch.zeros(2048)).item()
    names = {"accum": accum, "torch": torch, "model": model, "example_batch": drawn(3)}
    [ours] = lines_of("sentence-transformers, GradCache, open_clip")
    exec(ours, names)
    assert names["run"].step(batch).loss == pytest.approx(expected, rel=1e-5)
