# SPDX-License-Identifier: Apache-2.0
"""A model's GPU kernels through NVIDIA's assembler, for every generation of cards: none may spill registers.

Usage: ptx.py MODEL FOLDER [accumc options]. Prints kernels, the most registers and the most shared memory.
"""
import re
import subprocess
import sys

from program import Model

ARCHITECTURES = ["sm_80", "sm_90", "sm_100", "sm_120"]


def main():
    model = Model(sys.argv[1], sys.argv[2])
    ptx = model.compile("--target", "h100", "--micro-batch", "3", *sys.argv[3:]) / "kernels.ptx"
    text = ptx.read_text()
    kernels = text.count(".entry ")
    if kernels == 0:
        sys.exit("kernels.ptx holds no kernel")
    for architecture in ARCHITECTURES:
        command = ["ptxas", f"-arch={architecture}", "--verbose", "-O3", str(ptx), "-o", str(model.folder / f"{architecture}.cubin")]
        result = subprocess.run(command, capture_output=True, text=True)
        said = result.stdout + result.stderr
        if result.returncode:
            sys.exit(f"{' '.join(command)}\n{said}")
        spills = [int(n) for n in re.findall(r"(\d+) bytes spill", said)]
        registers = [int(n) for n in re.findall(r"Used (\d+) registers", said)]
        shared = max([int(n) for n in re.findall(r"(\d+) bytes smem", said)], default=0)
        if len(registers) != kernels or len(spills) != 2 * kernels:
            sys.exit(f"{architecture}: ptxas reports {len(registers)} of {kernels} kernels\n{said}")
        if sum(spills):
            sys.exit(f"{architecture}: {sum(spills)} bytes of registers are spilled\n{said}")
        print(f"{architecture}: {kernels} kernels, at most {max(registers)} registers and {shared} bytes of shared memory a block, no spills")


if __name__ == "__main__":
    main()
