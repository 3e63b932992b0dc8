# SPDX-License-Identifier: Apache-2.0
"""One program in two processes (oracle: its losses in one process, to the rounding of float32 sums in another order)."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import textwrap

import numpy
import pytest

import accum
from test_runner import MODEL, windows

# Each process draws other weights: those of rank 0 count. Argument: what stands between the first lines and the steps.
PROGRAM = textwrap.dedent("""
    import json, pathlib, sys
    import numpy
    import accum
    from test_runner import MODEL, windows
    options, folder, batches = {}, pathlib.Path(sys.argv[1]), list(windows(5, 50)) + list(windows(1, 7))
    exec(sys.argv[2])
    run = accum.Trainer(MODEL, batch=50, micro_batch=8, folder=folder / "made", lr=1e-2, clip_norm=1.0, **options)
    exec(sys.argv[3])
    losses = [run.step(batch).loss for batch in batches]
    evaluated = run.evaluate(batches)
    run.checkpoint(folder / "checkpoints")
    run.save(folder / "weights.safetensors")
    weights = {name: float(abs(value).sum()) for name, value in run.state_dict().items()}
    at = {name: float(abs(run.read(name)).sum()) for name in run.trained}
    (folder / f"rank-{run.rank}.json").write_text(json.dumps([losses, evaluated.loss, evaluated.samples, weights, at]))
    if run.rank == 0:
        print(f"{run.ranks} processes, {run.plan.devices} devices")
""")


def environment(**more):
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def by_environment(words, count=2):
    """(exit code, stdout, stderr) of each."""
    place = dict(MASTER_ADDR="localhost", MASTER_PORT=str(free_port()), WORLD_SIZE=str(count))
    running = [subprocess.Popen(words, env=environment(RANK=str(rank), **place), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) for rank in range(count)]
    return [(*process.communicate(timeout=240), process.returncode) for process in running]


def by_slurm(words):
    """As srun starts tasks, where no MPI can be loaded."""
    (broken := pathlib.Path(words[3])).mkdir(exist_ok=True)
    (broken / "libmpi.so.40").write_text("no library")
    place = dict(SLURM_STEP_NUM_TASKS="2", SLURM_STEP_NODELIST="localhost", SLURM_JOB_ID=str(os.getpid()),
                 LD_LIBRARY_PATH=str(broken))
    running = [subprocess.Popen(words, env=environment(SLURM_PROCID=str(rank), **place), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(2)]
    return [(*process.communicate(timeout=240), process.returncode) for process in running]


def by_torchrun(words):
    pytest.importorskip("torch")
    run = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python", *words],
                         env=environment(), capture_output=True, text=True, timeout=240)
    return [(run.stdout, run.stderr, run.returncode)]


def by_mpirun(words):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    run = subprocess.run(["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2", *words], env=environment(),
                         capture_output=True, text=True, timeout=240)
    return [(run.stdout, run.stderr, run.returncode)]


def words(folder, before="", between=""):
    folder.mkdir(exist_ok=True)
    return [sys.executable, "-c", PROGRAM, str(folder), before, between]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run(words(folder), env=environment(), check=True)
    return json.loads((folder / "rank-0.json").read_text())


def close(found, expected):
    losses, evaluated, samples, *weights = found
    assert numpy.allclose(losses, expected[0], rtol=2e-6)
    assert evaluated == pytest.approx(expected[1], rel=2e-6) and samples == expected[2]
    for own, its in zip(weights, expected[3:]):
        assert own.keys() == its.keys()
        assert numpy.allclose(list(own.values()), list(its.values()), rtol=1e-4)


def check(results, folder, alone):
    assert all(code == 0 for *_, code in results), results
    assert sum(out.count("2 processes, 2 devices") for out, *_ in results) == 1
    first, second = (json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(2))
    assert first == second
    close(first, alone)
    assert sorted(path.name for path in (folder / "checkpoints").glob("step-*")) == ["step-00000006"]
    assert not (folder / "weights.safetensors.1").exists()


@pytest.mark.parametrize("start", [by_environment, by_slurm, by_torchrun, by_mpirun])
def test_losses_are_those_of_one_process(start, tmp_path, alone):
    check(start(words(tmp_path)), tmp_path, alone)


def test_a_state_in_parts(tmp_path, alone):
    """Weights come from both processes; so do those that a checkpoint brings back."""
    again = words(tmp_path, "options = dict(shard='zero3')")
    check(by_environment(again), tmp_path, alone)
    resume = "assert run.resume(folder / 'checkpoints') and run.steps == 6; batches = batches[:1]"
    results = by_environment([*again[:-1], resume])
    assert all(code == 0 for *_, code in results), results


@pytest.mark.parametrize("shard", ["none", "zero2"])
def test_verify_leaves_no_trace(shard, tmp_path, alone):
    verify = "assert all((run.verify(batches[0], seconds=10), run.verify(seconds=10), run.verify(batches[-1], seconds=10)))"
    check(by_environment(words(tmp_path, f"options = dict(shard={shard!r})", verify)), tmp_path, alone)


def test_verify_takes_the_samples_of_all(tmp_path):
    between = "assert run.verify(seconds=0); run.verify(batches[0])"
    results = by_environment(words(tmp_path, "options = dict(local_batches=True)", between))
    assert all("verify takes those of all" in error for _, error, _ in results), results


def test_each_process_passes_its_own_samples(tmp_path, alone):
    """Other numbers of them, and still the step of all."""
    rows = "slice(0, 3 * len(b['labels']) // 5)", "slice(3 * len(b['labels']) // 5, None)"
    own = ("import os; options = dict(local_batches=True); at = %s; batches = "
           "[{name: array[at(b)] for name, array in b.items()} for b in batches]" % (
               f"(lambda b: {rows[0]}) if os.environ['RANK'] == '0' else (lambda b: {rows[1]})"))
    check(by_environment(words(tmp_path, own)), tmp_path, alone)


SEVERAL = textwrap.dedent("""
    import json, os, pathlib, sys
    import accum
    from test_lengths import MODEL, padded, samples, texts
    folder, own = pathlib.Path(sys.argv[1]), sys.argv[2:] == ["own"]
    rows, cut = texts(11), slice(None)
    if own:  # the longest are all with one rank
        cut = slice(0, 3) if os.environ["RANK"] == "0" else slice(3, None)
    run = accum.Trainer(MODEL, batch=11, micro_batch=2, folder=folder / "made", dim={"sequence": [5, 9, 16]}, lr=1e-2,
                        local_batches=own)
    losses = [run.step(samples(rows[cut])).loss, run.step(padded(rows, 16) if not own else samples(rows[cut])).loss]
    losses.append(run.evaluate(padded(rows[cut], max(map(len, rows[cut])))).loss)
    (folder / f"rank-{os.environ.get('RANK', 0)}.json").write_text(json.dumps(losses))
