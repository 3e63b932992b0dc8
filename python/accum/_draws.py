# SPDX-License-Identifier: Apache-2.0
"""Where the generators that a loader draws from stand in an epoch: a run that is resumed draws what it would have drawn."""
from __future__ import annotations

import contextlib
import pathlib
import warnings
from typing import Any, Iterator

from . import _generators


def _path(folder: pathlib.Path, step: int) -> pathlib.Path:
    return folder / f"generators-{step:08}.json"


def _folder(checkpoint: str) -> pathlib.Path:
    """Of checkpoints, of which this is one, or which this is."""
    path = pathlib.Path(checkpoint)
    return path.parent if path.name.startswith("step-") else path


class Draws:
    """Of one loader, whose batches are fetched in groups, each for one step.

    Of an interrupted epoch everything is fetched again. Generators of the process begin as the epoch began; what others drew
    from them since then shows in the group that is fetched last, with which loaders fetch the next batch already.
    """

    def __init__(self, loader: Any, per_epoch: int):
        self._loader, self._per_epoch = loader, per_epoch
        # Workers that outlive an epoch keep their generators: then all epochs are fetched again.
        self._from_start = bool(getattr(loader, "persistent_workers", False))
        self._saved: dict[str, Any] = {}
        self._resumed = 0
        self._content: dict[str, Any] = {}

    def resume(self, checkpoint: str, step: int) -> int:
        """The epoch to begin with, for a run that has made `step` steps."""
        self._resumed = step
        first, within = divmod(step, self._per_epoch)
        path = _path(_folder(checkpoint), step)
        if not path.exists():
            warnings.warn(f"{path} does not exist: a collator that draws at random draws other numbers than the run that is "
                          "resumed", stacklevel=5)
            return first
        saved = _generators.read(path)
        if within == 0 and not self._from_start:
            _generators.restore(self._loader, saved["now"])
            return first
        self._saved = saved
        _generators.restore(self._loader, saved["began"])
        return int(saved["epoch"])

    def begin_epoch(self, epoch: int) -> None:
        if not self._content or not self._from_start:
            self._content = {"epoch": epoch, "began": _generators.states(self._loader)}

    @contextlib.contextmanager
    def fetching(self, reached: int, is_kept: bool) -> Iterator[None]:
        """The group of the step that follows `reached` of them; is_kept: a checkpoint comes after that step."""
        is_last = bool(self._saved) and reached + 1 == self._resumed
        if is_last:
            _generators.restore(self._loader, self._saved["before"])
        if is_kept:
            self._content["before"] = _generators.states(self._loader)
        yield
        if is_last:
            _generators.restore(self._loader, self._saved["now"])

    def save(self, folder: str, step: int) -> None:
        """In front of the checkpoint of the step: where there is one, this is."""
        _generators.write(_path(pathlib.Path(folder), step), {**self._content, "now": _generators.states(self._loader)})

    @staticmethod
    def forget(folder: str) -> None:
        """Of checkpoints that are gone."""
        for path in pathlib.Path(folder).glob("generators-*.json"):
            if not path.with_name(path.stem.replace("generators", "step")).exists():
                path.unlink()
