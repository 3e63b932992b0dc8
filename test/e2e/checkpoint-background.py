# SPDX-License-Identifier: Apache-2.0
"""oracle: checkpoints written in the background are, byte for byte, those written in between, also behind a kill.
checkpoint-background.py ARTIFACT FOLDER"""
import json
import pathlib
import shutil
import subprocess
import sys
import time

ARTIFACT, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
STEPS = 40


def words(root, *more):
    return ["accum-run", ARTIFACT, "--synthetic", "--steps", str(STEPS), "--lr", "0.01", "--checkpoint", str(FOLDER / root),
            "--checkpoint-every", "1", "--save", str(FOLDER / f"{root}.safetensors"), "--progress", "none", *more]


def run(root, *more):
    done = subprocess.run(words(root, *more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def compare(root):
    names = sorted(path.name for path in (FOLDER / "plain").glob("step-*"))
    assert len(names) == STEPS and sorted(path.name for path in (FOLDER / root).glob("*") if path.name[0] != ".") == names
    for name in names:
        assert (FOLDER / root / name / "state.safetensors").read_bytes() == (FOLDER / "plain" / name / "state.safetensors").read_bytes(), name
        mine, plain = (json.loads((FOLDER / run / name / "checkpoint.json").read_text()) for run in (root, "plain"))
        assert mine.pop("command")[1:] != words("plain")[1:], mine
        assert plain.pop("command")[1:] == words("plain")[1:] and mine == plain, (mine, plain)
    assert (FOLDER / f"{root}.safetensors").read_bytes() == (FOLDER / "plain.safetensors").read_bytes()


assert "background" not in run("plain")
said = run("beside", "--checkpoint-background")
assert "note: checkpoints are written in the background, from a copy of the state: " in said and "iB of memory" in said, said
compare("beside")
killed = subprocess.Popen(words("killed", "--checkpoint-background"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not list((FOLDER / "killed").glob("step-*")) and killed.poll() is None:
    time.sleep(0.001)
killed.kill()
killed.wait()
shutil.rmtree(FOLDER / "killed" / f"step-{STEPS:08}", ignore_errors=True)  # where the run was faster than the kill
run("killed", "--checkpoint-background", "--resume", "auto")
compare("killed")
print("ok")
