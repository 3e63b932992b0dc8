# SPDX-License-Identifier: Apache-2.0
"""What `Runner.verify` returns."""
from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Check:
    """A comparison of `verify`. measured, allowed: relative differences."""

    name: str
    ok: bool
    measured: float
    allowed: float


@dataclasses.dataclass(frozen=True, repr=False)
class Verification:
    """What `verify` found: true where nothing is wrong. text: the report as accum-run --verify prints it; error: what is
    wrong, or ""."""

    checks: tuple[Check, ...]
    text: str
    error: str

    def __bool__(self) -> bool:
        return not self.error and all(check.ok for check in self.checks)

    def __repr__(self) -> str:
        return self.text + self.error
