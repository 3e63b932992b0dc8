# SPDX-License-Identifier: Apache-2.0
"""A model's GPU kernels through NVIDIA's assembler, for every kind of card: none may spill registers or use a stack, all may be
started as they will be, and an old driver reads them.

Usage: ptx.py MODEL FOLDER [accumc options], or ptx.py ARTIFACT.accum FOLDER. Prints kernels, the most registers and the most
shared memory.
"""
import json
import pathlib
import re
import subprocess
import sys

from program import Model

ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
NEWER = ["sm_103", "sm_121"]  # where this ptxas knows them
# A driver of CUDA 12.0 reads PTX up to this version.
PTX_VERSION = (8, 0)
REGISTERS = 65536  # of a multiprocessor, given out by 256 to a warp


def check_text(text, manifest):
    """What any driver from CUDA 12.0 on takes, and blocks of the size that they were compiled for."""
    version = tuple(map(int, re.search(r"^\.version (\d+)\.(\d+)", text, re.M).groups()))
    if version > PTX_VERSION or not re.search(r"^\.target sm_80$", text, re.M):
        sys.exit(f"PTX {version} is no baseline")
    bounds = dict(re.findall(r"\.entry (\w+)\(.*?\n\.maxntid (\d+)", text, re.S))
    for kernel in manifest["kernels"]:
        threads = kernel["block"][0] * kernel["block"][1] * kernel["block"][2]
        if int(bounds[kernel["symbol"]]) != threads:
            sys.exit(f"{kernel['symbol']} is started with {threads} threads and compiled for {bounds[kernel['symbol']]}")
    return {name: int(threads) for name, threads in bounds.items()}


def check_registers(architecture, said, threads):
    """A block's registers are there at all."""
    used = dict(re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", said, re.S))
    for name, registers in used.items():
        warps = -(-threads[name] // 32)
        if warps * -(-int(registers) * 32 // 256) * 256 > REGISTERS:
            sys.exit(f"{architecture}: {name} needs {registers} registers in {threads[name]} threads")


def kernels_of(name, folder, *options):
    if name.endswith(".accum"):
        return pathlib.Path(name) / "kernels.ptx"
    return Model(name, folder).compile("--target", "h100", "--micro-batch", "3", *options) / "kernels.ptx"


def main():
    ptx = kernels_of(*sys.argv[1:])
    text = ptx.read_text()
    threads = check_text(text, json.loads((ptx.parent / "manifest.json").read_text()))
    known = subprocess.run(["ptxas", "--help"], capture_output=True, text=True).stdout
    kernels = text.count(".entry ")
    if kernels == 0:
        sys.exit("kernels.ptx holds no kernel")
    for architecture in ARCHITECTURES + [newer for newer in NEWER if f"'{newer}'" in known]:
        command = ["ptxas", f"-arch={architecture}", "--verbose", "-O3", "--warn-on-local-memory-usage", str(ptx), "-o", f"{sys.argv[2]}/{architecture}.cubin"]
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
        if re.search(r"[1-9]\d* bytes stack frame|local memory", said):
            sys.exit(f"{architecture}: local memory is used\n{said}")
        check_registers(architecture, said, threads)
        print(f"{architecture}: {kernels} kernels, at most {max(registers)} registers and {shared} bytes of shared memory a block, no spills")


if __name__ == "__main__":
    main()
