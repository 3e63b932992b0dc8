# SPDX-License-Identifier: Apache-2.0
"""What several files of tests stand on."""
import signal

import pytest


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises, also where a shell has started the tests in the background, which makes it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
