# SPDX-License-Identifier: Apache-2.0
"""Ranks on two hosts: network namespaces with a virtual link between them, each with a name of its own.

Usage: two-hosts.py [MODEL FOLDER]. Without arguments: exit code 0 where namespaces can be made. Oracle: four ranks on one host,
whose losses, gradients and weights have the same bits, in two modes; and with mpirun two ranks. Then the link is cut within a run: every rank ends within 30 s
with exit code 4, and says which rank it cannot reach.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time

from program import Model, environment, run

RANKS, STEPS, PORT = 4, 3, 29611
MODES = ["none", "zero3"]
SECONDS = 30  # in which a run ends whose link is cut


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Hosts:
    """Two namespaces and their link, which are gone behind the `with`."""

    def __init__(self):
        self.names = [f"accum{os.getpid()}{end}" for end in "ab"]
        self.links = [f"va{os.getpid()}{end}" for end in "ab"]
        self.addresses = ["10.217.0.1", "10.217.0.2"]

    def __enter__(self):
        try:
            for name in self.names:
                ip("netns", "add", name)
            ip("link", "add", self.links[0], "type", "veth", "peer", "name", self.links[1])
            for name, link, address in zip(self.names, self.links, self.addresses):
                ip("link", "set", link, "netns", name)
                ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
                ip("-n", name, "link", "set", link, "up")
                ip("-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", self.links[0]], capture_output=True)

    def cut(self):
        ip("-n", self.names[1], "link", "set", self.links[1], "down")

    def on(self, host):
        """The words before a command that put it there."""
        return ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c",
                f'hostname {self.names[host]}; exec "$@"', "host"]


class Job:
    """One run of RANKS processes, the first half on the first host."""

    def __init__(self, model, artifact, tag, hosts, steps):
        self.files = [model.folder / f"{tag}-{kind}.safetensors" for kind in ("gradients", "weights")]
        self.log = model.folder / f"{tag}.jsonl"
        self.log.unlink(missing_ok=True)
        words = ["accum-run", artifact, "--data", model.data, "--steps", steps, "--no-shuffle", "--progress", "none", "--lr", 0.05,
                 "--clip-norm", 0.5, "--launcher", "env", "--log", self.log, "--dump-gradients", self.files[0], "--save", self.files[1]]
        address, port = (hosts.addresses[0], PORT) if hosts else ("127.0.0.1", free_port())
        self.processes = []
        for rank in range(RANKS):
            host, local = divmod(rank, RANKS // 2)
            place = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": str(local if hosts else rank),
                     "MASTER_ADDR": address, "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
            command = [*(hosts.on(host) if hosts else []), *map(str, words)]
            self.processes.append(subprocess.Popen(command, env={**environment(), **place}, stdout=subprocess.PIPE,
                                                   stderr=subprocess.STDOUT, text=True))

    def finish(self, seconds=None):
        """Exit codes and texts by rank."""
        end = time.monotonic() + seconds if seconds else None
        try:
            said = [process.communicate(timeout=end and max(0.1, end - time.monotonic()))[0] for process in self.processes]
        except subprocess.TimeoutExpired:
            raise SystemExit(f"a rank still runs after {seconds} s: {[process.poll() for process in self.processes]}")
        finally:
            for process in self.processes:
                process.kill()
        return [process.returncode for process in self.processes], said

    def result(self):
        codes, said = self.finish()
        if any(codes):
            raise SystemExit(f"exit codes {codes}\n{''.join(said)}")
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [(line["loss"], line["gradient_norm"]) for line in lines], *[file.read_bytes() for file in self.files]

    def steps(self):
        return self.log.read_text().count("\n") if self.log.exists() else 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def check_bits(model, hosts, mode):
    artifact = model.compile("--micro-batch", 1, "--devices", RANKS, "--shard", mode)
    one, two = (Job(model, artifact, tag, where, STEPS).result() for tag, where in (("one", None), ("two", hosts)))
    if one != two:
        raise SystemExit(f"{mode}: on one host {one[0]}, on two {two[0]}; equal files: {[a == b for a, b in zip(one[1:], two[1:])]}")
    print(f"{mode}: the same bits on one host and on two", flush=True)


def check_mpi(model, hosts):
    """mpirun on the first host, which reaches the second one by a script in the place of ssh."""
    artifact = model.compile("--micro-batch", 1, "--devices", 2, "--shard", "zero3")
    agent = model.folder / "agent"
    words = " ".join(shlex.quote(word) for word in hosts.on(1))
    agent.write_text(f'#!/bin/sh\nshift\nexec {words} sh -c "$*"\n')
    agent.chmod(0o755)
    network = ["--mca", "oob_tcp_if_include", "10.217.0.0/24", "--mca", "btl_tcp_if_include", "10.217.0.0/24", "--mca", "btl", "self,tcp"]
    over = [*hosts.on(0), "mpirun", "-n", "2", "--host", ",".join(f"{address}:1" for address in hosts.addresses), "--mca", "plm_rsh_agent",
            str(agent), *network, shutil.which("accum-run")]
    files = []
    for start in (["accum-run"], over):
        files.append(model.folder / f"mpi-{len(files)}.safetensors")
        run(*start, artifact, "--data", model.data, "--steps", STEPS, "--no-shuffle", "--progress", "none", "--lr", 0.05, "--save", files[-1])
    if files[0].read_bytes() != files[1].read_bytes():
        raise SystemExit("mpirun over two hosts gives other bits")
    print("mpirun: the same bits on one host and on two", flush=True)


def check_cut(model, artifact, hosts):
    job = Job(model, artifact, "cut", hosts, 1_000_000)
    while job.steps() < 2 and all(process.poll() is None for process in job.processes):
        time.sleep(0.1)
    begin = time.monotonic()
    hosts.cut()
    codes, said = job.finish(SECONDS)
    for rank, (code, text) in enumerate(zip(codes, said)):
        found = re.search(r"error: .*rank (\d+) .*", text)
        print(f"rank {rank}: exit {code}, {found and found[0]}")
        if code != 4 or not found or int(found[1]) // (RANKS // 2) == rank // (RANKS // 2):
            raise SystemExit(f"rank {rank} does not name a rank of the other host: exit {code}\n{text}")
    print(f"the link is cut: all ranks end within {time.monotonic() - begin:.0f} s")


def main():
    with Hosts() as hosts:
        if len(sys.argv) == 1:
            subprocess.run([*hosts.on(0), "true"], check=True)
            return
        model = Model(sys.argv[1], pathlib.Path(sys.argv[2]))
        for mode in MODES:
            check_bits(model, hosts, mode)
        check_mpi(model, hosts)
        artifact = model.compile("--micro-batch", 1, "--devices", RANKS, "--shard", MODES[-1])
        check_cut(model, artifact, hosts)


if __name__ == "__main__":
    main()
