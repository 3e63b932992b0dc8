# SPDX-License-Identifier: Apache-2.0
"""Reference values by PyTorch in float64 on the whole batch: loss, gradients, parameters after three steps."""
import contextlib
import copy

import torch
from safetensors.torch import save_file

STEPS = 3


@contextlib.contextmanager
def everything_in_float64():
    """Models ask for float32 by name (`.float()`, `dtype=torch.float32`) in softmax, norms and rotary: not here."""
    single, to_single = torch.float32, torch.Tensor.float
    torch.float32, torch.Tensor.float = torch.float64, torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.Tensor.float = single, to_single


def cross_entropy(logits, labels):
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1),
                                             ignore_index=-100)


def in_graph(model, arrays):
    """The loss that the model itself returns."""
    with everything_in_float64():
        doubled = {k: v.double() if v.is_floating_point() else v for k, v in arrays.items()}
        return model(**doubled)[0]


def loss_of(convention):
    """(model, arrays) -> scalar. `causal-lm`: labels shifted here; `next-token`: the same with labels = input_ids."""
    def loss(model, arrays):
        inputs = {name: array for name, array in arrays.items() if name != "labels"}
        with everything_in_float64():
            logits = model(**inputs)[0]
            assert logits.dtype == torch.float64
            if convention == "cross-entropy":
                return cross_entropy(logits, arrays["labels"])
            labels = arrays["input_ids"] if convention == "next-token" else arrays["labels"]
            return cross_entropy(logits[:, :-1], labels[:, 1:])
    return loss


def gradients(model, loss, arrays):
    model.zero_grad()
    value = loss(model, arrays)
    value.backward()
    return value.detach()


def check_derivative(model, loss, arrays, step=1e-5):
    """Central difference along the gradient: float32 hidden anywhere would show as a difference of 1e-3 or more."""
    gradients(model, loss, arrays)
    direction = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    slope = sum((g * g).sum() for g in direction.values())
    values = []
    for sign in (1, -1):
        moved = copy.deepcopy(model)
        with torch.no_grad():
            for name, p in moved.named_parameters():
                p += sign * step * direction.get(name, 0) / slope.sqrt()
            values.append(loss(moved, arrays))
    difference = (values[0] - values[1]) / (2 * step * slope.sqrt())
    assert abs(difference - 1) < 1e-7, f"derivative off by {float(difference - 1)}"


def trained(model, optimizer_of, loss, arrays):
    model = copy.deepcopy(model)
    optimizer = optimizer_of(model.parameters())
    for _ in range(STEPS):
        gradients(model, loss, arrays)
        optimizer.step()
    return {name: p.detach() for name, p in model.named_parameters()}


def reference(model, loss, arrays):
    """`loss` float64 [1]; `grad/`, `sgd3/`, `adamw3/` float32 under the names of `named_parameters()`."""
    model = copy.deepcopy(model).double()
    check_derivative(model, loss, arrays)
    result = {"loss": gradients(model, loss, arrays).reshape(1)}
    for name, p in model.named_parameters():
        result[f"grad/{name}"] = p.grad if p.grad is not None else torch.zeros_like(p)
    steps = {"sgd3": lambda p: torch.optim.SGD(p, lr=0.1),
             "adamw3": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.0)}
    for prefix, optimizer in steps.items():
        for name, p in trained(model, optimizer, loss, arrays).items():
            result[f"{prefix}/{name}"] = p
    return {name: t.clone() if name == "loss" else t.to(torch.float32).clone() for name, t in result.items()}


def linked(path, shared, kind, tensors):
    """Writes one file per kind of model, beside the exports, and a link per export."""
    file = path.with_name(f"{shared}.{kind}.safetensors")
    save_file(tensors, file)
    file.chmod(0o644)
    link = path.with_suffix(f".{kind}.safetensors")
    link.unlink(missing_ok=True)
    link.symlink_to(file.name)
