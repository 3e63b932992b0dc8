# SPDX-License-Identifier: Apache-2.0
"""Which micro-batch is the fastest, where a machine changes its speed within a second: the batch, its half and its quarter step by
step in turns, so that all of a round meet the same machine, and no reference, whose own noise is that of a step."""
import json
import statistics
import time

from sessions import Session
from time_cases import artifact, cases, key, name, predict

TOGETHER, SHORT, GOOD = 5, 0.12, 0.02


def compared(sweep):
    return [case for case in cases(sweep) if case.m in (sweep.batch, sweep.batch // 2, sweep.batch // 4)]


def step(session):
    """Seconds of a step behind one of the same program; of a short one the lesser of two."""
    warm = session.step()
    taken = session.step()
    return min(taken, session.step()) if warm < SHORT else taken


class Rounds:
    """Kept in a file: by sweep and size, the seconds of each round."""

    def __init__(self, options, runtime):
        self.options, self.runtime = options, runtime
        self.path, self.begin = options.folder / "rounds.json", time.monotonic()
        self.taken = json.loads(self.path.read_text()) if self.path.exists() else {}

    def over(self):
        return bool(self.options.seconds) and time.monotonic() - self.begin > self.options.seconds

    def count(self, sweep):
        return min((len(times) for times in self.taken.get(name(sweep), {}).values()), default=0)

    def sweep(self, sweep):
        sessions = [(str(case.m), Session(self.runtime, artifact(self.options, case))) for case in compared(sweep)]
        for _, session in sessions:
            session.step()
        times = self.taken.setdefault(name(sweep), {size: [] for size, _ in sessions})
        for turn in range(TOGETHER):
            if self.over():
                break
            for size, seconds in [(size, step(session)) for size, session in sessions[::1 if turn % 2 == 0 else -1]]:
                times[size].append(seconds)
        for _, session in sessions:
            session.close()
        self.path.write_text(json.dumps(self.taken))

    def take(self, wanted):
        """Whether all is there; the sweep that has the fewest rounds has its turn."""
        while not self.over():
            least = min(wanted, key=self.count)
            if self.count(least) >= self.options.rounds:
                return True
            self.sweep(least)
        return False


def relative(times):
    """By size, what its steps take of the mean of their round: the median of all rounds, over the least of all sizes."""
    rounds = [[size[index] for size in times.values()] for index in range(min(map(len, times.values())))]
    parts = {size: statistics.median(each[at] / statistics.mean(each) for each in rounds) for at, size in enumerate(times)}
    return {int(size): part / min(parts.values()) for size, part in parts.items()}


def show(options, wanted, taken):
    for title, target in {"ships": "host", **({"calibrated": options.profile} if options.profile else {})}.items():
        lost = []
        for sweep in wanted:
            predicted, measured = predict(options, sweep, target), relative(taken[name(sweep)])
            chosen = min(cases(sweep), key=lambda case, predicted=predicted: predicted[key(case)]).m
            lost.append(measured.get(chosen, float("inf")) - 1)
            print(f"{title}, {name(sweep):16} m = {chosen:2} is chosen; measured " + ", ".join(
                f"{size}: {100 * (part - 1):+.1f} %" for size, part in measured.items()) + ("  missed" if lost[-1] > GOOD else ""))
        print(f"{title}: the chosen micro-batch is within {100 * GOOD:.0f} % of the best in {sum(loss <= GOOD for loss in lost)} of {len(lost)} sweeps, "
              f"median loss {100 * statistics.median(lost):.1f} %, worst {100 * max(lost):.1f} %")
