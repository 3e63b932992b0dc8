# SPDX-License-Identifier: Apache-2.0
"""The user's loss is the one that is trained, however the module is called and whatever it returns (oracle: PyTorch's step
in f64)."""
import collections
import dataclasses
import functools
import types

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import accum  # noqa: E402

from modules import check_step, classes, expected, rows, trainer  # noqa: E402


@dataclasses.dataclass
class Output:
    scores: torch.Tensor
    value: torch.Tensor


Pair = collections.namedtuple("Pair", "scores value")
FORMS = {
    "after": lambda scores, loss: (scores, loss),
    "before": lambda scores, loss: (loss, scores),
    "list": lambda scores, loss: [scores, loss],
    "nested": lambda scores, loss: (scores, (scores, {"value": loss})),
    "mapping": lambda scores, loss: {"logits": scores, "value": loss},
    "dataclass": lambda scores, loss: Output(scores, loss),
    "named tuple": lambda scores, loss: Pair(scores, loss),
    "one element": lambda scores, loss: (scores, loss.reshape(1)),
    "with what is looked at": lambda scores, loss: (scores, loss, loss.detach() * 2),
    "twice": lambda scores, loss: (loss, {"same": loss}),
    "by its name": lambda scores, loss: {"part": loss * 3, "loss": loss},
}


class Returns(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.layer, self.form = nn.Linear(5, 3), form

    def forward(self, x, labels):
        scores = self.layer(x)
        return self.form(scores, functional.cross_entropy(scores, labels, label_smoothing=0.2))


def batch_of(count=6):
    return dict(x=rows(count, 5), labels=classes(count))


def entropy(module, batch):
    return functional.cross_entropy(module.layer(batch["x"]), batch["labels"], label_smoothing=0.2)


@pytest.mark.parametrize("form", FORMS)
def test_the_scalar_among_the_outputs_is_the_loss(form):
    check_step(Returns(FORMS[form]), batch_of(), entropy)


@pytest.mark.parametrize("form", ["before", "mapping", "by its name"])
def test_a_loss_by_name_is_put_on_the_scores(form):
    """And only then; the module's own loss smooths its labels."""
    forms = {**FORMS, "by its name": lambda scores, loss: {"loss": loss, "logits": scores}}

    def plain(module, batch):
        return functional.cross_entropy(module.layer(batch["x"]), batch["labels"])

    check_step(Returns(forms[form]), batch_of(), plain, loss="cross-entropy")


@pytest.mark.parametrize("form", [lambda scores, loss: (loss, loss * 2), lambda scores, loss: {"a": loss, "b": loss * 2}])
def test_several_scalars_are_ambiguous(form):
    with pytest.raises(accum.Error) as caught:
        trainer(Returns(form), batch_of())
    assert (caught.value.slug, caught.value.exit_code) == ("ambiguous-loss", 1)
    assert "output[" in caught.value.message and "loss=lambda" in caught.value.notes[0]


def test_a_loss_that_is_no_scalar_is_refused():
    """And not a score to put another loss on."""
    x, labels = rows(6, 5), classes(6)
    each = functools.partial(functional.cross_entropy, reduction="none")
    with pytest.raises(accum.UsageError, match="no scalar"):
        trainer(nn.Linear(5, 3), (x, labels), loss=each)
    with pytest.raises(accum.UsageError, match="no scalar"):
        trainer(Returns(lambda scores, loss: {"loss": scores}), batch_of())


class SmallGpt(nn.Module):
    """A causal model of the form that is common in teaching: (logits, loss), the loss None without targets."""

    def __init__(self):
        super().__init__()
        self.embedding, self.place = nn.Embedding(20, 16), nn.Embedding(8, 16)
        self.norm, self.mix, self.out = nn.LayerNorm(16), nn.Linear(16, 48, bias=False), nn.Linear(16, 16, bias=False)
        self.head = nn.Linear(16, 20, bias=False)
        self.embedding.weight = self.head.weight

    def forward(self, idx, targets=None):
        device, (_, length) = idx.device, idx.size()
        x = self.embedding(idx) + self.place(torch.arange(0, length, dtype=torch.long, device=device))
        q, k, v = (each.unflatten(-1, (2, 8)).transpose(1, 2) for each in self.mix(self.norm(x)).split(16, dim=2))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).contiguous().view(x.size()))
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


