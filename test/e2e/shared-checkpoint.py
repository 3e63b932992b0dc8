# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that several ranks write at once: one file, byte for byte that of one process, whole or not there.

Usage: shared-checkpoint.py MODEL FOLDER bytes|disturbed|mounts. `bytes`: oracles are one process's files, and those written in between
for those in the background. `disturbed`: a rank that is killed, cannot write or sees another folder. `mounts`: one with a read-only disk.
"""
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import tensors
from program import environment

STEPS = 4
MODEL, FOLDER = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
COMMON = ["--synthetic", "--progress", "none", "--threads", "1", "--checkpoint-every", "1"]


def call(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment())
    assert done.returncode == code, (words, done)
    return done.stdout + done.stderr


def compile(name, *options):
    call("accumc", MODEL, "--batch", "6", "--micro-batch", "2", *options, "-o", FOLDER / name)
    return FOLDER / name


def state(folder, step):
    return folder / f"step-{step:08}" / "state.safetensors"


def train(artifact, root, *more, code=0, steps=STEPS):
    shutil.rmtree(FOLDER / root, ignore_errors=True)
    said = call("accum-run", artifact, *COMMON, "--steps", steps, "--checkpoint", FOLDER / root, "--save", FOLDER / f"{root}.safetensors", *more,
                code=code)
    return FOLDER / root, said


def check_parts(folder):
    """A checksum for each part, and a flipped bit in any of them is found."""
    file = state(folder, STEPS)
    facts = json.loads((file.parent / "checkpoint.json").read_text())
    parts, data = facts["tensors"]["parts"], bytearray(file.read_bytes())
    assert len(parts) > 1 and sum(size for size, _ in parts) == len(data), parts
    begin = 0
    for size, _ in parts[:12]:
        for at in {begin, begin + size - 1}:
            data[at] ^= 1
            file.write_bytes(data)
            assert "its checksum differs" in call("accum-run", file.parent, "--describe", code=3), at
            data[at] ^= 1
        begin += size
    file.write_bytes(data[:-1])
    call("accum-run", file.parent, "--describe", code=3)
    file.write_bytes(data)
    assert "whole" in call("accum-run", file.parent, "--describe")
    return len(parts)


def check_bytes():
    # Without a learning rate the parameters stay, on any number of devices.
    one = compile("sgd-1", "--optimizer", "sgd")
    whole, _ = train(one, "whole", "--lr", 0)
    for devices, mode in ((2, "none"), (3, "none"), (2, "zero2"), (3, "zero3")):
        artifact = one if mode == "none" else compile(f"sgd-{devices}", "--optimizer", "sgd", "--devices", devices, "--shard", mode)
        for way in ([], ["--checkpoint-background"]):
            found, _ = train(artifact, "spread", "--lr", 0, "--devices", devices, *way)
            for step in range(1, STEPS + 1):
                assert state(found, step).read_bytes() == state(whole, step).read_bytes(), (devices, mode, way, step)
        print(mode, "on", devices, "devices:", check_parts(found), "parts, the bytes of one process")
    # An epsilon as large as gradients are: else rounding alone decides a step where a gradient is zero.
    adam = compile("adam-1")
    whole, _ = train(adam, "whole", "--lr", 0.01, "--eps", 1e-3)
    for devices, mode, offload in ((3, "none", "none"), (2, "zero1", "none"), (3, "zero3", "none"), (2, "zero2", "optimizer")):
        artifact = adam if mode == "none" else compile(f"adam-{devices}", "--devices", devices, "--shard", mode, "--offload", offload)
        found, _ = train(artifact, "found", "--lr", 0.01, "--eps", 1e-3, "--devices", devices)
        mine, other = tensors.read(state(found, STEPS)), tensors.read(state(whole, STEPS))
        assert [(name, *mine[name][:2]) for name in mine] == [(name, *other[name][:2]) for name in other]
        call("accum-diff", state(found, STEPS), state(whole, STEPS), "--tolerance", "1e-4")
        beside, said = train(artifact, "beside", "--lr", 0.01, "--eps", 1e-3, "--devices", devices, "--checkpoint-background")
        assert "of memory beside the plan's on each of the ranks" in said, said
        for step in range(1, STEPS + 1):
            assert state(beside, step).read_bytes() == state(found, step).read_bytes(), (mode, step)
            mine, other = (json.loads((root / f"step-{step:08}" / "checkpoint.json").read_text()) for root in (beside, found))
            assert mine.pop("command") != other.pop("command") and mine == other, (mode, step)
        assert not [path for path in beside.iterdir() if path.name.startswith(".writing")]
        print(mode, offload, "on", devices, "devices:", check_parts(found), "parts, in the background the same bytes")


class Job:
    """Two ranks, started by hand over sockets."""

    def __init__(self, artifact, root, steps, *more, rank1=None, wrap=()):
        words = ["accum-run", str(artifact), *COMMON, "--launcher", "env", "--lr", "0.01", "--steps", str(steps), "--checkpoint", str(root),
                 "--save", str(FOLDER / "job.safetensors"), *more]
        place = {**environment(), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(20000 + os.getpid() % 10000),
                 "ACCUM_WATCHDOG_SECONDS": "10"}
        self.ranks = [subprocess.Popen([*(wrap if rank else ()), *words], env={**place, "RANK": str(rank)}, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, **((rank1 or {}) if rank else {})) for rank in range(2)]

    def runs(self):
        return all(rank.poll() is None for rank in self.ranks)

    def end(self):
        said = "".join(rank.communicate()[0] for rank in self.ranks)
        return self.ranks[0].returncode, said


def listed(root):
    said = call("accum-run", root, "--describe")
    assert "damaged" not in said, said
    return said


def check_disturbed():
    artifact = compile("adam-2", "--devices", 2, "--shard", "zero3")
    root, saved = FOLDER / "run", FOLDER / "job.safetensors"
    steps = 80

    def begin(made):
        shutil.rmtree(root, ignore_errors=True)
        code, said = Job(artifact, root, made).end()
        assert code == 0, said

    begin(steps)
    straight = saved.read_bytes()
    start = time.monotonic()
    begin(2)
    startup = time.monotonic() - start
    moments = random.Random(1)
    shutil.rmtree(root)
    kills = after = 0
    while kills < 12:  # of one rank; the other one finds out
        job = Job(artifact, root, steps, "--resume", "auto", *(["--checkpoint-background"] if kills % 2 else []))
        if kills % 3 == 0:
            time.sleep(startup * moments.uniform(0.3, 1.3))
        else:  # a checkpoint is on its way, and there is one
            had = len(list(root.glob("step-*")))
            while job.runs() and len(list(root.glob("step-*"))) <= had:
                time.sleep(0.001)
            while job.runs() and not list(root.glob(".writing-*")):
                time.sleep(0.0005)
            time.sleep(moments.choice([0, 0.002, 0.02]) * moments.random())
        job.ranks[kills // 2 % 2].send_signal(signal.SIGKILL)
        code, said = job.end()
        if root.exists() and list(root.glob("step-*")):
            listed(root)
            after += 1
        kills += 1
        assert code in (0, 4, -signal.SIGKILL), said
        if f"step-{steps:08}" in {path.name for path in root.glob("step-*")}:
            break
    code, said = Job(artifact, root, steps, "--resume", "auto").end()
    assert code == 0 and saved.read_bytes() == straight, (code, said)
    print("killed", kills, "times, after the first checkpoint", after)
    assert after > 3

    begin(2)
    most = state(root, 2).stat().st_size * 3 // 4
    for way in ([], ["--checkpoint-background"]):
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}
        code, said = Job(artifact, root, 5, "--resume", "auto", *way, rank1=limit).end()
        assert code == 3 and "error: rank 1: " in said and "state.safetensors: cannot be written: File too large" in said, (code, said)
        assert "note: step 3 has no checkpoint; training goes on" in said, said
        assert sorted(path.name for path in root.iterdir()) == [".lock", "step-00000001", "step-00000002"] and "whole" in listed(root)
    code, said = Job(artifact, root, steps, "--resume", "auto").end()
    assert code == 0 and saved.read_bytes() == straight, (code, said)

    elsewhere = FOLDER / "elsewhere"
    (elsewhere / "run").mkdir(parents=True, exist_ok=True)
    os.chdir(FOLDER)
    code, said = Job(artifact.absolute(), "run", steps, "--resume", "auto", rank1={"cwd": elsewhere}).end()
    assert code == 3 and "error: rank 1: run: is not the folder that rank 0 has under that name [not-shared]" in said, (code, said)
    print("a disk that is full for one rank, and a folder that one does not see: one sentence each")


def check_mounts():
    artifact = compile("adam-2")
    root = FOLDER / "run"
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    root.mkdir()
    code, said = Job(artifact, root, 3, wrap=("unshare", "-m", "sh", "-c", script, str(root))).end()
    assert code == 3 and f"error: rank 1: {root}/.lock: cannot be written: Read-only file system" in said and "steps  " not in said, (code, said)


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
{"bytes": check_bytes, "disturbed": check_disturbed, "mounts": check_mounts}[sys.argv[3]]()
print("ok")
