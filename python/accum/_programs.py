# SPDX-License-Identifier: Apache-2.0
"""The programs of the wheel as commands."""
from __future__ import annotations

import os
import pathlib
import sys


def _become(name: str) -> None:
    program = pathlib.Path(__file__).resolve().parent / "bin" / name
    if not program.exists():
        sys.exit(f"error: {program}: no such program: only a wheel has it beside the package")
    os.execv(program, [name, *sys.argv[1:]])


def accumc() -> None:
    _become("accumc")


def accum_run() -> None:
    _become("accum-run")


def accum_plan() -> None:
    _become("accum-plan")


def accum_diff() -> None:
    _become("accum-diff")
