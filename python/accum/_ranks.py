# SPDX-License-Identifier: Apache-2.0
"""The processes of one job, as mpirun, srun or torchrun start them: which this one is, and what rank 0 tells the rest."""
from __future__ import annotations

import atexit
import os
import pickle
import sys
import weakref
from typing import Any, Callable, TypeVar

from . import _accum, _errors

# The others wait for a rank that evaluates, draws or saves on its own; who has died is noticed at once.
PATIENCE = "1800"

_T = TypeVar("_T")
_open: "weakref.WeakSet[Any]" = weakref.WeakSet()
_joined = False


def _forget() -> None:
    """In a forked child: runs, and the place among the ranks, are its parent's."""
    global _joined
    _open.clear()
    _joined = False


os.register_at_fork(after_in_child=_forget)


@atexit.register
def _leave() -> None:
    """A process that an exception has ended waits for no other: those are in the middle of something."""
    if _joined and hasattr(sys, "last_value"):
        _fail(sys.last_value)
    try:
        for run in list(_open):
            run.close()
        _accum.leave()
    except _errors.Error as error:
        if not _joined:
            raise
        print(f"{type(error).__module__}.{type(error).__qualname__}: {error}", file=sys.stderr)
        _fail(error)


def _fail(error: BaseException) -> None:
    """Ends this process; the others learn why."""
    code = error.exit_code if isinstance(error, _errors.Error) else 1
    said = str(error).strip().splitlines()
    sys.stdout.flush()
    sys.stderr.flush()
    _accum.fail(code, ": ".join([type(error).__name__, *said[:1]]))


def join(launcher: str | None = None) -> tuple[int, int]:
    """(rank, ranks) of this process; (0, 1) where no launcher has started several. Joins them the first time."""
    global _joined
    if _accum.launched(launcher) <= 1:
        return 0, 1
    os.environ.setdefault("ACCUM_WATCHDOG_SECONDS", PATIENCE)
    _joined = True
    return _accum.join(launcher)


def keep(run: Any) -> None:
    """A run that is closed before the job is left."""
    _open.add(run)


def from_first(rank: int, ranks: int, make: Callable[[], _T]) -> _T:
    """What `make` gives on rank 0, on all ranks; an exception likewise."""
    if ranks == 1:
        return make()
    if rank == 0:
        try:
            made: Any = make()
        except Exception as error:
            _accum.broadcast(pickle.dumps((False, _portable(error))))
            raise
        _accum.broadcast(pickle.dumps((True, made)))
        return made
    is_made, value = pickle.loads(_accum.broadcast())
    if not is_made:
        raise value
    return value


def _portable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return _errors.RunError(f"rank 0: {type(error).__name__}: {error}", slug="collective", exit_code=4)
