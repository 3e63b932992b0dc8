# SPDX-License-Identifier: Apache-2.0
"""Sizes that fit together with micro-batches of one sample do so where the planner chooses: tight.py MODEL [accumc options]."""
import json
import subprocess
import sys


def plan(*options):
    command = ["accumc", *sys.argv[1:], "--plan-only", "--json", *map(str, options)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout)["search"]["plan"]["counted_bytes"]


least = plan("--micro-batch", 1)
for more in (0, 1 << 12, 1 << 16):
    chosen = plan("--memory", least + more)
    print(f"{chosen} of {least + more} bytes")
    if chosen > least + more:
        sys.exit("that is more than there is")
