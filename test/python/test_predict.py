# SPDX-License-Identifier: Apache-2.0
"""Outputs of the model from Python (oracle: ONNX Runtime's, stored by models/make/make-predictions.py), and scalars beside the loss
(oracle: NumPy on these outputs)."""
import pathlib

import numpy
import pytest

import accum
from accum import _safetensors

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
NAME = "bert-classification"
DATA = _safetensors.read(MODELS / f"{NAME}-dynamo.data.safetensors")
LOGITS = _safetensors.read(MODELS / "predictions.safetensors")[f"{NAME}/logits"]


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    return accum.compile(MODELS / f"{NAME}-dynamo.onnx", batch=4, output=folder / "bert.accum", micro_batch=3)


def part(first, last, without=()):
    return {name: array[first:last] for name, array in DATA.items() if name not in without}


def is_close(found, wanted, tolerance=2e-6):
    return found.shape == wanted.shape and abs(found - wanted).max() <= tolerance * abs(wanted).max()


def test_one_batch_and_several_are_the_same_rows(artifact):
    with accum.Runner(artifact) as run:
        assert run.outputs == ["logits"]
        whole = run.predict(DATA)["logits"]
        assert is_close(whole, LOGITS)
        batches = [part(0, 3, {"labels"}), part(3, 4, {"labels"}), part(4, 7, {"labels"})]
        cut = run.predict(batches, outputs="logits")["logits"]
        assert is_close(cut, LOGITS) and is_close(run.predict(iter(batches), ["logits"])["logits"], LOGITS)
        streamed = [each["logits"] for each in run.predictions(batches)]
        assert [len(each) for each in streamed] == [3, 1, 3] and (numpy.concatenate(streamed) == cut).all()


def test_steps_do_not_notice(artifact):
    losses = []
    for predicts in (False, True):
        with accum.Runner(artifact, lr=1e-3) as run:
            found = []
            for _ in range(3):
                found.append(run.step(part(0, 4)).loss)
                if predicts:
                    run.predict(DATA)
            losses.append((found, run.evaluate(DATA).loss))
    assert losses[0] == losses[1]


def test_outputs_are_those_of_the_present_weights(artifact):
    """The mean cross-entropy of the logits is the loss."""
    with accum.Runner(artifact, lr=1e-2) as run:
        for _ in range(4):
            run.step(part(0, 4))
        logits = run.predict(DATA)["logits"].astype(numpy.float64)
        counted = DATA["labels"] != -100
        rows = numpy.log(numpy.exp(logits).sum(-1)) - numpy.take_along_axis(
            logits, numpy.where(counted, DATA["labels"], 0)[:, None], -1)[:, 0]
        assert not is_close(logits, LOGITS, 1e-3)
        assert run.evaluate(DATA).loss == pytest.approx(rows[counted].mean(), rel=1e-5)


def test_what_there_is_not(artifact, tmp_path):
    with accum.Runner(artifact) as run:
        with pytest.raises(accum.Error, match="`hidden` is no output that the artifact predicts") as raised:
            run.predict(DATA, "hidden")
        assert raised.value.slug == "no-such-output"
        with pytest.raises(accum.DataError, match="there is no batch to predict"):
            run.predict([])
        with pytest.raises(accum.DataError, match="no array named `input_ids`"):
            run.predict({"labels": DATA["labels"]})
    none = accum.compile(MODELS / f"{NAME}-dynamo.onnx", batch=4, output=tmp_path / "none.accum", outputs="none")
    with accum.Runner(none) as run, pytest.raises(accum.Error, match="has no outputs that a run predicts"):
        run.predict(DATA)


class TestModules:
    """Oracle: PyTorch's module in evaluation mode."""

    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    def module(self):
        torch = self.torch

        class Parts(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head, self.unread = (torch.nn.Linear(*sizes) for sizes in ((6, 8), (8, 3), (8, 2)))
                self.dropout = torch.nn.Dropout(0.5)

            def forward(self, x, labels):
                hidden = self.dropout(torch.relu(self.body(x)))
                logits = self.head(hidden)
                loss = torch.nn.functional.cross_entropy(logits, labels)
                penalty = hidden.pow(2).mean()
                return dict(loss=loss + 0.1 * penalty, penalty=penalty, entropy=loss, logits=logits,
                            other=self.unread(hidden))

        torch.manual_seed(0)
        return Parts(), dict(x=torch.randn(11, 6), labels=torch.randint(3, (11,)))

    def test_logits_and_parts_of_the_loss(self):
        torch, (module, batch) = self.torch, self.module()
        with accum.Trainer(module, batch, batch=11, micro_batch=4, lr=1e-2) as run:
            assert run.outputs == ["logits"] and "unread.weight" in run.export.lost
            metrics = run.step(batch)
            assert set(metrics.outputs) == {"penalty", "entropy"}
            assert metrics.loss == pytest.approx(metrics.outputs["entropy"] + 0.1 * metrics.outputs["penalty"], rel=1e-6)
            run.load_into(module)
            found, evaluation = run.predict(batch)["logits"], run.evaluate(batch)
        module.eval()
        with torch.no_grad():
            wanted = module(**batch)
        assert is_close(found, wanted["logits"].numpy())
        assert evaluation.outputs["penalty"] == pytest.approx(wanted["penalty"].item(), rel=1e-5)
        assert evaluation.outputs["entropy"] == pytest.approx(wanted["entropy"].item(), rel=1e-5)

    def test_a_loss_of_ones_own(self):
        torch = self.torch
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
        batch = torch.randn(9, 4), torch.randint(3, (9,))
        with accum.Trainer(module, batch, loss=torch.nn.functional.cross_entropy, batch=9, micro_batch=4) as run:
            assert is_close(run.predict(batch)["output"], module(batch[0]).detach().numpy())
            assert is_close(run.predict(batch[:1])["output"], module(batch[0]).detach().numpy())
