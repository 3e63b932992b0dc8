# SPDX-License-Identifier: Apache-2.0
"""Kills a calibration, tears its last line, and lets the same command continue."""
import json
import pathlib
import signal
import subprocess
import sys
import time

program, output = sys.argv[1], pathlib.Path(sys.argv[2])
partial = output.with_name(output.name + ".partial")
words = [program, "--quick", "-o", str(output)]


def samples():
    if not partial.exists():
        return 0
    return max(0, len(partial.read_text().splitlines()) - 1)


def start_and_kill(least, number):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 240
    while samples() < least and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(number)
    return process.communicate()[1], process.returncode


start_and_kill(5, signal.SIGKILL)
killed = samples()
assert killed >= 5 and not output.exists(), killed
print(f"killed with {killed} samples")
said, code = start_and_kill(killed + 5, signal.SIGTERM)
if code == 5:  # else it was faster than the signal
    assert "the same command continues where this one was [stopped]" in said, said
    assert samples() >= killed and not output.exists()
    text = partial.read_text()
    partial.write_text(text[: len(text) - 20])
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0].split()
    assert first[0] == "continue" and int(first[1]) == len(text.splitlines()) - 2, done.stdout
print("continued with at least as many")
profile = json.loads(output.read_text())
points = [len(table["seconds"]) for table in profile["tables"]]
assert len(points) == 7 and all(value > 0 for table in profile["tables"] for value in table["seconds"])
assert not partial.exists()
costs = {cost["operation"]: cost["seconds"] for cost in profile["costs"]}
assert costs["norm"] > 0 and "layer_norm" in costs and sum(costs.values()) > costs["norm"], costs
print("a torn last line is measured again")
