# SPDX-License-Identifier: Apache-2.0
"""A run whose disk becomes full at any write keeps what it had and says so, and goes on when there is room again, to the bits of the run
that had room all along. One whose disk is read-only ends before its first step.

Usage: full-disk.py MODEL FOLDER limit|disk. `limit`: no file may grow beyond so many bytes (RLIMIT_FSIZE). `disk`: a file system in memory
with so many bytes left, which takes the right to mount one; `mounts`, alone: whether there is it, by the exit code.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys

import tensors
from program import environment

PAGE = 4096
DISK = 8 << 20
LAST = 6


def has_mounts():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0


class Scene:
    def __init__(self, model, folder, kind):
        self.folder, self.kind = folder, kind
        self.disk, self.spare = folder / "disk", folder / "spare"
        shutil.rmtree(folder, ignore_errors=True)
        for made in (folder, self.disk, self.spare):
            made.mkdir(parents=True)
        shutil.copy(model, folder / "model.onnx")
        self.artifact = folder / "model.accum"
        subprocess.run(["accumc", folder / "model.onnx", "--batch", "4", "-o", self.artifact], check=True, capture_output=True)
        if kind == "disk":
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", self.disk], check=True)

    def run(self, steps, save, *more, limit=None):
        words = ["accum-run", self.artifact, "--synthetic", "--steps", steps, "--lr", "0.01", "--progress", "none",
                 "--checkpoint", self.disk / "checkpoints", "--checkpoint-every", "1", "--checkpoint-keep", "2", "--resume", "auto",
                 "--eval", self.folder / "eval.safetensors", "--eval-every", "2", "--best", self.disk / "best.safetensors",
                 "--log", self.disk / "log.jsonl", "--tensorboard", self.disk / "events", "--report", self.disk / "run.html",
                 "--dump-gradients", self.disk / "gradients.safetensors", "--profile", self.disk / "profile.json",
                 "--save", self.disk / save, *more]
        limits = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit is not None else None
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limits,
                              env={**environment(), "TMPDIR": str(self.spare)})
        return done.returncode, done.stderr

    def begin(self, save):
        """Three steps with room for all."""
        for path in self.disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        code, said = self.run(3, save)
        assert code == 0, said

    def room(self, left):
        """Only so many bytes from here on."""
        info = os.statvfs(self.disk)
        ballast = info.f_bavail * info.f_frsize - left
        (self.disk / "ballast").write_bytes(bytes(max(ballast, 0)))

    def check_whole(self):
        """Whatever has a name at its place can be read."""
        listed = subprocess.run(["accum-run", self.disk / "checkpoints", "--describe"], capture_output=True, text=True).stdout
        assert "whole" in listed and "damaged" not in listed, listed
        for path in self.disk.rglob("*"):
            assert ".tmp." not in path.name and not path.name.startswith(".writing"), path
            if path.suffix == ".safetensors":
                assert all(len(values) for _, _, values in tensors.read(path).values()), path
            elif path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".html":
                assert path.read_text().rstrip().endswith("</html>"), path
            elif path.suffix == ".onnx":
                subprocess.run(["accumc", "check", path], check=True, capture_output=True)
        lines = (self.disk / "log.jsonl").read_text()
        assert lines.endswith("\n") and all("step" in json.loads(line) for line in lines.splitlines())


def levels(most):
    """Bytes: none, a page, and steps up to what is enough."""
    return [0, PAGE, *range(most // 6, most, most // 6), 4 * most]


def weights(path):
    return path.read_bytes()


def train_in(scene, save, *more):
    scene.begin(save)
    before = weights(scene.disk / save)
    code, said = scene.run(LAST, save, *more)
    assert code == 0, said
    straight = weights(scene.disk / save)
    size = max(path.stat().st_size for path in scene.disk.rglob("*") if path.is_file())
    codes = []
    for left in levels(size if scene.kind == "limit" else 3 * size):
        scene.begin(save)
        if scene.kind == "disk":
            scene.room(left)
        code, said = scene.run(LAST, save, *more, limit=left if scene.kind == "limit" else None)
        codes.append(code)
        assert code in (0, 3, 4) and ("error: " in said) >= (code == 4), (left, code, said)
        assert code == 0 or "cannot be" in said, (left, code, said)
        scene.check_whole()
        assert weights(scene.disk / save) in (before, straight), left
        (scene.disk / "ballast").unlink(missing_ok=True)
        again, told = scene.run(LAST, save, *more)
        assert again == 0, (left, told)
        assert weights(scene.disk / save) == straight, left
        scene.check_whole()
    assert codes[0] == 3 and codes[-1] == 0, codes
    print(save, *more, ":", codes)


def refuse_read_only(scene):
    """Before the first step."""
    scene.begin("weights.safetensors")
    for rescued in scene.spare.iterdir():
        rescued.unlink()
    before = {path: path.read_bytes() for path in scene.disk.rglob("*") if path.is_file()}
    subprocess.run(["mount", "-o", "remount,ro", scene.disk], check=True)
    start = ["accum-run", scene.artifact, "--synthetic", "--steps", "1", "--eval", scene.folder / "eval.safetensors"]
    for flag, place in (("--checkpoint", "checkpoints"), ("--checkpoint", "new"), ("--log", "log.jsonl"), ("--tensorboard", "events"),
                        ("--report", "run.html"), ("--best", "best.safetensors"), ("--dump-gradients", "g.safetensors"),
                        ("--profile", "p.json"), ("--save", "w.safetensors"), ("--save", "w.onnx")):
        save = [] if flag == "--save" else ["--save", scene.spare / "w.safetensors"]
        done = subprocess.run([str(word) for word in [*start, *save, flag, scene.disk / place]], capture_output=True, text=True, env=environment())
        assert done.returncode == 3 and "cannot be written: Read-only file system" in done.stderr, (flag, place, done)
        assert "steps " not in done.stdout and not list(scene.spare.iterdir()), (flag, place, done)
    done = subprocess.run(["accum-run", scene.artifact, "--synthetic", "--steps", "3", "--lr", "0.01", "--eval", scene.folder / "eval.safetensors",
                           "--resume", scene.disk / "checkpoints", "--save", scene.spare / "w.safetensors"], capture_output=True, text=True,
                          env=environment())
    assert done.returncode == 0 and "at step 3" in done.stdout, done
    assert before == {path: path.read_bytes() for path in scene.disk.rglob("*") if path.is_file()}


def main():
    if sys.argv[1:] == ["mounts"]:
        sys.exit(0 if has_mounts() else 1)
    scene = Scene(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3])
    shutil.copy(sys.argv[1].replace(".onnx", ".data.safetensors"), scene.folder / "eval.safetensors")
    train_in(scene, "weights.safetensors", "--checkpoint-background")
    train_in(scene, "weights.onnx")
    if scene.kind == "disk":
        refuse_read_only(scene)


main()
