# SPDX-License-Identifier: Apache-2.0
"""Processes that make other calls than each other: both end within seconds, with one sentence that names both (oracle: what each
was told to do)."""
import subprocess
import sys
import textwrap
import time

import pytest

import accum
from test_ranks import by_environment, by_mpirun, environment, free_port
from test_runner import MODEL

SECONDS = 20  # of both processes, their starts with them; each of them would wait for half an hour

# Three steps on both ranks, then `ranks[r]` in the middle of a fourth; batches are each rank's own.
PROGRAM = textwrap.dedent("""
    import os, sys, time
    import accum
    from test_runner import windows
    run = accum.Runner(sys.argv[1], lr=1e-3, local_batches=True)
    folder, batch = sys.argv[2], next(windows(1, 8))
    for _ in range(3):
        run.step(batch)
    exec(sys.argv[3 + run.rank])
    if run.rank == 0:
        print("went on")
""")
STEP = "run.step(batch)"
CASES = {
    "fewer": ("", "rank 1 has left after 3 steps, rank 0 is in step 4"),
    "exit": ("sys.exit(0)", "rank 1 has left after 3 steps, rank 0 is in step 4"),
    "raises": ("raise ValueError('mine')", "rank 1 has left after 3 steps (ValueError: mine), rank 0 is in step 4"),
    "evaluates": ("run.evaluate(batch); run.step(batch)", "rank 0 is in step 4, rank 1 evaluates after 3 steps"),
    "checkpoint": ("run.checkpoint(folder); run.step(batch)", "rank 0 is in step 4, rank 1 writes a checkpoint after 3 steps"),
    "resumes": ("run.resume(folder); run.step(batch)", "rank 0 is in step 4, rank 1 takes weights or a checkpoint after 3 steps"),
    "accumulates": ("run.accumulate(batch); run.update()", "rank 0 is in step 4, rank 1 accumulates for step 4"),
}


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    made = {}

    def of(shard, devices=2):
        if (shard, devices) not in made:
            folder = tmp_path_factory.mktemp("calls") / "tiny.accum"
            made[shard, devices] = accum.compile(MODEL, batch=48, output=folder, devices=devices, **({"shard": shard} if shard else {})).path
        return made[shard, devices]

    return of


def run(start, artifact, folder, *ranks, count=2):
    began = time.monotonic()
    results = start([sys.executable, "-c", PROGRAM, artifact, str(folder), *ranks], **({} if count == 2 else {"count": count}))
    assert time.monotonic() - began < SECONDS, results
    return results


def check_ends(results, sentence, codes):
    said = "".join(out + err for out, err, _ in results)
    assert sorted(code for *_, code in results) == codes, results
    assert f"{sentence} [other-call]" in said and "went on" not in said, results
    return said


@pytest.mark.parametrize("shard", [None, "zero3"])
@pytest.mark.parametrize("case", CASES)
def test_another_call_ends_both(case, shard, artifacts, tmp_path):
    other, sentence = CASES[case]
    said = check_ends(run(by_environment, artifacts(shard), tmp_path, STEP, other), sentence, [1, 4] if case == "raises" else [4, 4])
    assert said.count(sentence) == (1 if case == "raises" else 2)


@pytest.mark.parametrize("case", ["fewer", "raises", "checkpoint"])
def test_another_call_over_mpi(case, artifacts, tmp_path):
    other, sentence = CASES[case]
    check_ends(run(by_mpirun, artifacts("zero2"), tmp_path, STEP, other), sentence, [1 if case == "raises" else 4])


def test_weights_in_parts_need_all(artifacts, tmp_path):
    """Whole ones do not: rank 0 saves them alone."""
    save = "run.save(folder + '/w.safetensors'); run.step(batch)"
    check_ends(run(by_environment, artifacts("zero3"), tmp_path, save, STEP), "rank 0 reads or saves weights after 3 steps, rank 1 is in step 4",
               [4, 4])
    results = run(by_environment, artifacts(None), tmp_path, save, STEP)
    assert [code for *_, code in results] == [0, 0] and (tmp_path / "w.safetensors").exists(), results


def test_who_never_begins_is_named(artifacts, tmp_path):
    program = "import os, sys, accum; from test_runner import windows; run = accum.Runner(sys.argv[1], lr=1e-3, local_batches=True)\n" \
              "if run.rank == 0: run.step(next(windows(1, 8)))"
    results = by_environment([sys.executable, "-c", program, artifacts(None)])
    for _, said, code in results:
        assert code == 4 and "rank 1 has left after 0 steps, rank 0 is before its first step" in said, results


