# SPDX-License-Identifier: Apache-2.0
"""Kills a calibration, tears its last line, and lets the same command continue.

On a loaded machine a signal may come after the calibration has ended: then it is begun again. Of the figures themselves
nothing is asked but that they are there, since under load they may be anything."""
import json
import pathlib
import signal
import subprocess
import sys
import time

program, output = sys.argv[1], pathlib.Path(sys.argv[2])
partial = output.with_name(output.name + ".partial")
words = [program, "--quick", "-o", str(output)]


def keys(text):
    """What the whole lines after the first one, which names the machine, are samples of. A probe that was killed among
    its lines is measured again as a whole, so that a key may stand twice."""
    return {json.loads(line)["key"] for line in text.split("\n")[1:-1]}


def samples():
    return len(keys(partial.read_text())) if partial.exists() else 0


def start_and_signal(least, number):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while samples() < least and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(number)
    said = process.communicate()[1]
    return said, process.returncode


def stop_twice():
    """What stands in the partial file after a kill and a polite stop; None where a run ended before its signal."""
    output.unlink(missing_ok=True)
    _, code = start_and_signal(5, signal.SIGKILL)
    if code == 0:
        return None
    assert code == -signal.SIGKILL and not output.exists(), code
    killed = samples()
    assert killed >= 5, killed
    said, code = start_and_signal(killed + 5, signal.SIGTERM)
    if code == 0:
        return None
    assert code == 5 and "the same command continues where this one was [stopped]" in said, (code, said)
    assert samples() >= killed and not output.exists(), (samples(), killed)
    print(f"killed with {killed} samples")
    return partial.read_text()


text = next(filter(None, (stop_twice() for _ in range(5))), None)
assert text, "five calibrations ended before they could be stopped"
print("continued with at least as many")
torn = text[: len(text) - 20]
partial.write_text(torn)
done = subprocess.run(words, capture_output=True, text=True)
assert done.returncode == 0, done.stderr
first = done.stdout.splitlines()[0].split()
assert first[0] == "continue" and int(first[1]) == len(keys(torn)), done.stdout
assert not partial.exists()
print("a torn last line is measured again")

profile = json.loads(output.read_text())
tables = profile["tables"]
assert len(tables) == 17 and all(table["seconds"] and min(table["seconds"]) > 0 for table in tables), tables
costs = {cost["operation"]: cost["seconds"] for cost in profile["costs"]}
assert {"norm", "layer_norm", "softmax"} <= costs.keys() and min(costs.values()) >= 0 and any(costs.values()), costs
