# SPDX-License-Identifier: Apache-2.0
"""oracle: the bits of the step whose units come on demand. One plan of zero3 with offloaded parameters, with all the room that it
took and with less and less of it: losses and weights of three steps are equal.
sharding-room.py MODEL FOLDER [accumc options]; with --with-sim in the simulator."""
import json
import pathlib
import re
import subprocess
import sys

PARTS = 1, 0.6, 0  # of the room; at least what units take on demand


def reuse(common, first, room, folder):
    """The program of that plan with other room; where that is too little, with the least."""
    plan = json.loads(json.dumps(first))
    line = next(each for each in plan["memory"] if each["name"] == "gathered weights")
    plan["state"] += room - line["bytes"]
    line["bytes"] = plan["gathered"] = room
    (folder / "plan.json").write_text(json.dumps(plan))
    made = subprocess.run([*common, "--plan", folder / "plan.json", "-o", folder / "b.accum"], capture_output=True, text=True)
    least = re.search(r"has a state of (\d+) bytes, where this model and optimizer have (\d+)", made.stderr)
    if least:
        return reuse(common, first, room + int(least[2]) - int(least[1]), folder)
    assert made.returncode == 0, made.stderr
    text = (folder / "b.accum/program.cpp").read_text()
    return text[text.index("int step("):]


def main():
    model, folder, *more = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    simulated = ["--target", "sim"] if "--with-sim" in more else []
    common = ["accumc", model, "--batch", "5", "--devices", "2", *more]
    subprocess.run([*common, "--micro-batch", "2", "--shard", "zero3", "--offload", "parameters", "--recompute", "none", "--prefer", "speed",
                    "-o", folder / "a.accum"], check=True, capture_output=True)
    first = json.loads((folder / "a.accum/plan.json").read_text())
    most = next(each["bytes"] for each in first["memory"] if each["name"] == "gathered weights")
    found, starts = [], []
    for part in PARTS:
        step = reuse(common, first, int(part * most) // 256 * 256, folder)
        starts.append(step.count("start_all_gather("))
        subprocess.run(["accum-run", folder / "b.accum", *simulated, "--synthetic", "--steps", "3", "--lr", "0.01", "--progress", "none",
                        "--log", folder / "log.jsonl", "--save", folder / "w.safetensors"], check=True, capture_output=True)
        losses = [json.loads(text)["loss"] for text in (folder / "log.jsonl").read_text().splitlines()]
        found.append((losses, (folder / "w.safetensors").read_bytes()))
        (folder / "w.safetensors").unlink()
    print("started:", *starts, "losses:", *found[0][0])
    assert starts[0] > 0 == starts[-1], "all-gathers are started with room, and only then"
    assert all(each == found[0] for each in found), "other bits with other room"


if __name__ == "__main__":
    main()
