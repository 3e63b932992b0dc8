# SPDX-License-Identifier: Apache-2.0
"""make-swept.py FOLDER [EXPORT...]: functions and losses of PyTorch over values from 1e-38 to beyond the range of exp, for test/models/swept.

Each NAME.onnx is sum over functions f and places i of s_f[i] * f(w_f[i] * x), by one exporter: the gradient of s is the function's
value and that of w its derivative. Places where PyTorch in f32 has no finite value or derivative are left out. NAME.json has, by
function, the value and the derivative in f64, and how far those of PyTorch in f32 are from them, at the place or at one of its
neighbours: that at one place is a draw. The same for both exports of dynamo. F.ctc_loss and F.gaussian_nll_loss of variances in a tensor are
exported by neither, F.rrelu and torch.hypot not by dynamo's.
Needs torch 2.15."""
import json
import logging
import math
import pathlib
import re
import sys
import warnings

import onnx
import torch
import torch.nn.functional as F

MAGNITUDES = [1e-38, 1e-30, 1e-20, 1e-10, 1e-7, 1e-5, 1e-3, 0.1, 0.3, 0.5, 0.9, 1, 2, 5, 10, 15, 16.5, 17, 20, 25, 30, 36, 40, 60, 87, 90, 100, 120]
VALUES = [0.0, *MAGNITUDES, *(-v for v in MAGNITUDES)]
# Not by the optimiser: what calls the same twice in a line that the file does not show is refused then; and it drops what is added where that
# is at most 1e-8, so that there is no end of a logarithm or a norm.
NOT_OPTIMISED = ["bce-written-out", "quotient-of-exp", "gaussian-variance", "poisson-rate", "cosine-embedding", "cosine-embedding-apart"]
NEIGHBOURS = [*((steps, 0) for steps in range(-8, 9)), *((0, share / 4096) for share in range(-6, 7))]  # places of f32, and a part of the place
LARGEST = 1e30  # of a value or a derivative: their sum stays finite
WEIGHTS = [1.0, 2.0, 3.0, 0.5]
EXPORTS = {"dynamo": {"dynamo": True, "optimize": False, "opset_version": 18}, "optimised": {"dynamo": True, "optimize": True, "opset_version": 18},
           "torchscript": {"dynamo": False, "opset_version": 17, "training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}}


def constants(numbers, like):
    """As a file of f32 has them."""
    return torch.tensor(numbers, dtype=torch.float32).to(like.dtype)


def by_place(u, numbers):
    return constants(numbers, u).repeat(u.shape[-1])[: u.shape[-1]].expand_as(u)


def binary(u):
    return by_place(u, [0.0, 1.0, 0.3])


def other(u):
    return by_place(u, [0.3, -7.0, 25.0, -60.0, 0.001])


def ours(formula):
    return lambda u: formula(u, binary(u))


def signs(t):
    return 2 * (t > 0.5).to(t.dtype) - 1


def focal(u, t):
    p, loss = u.sigmoid(), F.binary_cross_entropy_with_logits(u, t, reduction="none")
    return (0.25 * t + 0.75 * (1 - t)) * loss * (1 - (p * t + (1 - p) * (1 - t))) ** 2


def ciou(u):
    """The aspect ratio's term of the complete IoU."""
    return 4 / math.pi**2 * (math.atan(0.7) - torch.atan(u / (other(u).abs() + 1e-7))) ** 2


ELEMENTS = {
    **{name: getattr(torch, name) for name in ("abs", "exp", "log", "sqrt", "rsqrt", "reciprocal", "tanh", "erf", "sigmoid", "sin", "cos", "tan", "log1p",
                                               "expm1", "exp2", "log2", "log10", "square", "logit", "sinc", "floor", "sign", "erfc", "asin", "acos",
                                               "atan", "sinh", "cosh", "asinh", "atanh")},
    **{name: getattr(F, name) for name in ("relu", "silu", "softplus", "mish", "elu", "selu", "celu", "softsign", "tanhshrink", "softshrink", "hardshrink",
                                           "hardsigmoid", "hardswish", "relu6", "leaky_relu", "logsigmoid", "hardtanh")},
    "gelu": F.gelu, "gelu-tanh": lambda u: F.gelu(u, approximate="tanh"), "quick-gelu": lambda u: u * (1.702 * u).sigmoid(),
    "threshold": lambda u: F.threshold(u, 0.2, -1.0), "elu-alpha": lambda u: F.elu(u, alpha=0.5), "celu-alpha": lambda u: F.celu(u, alpha=2.0),
    "prelu": lambda u: F.prelu(u, constants([0.25], u)),
    "root-quotient": lambda u: u / (1 + u * u).sqrt(),
    "quotient-of-exp": lambda u: u.exp() / (1 + u.exp()), "logit-eps": lambda u: torch.logit(u.sigmoid(), eps=1e-6),
    "softplus-beta": lambda u: F.softplus(u, beta=2.0), "pow-2": lambda u: u**2, "pow-3": lambda u: u**3, "pow-0.5": lambda u: u.abs() ** 0.5,
    "clamp": lambda u: u.clamp(-1, 1), "maximum": lambda u: torch.maximum(u, other(u)), "log-sigmoid": lambda u: u.sigmoid().log(),
    "log-complement": lambda u: (1 - u.sigmoid()).log(), "log-one-plus-exp": lambda u: (1 + u.exp()).log(), "exp-less-one": lambda u: u.exp() - 1,
    "one-less-exp": lambda u: 1 - u.exp(), "log-one-plus": lambda u: (1 + u).log(), "log-one-less": lambda u: (1 - u).log(),
    "logaddexp": lambda u: torch.logaddexp(u, 0.5 * u + other(u)), "logaddexp2": lambda u: torch.logaddexp2(u, 0.5 * u + other(u)),
    "xlogy": lambda u: torch.xlogy(other(u).abs(), u.abs()), "entr": torch.special.entr,
    "clamped-log": lambda u: u.sigmoid().clamp(1e-6, 1 - 1e-6).log(),
    "erfcx": torch.special.erfcx, "ndtr": torch.special.ndtr, "log-ndtr": torch.special.log_ndtr, "log-erfc": lambda u: u.erfc().log(),
    "log-erfc-eighth": lambda u: (u / 8).erfc().log(), "log-normal": lambda u: (0.5 * (1 + torch.erf(u / math.sqrt(2)))).log(),
    "acosh": lambda u: torch.acosh(1 + u.abs()), "atan2": lambda u: torch.atan2(u, other(u)),
    "atan2-of-both": lambda u: torch.atan2(u, other(u) - 0.5 * u), "atan2-of-zero": lambda u: torch.atan2(u, 0 * u), "ciou": ciou,
    "where-log": lambda u: torch.where(u > 0, u.clamp(min=1e-30).log(), u),
    "bce": ours(lambda u, t: F.binary_cross_entropy(u.sigmoid(), t, reduction="none")),
    "bce-of-probability": ours(lambda u, t: F.binary_cross_entropy(u.clamp(0, 1), t, reduction="none")),
    "bce-logits": ours(lambda u, t: F.binary_cross_entropy_with_logits(u, t, reduction="none")),
    "bce-logits-weighted": ours(lambda u, t: F.binary_cross_entropy_with_logits(u, t, weight=t + 0.5, reduction="none")),
    "bce-logits-positive": ours(lambda u, t: F.binary_cross_entropy_with_logits(u, t, pos_weight=torch.tensor(3.0, dtype=u.dtype), reduction="none")),
    "bce-written-out": ours(lambda u, t: -(t * u.sigmoid().log() + (1 - t) * (1 - u.sigmoid()).log())),
    "bce-softplus": ours(lambda u, t: F.softplus(u) - t * u),
    "focal": ours(focal), "preference": lambda u: -F.logsigmoid(0.1 * (u - other(u))),
    "soft-margin": ours(lambda u, t: F.soft_margin_loss(u, 2 * t - 1, reduction="none")),
    "gaussian": ours(lambda u, t: F.gaussian_nll_loss(u, t, 0.7, reduction="none")),
    "gaussian-variance": ours(lambda u, t: 0.5 * (u.abs().clamp(min=1e-6).log() + (2 - 2 * t) ** 2 / u.abs().clamp(min=1e-6))),
    "gaussian-log-variance": ours(lambda u, t: 0.5 * (u + (2 - t) ** 2 / u.exp())),
    "poisson-rate": ours(lambda u, t: F.poisson_nll_loss(u.abs(), 4 * t, log_input=False, reduction="none")),
    "poisson-full": ours(lambda u, t: F.poisson_nll_loss(u, 4 * t, full=True, reduction="none")),
    "smooth-l1-beta": ours(lambda u, t: F.smooth_l1_loss(u, t, beta=0.3, reduction="none")),
    "huber-delta": ours(lambda u, t: F.huber_loss(u, t, delta=0.4, reduction="none")), "log-cosh": ours(lambda u, t: (u - t).cosh().log()),
    "hinge-margin": ours(lambda u, t: F.hinge_embedding_loss(u, signs(t), margin=0.5, reduction="none")),
    "kl-of-target": lambda u: F.kl_div(-other(u).abs(), u.abs(), reduction="none"),
    "kl-log-of-target": lambda u: F.kl_div(-other(u).abs(), -u.abs(), log_target=True, reduction="none"),
    "poisson": ours(lambda u, t: F.poisson_nll_loss(u, 4 * t, reduction="none")),
    "mse": ours(lambda u, t: F.mse_loss(u, t, reduction="none")), "l1": ours(lambda u, t: F.l1_loss(u, t, reduction="none")),
    "smooth-l1": ours(lambda u, t: F.smooth_l1_loss(u, t, reduction="none")), "huber": ours(lambda u, t: F.huber_loss(u, t, reduction="none")),
    "hinge": ours(lambda u, t: F.hinge_embedding_loss(u, signs(t), reduction="none")),
    "margin-ranking": ours(lambda u, t: F.margin_ranking_loss(u, other(u), signs(t), reduction="none")),
    "kl": lambda u: F.kl_div(u, other(u).sigmoid(), reduction="none"), "kl-log": lambda u: F.kl_div(u, -other(u).abs(), log_target=True, reduction="none"),
}


def log_erfc(u):
    return torch.where(u < 0.5, torch.log1p(-u.erf()), u.erfc().log())


# What has digits in f64 that the formula has not.
ORACLES = {"exp-less-one": torch.expm1, "one-less-exp": lambda u: -torch.expm1(u), "log-one-plus": torch.log1p, "log-one-less": lambda u: torch.log1p(-u),
           "bce-softplus": ELEMENTS["bce-logits"], "log-erfc": log_erfc, "ndtr": lambda u: 0.5 * (-u / math.sqrt(2)).erfc(),
           "log-erfc-eighth": lambda u: log_erfc(u / 8),
           "logit-eps": lambda u: u.clamp(math.log(1e-6 / (1 - 1e-6)), math.log((1 - 1e-6) / 1e-6)),
           "log-cosh": ours(lambda u, t: torch.log1p(2 * ((u - t) / 2).sinh() ** 2)),
           "tanhshrink": lambda u: torch.where(u.abs() < 1e-4, u**3 / 3, F.tanhshrink(u))}


def rows_of(u):
    return u.reshape(-1, 4)


def beside(rows):
    return torch.tensor(WEIGHTS, dtype=rows.dtype).expand_as(rows)


def classes(rows):
    return torch.ones_like(rows[:, 0], dtype=torch.long)


def by_row(function):
    return lambda u: function(rows_of(u)).reshape(u.shape[0], -1)


ROWS = {
    "logsumexp": lambda r: torch.logsumexp(r, -1), "log-sum-exp": lambda r: r.exp().sum(-1).log(), "log-mean-exp": lambda r: r.exp().mean(-1).log(),
    "logcumsumexp": lambda r: torch.logcumsumexp(r, -1).sum(-1), "logcumsumexp-second": lambda r: torch.logcumsumexp(r, -1)[:, 1],
    "log-cumsum-exp": lambda r: r.exp().cumsum(-1).log().sum(-1),
    "std": lambda r: r.std(-1), "std-biased": lambda r: r.std(-1, correction=0), "var": lambda r: r.var(-1),
    "std-mean": lambda r: sum(torch.std_mean(r, -1)), "norm": lambda r: r.norm(dim=-1), "norm-1": lambda r: r.norm(p=1, dim=-1),
    "norm-3": lambda r: r.norm(p=3, dim=-1), "norm-half": lambda r: r.norm(p=0.5, dim=-1), "norm-inf": lambda r: r.norm(p=math.inf, dim=-1),
    "normalize": lambda r: F.normalize(r, dim=-1)[:, 0], "softmax": lambda r: r.softmax(-1)[:, 0], "log-softmax": lambda r: F.log_softmax(r, -1)[:, 1],
    "log-of-softmax": lambda r: r.softmax(-1).log()[:, 2], "cosine": lambda r: F.cosine_similarity(r, beside(r), dim=-1),
    "pairwise": lambda r: F.pairwise_distance(r, beside(r)),
    "triplet": lambda r: F.triplet_margin_loss(r, beside(r), -beside(r), reduction="none"),
    "triplet-swap": lambda r: F.triplet_margin_loss(r, beside(r), -beside(r), swap=True, reduction="none"),
    "triplet-cosine": lambda r: F.triplet_margin_with_distance_loss(r, beside(r), -beside(r), reduction="none",
                                                                    distance_function=lambda a, b: 1 - F.cosine_similarity(a, b)),
    "cosine-embedding": lambda r: F.cosine_embedding_loss(r, beside(r), classes(r), reduction="none"),
    "cosine-embedding-apart": lambda r: F.cosine_embedding_loss(r, beside(r), -classes(r), margin=0.1, reduction="none"),
    "multi-margin": lambda r: F.multi_margin_loss(r, classes(r), reduction="none"),
    "multi-margin-squared": lambda r: F.multi_margin_loss(r, classes(r), p=2, reduction="none"),
    "multilabel-margin": lambda r: F.multilabel_margin_loss(r, torch.tensor([2, 0, -1, 1]).expand(r.shape), reduction="none"),
    "entropy": lambda r: -(r.softmax(-1) * F.log_softmax(r, -1)).sum(-1), "softmin": lambda r: F.softmin(r, -1)[:, 1], "glu": lambda r: F.glu(r, -1)[:, 1],
    "layer-norm": lambda r: F.layer_norm(r, (4,))[:, 1], "rms-norm": lambda r: F.rms_norm(r, (4,))[:, 1], "kl-of-softmax":
    lambda r: F.kl_div(F.log_softmax(r, -1), constants([0.1, 0.2, 0.3, 0.4], r).expand_as(r), reduction="none").sum(-1),
    "multilabel-soft-margin": lambda r: F.multilabel_soft_margin_loss(r, constants([1.0, 0, 1, 0], r).expand_as(r), reduction="none"),
    "soft-cross-entropy": lambda r: -(constants([0.1, 0.2, 0.3, 0.4], r) * F.log_softmax(r, -1)).sum(-1),
}


LABELLED = {  # of logits whose second axis are the classes
    "nll": lambda r: F.nll_loss(F.log_softmax(r, 1), classes(r), reduction="none"), "cross-entropy": lambda r: F.cross_entropy(r, classes(r), reduction="none"),
    "cross-entropy-smooth": lambda r: F.cross_entropy(r, classes(r), label_smoothing=0.1, reduction="none"),
    "cross-entropy-weighted": lambda r: F.cross_entropy(r, classes(r), weight=constants([0.5, 1, 2, 0.1], r), reduction="none"),
    "cross-entropy-probabilities": lambda r: F.cross_entropy(r, constants([0.1, 0.2, 0.3, 0.4], r)[:, None].expand_as(r), reduction="none"),
}


def function_of(name):
    """Of samples by places, rows being four places each."""
    if name in LABELLED:
        return lambda u: LABELLED[name](u.reshape(u.shape[0], -1, 4).transpose(1, 2))
    return ELEMENTS.get(name) or by_row(ROWS[name])


# The end that PyTorch gives a norm is one of the type.
ORACLES["rms-norm"] = by_row(lambda r: F.rms_norm(r, (4,), eps=torch.finfo(torch.float32).eps)[:, 1])


def row_values():
    rows = [[v] * 4 for v in VALUES if v >= 0] + [[v, 0.0, 1.0, -v] for v in VALUES] + [[v, 0.5 * v, -3.0, 2.0] for v in VALUES]
    return [*rows, [0.1, 0.1, 0.1, 0.1], [0.7, 0.7, 0.7, 0.7]]


def laid_out(name, values, number):
    """The places of one vector. What comes first tells tensors apart, which exporters merge where they are equal."""
    first = 0.25 + number / 1024
    return [first, *values] if name in ELEMENTS else [first, 0.5, 0.75, 1.0, *(v for row in values for v in row)]


class Swept(torch.nn.Module):
    def __init__(self, places, left_out=()):
        super().__init__()
        self.places, self.left_out = {}, left_out
        for number, (name, values) in enumerate(places.items()):
            whole, count = laid_out(name, values, number), len(values) + 1
            key = "f_" + name.replace("-", "_").replace(".", "_")
            self.register_parameter(f"w_{key}", torch.nn.Parameter(torch.tensor(whole)))
            self.register_parameter(f"s_{key}", torch.nn.Parameter(torch.full((count,), 1 + number / 1024)))
            self.places[name] = key

    def function(self, name, x):
        u = getattr(self, f"w_{self.places[name]}") * x[:, None]
        return function_of(name)(u)

    def forward(self, x):
        return sum((getattr(self, f"s_{key}") * self.function(name, x)).sum(1).mean() for name, key in self.places.items()
                   if name not in self.left_out)


def moved(w, steps, share):
    """The numbers of f32 so many places further, and larger by a share."""
    for _ in range(abs(steps)):
        w = torch.nextafter(w, torch.full_like(w, math.copysign(math.inf, steps)))
    return w * (1 + share)


def measured(name, values, dtype, move=(0, 0)):
    """Values and derivatives of a function at places that do not know of each other."""
    function = ORACLES.get(name) if dtype == torch.float64 else None
    function = function or function_of(name)
    w = moved(torch.tensor(laid_out(name, values, 0), dtype=torch.float32), *move).to(dtype).requires_grad_()
    y = function(w.reshape(1, -1))
    y.sum().backward()
    return y.detach().double().flatten()[1:], w.grad.double().reshape(len(values) + 1, -1)[1:]


def finite_places(name):
    values = VALUES if name in ELEMENTS else row_values()
    while True:  # other places have other targets then
        largest = torch.stack([torch.maximum(value.abs(), slope.abs().amax(1)) for value, slope in
                               (measured(name, values, dtype) for dtype in (torch.float32, torch.float64))]).amax(0)
        kept = [v for v, size in zip(values, largest) if torch.isfinite(size) and size < LARGEST]
        if len(kept) == len(values):
            return kept
        values = kept


def export(module, how, path):
    x = torch.ones(2)
    settings = dict(EXPORTS[how])
    if settings["dynamo"]:
        torch.onnx.export(module, (x,), verbose=False, dynamic_shapes=({0: torch.export.Dim("batch", min=1)},), **settings).save(str(path))
    else:
        torch.onnx.export(module, (x,), str(path), input_names=["x"], dynamic_axes={"x": {0: "batch"}}, **settings)


def exportable(name, how, folder):
    try:
        export(Swept({name: finite_places(name)}), how, folder / "try.onnx")
        return True
    except Exception:
        return False
    finally:
        (folder / "try.onnx").unlink(missing_ok=True)


def own(name, values):
    """How far PyTorch in f32 is off, the most of each place and its neighbours."""
    found = []
    for move in NEIGHBOURS:
        wide, narrow = (measured(name, values, dtype, move) for dtype in (torch.float64, torch.float32))
        found.append([torch.nan_to_num((a - b).abs().flatten(), 0, 0, 0) for a, b in zip(wide, narrow)])
    return [torch.stack(each).amax(0).tolist() for each in zip(*found)]


def facts(name, key, values):
    wide, off = measured(name, values, torch.float64), own(name, values)
    (value, slope), off = ([[float(f"{v:.{digits}g}") for v in each] for each in pair] for pair, digits in (([w.flatten().tolist() for w in wide], 9), (off, 2)))
    return {"key": key, "at": values, "value": value, "slope": slope, "value off": off[0], "slope off": off[1]}


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for how in sys.argv[2:] or EXPORTS:
        # The dynamo exporter takes all of them.
        names = [name for name in [*ELEMENTS, *ROWS, *LABELLED] if EXPORTS[how]["dynamo"] or exportable(name, how, folder)]
        module = Swept({name: finite_places(name) for name in names}, NOT_OPTIMISED if EXPORTS[how].get("optimize") else ())
        export(module, how, folder / f"{how}.onnx")
        model = onnx.load(folder / f"{how}.onnx")
        for part in (model.graph, *model.graph.value_info, *model.graph.node):  # paths of this machine, and what nobody reads
            lines = ["pkg.torch.onnx.stack_trace"] if EXPORTS[how].get("optimize") else []  # what comes from one of them
            kept = [entry for entry in part.metadata_props if entry.key.startswith("pkg.torch.export") or entry.key in ["pkg.torch.onnx.fx_node", *lines]]
            for entry in kept:
                entry.value = re.sub('File "/[^"]*/', 'File "', entry.value)
            del part.metadata_props[:]
            part.metadata_props.extend(kept)
        onnx.save(model, folder / f"{how}.onnx")
        if how == "optimised":
            continue  # the facts are those of dynamo
        about = {name: {**facts(name, module.places[name], finite_places(name)), "scale": 1 + number / 1024} for number, name in enumerate(names)}
        (folder / f"{how}.json").write_text(json.dumps(about))
        print(how, len(names), "not exported:", [name for name in [*ELEMENTS, *ROWS, *LABELLED] if name not in names], flush=True)


if __name__ == "__main__":
    main()
