# SPDX-License-Identifier: Apache-2.0
"""expect.py CODE COMMAND...: runs a command, passes its output on, and fails unless it exits with CODE."""
import subprocess
import sys

result = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(result.stdout, end="")
if result.returncode != int(sys.argv[1]):
    sys.exit(f"exit code {result.returncode}, expected {sys.argv[1]}")
