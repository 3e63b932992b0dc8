# SPDX-License-Identifier: Apache-2.0
"""make-opinfo.py FOLDER [NAME-NUMBER-ROLE...]: samples of torch's operator tests (OpInfo) as training problems for
test/models/opinfo: each an export of the dynamo exporter with optimize=False, and opinfo.json with what PyTorch's autograd gives
in f64 on the undivided batch. Without names it makes those that the file has already.

NUMBER counts the samples of op_db. ROLE says what of a sample's trained tensors has a batch: `first`, `all`, or `own`, none. A
tensor of a batch is the parameter times the only input, one number per sample; the loss is the mean over samples of the weighted
sum of the result. What PyTorch computes per sample only under vmap is exported so. Needs torch 2.15 and expecttest."""
import json
import pathlib
import sys

import onnx
import torch
from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = 5


class Problem(torch.nn.Module):
    def __init__(self, op, sample, role, vectorized):
        super().__init__()
        self.op, self.keywords, self.role, self.vectorized, self.held = op, sample.kwargs, role, vectorized, 0
        self.operands = [self.hold(operand) for operand in (sample.input, *sample.args)]

    def hold(self, operand):
        """Tensors become parameters or buffers of the module; the answer says where an operand is."""
        if isinstance(operand, torch.Tensor):
            name = f"w{self.held}" if operand.requires_grad else f"c{self.held}"
            self.held += 1
            copy = operand.detach().clone()
            self.register_parameter(name, torch.nn.Parameter(copy)) if operand.requires_grad else self.register_buffer(name, copy)
            return ("tensor", name)
        if isinstance(operand, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in operand):
            return ("list", [self.hold(item) for item in operand])
        return ("value", operand)

    def given(self, place, x):
        kind, held = place
        if kind == "value":
            return held
        if kind == "list":
            return [self.given(item, x) for item in held]
        tensor = getattr(self, held)
        if x is None or held[0] != "w":
            return tensor
        return tensor * x if self.vectorized else tensor.unsqueeze(0) * x.view(-1, *[1] * tensor.dim())

    def result(self, x):
        first = self.given(self.operands[0], x)
        others = [self.given(operand, x if self.role == "all" else None) for operand in self.operands[1:]]
        result = self.op(first, *others, **self.keywords)
        return next(t for t in result if t.is_floating_point()) if isinstance(result, (tuple, list)) else result

    def results(self, x):
        if self.role == "own":
            return self.result(None)
        return torch.vmap(self.result)(x) if self.vectorized else self.result(x)

    def forward(self, x):
        weighted = self.results(x) * self.weights
        if self.role == "own":
            return weighted.sum() * x.mean()
        return weighted.flatten(1).sum(1).mean() if weighted.dim() > 1 else weighted.mean()


def problem(op, sample, role, x):
    """As PyTorch broadcasts, where that is the same as each sample alone."""
    alone = Problem(op, sample, role, role != "own")
    expected = alone.results(x)
    made = alone
    try:
        direct = Problem(op, sample, role, False)
        if torch.equal(direct.results(x), expected):
            made = direct
    except (RuntimeError, IndexError, ValueError):
        pass
    shape = expected.shape if role == "own" else expected.shape[1:]
    made.register_buffer("weights", torch.rand(shape, generator=torch.Generator().manual_seed(1)) + 0.5)
    return made


def export(module, x, path):
    batch = torch.export.Dim("batch", min=1)
    torch.onnx.export(module, (x,), dynamo=True, optimize=False, verbose=False, dynamic_shapes=({0: batch},)).save(str(path))
    model = onnx.load(path)
    for node in model.graph.node:  # paths of this machine
        kept = [entry for entry in node.metadata_props if entry.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, path)


def make(folder, name):
    operator, number, role = name.rsplit("-", 2)
    info = next(o for o in op_db if ".".join(filter(None, (o.name, o.variant_test_name))) == operator)
    torch.manual_seed(0)
    sample = list(info.sample_inputs("cpu", torch.float32, requires_grad=True))[int(number)]
    x = torch.linspace(0.7, 1.3, SAMPLES)
    module = problem(info.op, sample, role, x)
    export(module, x, folder / f"{name}.onnx")
    loss = module.double()(x.double())
    parameters = dict(module.named_parameters())
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    return {"loss": loss.item(), "gradients": {name: [0.0] * p.numel() if g is None else g.flatten().tolist()
                                               for (name, p), g in zip(parameters.items(), gradients)}}


def main():
    folder = pathlib.Path(sys.argv[1])
    path = folder / "opinfo.json"
    about = json.loads(path.read_text()) if path.exists() else {}
    for name in sys.argv[2:] or list(about):
        about[name] = {**make(folder, name), **{key: about.get(name, {})[key] for key in ("refused", "why") if key in about.get(name, {})}}
        print(name, flush=True)
    path.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(about[name])}" for name in sorted(about)) + "\n}\n")


if __name__ == "__main__":
    main()