def test_a_model_that_returns_logits_and_loss():
    random = torch.Generator().manual_seed(0)
    tokens = torch.randint(20, (6, 9), generator=random)
    targets = tokens[:, 1:].clone()
    targets[::2, 5:] = -1
    check_step(SmallGpt(), (tokens[:, :-1], targets), lambda module, batch: module(*batch)[1], sizes=(None, 2))


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x):
        return self.layer(x)


def doubled(module):
    inner = module.forward
    module.forward = lambda x: inner(x) * 2


def of_a_class(module):
    def forward(self, x):
        return type(self).forward(self, x) * 2
    module.forward = types.MethodType(forward, module)


def any_arguments(module):
    inner = module.forward
    module.forward = lambda *values, **named: inner(*values, **named) * 2


def compiled(module):
    doubled(module)
    return torch.compile(module)


def hooked(module):
    """By position and by name."""
    def before(module, values, named):
        return tuple(each * 2 for each in values), {name: each * 2 for name, each in named.items()}

    def after(module, values, named, output):
        return output + (*values, *named.values())[0][:, :3]

    module.register_forward_pre_hook(before, with_kwargs=True)
    module.register_forward_hook(after, with_kwargs=True)


class Called(nn.Module):
    """Does in its call what others do in forward."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x):
        return self.layer(x)

    def __call__(self, *values, **named):
        return super().__call__(*values, **named) * 2


def called(module):
    return Called()


def partial(module):
    module.forward = functools.partial(module.forward)


@pytest.mark.parametrize("change", [doubled, of_a_class, any_arguments, compiled, hooked, partial, called])
@pytest.mark.parametrize("is_mapping", [False, True])
def test_what_the_user_calls_is_trained(change, is_mapping):
    """A forward of the object's own, hooks and torch.compile, with a loss of the user's."""
    x, labels = rows(6, 5), classes(6)
    module = Scores()
    changed = change(module)
    module = module if changed is None else changed
    loss = 3 * functional.cross_entropy(module(x), labels)
    batch = dict(x=x, labels=labels) if is_mapping else (x, labels)

    def own(output, rest):
        return 3 * functional.cross_entropy(output, rest["labels"] if is_mapping else rest)

    inner = getattr(module, "_orig_mod", module)
    before = inner.__dict__.get("forward")
    with trainer(module, batch, loss=own) as run:
        assert run.step(batch).loss == pytest.approx(loss.item(), rel=1e-5)
        run.load_into(module)
        with torch.no_grad():
            trained = 3 * functional.cross_entropy(module(x), labels)
        assert run.evaluate(batch).loss == pytest.approx(trained.item(), rel=1e-5)
    assert inner.__dict__.get("forward") is before and type(inner) in (Scores, Called)


class Anything(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, *values, **named):
        x, labels = (*values, *named.values())
        return functional.cross_entropy(self.layer(x), labels)


@pytest.mark.parametrize("batch", [(rows(6, 5), classes(6)), dict(x=rows(6, 5), y=classes(6))])
def test_forward_of_any_arguments_gets_what_the_batch_holds(batch):
    check_step(Anything(), batch, sizes=(None, 2))


class TakesTheBatch(nn.Module):
    """As modules of Lightning and Composer are written."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, batch):
        return functional.cross_entropy(self.layer(batch["x"]), batch["labels"])


def test_a_forward_of_the_whole_mapping():
    module, batch = TakesTheBatch(), dict(x=rows(6, 5), labels=classes(6))
    loss = module(batch).item()
    samples = [{name: value[at] for name, value in batch.items()} for at in range(6)]
    for example in (batch, samples):
        with accum.Trainer(module, example, batch=6, memory="1GiB", optimizer="sgd", lr=0.1) as run:
            assert run.step(example).loss == pytest.approx(loss, rel=1e-5)
            assert run.evaluate(batch).loss < loss


