# SPDX-License-Identifier: Apache-2.0
"""check, plan and compile from Python: what is understood, planned and refused (oracle: the command line's JSON)."""
import json
import pathlib
import subprocess

import pytest

import accum

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODEL = SOURCE / "examples" / "gpt2-tiny.onnx"
MODELS = SOURCE / "test" / "models"


def accumc(*words):
    found = subprocess.run(["accumc", *map(str, words), "--json"], capture_output=True, text=True)
    return json.loads(found.stdout)


def test_check_says_what_is_trained():
    verdict, told = accum.check(MODEL), accumc("check", MODEL)
    assert verdict.json == told and verdict.trained == told["trained"]["elements"]
    assert verdict.batch_dim == "batch" and "can be trained" in str(verdict)


def test_a_plan_is_that_of_the_command_line():
    plan, told = accum.plan(MODEL, batch=1024, memory="64MiB"), accumc(MODEL, "--batch", 1024, "--memory", "64MiB", "--plan-only")
    search = told["search"]
    assert plan.micro_batch == search["plan"]["micro_batch"] and plan.total_bytes == search["plan"]["total_bytes"]
    assert plan.micro_batch * (plan.steps - 1) + plan.last == 1024
    assert [each.micro_batch for each in plan.candidates] == [each["micro_batch"] for each in search["candidates"]]
    assert sum(each.verdict == "chosen" for each in plan.candidates) == 1
    assert plan.total_bytes <= plan.budget_bytes <= 64 << 20
    assert any("lm_head.weight = transformer.wte.weight (tied)" in notice for notice in plan.notices)
    assert str(plan).splitlines()[0].startswith("model") and "compared" in plan.why
    page = plan._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "&lt;html" in page


def test_a_cross_batch_model_names_its_node():
    with pytest.raises(accum.CrossBatchError) as caught:
        accum.check(MODELS / "clip-dynamo.onnx")
    error = caught.value
    assert (error.slug, error.exit_code, error.node) == ("cross-batch", 1, "node_matmul_4")
    assert any("per-sample loss" in note for note in error.notes) and "note: " in str(error)


def test_what_does_not_fit_shows_its_plan():
    with pytest.raises(accum.DoesNotFitError) as caught:
        accum.plan(MODEL, batch=64, memory="20MiB")
    plan = caught.value.plan
    assert plan.micro_batch is None and all(each.verdict == "does-not-fit" for each in plan.candidates)
    assert min(each.over_bytes for each in plan.candidates) > 0


@pytest.mark.parametrize("words, kind, slug", [
    (dict(batch=0), accum.UsageError, "usage"),
    (dict(batch=8, optimizer="adamx"), accum.UsageError, "usage"),
    (dict(batch=8, optimiser="sgd"), accum.UsageError, "usage"),
    (dict(batch=8, precision="f16"), accum.UnsupportedError, "not-built"),
    (dict(batch=8, json=True), accum.UsageError, "usage"),
    (dict(batch=8, micro_batch="explore"), accum.UnsupportedError, "not-built"),
])
def test_wrong_options_are_refused(words, kind, slug):
    with pytest.raises(kind) as caught:
        accum.plan(MODEL, **words)
    assert caught.value.slug == slug and caught.value.exit_code == 2


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(accum.DataError) as caught:
        accum.compile(tmp_path / "none.onnx", batch=8)
    assert caught.value.exit_code == 3


def test_an_artifact_knows_its_inputs(tmp_path):
    made = accum.compile(MODEL, batch=8, output=tmp_path / "m.accum", dim={}, loss="auto")
    assert made.input_names == ("input_ids", "attention_mask", "labels")
    assert made.plan.batch == 8 and made.manifest["batch"] == 8
    with pytest.raises(accum.UsageError, match="leave batch, memory out"):
        accum.Trainer(made, batch=8, memory="1GiB")
