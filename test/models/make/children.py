# SPDX-License-Identifier: Apache-2.0
"""Work in a child process: exporters print whole graphs from C++, end the process, or never end."""
import json
import os
import resource
import signal
import time

LIMIT, PATIENCE = 60, 600  # seconds of one attempt: of the exporter's processor time, and altogether


def in_child(work, result):
    """What `work` returns, by way of the file `result`; `kind` is failed or late where it does not."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1), os.dup2(nowhere.fileno(), 2)
        try:
            result.write_text(json.dumps(work()))
        except BaseException as error:
            result.write_text(json.dumps({"kind": "failed", "why": f"{type(error).__name__}: {error}"[:300]}))
        os._exit(0)
    end = time.monotonic() + PATIENCE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"kind": "late", "why": f"not done after {PATIENCE} s"}
        time.sleep(0.05)
    ended = {"kind": "late", "why": f"the exporter ended its process, or took more than {LIMIT} s"}
    return json.loads(result.read_text()) if result.exists() else ended
