# SPDX-License-Identifier: Apache-2.0
"""`FOLDER CASES [NAME...]`: small exports of test/models/cases. Oracle: PyTorch's losses of three SGD steps in float64 on the
undivided batch, for micro-batches of one, two and all samples, or the word that the refusal ends in."""
import json
import pathlib
import subprocess
import sys


def refused(case, facts):
    run = subprocess.run(["accumc", "check", case / "model.onnx"], capture_output=True, text=True)
    assert run.returncode == 1 and f"[{facts['refused']}]" in run.stderr and "\nnote: " in run.stderr, f"{case.name}: {run.returncode} {run.stderr}"


def trained(case, facts, folder):
    artifact, log = folder / f"{case.name}.accum", folder / f"{case.name}.jsonl"
    for size in (1, 2, facts["batch"]):
        for options, tolerance in ((["--target", "reference", "--precision", "f64"], 1e-6), ([], 1e-5)):
            log.unlink(missing_ok=True)
            subprocess.run(["accumc", case / "model.onnx", "--batch", str(facts["batch"]), "--micro-batch", str(size), "--optimizer", "sgd",
                            "-o", artifact, *options], check=True, capture_output=True)
            subprocess.run(["accum-run", artifact, "--data", case / "data.safetensors", "--steps", "3", "--lr", str(facts["lr"]), "--no-shuffle",
                            "--log", log, "--save", folder / "p.safetensors"], check=True, capture_output=True)
            losses = [step["loss"] for step in map(json.loads, log.read_text().splitlines()) if "loss" in step]
            worst = max(abs(a - b) / abs(b) for a, b in zip(losses, facts["losses"], strict=True))
            assert worst <= tolerance, f"{case.name}, micro-batches of {size} {options}: {losses}, expected {facts['losses']}"


def main():
    folder, cases = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name in sys.argv[3:] or sorted(path.name for path in cases.iterdir()):
        facts = json.loads((cases / name / "case.json").read_text())
        if "refused" in facts:
            refused(cases / name, facts)
        else:
            trained(cases / name, facts, folder)
    print("all cases are as they should be")


if __name__ == "__main__":
    main()
