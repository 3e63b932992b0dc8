# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of torch.nn, which are exported step by step (oracle: PyTorch's step in f64)."""
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import accum  # noqa: E402

from modules import check_step, classes, rows, trainer  # noqa: E402


class Recurrent(nn.Module):
    """Both what the layer gives at each step and its last states reach the loss."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(5, 8, batch_first=options.pop("batch_first", True), **options)
        self.head = nn.LazyLinear(3)

    def forward(self, x, y):
        sequence = x if self.layer.batch_first else x.transpose(0, 1)
        outputs, states = self.layer(sequence)
        last = outputs[:, -1] if self.layer.batch_first else outputs[-1]
        ends = [each.transpose(0, 1).flatten(1) for each in (states if isinstance(states, tuple) else (states,))]
        return functional.cross_entropy(self.head(torch.cat([last, *ends], 1)), y)


def prepared(kind, **options):
    torch.manual_seed(0)
    module, batch = Recurrent(kind, **options), (rows(4, 6, 5), classes(4))
    with torch.no_grad():
        module(*batch)
    return module, batch


@pytest.mark.parametrize("kind, options", [
    (nn.LSTM, {}), (nn.GRU, {}), (nn.RNN, {}), (nn.RNN, dict(nonlinearity="relu", batch_first=False)),
    (nn.LSTM, dict(num_layers=2, bidirectional=True)), (nn.GRU, dict(num_layers=2, bidirectional=True, batch_first=False)),
    (nn.LSTM, dict(proj_size=3, num_layers=2)), (nn.GRU, dict(bias=False)), (nn.LSTM, dict(bias=False, proj_size=3)),
    (nn.LSTM, dict(num_layers=2, dropout=0.0, bidirectional=True, batch_first=False))])
def test_a_recurrent_layer_trains_as_in_pytorch(kind, options):
    check_step(*prepared(kind, **options))


def test_states_that_are_given():
    class Given(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.start = nn.LSTM(5, 8, batch_first=True), nn.Linear(5, 8)
            self.head = nn.Linear(8, 3)

        def forward(self, x, y):
            start = torch.tanh(self.start(x[:, 0]))[None]
            return functional.cross_entropy(self.head(self.layer(x, (start, start * 2))[0][:, -1]), y)

    check_step(Given(), (rows(4, 6, 5), classes(4)))


def test_dropout_between_layers_does_not_depend_on_the_cut():
    """In evaluation mode there is none; in training mode the masks are those of the samples, not of micro-batches."""
    module, batch = prepared(nn.LSTM, num_layers=2, dropout=0.5)
    check_step(module.eval(), batch)
    losses = []
    for size in (4, 2, 1):
        with trainer(module.train(), batch, micro_batch=size) as run:
            losses.append([run.step(batch).loss for _ in range(2)])
    assert losses[1] == pytest.approx(losses[0], rel=1e-5) and losses[2] == pytest.approx(losses[0], rel=1e-5)
    with trainer(module.eval(), batch) as run:
        assert abs(run.step(batch).loss - losses[0][0]) > 1e-4


def test_packed_sequences_are_refused_in_a_sentence():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = nn.GRU(5, 8, batch_first=True), nn.Linear(8, 3)

        def forward(self, x, lengths, y):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return functional.cross_entropy(self.head(self.layer(packed)[1][-1]), y)

    batch = (rows(4, 6, 5), torch.tensor([6, 2, 3, 4]), classes(4))
    with pytest.raises(accum.UnsupportedError, match="packs sequences") as caught:
        trainer(Packed(), batch)
    assert (caught.value.slug, caught.value.exit_code) == ("not-built", 2) and "gather" in caught.value.notes[0]
