# SPDX-License-Identifier: Apache-2.0
"""Memory of this process that no plan counts: Python, PyTorch, and what the script holds."""
from __future__ import annotations

import pathlib
import re

_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$")


def _sum(lines: list[str], own: str) -> int:
    """Of /proc/PID/smaps, without the mappings of files in the folder `own`."""
    total, counts = 0, True
    for line in lines:
        if mapping := _MAPPING.match(line):
            counts = not mapping[1].startswith(own)
        elif counts and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


def resident_bytes() -> int | None:
    """What is in memory now, without accum's own libraries, which plans count; None where the system does not tell."""
    from . import _accum

    own = str(pathlib.Path(_accum.__file__).resolve().parent) + "/"
    try:
        return _sum(pathlib.Path("/proc/self/smaps").read_text(errors="replace").splitlines(), own)
    except OSError:
        return None
