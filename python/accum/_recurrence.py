# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of torch.nn, step by step: as products of matrices and activations, which a file can hold."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Sequence

from . import _errors

# Of one step: (state, what the inputs give, what the state gives) to the next state, the output first.
_Cell = Callable[[tuple, Any, Any], tuple]


@dataclasses.dataclass(frozen=True)
class _Weights:
    """Of one direction of one layer; None where the layer has no biases or no projection."""

    of_input: Any
    of_state: Any
    input_bias: Any
    state_bias: Any
    projection: Any


def _split(weights: Sequence[Any], has_biases: bool, count: int) -> list[_Weights]:
    size = len(weights) // count
    found = []
    for first in range(0, len(weights), size):
        own = list(weights[first:first + size])
        biases = own[2:4] if has_biases else [None, None]
        rest = own[4:] if has_biases else own[2:]
        found.append(_Weights(own[0], own[1], *biases, rest[0] if rest else None))
    return found


def _lstm_cell(torch: Any) -> _Cell:
    def next_state(state: tuple, of_input: Any, of_state: Any) -> tuple:
        enter, forget, candidate, leave = (of_input + of_state).chunk(4, -1)
        memory = torch.sigmoid(forget) * state[1] + torch.sigmoid(enter) * torch.tanh(candidate)
        return torch.sigmoid(leave) * torch.tanh(memory), memory

    return next_state


def _gru_cell(torch: Any) -> _Cell:
    def next_state(state: tuple, of_input: Any, of_state: Any) -> tuple:
        (reset, update, new), (own_reset, own_update, own_new) = of_input.chunk(3, -1), of_state.chunk(3, -1)
        kept = torch.sigmoid(update + own_update)
        candidate = torch.tanh(new + torch.sigmoid(reset + own_reset) * own_new)
        return (candidate + kept * (state[0] - candidate),)

    return next_state


def _plain_cell(activation: Callable) -> _Cell:
    return lambda state, of_input, of_state: (activation(of_input + of_state),)


def _run(torch: Any, cell: _Cell, sequence: Any, state: tuple, weights: _Weights, is_reversed: bool) -> tuple[Any, tuple]:
    """(outputs [time, samples, width], the last state) of one direction of one layer."""
    linear = torch.nn.functional.linear
    of_inputs = linear(sequence, weights.of_input, weights.input_bias).unbind(0)
    outputs = []
    for of_input in reversed(of_inputs) if is_reversed else of_inputs:
        output, *memory = cell(state, of_input, linear(state[0], weights.of_state, weights.state_bias))
        if weights.projection is not None:
            output = linear(output, weights.projection)
        state = (output, *memory)
        outputs.append(output)
    return torch.stack(outputs[::-1] if is_reversed else outputs), state


def _layers(torch: Any, cell: _Cell, sequence: Any, states: tuple, weights: Sequence[Any], has_biases: bool, layers: int,
            dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> tuple:
    """As torch.nn.LSTM and its like have them: outputs, then states [layers x directions, samples, width]."""
    directions = 2 if bidirectional else 1
    own = _split(weights, has_biases, layers * directions)
    starts = list(zip(*(each.unbind(0) for each in states)))
    ends = []
    hidden = sequence.transpose(0, 1) if batch_first else sequence
    for layer in range(layers):
        if layer and dropout and train:
            hidden = torch.nn.functional.dropout(hidden, dropout, True)
        parts = []
        for at in range(layer * directions, (layer + 1) * directions):
            outputs, end = _run(torch, cell, hidden, starts[at], own[at], bool(at % directions))
            parts.append(outputs)
            ends.append(end)
        hidden = torch.cat(parts, -1) if bidirectional else parts[0]
    return (hidden.transpose(0, 1) if batch_first else hidden, *(torch.stack(each) for each in zip(*ends)))


def _packed(*_: Any, **__: Any) -> Any:
    raise _errors.UnsupportedError(
        "the module packs sequences (pack_padded_sequence): which rows a packed step has depends on the values of the "
        "lengths, and a file has one shape for all batches", slug="not-built", exit_code=2,
        notes=["pass the padded sequences to the layer, take the output at each sample's last position with gather, and "
               "leave padding out of the loss; a bidirectional layer reads the padding first"])


def step_by_step(torch: Any) -> dict[str, Callable]:
    """Functions of torch._VF by name."""
    def layers_of(cell: _Cell, count: int) -> Callable:
        def layers(sequence: Any, states: Any, weights: Any, *more: Any) -> tuple:
            if not isinstance(weights, list):  # a packed sequence has its batch sizes in front of the states
                return _packed()
            return _layers(torch, cell, sequence, tuple(states) if count > 1 else (states,), weights, *more)

        return layers

    return {"lstm": layers_of(_lstm_cell(torch), 2), "gru": layers_of(_gru_cell(torch), 1),
            "rnn_tanh": layers_of(_plain_cell(torch.tanh), 1), "rnn_relu": layers_of(_plain_cell(torch.relu), 1),
            "_pack_padded_sequence": _packed}
