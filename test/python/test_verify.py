# SPDX-License-Identifier: Apache-2.0
"""run.verify() (oracles: the bits of a run without it, and programs with one thing wrong)."""
import pathlib
import subprocess
import sys

import numpy
import pytest

import accum
from test_lengths import MODEL as SEQUENCES, padded, texts
from test_runner import MODEL, windows
from test_split import MODEL as RELATED, batches

TEST = pathlib.Path(__file__).resolve().parents[1]


def everything(run):
    kinds = ["parameter", *(slot for slot in ("m", "v", "momentum") if slot in run.artifact.manifest["params"][0].get("slots", {}))]
    return {(name, kind): run.read(name, kind).tobytes() for name in run.trained for kind in kinds}


def made(kind, folder):
    """An artifact, and batches for it."""
    if kind == "lengths":
        sizes = {"sequence": "5,9,16"}
        return (accum.compile(SEQUENCES, batch=9, output=folder, dim=sizes),
                [padded(texts(9), 16)] * 4)
    if kind == "split":
        return (accum.compile(RELATED, batch=12, output=folder, micro_batch=5, on_cross_batch="split"), batches(4))
    return (accum.compile(MODEL, batch=64, output=folder, micro_batch=24, precision=kind), list(windows(4)))


@pytest.mark.parametrize("kind", ["f32", "bf16", "lengths", "split"])
def test_later_steps_keep_their_bits(kind, tmp_path):
    artifact, steps = made(kind, tmp_path / "a.accum")
    with accum.Runner(artifact, lr=1e-2, clip_norm=0.5, skip_spikes=50) as plain:
        losses = [plain.step(batch).loss for batch in steps]
        expected = everything(plain)
    with accum.Runner(artifact, lr=1e-2, clip_norm=0.5, skip_spikes=50) as run:
        found = [run.step(batch).loss for batch in steps[:2]]
        before = everything(run)
        rate = run._session.info()["lr"]
        report = run.verify(steps[0], seconds=20)
        assert report and run.verify(seconds=20, seed=1), report
        assert everything(run) == before and run.steps == 2 and run._session.info()["lr"] == rate
        found += [run.step(batch).loss for batch in steps[2:]]
        assert found == losses and everything(run) == expected
    names = [check.name for check in report.checks]
    assert "loss, over memory of zeros instead of NaN" in names
    assert all(check.ok and check.measured <= check.allowed for check in report.checks)
    assert "verified the step does not depend on how the batch is cut" in repr(report) and repr(report) == report.text
    if kind == "f32":
        assert any(name.startswith("along random signs") for name in names)
        assert "verified the gradient is that of the loss" in report.text


def test_what_is_wrong_is_found(tmp_path):
    path = TEST / "models" / "gpt2-dynamo.onnx"
    artifact = accum.compile(path, batch=7, output=tmp_path / "a.accum", micro_batch=3)
    subprocess.run([sys.executable, TEST / "e2e" / "break-gradient.py", artifact.path, "scale"], check=True)
    with accum.Runner(artifact.path) as run:
        before = everything(run)
        report = run.verify(seconds=600)
        assert not report and "[wrong-gradient]" in report.error and report.error in repr(report)
        wrong, = (check for check in report.checks if not check.ok)
        assert wrong.name == "gradient of transformer.h.0.mlp.c_fc.weight"
        assert wrong.measured == pytest.approx(0.0099, rel=0.1) and wrong.allowed == 3e-3
        assert everything(run) == before


def test_what_cannot_be_verified(tmp_path):
    artifact, steps = made("f32", tmp_path / "a.accum")
    with accum.Runner(artifact) as run:
        run.accumulate(steps[0])
        with pytest.raises(accum.UsageError, match="gradients wait for an update"):
            run.verify()
        run.update()
        with pytest.raises(accum.DataError, match="input_ids"):
            run.verify({"labels": steps[0]["labels"]})
        assert run.verify(steps[0], seconds=0)
        for name in run.trained:
            run.write(name, numpy.full_like(run.read(name), numpy.inf))
        with pytest.raises(accum.RunError, match="is not finite"):
            run.verify()
