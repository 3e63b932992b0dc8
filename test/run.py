# SPDX-License-Identifier: Apache-2.0
"""Runs lit and every GoogleTest binary of a build, and sums up: the last line is `N passed, N failed, N skipped`."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import lint

LIT = "/usr/lib/llvm-22/bin/lit"
ROOT = pathlib.Path(__file__).resolve().parent.parent


class Sum:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped


def run_lit(build, total, paths, jobs, nightly):
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "lit.json")
        env = dict(os.environ, ACCUM_BUILD=str(build), ACCUM_NIGHTLY="1" if nightly else "")
        command = [LIT, "-q", "-v", f"-j{jobs}", "-o", result, *paths]
        status = subprocess.run(command, env=env).returncode
        if not os.path.exists(result):
            print("lit did not finish")
            total.add(0, 1, 0)
            return
        tests = json.loads(pathlib.Path(result).read_text())["tests"]
    codes = [test["code"] for test in tests]
    good = sum(code in ("PASS", "XFAIL", "FLAKYPASS") for code in codes)
    skipped = sum(code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED") for code in codes)
    for test in tests:
        if test["code"] in ("UNSUPPORTED", "SKIPPED"):
            print(f"skipped: {test['name']}")
    failed = len(codes) - good - skipped
    total.add(good, failed if failed or status == 0 else 1, skipped)


def run_unit(binary):
    """(passed, failed, skipped), and what it printed where something failed."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "unit.json")
        run = subprocess.run([binary, "--gtest_brief=1", f"--gtest_output=json:{result}"], capture_output=True, text=True)
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
        for counts, output in pool.map(run_unit, binaries):
            total.add(*counts)
            if output:
                print(output)


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
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
