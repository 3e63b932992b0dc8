# SPDX-License-Identifier: Apache-2.0
"""Forked children of a process that trains: what they call is refused within a moment, and they take nothing from their parent
(oracle: the parent's losses without any child)."""
import subprocess
import sys
import textwrap

import pytest

import accum
from test_ranks import environment
from test_runner import MODEL

PROGRAM = textwrap.dedent("""
    import os, pathlib, sys, time
    import accum
    from test_runner import windows
    batches = list(windows(4))
    run = accum.Trainer(sys.argv[2], lr=1e-2, threads=2)
    folder = run._temporary()  # as of a Trainer that compiles
    said = []

    def in_child(call, leave, code):
        child = os.fork()
        if child == 0:
            try:
                call()
            except accum.UsageError as error:
                if error.slug == "forked" and "fork" in str(error) and "spawn" in str(error):
                    leave(7)
                raise
            leave(0)
        for _ in range(200):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return said.extend([] if status == code << 8 else [f"ends with {status}"])
            time.sleep(.1)
        os.kill(child, 9)
        said.append("hangs")

    exec(sys.argv[1])
    losses = [run.step(batch).loss for batch in batches]
    assert folder.exists()
    print(losses, said)
""")
# What a child does, and with which code it ends.
CALLS = ("run.step(batches[0])", "run.evaluate(batches[0])", "run.read(run.trained[0])", "run.state_dict()", "run.resume(folder)",
         "run.checkpoint(folder / 'c')", "run.save(folder / 'w.safetensors')", "accum.Runner(run.artifact, lr=1e-2)")
FREE = ("None", "run.close()", "globals().pop('run')", "run.steps, repr(run)")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    path = accum.compile(MODEL, batch=64, output=tmp_path_factory.mktemp("forks") / "tiny.accum", micro_batch=24).path
    return lambda code: outcome_of(path, code)


def outcome_of(artifact, code):
    done = subprocess.run([sys.executable, "-c", PROGRAM, code, artifact], env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def children(calls, code):
    """Each ends by itself, in both ways, the parent's run being opened and stepped before."""
    return "\n".join(f"in_child(lambda: ({call}), {leave}, {code})" for call in calls for leave in ("sys.exit", "os._exit"))


def test_what_children_call_is_refused(outcome):
    assert outcome(children(CALLS, 7) + "\n" + children(FREE, 0)) == outcome("")


def test_a_checkpoint_that_a_thread_writes_stays_the_parents(tmp_path, outcome):
    made = f"run.checkpoint({str(tmp_path)!r}, background=True)\n"
    outcome(made + children(("run.close()", "None"), 0) + "\nrun.checkpoint(" + repr(str(tmp_path)) + ")")
    assert [path.name for path in tmp_path.glob("step-*")] == ["step-00000000"]


def test_a_child_of_a_process_without_a_run_trains(tmp_path):
    """Pools of processes that train are forked before: so nothing is lost."""
    artifact = accum.compile(MODEL, batch=64, output=tmp_path / "tiny.accum", micro_batch=24).path
    program = textwrap.dedent(f"""
        import multiprocessing, os
        import accum
        from test_runner import windows
        def train(_):
            with accum.Runner({artifact!r}, lr=1e-2, threads=2) as run:
                return run.step(next(windows(1))).loss
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map_async(train, range(2)).get(60)
        assert found == [train(0)] * 2, found
    """)
    subprocess.run([sys.executable, "-c", program], env=environment(), check=True, timeout=120)


def test_workers_of_a_loader_are_free(outcome):
    torch = pytest.importorskip("torch")
    assert torch
    loop = textwrap.dedent("""
        import torch
        rows = torch.utils.data.TensorDataset(*[torch.from_numpy(b) for b in batches[0].values()])
        loader = torch.utils.data.DataLoader(rows, batch_size=64, num_workers=2, multiprocessing_context="fork")
        run.step(batches[0])
        for _ in range(2):
            for values in loader:
                run.step(dict(zip(batches[0], values)))
    """)
    assert "hangs" not in outcome(loop)
