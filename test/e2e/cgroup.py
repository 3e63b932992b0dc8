# SPDX-License-Identifier: Apache-2.0
"""A memory budget that the operating system enforces: what is planned for X bytes runs in a control group of X bytes.

Usage: cgroup.py FOLDER. Without arguments it says where control groups can be made, and fails where they cannot.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
PARENTS = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"  # version 1, version 2
LIMITS = "memory.limit_in_bytes", "memory.max"


@contextlib.contextmanager
def group():
    """A new control group with a limit on memory, as (folder, limit's file); None where none can be made."""
    for parent in PARENTS:
        folder = pathlib.Path(parent) / f"accum-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            limits = [folder / name for name in LIMITS if os.access(folder / name, os.W_OK)]
            if limits:
                yield folder, limits[0]
                return
        finally:
            folder.rmdir()
    yield None


def write(path, value):
    if path.exists():
        path.write_text(str(value))


def status(limit, *command):
    """The exit code of a command in a group of `limit` bytes, without swap."""
    with group() as (folder, limits):
        write(limits, limit)
        write(folder / "memory.swap.max", 0)
        write(folder / "memory.memsw.limit_in_bytes", limit)
        enter = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', folder, *command]
        run = subprocess.run([str(part) for part in enter], capture_output=True, text=True)
        print(f"{limit} bytes: exit code {run.returncode}, peak {peak(folder)}", flush=True)
        return run.returncode


def peak(folder):
    for name in ("memory.max_usage_in_bytes", "memory.peak"):
        if (folder / name).exists():
            return (folder / name).read_text().strip()
    return "unknown"


def main():
    if len(sys.argv) < 2:
        with group() as made:
            sys.exit(0 if made else "no control group can be made here")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    artifact = folder / "model.accum"
    for budget in (64 << 20, 160 << 20, 400 << 20):
        subprocess.run(["accumc", EXAMPLES / "gpt2-tiny.onnx", "--batch", "512", "--memory", str(budget), "-o", artifact], check=True,
                       capture_output=True)
        plan = json.loads((artifact / "plan.json").read_text())
        run = ["accum-run", artifact, "--data", EXAMPLES / "tokens.safetensors", "--steps", 2, "--progress", "none",
               "--save", folder / "weights.safetensors"]
        if status(budget, *run):
            sys.exit(f"the plan for {budget} bytes does not run in them")
        if status((plan["state"] + plan["scratch"]) * 3 // 4, *run) != -signal.SIGKILL:
            sys.exit("three quarters of the arena are enough: the limit does not hold")


if __name__ == "__main__":
    main()
