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
    stack: str = "current"     # which requirements file


def entries():
    return {entry.name: entry for entry in TABLE}


TABLE = [
    Entry("gpt2-dynamo", "gpt2"),
    Entry("gpt2-dynamo-logits", "gpt2", loss=False),
    Entry("gpt2-torchscript", "gpt2", exporter="torchscript", opset=17),
]
