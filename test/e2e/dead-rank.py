# SPDX-License-Identifier: Apache-2.0
"""A rank that is killed, stopped or slow in a gathering or a reduce-scatter that goes on beside its commands.

Usage: dead-rank.py FOLDER sockets|mpi. The program is built again with a fault on one rank, behind the call that begins to move a
unit of 16 MiB, in the step behind a checkpoint: at this moment the unit is on its way. Oracle: the run without the fault. Every
other rank ends within 30 s with exit code 4 and names the rank; the checkpoint, resumed with the artifact's own program, gives
the same bits. A rank that is slow is waited for, and gives them too.
"""
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

from artifact import build_program
from memory import write_wide
from program import environment, run

RANKS, STEPS, STEP = 2, 4, 2  # counted from 0: the third one, behind the checkpoint of the second
SECONDS = 30  # in which a run ends, with the default watchdog of 20
SHORT = 3  # watchdog of the other runs
FAULTS = {
    "killed": "raise(SIGKILL);",
    "stopped": "raise(SIGSTOP);",
    "slow": f"for (timespec t = {{}}, u = (clock_gettime(CLOCK_MONOTONIC, &u), u); t.tv_sec < u.tv_sec + {2 * SHORT}; clock_gettime(CLOCK_MONOTONIC, &t)) {{}}",
}
# What happens, in which call, on which rank, and after how long a rank counts as stalled.
CASES = {
    "sockets": (("killed", "all_gather", 1, SHORT), ("killed", "reduce_scatter", 0, SHORT), ("stopped", "all_gather", 0, SHORT),
                ("stopped", "reduce_scatter", 1, None), ("slow", "all_gather", 0, SHORT), ("slow", "reduce_scatter", 1, SHORT)),
    "mpi": (("killed", "all_gather", 1, SHORT), ("stopped", "reduce_scatter", 0, SHORT), ("stopped", "all_gather", 1, None),
            ("slow", "reduce_scatter", 1, SHORT)),
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


class Job:
    def __init__(self, folder, artifact, launcher):
        self.folder, self.artifact, self.launcher = folder, artifact, launcher

    def words(self, tag, *more):
        return [str(word) for word in ("accum-run", self.artifact, "--synthetic", "--steps", STEPS, "--lr", 1e-6, "--progress", "none", "--log",
                                       self.folder / f"{tag}.jsonl", "--save", self.weights(tag), *more)]

    def weights(self, tag):
        return self.folder / f"{tag}.safetensors"

    def start(self, words, settings):
        """The processes to wait for: accum-run, which starts the ranks with mpirun, or each rank."""
        places = [{}]
        if self.launcher == "sockets":
            job = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
            places = [{**job, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(RANKS)]
            words = [*words, "--launcher", "env"]
        base = {**environment(), "OMP_NUM_THREADS": "1", **settings}
        return [subprocess.Popen(words, env={**base, **place}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for place in places]

    def outcome(self, words, victim, watchdog):
        """Exit codes and texts of the processes that have to end by themselves, and seconds since the fault: when rank
        `victim` said that it is there."""
        mark = self.folder / "fault"
        mark.unlink(missing_ok=True)
        processes = self.start(words, {"ACCUM_WATCHDOG_SECONDS": str(watchdog)} if watchdog else {})
        others = processes if len(processes) == 1 else [process for rank, process in enumerate(processes) if rank != victim]
        try:
            while not mark.exists() and any(process.poll() is None for process in others):
                time.sleep(0.01)
            begin = time.monotonic()
            said = [process.communicate(timeout=SECONDS + 30)[0] for process in others]
            seconds = time.monotonic() - begin
        finally:
            for process in processes:
                process.kill()
        if not mark.exists():
            raise SystemExit(f"the fault never came: {said}")
        return [process.returncode for process in others], said, seconds


def break_program(artifact, source, fault, call, victim, mark):
    """Behind the first such call of a micro-step that is only begun. The file `mark` says that it was reached."""
    begun = re.search(rf"^    if \(int failed = ctx->rt->start_{call}\(.*\)\)\n      return failed;\n", source, re.MULTILINE)
    if not begun:
        raise SystemExit(f"the program begins no {call}")
    code = (f"    if (static bool done = false; ctx->rank == {victim} && ctx->step == {STEP} && !done) {{\n"
            f'      done = true;\n      close(open("{mark}", O_CREAT | O_WRONLY, 0600));\n      {FAULTS[fault]}\n    }}\n')
    headers = "".join(f"#include <{name}>\n" for name in ("csignal", "ctime", "fcntl.h", "unistd.h"))
    (artifact / "program.cpp").write_text(headers + source[:begun.end()] + code + source[begun.end():])
    build_program(artifact)


def same(one, other, what):
    if one.read_bytes() != other.read_bytes():
        raise SystemExit(f"{what} has other weights")


def check_end(case, codes, said, seconds, victim, watchdog):
    text = "".join(said)
    named = re.search(rf"error: .*rank {victim} .*", text)
    print(f"{case}: exit {codes}, after {seconds:.1f} s: {named and named[0]}", flush=True)
    limit = SECONDS if watchdog is None else watchdog + SECONDS - 20
    if codes != [4] * len(codes) or not named or seconds > limit:
        raise SystemExit(f"expected exit code 4, rank {victim} named, within {limit} s\n{text}")


def check(job, own, source, straight, case):
    fault, call, victim, watchdog = case
    name = f"{job.launcher}: rank {victim} {fault} in {'an' if call[0] == 'a' else 'a'} {call.replace('_', '-')}"
    keep = job.folder / "checkpoints"
    shutil.rmtree(keep, ignore_errors=True)
    break_program(job.artifact, source, fault, call, victim, job.folder / "fault")
    codes, said, seconds = job.outcome(job.words("broken", "--checkpoint", keep, "--checkpoint-every", STEP), victim, watchdog)
    if fault == "slow":
        if any(codes):
            raise SystemExit(f"{name}: exit {codes}\n{''.join(said)}")
        same(job.weights("broken"), straight, name)
        print(f"{name}: waited for {seconds:.1f} s", flush=True)
        return
    check_end(name, codes, said, seconds, victim, watchdog)
    steps = sorted(path.name for path in keep.glob("step-*"))
    if steps != [f"step-{STEP:08}"]:
        raise SystemExit(f"{name}: there are checkpoints {steps}")
    resumed = Job(job.folder, own, job.launcher)
    run(*resumed.words("resumed", "--checkpoint", keep, "--resume", "auto"), settings={"OMP_NUM_THREADS": "1"})
    lines = [json.loads(line)["step"] for line in (job.folder / "resumed.jsonl").read_text().splitlines()]
    if lines != list(range(STEP + 1, STEPS + 1)):
        raise SystemExit(f"{name}: resumed, it trains steps {lines}")
    same(resumed.weights("resumed"), straight, name + ", resumed")


def main():
    folder, launcher = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    folder.mkdir(parents=True)
    model, own, broken = (folder / name for name in ("wide.onnx", "own.accum", "broken.accum"))
    write_wide(model, 1024, 4)
    run("accumc", model, "--batch", 8, "--devices", RANKS, "--micro-batch", 2, "--shard", "zero3", "--prefer", "speed", "-o", own)
    model.with_name("wide.onnx.data").unlink()
    shutil.copytree(own, broken)
    straight = Job(folder, own, launcher)
    run(*straight.words("straight"), settings={"OMP_NUM_THREADS": "1"})
    for case in CASES[launcher]:
        check(Job(folder, broken, launcher), own, (own / "program.cpp").read_text(), straight.weights("straight"), case)


if __name__ == "__main__":
    main()
