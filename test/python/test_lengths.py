# SPDX-License-Identifier: Apache-2.0
"""Batches of several lengths: narrower arrays and lists of samples give the step of the padded batch."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import pytest

import accum
from accum import _lengths

MODEL = pathlib.Path(__file__).resolve().parent.parent / "models" / "gpt2-dynamo-sequence.onnx"


def texts(count, longest=16):
    draw = numpy.random.default_rng(1)
    lengths = [*draw.integers(2, longest, count - 1), longest]
    return [draw.integers(1, 90, length) for length in lengths]


def padded(rows, width):
    ids, mask = numpy.zeros((len(rows), width), numpy.int64), numpy.zeros((len(rows), width), numpy.int64)
    labels = numpy.full((len(rows), width), -100, numpy.int64)
    for at, row in enumerate(rows):
        ids[at, :len(row)], mask[at, :len(row)], labels[at, :len(row)] = row, 1, row
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def samples(rows):
    return [{"input_ids": row, "attention_mask": numpy.ones(len(row), numpy.int64), "labels": row} for row in rows]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lengths")
    made = {}
    for name, sizes in {"one": 16, "several": [5, 9, 16]}.items():
        artifact = accum.compile(MODEL, batch=9, output=folder / f"{name}.accum", dim={"sequence": sizes}, optimizer="sgd")
        made[name] = accum.Runner(artifact, lr=0.1)
    yield made
    for run in made.values():
        run.close()


def test_narrow_arrays_and_lists_of_samples(runs):
    rows = texts(9)
    expected = runs["one"].step(padded(rows, 16))
    found = runs["several"].step(samples(rows))
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)
    assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-5)
    short = [row[:6] for row in rows]
    expected = runs["one"].step(padded(short, 16))
    assert runs["several"].step(padded(short, 6)).loss == pytest.approx(expected.loss, rel=1e-5)


def test_evaluation_over_batches_of_different_widths(runs):
    rows = texts(9)
    expected = runs["one"].evaluate(padded(rows, 16)).loss
    parts = [padded([row[:7] for row in rows[:4]], 7), padded(rows[4:], 16)]
    whole = padded([row[:7] for row in rows[:4]] + rows[4:], 16)
    assert runs["several"].evaluate(parts).loss == pytest.approx(runs["one"].evaluate(whole).loss, rel=1e-6)
    assert runs["several"].evaluate(padded(rows, 16)).loss == pytest.approx(expected, rel=1e-4)


def test_evaluation_of_lists_of_samples(runs):
    rows = texts(9)
    expected = runs["one"].evaluate(padded(rows, 16)).loss
    assert runs["several"].evaluate([samples(rows[:1]), samples(rows[1:])]).loss == pytest.approx(expected, rel=1e-6)


def test_what_is_refused(runs):
    with pytest.raises(accum.DataError, match="lengths"):
        runs["one"].step(samples(texts(9)))
    with pytest.raises(accum.DataError, match="17 long, the largest size"):
        runs["several"].step(padded(texts(9, longest=17), 17))


def test_what_is_longer_is_cut(runs):
    """Oracle: the samples cut beforehand."""
    rows = texts(9, longest=30)
    cut = [row[:16] for row in rows]
    with accum.Runner(runs["several"].artifact, lr=0.1, truncate=True) as run:
        for given in (samples(rows), padded(rows, 30)):
            with accum.Runner(runs["several"].artifact, lr=0.1) as other:
                expected = other.step(padded(cut, 16))
            assert run.evaluate([given]).loss == pytest.approx(expected.loss, rel=1e-6)
        assert run.step(samples(rows)).loss == pytest.approx(expected.loss, rel=1e-6)
        assert run.notices[-1] == "samples longer than the largest size of `sequence` end after 16 places"
    with pytest.raises(accum.DataError, match="sample 2 of `input_ids` is 23 long") as caught:
        runs["several"].step(samples(rows))
    assert caught.value.notes[0].startswith("truncate=True cuts what is longer")
    with pytest.raises(accum.UsageError, match="truncate: the program has one length"):
        accum.Runner(runs["one"].artifact, truncate=True)


def test_what_is_only_padded_further_is_not_cut(runs):
    with accum.Runner(runs["several"].artifact, lr=0.1, truncate=True) as run:
        expected = run.evaluate(padded(texts(9), 16)).loss
        assert run.step(padded(texts(9), 24)).loss == pytest.approx(expected, rel=1e-6)
        assert not any("end after" in notice for notice in run.notices)


def test_the_plan_has_a_row_for_each_length(runs):
    rows = runs["several"].plan.lengths
    assert [row["sizes"] for row in rows] == [{"sequence": 5}, {"sequence": 9}, {"sequence": 16}]
    assert all(row["micro_batch"] >= 1 for row in rows)


def test_the_example_of_ragged_data(tmp_path):
    """Its commands as they stand: chosen sizes, and a loss that falls."""
    folder = MODEL.parents[2] / "examples" / "ragged"
    commands = re.search(r"((?:    .*\n)+)", (folder / "README.md").read_text())[1]
    words = [line.split() for line in commands.splitlines()][1:]
    shutil.copy(folder / "write.py", tmp_path)
    said = []
    for command in words:
        command = [str(folder / word) if word.startswith("..") else word for word in command]
        command = [sys.executable, *command] if command[0] == "./write.py" else command
        run = subprocess.run([*command, *(["--progress", "none", "--log", "log.jsonl"] if command[0] == "accum-run" else [])],
                             cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        said.append(run.stdout)
    assert "lengths        sequence  micro-batch" in said[1]
    losses = [json.loads(line)["loss"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert losses[0] > 4 and losses[-1] < 2.5
    with numpy.load(tmp_path / "sums.npz") as data:
        assert data["input_ids.offsets"][-1] == len(data["input_ids"]) and len(data["labels.offsets"]) == 4097


def test_a_module_with_lengths():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                     intermediate_size=32, max_position_embeddings=32, num_labels=3, hidden_dropout_prob=0,
                                     attention_probs_dropout_prob=0)
    model = transformers.BertForSequenceClassification(config)
    rows = texts(7)
    batch = {name: torch.from_numpy(array) for name, array in padded(rows, 16).items() if name != "labels"}
    batch["labels"] = torch.arange(7) % 3
    with accum.Trainer(model, {name: array[:2] for name, array in batch.items()}, batch=7, lengths=[4, 8, 16],
                       optimizer="sgd") as run:
        assert run.step(batch).loss == pytest.approx(model(**batch).loss.item(), rel=1e-5)
    with pytest.raises(accum.UsageError, match="lengths"):
        accum.Trainer(model, batch, batch=7, lengths="short")


def test_multiple_choice():
    """Each sample is as long as its longest choice; the others end earlier."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                     intermediate_size=32, max_position_embeddings=32, hidden_dropout_prob=0,
                                     attention_probs_dropout_prob=0)
    model = transformers.BertForMultipleChoice(config)
    choices = [padded(rows, 16) for rows in (texts(7), [row[:1 + len(row) // 3] for row in texts(7)])]
    batch = {name: torch.from_numpy(numpy.stack([each[name] for each in choices], 1)) for name in ("input_ids", "attention_mask")}
    batch["labels"] = torch.arange(7) % 2
    with accum.Trainer(model, {name: array[:2] for name, array in batch.items()}, batch=7, lengths=[4, 8, 16],
                       optimizer="sgd") as run:
        batch["attention_mask"][2, 1] = torch.tensor([1, 0, 1] + [0] * 13)
        assert run.step(batch).loss == pytest.approx(model(**batch).loss.item(), rel=1e-5)


def test_sizes_of_two_dimensions_end_at_the_longest_of_each(tmp_path):
    def sizes(**examples):
        return accum._lengths.compiler_options("auto", None, examples, None, tmp_path)["dim"]

    assert sizes(length=48, target_length=24) == {"length": "16,24,48", "target_length": "8,16,24"}
    assert sizes(length=100, target_length=5) == {"length": "104", "target_length": "8"}
    assert sizes(length=512, target_length=64) == {"length": "64,128,256,512", "target_length": "8,16,32,64"}


def test_texts_of_their_own_have_ids_and_a_mask():
    shapes = {"input_ids": 8, "positive_ids": 12, "positive_mask": 12, "neg_input_ids": 9, "neg_attention_mask": 9,
              "neg_token_type_ids": 9, "user_ids": 1, "visual_attention_mask": 10, "odd_ids": 5, "odd_mask": 6}
    batch = {name: numpy.zeros((4, width), numpy.int64) for name, width in shapes.items()}
    found = _lengths._own_texts(batch, {"input_ids": _lengths.LENGTH})
    assert found == {"positive_ids": "positive_length", "positive_mask": "positive_length", "neg_input_ids": "neg_length",
                     "neg_attention_mask": "neg_length", "neg_token_type_ids": "neg_length"}
