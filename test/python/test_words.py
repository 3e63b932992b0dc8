# SPDX-License-Identifier: Apache-2.0
"""What is said in Python speaks Python: notes name arguments, and a plan's repr is three lines."""
import os
import pathlib
import re

import pytest

import accum
from accum._resident import _sum as resident_sum
from accum._words import in_python, leaks, notes_in_python

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODEL = SOURCE / "examples" / "gpt2-tiny.onnx"


@pytest.mark.parametrize("flags, arguments", [
    ("--on-nan skip leaves such steps out; a smaller --lr is the usual cure",
     'on_nan="skip" leaves such steps out; a smaller lr= is the usual cure'),
    ("compile with --memory 15.25GiB, or for more devices", 'compile with memory="15.25GiB", or for more devices'),
    ("--memory 512MiB is the least that works", 'memory="512MiB" is the least that works'),
    ("--micro-batch auto tries smaller sizes", 'micro_batch="auto" tries smaller sizes'),
    ("start from random weights: --random-params SEED", "start from random weights: random_params=SEED"),
    ("--micro-batch 8 (--init-partial)", "micro_batch=8 (init_partial=True)"),
    ("pre--lr and ---lr stay, and so does a container's --gpus all", "pre--lr and ---lr stay, and so does a container's --gpus all"),
    ("as with --drop-last, which accum-run has alone", "as with accum-run --drop-last, which accum-run has alone"),
    ("one size, --dim NAME=SIZE, compiles", 'one size, dim={"NAME": SIZE}, compiles'),
    ("compile for several: --dim n=16,32", 'compile for several: dim={"n": [16,32]}'),
    ("--shard zero3, or auto; or --offload optimizer", 'shard="zero3", or auto; or offload="optimizer"'),
    ("if there is none: --trust-backward 'own.*'", "if there is none: trust_backward='own.*'"),
    ("--resume DIR --resume-weights-only takes its weights", "resume(DIR, weights_only=True) takes its weights"),
    ("--save FILE.safetensors does without it; --target h100", 'save(FILE.safetensors) does without it; target="h100"'),
    ("accumc --untie keeps them apart", "untie=True keeps them apart"),
    ("make one: accumc MODEL.onnx --batch N", "make one: accumc MODEL.onnx --batch N"),
    ("11 sizes compared: --explain", "11 sizes compared: plan.candidates"),
])
def test_flags_become_arguments(flags, arguments):
    assert in_python(flags) == arguments


def test_messages_name_arguments_that_are_wrong():
    assert in_python("--lr is -1, expected a number", is_message=True) == "lr is -1, expected a number"
    assert in_python("--shard zero4: --devices divides", is_message=True) == 'shard="zero4": devices divides'


def test_a_way_out_of_the_command_line_is_none():
    assert notes_in_python(["--batch-schedule 0:8 goes on", "--lr 1 is larger"]) == ["lr=1 is larger"]


# What Python does not have: runs over files of data.
OF_FILES = {"--data", "--val-split", "--truncate", "--token-type", "--token-labels", "--document-separator", "--batch-schedule",
            "--no-shuffle", "--drop-last"}
# Help texts and what is said of words of a command line; programs for a shell, and what a linker is told.
OTHERWISE = ("compiler/Driver/Options.cpp", "compiler/Driver/UnknownArguments.cpp", "compiler/Driver/Explore.cpp", "compiler/Emit/",
             "runtime/options/RunOptionRows.cpp")
LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')


def sentences():
    for folder in ("runtime", "compiler", "passes", "dialects"):
        for path in sorted((SOURCE / folder).rglob("*.cpp")):
            name = str(path.relative_to(SOURCE))
            for found in LITERALS.finditer("" if name.startswith(OTHERWISE) else path.read_text()):
                text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[0]))
                if re.search(r"(?<![\w-])--[a-z]", text):
                    yield name, text


def test_every_sentence_of_the_library_speaks_python():
    """A flag that a new sentence names is an argument, a method, or what accum-run alone has."""
    found = list(sentences())
    assert len(found) > 200
    for name, text in found:
        said = in_python(text)
        assert not leaks(said), (name, said)
        own = set(re.findall(r"accum-run (--[a-z-]+)", said)) - set(re.findall(r"accum-run (--[a-z-]+)", text))
        assert own <= OF_FILES, f"{name}: {own} of {text!r} is nothing in Python: _words.py"


def test_pages_that_are_named_are_there():
    with pytest.raises(accum.UsageError) as caught:
        accum.Trainer(MODEL, batch=6, frobnicate=1)
    named = next(word for word in " ".join(caught.value.notes).split() if word.endswith(".md"))
    assert pathlib.Path(named).read_text().startswith("# ")
    export = (SOURCE / "python" / "accum" / "_export.py").read_text()
    for page in re.findall(r"page\('([\w.-]+)'\)|page\(\"([\w.-]+)\"\)", export):
        assert (SOURCE / "docs" / "".join(page)).exists()


def test_notes_of_errors_name_arguments():
    with pytest.raises(accum.DoesNotFitError) as caught:
        accum.plan(MODEL, batch=64, memory="1MiB")
    notes = " ".join(caught.value.notes)
    assert 'memory="' in notes and "--memory" not in notes


def test_a_plan_is_three_lines():
    plan = accum.plan(MODEL, batch=64, memory="1GiB")
    lines = repr(plan).splitlines()
    assert [line.split()[0] for line in lines] == ["plan", "memory", "why"]
    assert f"micro-batch {plan.micro_batch} x {plan.steps}" in lines[0]
    assert lines[1].endswith("of 1.00 GiB per device")
    assert lines[2].split(maxsplit=1)[1] == plan.why
    assert plan.why.endswith(": plan.candidates") and "--" not in repr(plan)
    with pytest.raises(accum.DoesNotFitError) as caught:
        accum.plan(MODEL, batch=64, memory="1MiB")
    assert repr(caught.value.plan) == "plan     none: no micro-batch of a batch of 64 fits into 1.00 MiB"


def test_a_run_tells_what_the_process_held_before():
    held = bytearray(os.urandom(1 << 20)) * 200
    with accum.Trainer(MODEL, batch=8, memory="1GiB") as run:
        plan = run.plan
    assert plan == run.artifact.plan and run.artifact.plan.process_bytes is None
    status = pathlib.Path("/proc/self/status").read_text()
    peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024
    assert len(held) < plan.process_bytes <= peak
    said = f"{plan.process_bytes / 2**20:.1f} MiB"
    assert str(plan).splitlines()[-1].startswith(f"process  {said} before the run")
    assert repr(plan).splitlines()[1].endswith(f"; {said} of the process before the run")


def test_mappings_of_the_package_are_not_counted():
    lines = ["7f00-7f10 r-xp 00000000 fe:00 12    /site/accum/_accum.so", "Size: 64 kB", "Rss:  40 kB",
             "7f10-7f20 r-xp 00000000 fe:00 13    /site/torch/lib.so", "Rss:  24 kB", "Rss_ignored: 8 kB",
             "7f20-7f30 rw-p 00000000 00:00 0 ", "Rss:  8 kB"]
    assert resident_sum(lines, "/site/accum/") == 32 * 1024
