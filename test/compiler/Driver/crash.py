#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""crash.py MODEL: a compiler that crashes says so and ends with 70.
oracle: exits with 1 where it does not."""
import signal
import subprocess
import sys
import time

COMMAND = ["accumc", sys.argv[1], "--batch", "512", "--target", "h100", "--precision", "bf16", "--plan-only"]


def struck(number):
    """Its exit code and what it said; where it was done before, or had not begun, once more at another moment."""
    wait = 0.2
    for _ in range(8):
        accumc = subprocess.Popen(COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        accumc.send_signal(number)
        said = accumc.communicate()[1]
        if accumc.returncode not in (0, -number):
            break
        wait *= 0.6 if accumc.returncode == 0 else 1.5
    return accumc.returncode, said


for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE):
    code, said = struck(number)
    if code != 70 or "error: accumc stopped by " not in said or "[internal]\nnote: " not in said:
        sys.exit(f"{number!r}: exit code {code}: {said}")
