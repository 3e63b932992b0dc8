# SPDX-License-Identifier: Apache-2.0
"""Every file that make.py makes, in one table."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    family: str
    exporter: str = "dynamo"
    opset: int = 20
    loss: bool = True          # the loss is inside the graph
    attention: str = "eager"
    train: bool = False        # exported in training mode, with dropout: no reference values
    external: bool = False     # weights in NAME.onnx.data
    mask: bool = True          # attention_mask (and token_type_ids) are inputs
    sequence: bool = False     # the sequence is symbolic too
    static: bool = False       # nothing is symbolic: the traced batch is baked in, which must be refused
    optimize: bool = True      # dynamo: fold and fuse after the export
    reference: bool = True     # False: freshly initialised, equal tensors are merged, names cannot be told from content
    stack: str = "current"     # which requirements file


def family_entries(family):
    """Both exporters, loss inside and logits only; and the same from torch 2.6 at opset 17."""
    dynamo = Entry(f"{family}-dynamo", family)
    script = Entry(f"{family}-torchscript", family, exporter="torchscript", opset=17)
    torch26 = dataclasses.replace(script, name=f"{family}-torch26", stack="torch26")
    for entry in (dynamo, script, torch26):
        yield entry
        yield dataclasses.replace(entry, name=f"{entry.name}-logits", loss=False)


def special_entries():
    """Where an exporter or an opset writes another graph."""
    gpt2, bert, llama = (Entry("", family) for family in ("gpt2", "bert-mlm", "llama"))
    script = dict(exporter="torchscript", opset=17)
    yield dataclasses.replace(gpt2, name="gpt2-dynamo-sdpa", attention="sdpa")
    yield dataclasses.replace(gpt2, name="gpt2-torchscript-sdpa", attention="sdpa", **script)
    yield dataclasses.replace(gpt2, name="gpt2-dynamo-wide", family="gpt2-wide")
    yield dataclasses.replace(gpt2, name="gpt2-dynamo-opset18", opset=18)
    yield dataclasses.replace(gpt2, name="gpt2-external", external=True)
    yield dataclasses.replace(gpt2, name="gpt2-dynamo-nomask", mask=False)
    yield dataclasses.replace(gpt2, name="gpt2-torch26-nomask", mask=False, stack="torch26", **script)
    yield dataclasses.replace(llama, name="llama-dynamo-nomask", mask=False)
    yield dataclasses.replace(llama, name="llama-torch26-nomask", mask=False, stack="torch26", **script)
    yield dataclasses.replace(bert, name="bert-mlm-dynamo-nomask", mask=False)
    yield dataclasses.replace(bert, name="bert-mlm-torch26-sdpa", attention="sdpa", stack="torch26", **script)
    yield dataclasses.replace(llama, name="llama-torch26-sdpa", attention="sdpa", stack="torch26", **script)
    yield dataclasses.replace(gpt2, name="gpt2-torch26-sdpa", attention="sdpa", stack="torch26", **script)
    yield dataclasses.replace(gpt2, name="gpt2-dynamo-train", train=True)
    yield dataclasses.replace(gpt2, name="gpt2-torchscript-train", train=True, **script)
    yield dataclasses.replace(gpt2, name="gpt2-torch26-train", train=True, stack="torch26", **script)
    yield dataclasses.replace(bert, name="bert-mlm-dynamo-train", train=True)
    yield dataclasses.replace(bert, name="bert-mlm-torchscript-train", train=True, **script)
    yield dataclasses.replace(llama, name="llama-dynamo-train", train=True)
    yield dataclasses.replace(gpt2, name="gpt2-dynamo-opset24", opset=24, attention="sdpa")
    yield dataclasses.replace(gpt2, name="gpt2-torch26-opset13", exporter="torchscript", opset=13, stack="torch26")
    yield dataclasses.replace(gpt2, name="gpt2-torch26-opset14", exporter="torchscript", opset=14, stack="torch26")
    yield dataclasses.replace(bert, name="bert-mlm-torch26-opset14", exporter="torchscript", opset=14, stack="torch26")
    yield dataclasses.replace(bert, name="bert-mlm-dynamo-sdpa", attention="sdpa")
    yield dataclasses.replace(llama, name="llama-dynamo-opset23", attention="sdpa", opset=23)
    yield dataclasses.replace(llama, name="llama-torchscript-opset20", exporter="torchscript", opset=20)


def attention_entries():
    """Attention in the forms of other families."""
    for family in ("bloom", "falcon", "gemma"):
        yield Entry(f"{family}-dynamo", family)
        yield Entry(f"{family}-torchscript", family, exporter="torchscript", opset=17)


def encoder_decoder_entries():
    """Folding would compute the biases of positions from the tables that are trained."""
    yield Entry("t5-dynamo-unoptimized", "t5", optimize=False)


def shape_entries():
    """The sequence open, nothing folded, everything baked in, and equal tensors merged."""
    yield Entry("gemma2-dynamo-sequence", "gemma2", sequence=True, optimize=False)
    yield Entry("gemma2-torchscript-sequence", "gemma2", exporter="torchscript", opset=17, sequence=True)
    for family in ("gpt2", "bert-mlm", "llama"):
        dynamo = Entry(f"{family}-dynamo", family)
        script = Entry(f"{family}-torchscript", family, exporter="torchscript", opset=17)
        yield dataclasses.replace(dynamo, name=f"{dynamo.name}-sequence", sequence=True)
        yield dataclasses.replace(script, name=f"{script.name}-sequence", sequence=True)
        yield dataclasses.replace(dynamo, name=f"{dynamo.name}-unoptimized", optimize=False)
    for exporter, opset in (("dynamo", 20), ("torchscript", 17)):
        plain = Entry("", "gpt2", exporter=exporter, opset=opset)
        yield dataclasses.replace(plain, name=f"gpt2-{exporter}-static", static=True)
        yield dataclasses.replace(plain, name=f"gpt2-{exporter}-fresh", family="gpt2-fresh", reference=False)


def entries():
    table = [e for family in ("gpt2", "bert-mlm", "bert-classification", "llama") for e in family_entries(family)]
    return {entry.name: entry for entry in [*table, *special_entries(), *attention_entries(), *encoder_decoder_entries(), *shape_entries()]}
