# SPDX-License-Identifier: Apache-2.0
"""Trains PyTorch's transformers with gradient accumulation over micro-batches that a compiler picks.

    run = accum.Trainer(model, example_batch, batch=1024, memory="8GiB", lr=3e-4, clip_norm=1.0)
    print(run.plan)
    for batch in loader:
        metrics = run.step(batch)
    run.load_into(model)

docs/guide.md goes from an installation to a trained model.
"""
import importlib
from typing import Any

from ._accum import compiler_version as _compiler_version
from ._compile import Artifact, Verdict, check, compile, plan
from ._errors import (CrossBatchError, DataError, DoesNotFitError, Error, RunError, UnsupportedError, UsageError)
from ._export import Export, export
from ._plan import Candidate, MemoryLine, Plan
from ._runner import Evaluation, Metrics, Runner
from ._trainer import Trainer
from ._verification import Check, Verification

__version__ = _compiler_version()
__all__ = ["Artifact", "Candidate", "Check", "CrossBatchError", "DataError", "DoesNotFitError", "Error", "Evaluation",
           "Export", "MemoryLine", "Metrics", "Plan", "RunError", "Runner", "Trainer", "UnsupportedError", "UsageError",
           "Verdict", "Verification", "check", "compile", "export", "plan"]


def __getattr__(name: str) -> Any:
    """accum.hf, which reads more than a run without transformers needs, when it is first asked for."""
    if name == "hf":
        return importlib.import_module("accum.hf")
    raise AttributeError(f"module 'accum' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "hf"})
