# SPDX-License-Identifier: Apache-2.0
"""oracle: the gradients of problem.txt are all that is summed over devices, each final behind a backward command of the micro-step."""
import re
import sys

lines = open(sys.argv[1]).read().splitlines()
summed = next(int(line.split()[1]) for line in lines if line.startswith("all-reduce "))
gradients = [re.match(r"gradient (\d+)(?: after=(\d+))? label=(\S+)$", line) for line in lines if line.startswith("gradient ")]
commands = {line.split()[1]: line.split() for line in lines if line.startswith("command ")}
assert gradients and all(gradients), "a gradient line does not read"
beside = summed - sum(int(gradient[1]) for gradient in gradients)
assert 0 <= beside <= 256, f"{beside} bytes are summed that are no gradient, and no alignment"
for gradient in gradients:
    words = commands[gradient[2]]
    assert words[2] == "micro" and "backward" in words and "once" in words, (gradient[0], words)
last = max(int(gradient[2]) for gradient in gradients)
tied = [gradient for gradient in gradients if gradient[3].startswith("lm_head.")]
assert [int(gradient[2]) for gradient in tied] == [last], "a tied embedding is final last: tokens are looked up first"
print(f"{len(gradients)} gradients, {summed} bytes")