""")


def test_own_samples_of_several_lengths(tmp_path):
    for name, own in ("alone", []), ("ranks", ["own"]):
        (tmp_path / name).mkdir()
        call = [sys.executable, "-c", SEVERAL, str(tmp_path / name), *own]
        if not own:
            subprocess.run(call, env=environment(), check=True)
            continue
        results = by_environment(call)
        assert all(code == 0 for *_, code in results), results
    expected = json.loads((tmp_path / "alone" / "rank-0.json").read_text())
    for rank in range(2):
        assert numpy.allclose(json.loads((tmp_path / "ranks" / f"rank-{rank}.json").read_text()), expected, rtol=2e-6)


def test_other_samples_are_refused(tmp_path):
    results = by_environment(words(tmp_path, "import os; batches = batches[::-1 if os.environ['RANK'] == '1' else 1]"))
    assert all(code != 0 for *_, code in results)
    said = "".join(err for _, err, _ in results)
    assert "the ranks are given other samples, or in another order" in said and "another rank failed" in said


@pytest.mark.parametrize("when", ["", "run.step(batches[0]); "])
def test_a_rate_is_set_on_all_or_refused(when, tmp_path):
    """Between two steps, and before the first one."""
    results = by_environment(words(tmp_path, "", when + "run.lr = 0.02; losses = [run.step(batches[0]).lr]; "
                                                        "assert losses == [0.02]; run.lr = 1e-2"))
    assert all(code == 0 for *_, code in results), results
    results = by_environment(words(tmp_path, "", when + "run.lr = 0.01 * (1 + run.rank)"))
    assert all(code != 0 for *_, code in results)
    said = "".join(err for _, err, _ in results)
    assert "the ranks of this run do not all have the same learning rate" in said and "other-run" in said


def test_an_error_of_the_first_is_one_of_all(tmp_path):
    results = by_environment(words(tmp_path, "options = dict(memory='1MiB')"))
    assert all(code != 0 and "DoesNotFitError" in err for _, err, code in results), results


def test_who_fails_ends_the_others(tmp_path):
    results = by_environment(words(tmp_path, "", "if run.rank == 1: raise ValueError('mine')"))
    assert all(code != 0 for *_, code in results)
    assert "ValueError: mine" in results[1][1] and "rank 1" in results[0][1]


def test_one_process_alone_among_others(tmp_path, alone):
    """devices=1: as if nobody had started several."""
    results = by_environment(words(tmp_path, "import os; options = dict(devices=1); folder = folder / os.environ['RANK']; "
                                             "folder.mkdir()"))
    assert all(code == 0 for *_, code in results), results
    for rank in "01":
        close(json.loads((tmp_path / rank / "rank-0.json").read_text()), alone)
