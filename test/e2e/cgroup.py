# SPDX-License-Identifier: Apache-2.0
"""A memory budget that the operating system enforces: what is planned for X bytes runs in a control group of X bytes, and two ranks in 2 X.

Usage: cgroup.py FOLDER. Groups of version 1 or of version 2, whichever has the memory controller; without arguments it says
where control groups can be made, and fails where they cannot.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

from memory import write_wide
from program import environment

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
LIMITS = "memory.limit_in_bytes", "memory.max"  # version 1, version 2


def parents():
    """Folders in which a group with a limit may be made: where the memory controller is mounted, and the own group there."""
    own = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        hierarchy, controllers, path = line.split(":", 2)
        if hierarchy == "0" or "memory" in controllers.split(","):
            own["cgroup2" if hierarchy == "0" else "cgroup"] = path.lstrip("/")
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, options = line.split()[:4]
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
            yield pathlib.Path(folder)
            yield pathlib.Path(folder) / own.get(kind, "")


def hand_down(parent):
    """In version 2 a group's limits are there once the one around it hands the controller down."""
    with contextlib.suppress(OSError):
        if "memory" in (parent / "cgroup.controllers").read_text().split():
            (parent / "cgroup.subtree_control").write_text("+memory")


@contextlib.contextmanager
def group():
    """A new control group with a limit on memory, as (folder, limit's file); None where none can be made."""
    for parent in parents():
        hand_down(parent)
        folder = parent / f"accum-{os.getpid()}"
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


def run(limit, *command):
    """A command in a group of `limit` bytes, without swap."""
    with group() as (folder, limits):
        write(limits, limit)
        write(folder / "memory.swap.max", 0)
        write(folder / "memory.memsw.limit_in_bytes", limit)
        enter = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', folder, *command]
        result = subprocess.run([str(part) for part in enter], capture_output=True, text=True, env=environment())
        print(f"{limits.name} {limit} bytes: {command[0]} ended with {result.returncode}, peak {peak(folder)}", flush=True)
        return result


def peak(folder):
    for name in ("memory.max_usage_in_bytes", "memory.peak"):
        if (folder / name).exists():
            return (folder / name).read_text().strip()
    return "unknown"


def check_default_budget(limit, *command):
    """Without --memory the budget is what the group leaves, shared by the devices."""
    result = run(limit, *command, "--plan-only", "--json")
    if result.returncode:
        sys.exit(result.stderr)
    budget = json.loads(result.stdout)["search"]["budget_bytes"]
    if not limit // 2 < budget < limit:
        sys.exit(f"the budget in a group of {limit} bytes is {budget}")


def check_sharded(folder):
    """Two ranks whose parameters are in parts run in twice the memory of a device, in which whole ones are refused."""
    write_wide(folder / "wide.onnx", 1024, 32)
    compile_it = ["accumc", folder / "wide.onnx", "--batch", "4", "--devices", "2", "-o", folder / "wide.accum"]
    tight = subprocess.run([*compile_it, "--shard", "zero3", "--memory", "1MiB", "--json"], capture_output=True, text=True)
    search = json.loads(tight.stdout)["search"]
    budget = search["smallest"]["counted_bytes"] + (1 << 20)
    for shard in ("none", "zero1", "zero2"):
        whole = subprocess.run([*compile_it, "--shard", shard, "--memory", str(budget)], capture_output=True, text=True)
        if whole.returncode != 1 or "[does-not-fit]" not in whole.stderr:
            sys.exit(f"{shard} fits into {budget} bytes\n{whole.stderr}")
    subprocess.run([*compile_it, "--shard", "auto", "--memory", str(budget)], check=True, capture_output=True)
    if json.loads((folder / "wide.accum" / "plan.json").read_text())["shard"] != "zero3":
        sys.exit("--shard auto takes another mode than zero3")
    trained = run(2 * budget, "accum-run", folder / "wide.accum", "--synthetic", "--steps", 2, "--progress", "none", "--save",
                  folder / "wide.safetensors")
    if trained.returncode:
        sys.exit(f"the plan for {budget} bytes on each of two devices does not run in them\n{trained.stderr}")


def main():
    if len(sys.argv) < 2:
        with group() as made:
            print(made[1] if made else "")
            sys.exit(0 if made else "no control group can be made here")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    artifact = folder / "model.accum"
    compile_it = "accumc", EXAMPLES / "gpt2-tiny.onnx", "--batch", "512"
    check_default_budget(1 << 30, *compile_it)
    for budget in (64 << 20, 160 << 20, 400 << 20):
        subprocess.run([*compile_it, "--memory", str(budget), "-o", artifact], check=True, capture_output=True)
        plan = json.loads((artifact / "plan.json").read_text())
        train = ["accum-run", artifact, "--data", EXAMPLES / "tokens.safetensors", "--steps", 2, "--progress", "none",
                 "--save", folder / "weights.safetensors"]
        if run(budget, *train).returncode:
            sys.exit(f"the plan for {budget} bytes does not run in them")
        less = (plan["state"] + plan["scratch"]) * 3 // 4
        refused = run(less, *train)
        if refused.returncode != 4 or "does not fit into memory" not in refused.stderr:
            sys.exit(f"in three quarters of the arena the run does not say that they are too little\n{refused.stderr}")
        if run(less, sys.executable, "-c", f"bytearray(b'1') * {less}").returncode != -signal.SIGKILL:
            sys.exit("the limit does not hold")
    check_sharded(folder)


if __name__ == "__main__":
    main()