def test_a_batch_of_more_arrays_than_forward_takes_is_refused():
    with pytest.raises(accum.DataError, match="`text` of the example batch is no array of numbers"):
        trainer(Scores(), dict(x=rows(6, 5), text=["a"] * 6))
    x, labels = rows(6, 5), classes(6)
    with pytest.raises(accum.UsageError, match="3 arrays, and forward takes 1"):
        trainer(Scores(), (x, x, labels), loss=functional.cross_entropy)
    with pytest.raises(accum.UsageError, match="loss=FUNCTION"):
        trainer(Scores(), (x, labels))


def test_what_is_no_module_of_python_is_refused():
    batch = (rows(6, 5), classes(6))
    with pytest.raises(accum.UnsupportedError, match="torch.jit"):
        trainer(torch.jit.script(Scores()), batch, loss=functional.cross_entropy)
    with pytest.raises(accum.UsageError, match="is a function"):
        trainer(lambda x: x, batch, loss=functional.cross_entropy)


def test_what_hides_forward_is_named():
    module = Scores()

    def unreadable(x):
        return module.layer(x) if x.sum() > 0 else x
    module.forward = unreadable
    with pytest.raises(accum.UnsupportedError) as caught:
        trainer(module, (rows(6, 5), classes(6)), loss=functional.cross_entropy)
    assert caught.value.slug == "not-exported"
    assert any("unreadable" in note and "Scores.forward" in note for note in caught.value.notes), caught.value.notes


class SameNames(nn.Module):
    """A parameter, a buffer and words of Python as names of inputs."""

    def __init__(self):
        super().__init__()
        self.layer, self.b = nn.Linear(5, 3), nn.Parameter(torch.tensor(-2.0))
        self.register_buffer("c", torch.ones(3))

    def forward(self, a, b, **named):
        return ((self.layer(a) * self.b * self.c).sum(1) - b - named.get("c", 0) - named.get("x-y", 0)).pow(2).mean()


@pytest.mark.parametrize("batch", [(rows(6, 5), rows(6)), dict(a=rows(6, 5), b=rows(6), c=rows(6, seed=2)),
                                   {"a": rows(6, 5), "b": rows(6), "x-y": rows(6, seed=3)}])
def test_inputs_and_parameters_of_one_name_are_told_apart(batch):
    export = check_step(SameNames(), batch).export
    assert export.renamed["b"] == "b_input" and "the input `b` is called `b_input` in the file" in export.notices


@pytest.mark.parametrize("weight", [None, torch.tensor([0.5, 2.0, 1.5])])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("places", [(), (4,)])
def test_targets_that_are_probabilities(weight, reduction, places):
    class Soft(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 3)
            self.register_buffer("weight", weight)

        def forward(self, x, t):
            scores = self.layer(x).movedim(-1, 1)
            loss = functional.cross_entropy(scores, t, self.weight, label_smoothing=0.1, reduction=reduction)
            return loss / x.shape[0] if reduction == "sum" else loss

    targets = torch.softmax(rows(6, 3, *places, seed=2), 1)
    check_step(Soft(), (rows(6, *places, 5), targets))


def test_evaluation_over_several_batches_of_bf16():
    module = nn.Linear(5, 3).bfloat16()
    batch = (rows(6, 5).bfloat16(), classes(6))
    with trainer(module, batch, loss=functional.cross_entropy) as run:
        assert run.evaluate([batch, batch]).loss == pytest.approx(run.evaluate(batch).loss, rel=1e-5)
        assert run.evaluate([batch, batch]).samples == 12
        mixed = run.evaluate([batch, (batch[0].float().numpy(), batch[1].numpy())])
        assert mixed.samples == 12 and mixed.loss == pytest.approx(run.evaluate(batch).loss, rel=1e-5)


def test_expected_values_are_those_of_the_module():
    """The oracle itself: a gradient by finite differences."""
    module, batch = Anything(), (rows(4, 5), classes(4))
    _, gradients = expected(module, batch)
    module = module.double()
    bias, step = module.layer.bias.data, 1e-6
    wide = (batch[0].double(), batch[1])
    bias[0] += step
    above = module(*wide).item()
    bias[0] -= 2 * step
    assert (above - module(*wide).item()) / (2 * step) == pytest.approx(gradients["layer.bias"][0].item(), rel=1e-5)
