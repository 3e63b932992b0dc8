# SPDX-License-Identifier: Apache-2.0
"""300 steps of a small GPT with all that a run has (warm-up, cosine, clipping, decay, batches that grow, evaluations,
checkpoints) against the same in PyTorch (stored values of every step, by models/make/make-long-run.py): on 1, 2 and 4
devices of one artifact, and killed five times. With dropout, whose random numbers are not PyTorch's, 120 of these steps
against those on one device, and their bits where they were killed.

Usage: long-run.py FOLDER. Tolerances are relative; float64 is left with the float32 constants of the model file.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import time

from program import MODELS, environment, run

REFERENCE = json.loads((MODELS / "long-run.json").read_text())
FOLDER = pathlib.Path(sys.argv[1])
LOG, WEIGHTS = FOLDER / "log.jsonl", FOLDER / "weights.safetensors"
DOUBLE, SINGLE = 1e-6, 1e-4
DROPPED = 120  # steps


def compile_for(*precision, model="gpt2-dynamo"):
    artifact = FOLDER / "model.accum"
    run("accumc", MODELS / f"{model}.onnx", "-o", artifact, "--batch", 8, "--micro-batch", 3, "--metric", "accuracy", *precision)
    return artifact


def command(artifact, *more):
    words = REFERENCE["words"][2:] if "--steps" in more else REFERENCE["words"]
    return [str(part) for part in ["accum-run", artifact, "--data", MODELS / "long-run.safetensors", "--eval", MODELS / "long-run.eval.safetensors",
                                   *words, "--log", LOG, "--save", WEIGHTS, "--progress", "none", *more]]


def logged():
    """Lines of steps, and of evaluations."""
    lines = [json.loads(line) for line in LOG.read_text().splitlines()]
    return [line for line in lines if "loss" in line], [line for line in lines if "eval_loss" in line]


def check(what, tolerance):
    steps, evaluations = logged()
    assert [line["step"] for line in steps] == list(range(1, len(REFERENCE["losses"]) + 1)), f"{what}: {len(steps)} steps"
    pairs = [("loss", steps, REFERENCE["losses"]), ("gradient_norm", steps, REFERENCE["gradient_norms"]),
             ("eval_loss", evaluations, [each["eval_loss"] for each in REFERENCE["evaluations"]])]
    for name, found, expected in pairs:
        assert len(found) == len(expected), f"{what}: {len(found)} times {name}, expected {len(expected)}"
        worst = max((abs(line[name] - value) / value, line["step"]) for line, value in zip(found, expected))
        print(f"{what}: {name} within {worst[0]:.2g}, at step {worst[1]}")
        assert worst[0] <= tolerance, f"{what}: {name} of step {worst[1]} is off by {worst[0]:.3g}"
    for line, expected in zip(evaluations, REFERENCE["evaluations"]):
        for name in ("step", "eval_samples", "eval_targets"):
            assert line[name] == expected[name], f"{what}: {line}, expected {expected}"
        off = abs(line["eval_accuracy"] - expected["eval_accuracy"]) * expected["eval_targets"]
        assert off < (0.5 if tolerance == DOUBLE else 1.5), f"{what}: {line}, expected {expected}"  # rounding may decide one target


def lines_so_far():
    return LOG.read_text().count("\n") if LOG.exists() else 0


def kill_behind(words, lines):
    process = subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while lines_so_far() < lines and process.poll() is None:
        time.sleep(0.0005)
    process.kill()
    _, said = process.communicate()
    assert process.returncode == -9, f"was not killed: {process.returncode}\n{said}"


def train_and_be_killed(artifact, behind=(40, 110, 160, 215, 280), *more):
    root = FOLDER / "checkpoints"
    words = command(artifact, *more, "--checkpoint", root, "--checkpoint-every", 25, "--checkpoint-keep", 2, "--resume", "auto")
    shutil.rmtree(root, ignore_errors=True)
    LOG.unlink(missing_ok=True)
    for lines in behind:  # a batch has changed before the second and the fourth
        kill_behind(words, lines)
    assert "resumed" in run(*words).stdout, "did not go on"


def check_dropout(artifact):
    curves = {}
    for devices in (4, 2, 1):
        run(*command(artifact, "--devices", devices, "--steps", DROPPED))
        curves[devices] = [[line[name] for line in lines] for lines, name in zip(logged(), ("loss", "eval_loss"))]
    weights = WEIGHTS.read_bytes()
    for devices in (4, 2):
        worst = max(abs(a - b) / b for mine, one in zip(curves[devices], curves[1]) for a, b in zip(mine, one, strict=True))
        print(f"dropout on {devices}: within {worst:.2g} of one device")
        assert worst <= DOUBLE, f"dropout on {devices} devices is off by {worst:.3g}"
    apart = max(abs(a - b) / b for a, b in zip(curves[1][0], REFERENCE["losses"]))
    assert apart > 1e-3, "nothing is dropped"
    train_and_be_killed(artifact, (50, 108), "--steps", DROPPED)
    assert WEIGHTS.read_bytes() == weights, "who was killed has other bits, with dropout"


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    artifact = compile_for("--precision", "f64", "--target", "reference")
    for devices in (4, 2, 1):
        run(*command(artifact, "--devices", devices))
        check(f"float64 on {devices}", DOUBLE)
    weights = WEIGHTS.read_bytes()
    train_and_be_killed(artifact)
    check("float64, killed five times", DOUBLE)
    assert WEIGHTS.read_bytes() == weights, "who was killed has other bits"
    run(*command(compile_for()))
    check("float32", SINGLE)
    check_dropout(compile_for("--precision", "f64", "--target", "reference", model="gpt2-dynamo-train"))


main()
