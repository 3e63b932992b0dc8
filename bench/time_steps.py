# SPDX-License-Identifier: Apache-2.0
"""Times of the sizes of a sweep, taken in turns beside a reference, so that a machine whose speed moves is as slow for one as
for the others."""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import time

from sessions import Session
from time_cases import artifact, cases, key

BUSY, ENOUGH, BEHIND = 0.04, 4, 1.12
# A thread that has no work waits for it some 5 ms, on a core that is somebody else's turn by then.
SETTLED = 0.01
STEADY, TRIES = 0.04, 4


class Reference:
    """accum-calibrate's fixed product, in a process that waits for its turn."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "--reference"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds(1)

    def seconds(self, count):
        """The median of so many behind a first one, which wakes its threads and brings its operands back into the caches."""
        time.sleep(SETTLED)
        self.once()
        median = statistics.median(self.once() for _ in range(count))
        time.sleep(SETTLED)
        return median

    def once(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Others:
    """Whether processes that are not of this measurement were busy since it was made."""

    def __init__(self, reference):
        self.reference, self.begin = reference, time.monotonic()
        self.then = self.seconds()

    def seconds(self):
        busy = [int(ticks) for ticks in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:8]]
        own = resource.getrusage(resource.RUSAGE_SELF)
        return ((sum(busy) - busy[3] - busy[4]) / os.sysconf("SC_CLK_TCK")
                - own.ru_utime - own.ru_stime - self.reference.processor_seconds())

    def were_busy(self):
        return self.seconds() - self.then > BUSY * (time.monotonic() - self.begin) * os.cpu_count()


def burst(session, reference):
    """Seconds of a step behind another one of the same program, and of the reference around them. The references must agree: the
    machine changes its speed within a second, and is looked at again then."""
    found = []
    for _ in range(TRIES):
        before = reference.seconds(3)
        warm = session.step()
        steps = [session.step() for _ in range(2 if warm < 0.3 else 1)]
        after = reference.seconds(3)
        found.append((abs(after / before - 1), statistics.mean(steps), (before + after) / 2))
        if found[-1][0] < STEADY:
            break
    return min(found)[1:]


def share(times):
    """Steps over references: the median of all turns."""
    return statistics.median(step / reference for step, reference in times)


def contenders(sweep, measured):
    """Of sizes that are clearly not the fastest some turns are enough."""
    everything = cases(sweep)
    if any(len(measured.get(key(case), [])) < ENOUGH for case in everything):
        return everything
    best = min(share(measured[key(case)]) for case in everything)
    return [case for case in everything if share(measured[key(case)]) < BEHIND * best]


def left(sweep, measured, rounds):
    rounds = ENOUGH if sweep.recompute == "auto" else rounds
    return [case for case in contenders(sweep, measured) if len(measured.get(key(case), [])) < rounds]


class Measurement:
    """Kept in a file after each round, so that --seconds or a signal costs no more than that."""

    def __init__(self, options, runtime):
        self.options, self.runtime = options, runtime
        self.path, self.begin = options.folder / "turns.json", time.monotonic()
        self.measured = json.loads(self.path.read_text()) if self.path.exists() else {}

    def over(self):
        return bool(self.options.seconds) and time.monotonic() - self.begin > self.options.seconds

    def round(self, sessions, reference):
        others = Others(reference)
        times = {name: burst(session, reference) for name, session in sessions.items()}
        if others.were_busy():
            print(f"{', '.join(times)}: others were busy meanwhile: not kept", flush=True)
            return
        for name, taken in times.items():
            self.measured.setdefault(name, []).append(taken)
        self.path.write_text(json.dumps(self.measured))

    def sweep(self, sweep, reference):
        """Some rounds, so that each sweep is looked at in several minutes."""
        wanted = left(sweep, self.measured, self.options.rounds)
        sessions = {key(case): Session(self.runtime, artifact(self.options, case)) for case in wanted}
        for _ in range(ENOUGH):
            if not self.over():
                self.round(sessions, reference)
        for session in sessions.values():
            session.close()

    def take(self, wanted):
        """Whether all is there."""
        reference = Reference(self.options.calibrate)
        while not self.over():
            waiting = [sweep for sweep in wanted if left(sweep, self.measured, self.options.rounds)]
            if not waiting:
                return True
            fewest = min(waiting, key=lambda sweep: min(
                len(self.measured.get(key(case), [])) for case in left(sweep, self.measured, self.options.rounds)))
            self.sweep(fewest, reference)
        return not any(left(sweep, self.measured, self.options.rounds) for sweep in wanted)
