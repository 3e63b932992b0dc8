# SPDX-License-Identifier: Apache-2.0
"""One model by one exporter, trained for three steps by accumc and by PyTorch in float64: the same, or what came in between."""
import copy
import itertools
import json
import re
import subprocess

import onnx
import torch
from safetensors.torch import load_file, save_file

import export
import reference
import zoo

CUTS = (2, 1)          # micro-batches of seven samples: the last of the first kind is ragged
STEPS, RATE = 3, 0.05
TOLERANCE = 2e-6       # of a loss; float32 gives some 1e-7, and one row that should not train 1e-5
ALIKE = 1e-3           # of a parameter's gradient norm
ADDED = {zoo.CAUSAL: "causal-lm", zoo.MASKED: "cross-entropy", zoo.CLASSIFY: "cross-entropy", zoo.TAG: "cross-entropy",
         zoo.CHOICE: "cross-entropy", zoo.PICTURE: "cross-entropy", zoo.SOUND: "cross-entropy"}


class Ended(Exception):
    """Before a step was trained: `kind` and what is known of it."""

    def __init__(self, kind, **facts):
        super().__init__(kind)
        self.result = {"kind": kind, **facts}


def model_loss(head):
    def loss(model, arrays):
        with reference.everything_in_float64():
            return model(**arrays, **({"return_loss": True} if head == "Contrast" else {}))["loss"]
    return loss


def truth(model, loss, arrays):
    """Losses of the steps of SGD, and the norm of each parameter's gradient in the last one, tied ones once."""
    model = copy.deepcopy(model).double()
    losses = []
    for _ in range(STEPS):
        losses.append(float(reference.gradients(model, loss, arrays)))
        norms = {name: float(p.grad.norm()) for name, p in model.named_parameters() if p.grad is not None}
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= RATE * p.grad
    return losses, norms


def returning_loss(model):
    """Two towers return their loss on request only."""
    kind = type(model)

    def forward(self, input_ids, pixel_values, attention_mask):
        output = kind.forward(self, input_ids=input_ids, pixel_values=pixel_values, attention_mask=attention_mask,
                              return_loss=True)
        return output.loss, output.logits_per_image

    model = copy.copy(model)
    model.__class__ = type(kind.__name__, (kind,), {"forward": forward})
    return model


def by_transformers(model, arrays, path):
    from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter
    inputs = {name: x[:export.TRACED] for name, x in arrays.items() if name != "labels"}
    OnnxExporter().export(copy.deepcopy(model), inputs, OnnxConfig(dynamic=True)).save_pretrained(path.parent)


def root_of(error):
    """The first line of what the exporter met first; it wraps that in its own."""
    while error.__cause__:
        error = error.__cause__
    plain = re.sub("\x1b\\[[0-9;]*m", "", str(error)).strip()
    return f"{type(error).__name__}: {plain.splitlines()[0] if plain else ''}"[:250]


def make(exporter, head, model, arrays, path, evaluation):
    """exporter: T, D, N or H, as in docs/exporting.md."""
    try:
        if exporter == "H":
            return by_transformers(model, arrays, path)
        train = exporter == "T" and not evaluation
        recipe = export.Recipe("torchscript" if exporter == "T" else "dynamo", 17 if exporter == "T" else 20,
                               train=train, fold=exporter != "N")
        export.export(returning_loss(model) if head == "Contrast" else model, arrays, path, recipe)
    except Exception as error:
        raise Ended("export", why=root_of(error)) from error


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    if done.returncode == 0:
        return done
    lines = [line for line in done.stderr.splitlines() if line.startswith(("error:", "note:"))]
    slug = re.search(r"\[([a-z-]+)\]$", lines[0]) if lines else None
    kind = "refused" if slug and done.returncode in (1, 3) else "failed"
    notes = itertools.takewhile(lambda line: line.startswith("note: "), lines[1:])
    raise Ended(kind, exit=done.returncode, slug=slug[1] if slug else None,
                why=lines[0].removeprefix("error: ").removeprefix("model.onnx: ") if lines else done.stderr[-300:],
                way=[line.removeprefix("note: ") for line in notes if not line.startswith("note: from ")])


def open_sizes(path, arrays):
    """--dim for every symbol beside the leading ones."""
    sizes = {}
    for value in onnx.load(path, load_external_data=False).graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param and axis > 0:
                sizes[dim.dim_param] = arrays[value.name].shape[axis]
    return [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]


def trained(tools, path, m, flags):
    """Losses of the steps, gradients of the last."""
    folder = path.parent
    artifact, gradients, log = folder / "step.accum", folder / "gradients.safetensors", folder / "log.jsonl"
    log.unlink(missing_ok=True)
    run([tools / "accumc", path, "--batch", zoo.SAMPLES, "--micro-batch", m, "--optimizer", "sgd", "-o", artifact, *flags])
    run([tools / "accum-run", artifact, "--data", folder / "data.safetensors", "--steps", STEPS, "--lr", RATE, "--no-shuffle",
         "--dump-gradients", gradients, "--log", log, "--save", folder / "trained.safetensors", "--progress", "none",
         "--threads", 1])
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    return losses, load_file(gradients)


def untrained(norms, gradients):
    """Parameters without a gradient of their norm. Where the largest is a hundred times larger, nothing is said."""
    floor = 1e-2 * max(norms.values())
    found = [float(g.double().norm()) for g in gradients.values()]
    return sorted(name for name, norm in norms.items()
                  if norm > floor and not any(abs(other - norm) < ALIKE * norm for other in found))


def losses_of(head, exporter, model, arrays):
    loss = reference.loss_of(ADDED[head]) if exporter == "H" else model_loss(head)
    arrays = {k: v.double() if v.is_floating_point() else v for k, v in arrays.items()}
    try:
        return truth(model, loss, arrays)
    except Exception as error:
        raise Ended("reference", why=f"{type(error).__name__}: {str(error)[:200]}") from error


def compared(tools, path, flags, expected, norms):
    worst, lost = 0.0, set()
    for m in CUTS:
        losses, gradients = trained(tools, path, m, flags)
        worst = max(worst, *(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True)))
        lost |= set(untrained(norms, gradients))
    found = {"error": float(f"{worst:.2g}")}
    if not worst <= TOLERANCE:
        return {"kind": "wrong", **found, "losses": losses, "expected": expected}
    return {"kind": "part", **found, "untrained": sorted(lost)} if lost else {"kind": "same", **found}


def attempt(tools, exporter, family, head, folder, how):
    """{"kind": "same" | "part" | "wrong" | "export" | "refused" | "failed" | ..., ...}; part: not all is trained."""
    how = dict(how)
    evaluation = how.pop("evaluation", False)
    path = folder / "model.onnx"
    try:
        if exporter == "H" and head not in ADDED:
            raise Ended("export", why="takes no labels, and accumc adds no loss of this head")
        model = zoo.build(family, head, **how)
        arrays = zoo.samples(family, head, model)
        expected, norms = losses_of(head, exporter, zoo.build(family, head, **zoo.in_float64(family)), arrays)
        make(exporter, head, model, zoo.traced(model, arrays), path, evaluation)
        save_file({k: v.contiguous() for k, v in arrays.items()}, folder / "data.safetensors")
        flags = ["--loss", f"{ADDED[head]}:logits", *open_sizes(path, arrays)] if exporter == "H" else []
        result = compared(tools, path, flags, expected, norms)
        frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
        if result["kind"] == "same" or not frozen:
            return result
        flags += [word for name in frozen for word in ("--freeze", name)]
        return {**compared(tools, path, flags, expected, norms), "frozen": frozen}
    except Ended as end:
        return end.result
