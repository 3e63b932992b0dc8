# SPDX-License-Identifier: Apache-2.0
"""An exploration that a signal ends leaves neither its folder nor the program that it timed. The accum-run that stands
beside accumc here sends the signal itself, while artifacts lie in the folder, and never ends by itself; it holds a
pipe open, whose end says that it is gone. Usage: explore-interrupted.py FOLDER MODEL.onnx"""
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys

LONGEST = 200  # seconds until a program counts as left behind

TIMED = """#!/bin/sh
ls {folder}/tmp/accumc-explore*/*/program.accum/params.safetensors && touch {folder}/{number}.seen
kill -{number} $PPID
exec sleep 600
"""


def interrupt(folder, model, number):
    run = folder / "accum-run"
    run.write_text(TIMED.format(folder=folder, number=int(number)))
    run.chmod(0o700)
    end, held = os.pipe()
    # What runs in the background may ignore SIGINT.
    process = subprocess.Popen(
        [folder / "accumc", model, "--batch", "6", "--micro-batch", "explore", "-o", folder / "m.accum"],
        env=dict(os.environ, TMPDIR=str(folder / "tmp")), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        pass_fds=[held], preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    os.close(held)
    said, code = process.communicate()[1], process.returncode
    assert code == -number, (code, said)
    assert (folder / f"{int(number)}.seen").exists(), "the program was not there"
    assert select.select([end], [], [], LONGEST)[0] and os.read(end, 1) == b"", "the timed program still runs"
    os.close(end)
    left = [path.name for path in (folder / "tmp").iterdir()]
    assert not left and not (folder / "m.accum").exists(), left
    print(f"signal {int(number)}: nothing is left")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    (folder / "tmp").mkdir(parents=True)
    shutil.copy2(shutil.which("accumc"), folder / "accumc")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        interrupt(folder, sys.argv[2], number)


main()
