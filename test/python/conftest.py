# SPDX-License-Identifier: Apache-2.0
"""What several files of tests stand on."""
import signal

import pytest

import accum
from accum._words import leaks


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises, also where a shell has started the tests in the background, which makes it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def speaks_python(monkeypatch):
    """No exception of a test names a flag of the command line."""
    made = accum.Error.__init__

    def init(error, message, **facts):
        made(error, message, **facts)
        assert not leaks(str(error)), f"a flag is left in: {error}"

    monkeypatch.setattr(accum.Error, "__init__", init)