def test_an_update_that_one_rank_makes(artifacts, tmp_path):
    both = "run.accumulate(batch); "
    check_ends(run(by_environment, artifacts(None), tmp_path, both + "run.update()", both + "run.accumulate(batch)"),
               "rank 0 is in the update of step 4, rank 1 accumulates for step 4", [4, 4])


def test_all_ranks_name_who_has_left(artifacts, tmp_path):
    results = run(by_environment, artifacts(None, devices=4), tmp_path, STEP, STEP, "", STEP, count=4)
    for rank in (0, 1, 3):
        assert f"rank 2 has left after 3 steps, rank {rank} is in step 4" in results[rank][1], results
    assert "rank 2 has left after 3 steps, rank " in results[2][1] and [code for *_, code in results] == [4] * 4


def test_who_goes_on_after_an_error_is_found(artifacts, tmp_path):
    """A batch that one rank's loader has broken ends the step on both; a rank that catches it alone is named."""
    again = "try: run.step({'input_ids': batch['input_ids']})\nexcept accum.Error: "
    check_ends(run(by_environment, artifacts(None), tmp_path, again + "run.step(batch)", again + "run.evaluate(batch)"),
               "rank 0 is in step 4, rank 1 evaluates after 3 steps", [4, 4])


def test_who_is_slow_is_waited_for(artifacts, tmp_path):
    results = run(by_environment, artifacts(None), tmp_path, STEP, "time.sleep(6); run.step(batch)")
    assert [code for *_, code in results] == [0, 0] and "went on" in results[0][0], results


def test_children_of_a_rank_leave_it_alone(artifacts, tmp_path):
    """They end with the handlers of an exit, which are the parent's; what the child calls is refused."""
    fork = ("child = os.fork()\nif child == 0:\n try: run.step(batch)\n except accum.UsageError as error: "
            "sys.exit(0 if error.slug == 'forked' else 9)\n"
            "assert os.waitpid(child, 0)[1] == 0\nrun.step(batch)")
    for start in (by_environment, by_mpirun):
        results = run(start, artifacts("zero2"), tmp_path, fork, fork)
        assert all(code == 0 for *_, code in results) and sum(out.count("went on") for out, *_ in results) == 1, results


def test_a_child_does_not_hide_a_death(artifacts, tmp_path):
    """It has the parent's sockets, which would stay open with it."""
    die = "import signal\nif os.fork() == 0: time.sleep(8); os._exit(0)\nos.kill(os.getpid(), signal.SIGKILL)"
    place = dict(MASTER_ADDR="localhost", MASTER_PORT=str(free_port()), WORLD_SIZE="2")
    words = [sys.executable, "-c", PROGRAM, artifacts(None), str(tmp_path), STEP, die]
    began = time.monotonic()
    ranks = [subprocess.Popen(words, env=environment(RANK=str(rank), **place), text=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE if rank == 0 else subprocess.DEVNULL) for rank in range(2)]
    _, said = ranks[0].communicate(timeout=SECONDS)
    assert ranks[0].returncode == 4 and "rank 1 has died: its connection is closed" in said and time.monotonic() - began < 8, said
    ranks[1].wait()


def test_both_say_that_the_disk_is_full(tmp_path, artifacts):
    """Each has a file of its own, and none may be as large; who is alone in what it finds is quoted by the other."""
    folder = tmp_path / "offloaded.accum"
    accum.compile(MODEL, batch=48, output=folder, devices=2, shard="zero3", offload="optimizer")
    program = textwrap.dedent("""
        import os, resource, sys
        import accum
        if sys.argv[2] in ("both", os.environ["RANK"]):
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        accum.Runner(sys.argv[1], lr=1e-3)
    """)
    for where in ("both", "0", "1"):
        results = by_environment([sys.executable, "-c", program, str(folder), where])
        if "lies in memory" in results[0][1]:
            pytest.skip("files of tests lie in memory")
        for rank, (_, said, code) in enumerate(results):
            assert code == 3 and "has room for 4.00 KiB, not for " in said and "[disk-full]" in said, results
            other = "" if where in ("both", str(rank)) else f"another rank failed, rank {where}: offloaded state"
            assert other in said, results
