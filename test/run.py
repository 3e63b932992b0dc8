# SPDX-License-Identifier: Apache-2.0
"""Runs lit, every GoogleTest binary of a build and the tests of the Python package, and sums up: the last line is
`N passed, N failed, N skipped`."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import lint

LIT = "/usr/lib/llvm-22/bin/lit"
GOOD, SKIPPED = ["PASS", "XFAIL", "FLAKYPASS"], ["UNSUPPORTED", "SKIPPED", "EXCLUDED"]
# Tests that talk to real processes can meet a machine that was away for a while. So many that failed run again, alone;
# what passes then is named at the end, and what it said the first time stays in the output.
AGAIN = 3
ROOT = pathlib.Path(__file__).resolve().parent.parent


class Sum:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.second = []  # names of what passed when it was alone

    def add(self, passed, failed, skipped):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped


def lit_tests(build, paths, jobs, nightly):
    """What lit says of each test; None where it did not finish. Its output is ours."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "lit.json")
        env = dict(os.environ, ACCUM_BUILD=str(build), ACCUM_NIGHTLY="1" if nightly else "")
        subprocess.run([LIT, "-q", "-v", f"-j{jobs}", "-o", result, *paths], env=env)
        if not os.path.exists(result):
            print("lit did not finish")
            return None
        return json.loads(pathlib.Path(result).read_text())["tests"]


def run_lit(build, total, paths, jobs, nightly):
    """A few tests that failed run once more, alone: see `AGAIN`."""
    tests = lit_tests(build, paths, jobs, nightly)
    if tests is None:
        return total.add(0, 1, 0)
    failed = [test["name"] for test in tests if test["code"] not in GOOD + SKIPPED]
    if 0 < len(failed) <= AGAIN:
        files = [str(ROOT / "test" / name.split(" :: ")[1]) for name in failed]
        left = {test["name"] for test in lit_tests(build, files, 1, nightly) or tests if test["code"] not in GOOD}
        total.second += [name for name in failed if name not in left]
        failed = [name for name in failed if name in left]
    skipped = [test["name"] for test in tests if test["code"] in SKIPPED]
    for name in skipped:
        print(f"skipped: {name}")
    total.add(len(tests) - len(failed) - len(skipped), len(failed) if tests else 1, len(skipped))


def run_unit(binary):
    """(passed, failed, skipped), and what it printed where something failed."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "unit.json")
        run = subprocess.run([binary, "--gtest_brief=1", f"--gtest_output=json:{result}"], capture_output=True, text=True,
                             env=dict(os.environ, ACCUM_POISON="1"))
        if not os.path.exists(result):
            return (0, 1, 0), f"{run.stdout[-4000:]} {run.stderr[-4000:]}\n{binary}: died with status {run.returncode}"
        suites = json.loads(pathlib.Path(result).read_text()).get("testsuites", [])
    tests = [test for suite in suites for test in suite["testsuite"]]
    failed = sum("failures" in test for test in tests)
    skipped = sum(test.get("result") == "SKIPPED" for test in tests)
    output = f"{run.stdout[-8000:]} {run.stderr[-4000:]}" if failed or run.returncode else ""
    return (len(tests) - failed - skipped, failed if failed or not run.returncode else 1, skipped), output


def run_units(folder, total, jobs):
    binaries = [str(file) for file in sorted(folder.glob("*")) if os.access(file, os.X_OK) and file.is_file()]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = dict(zip(binaries, pool.map(run_unit, binaries)))
    bad = [binary for binary, (_, output) in results.items() if output]
    for binary in bad:
        print(results[binary][1])
    if len(bad) <= AGAIN:
        for binary in bad:
            results[binary] = run_unit(binary)
            print(results[binary][1])
            if not results[binary][1]:
                total.second.append(os.path.basename(binary))
    for counts, _ in results.values():
        total.add(*counts)


def run_python(build, total):
    """pytest, in the environment that the extension was built for; what needs PyTorch is skipped where that has none."""
    python = ROOT / "build" / "python-tools" / "bin" / "python"
    if not list((build / "python" / "accum").glob("_accum.*")):
        print("skipped: test/python, as the extension module is not built (nanobind is missing)")
        return total.add(0, 0, 1)
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "python.xml")
        env = dict(os.environ, PYTHONPATH=str(build / "python"), PATH=f"{build / 'bin'}{os.pathsep}{os.environ['PATH']}",
                   ACCUM_POISON="1", OMP_NUM_THREADS="1")
        run = subprocess.run([str(python if python.exists() else sys.executable), "-m", "pytest", "-q", "-rs", "-p",
                              "no:cacheprovider", f"--junitxml={result}", "--rootdir", str(ROOT / "test" / "python"),
                              str(ROOT / "test" / "python")], capture_output=True, text=True, env=env)
        if run.returncode:
            print(run.stdout[-8000:], run.stderr[-4000:])
        if not os.path.exists(result):
            return total.add(0, 1, 0)
        suite = xml.etree.ElementTree.parse(result).getroot().find("testsuite")
    tests, skipped = int(suite.get("tests")), int(suite.get("skipped"))
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    for line in run.stdout.splitlines():
        if line.startswith("SKIPPED"):
            print(f"skipped: {line.removeprefix('SKIPPED ')}")
    total.add(tests - failed - skipped, failed or int(run.returncode != 0), skipped)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("-j", "--jobs", default=os.cpu_count(), type=int)
    parser.add_argument("--failed", default=0, type=int, help="checks that failed before: added to the sum")
    parser.add_argument("--nightly", action="store_true", help="whole grids where a sample is drawn otherwise")
    parser.add_argument("paths", nargs="*", help="lit tests or folders only; without any: everything")
    args = parser.parse_args()
    build, total = args.build.resolve(), Sum()
    total.add(0, args.failed, 0)
    run_lit(build, total, args.paths or [str(ROOT / "test")], args.jobs, args.nightly)
    if not args.paths:
        total.add(0, lint.main(), 0)
        run_units(build / "test" / "unit", total, args.jobs)
        run_python(build, total)
    for name in total.second:
        print(f"passed only when it ran again, alone: {name}")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
