# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a file that was exported for training leaves dropout out (oracle: the framework's loss in evaluation mode, of the
same weights), while a step keeps it; by accum_eval of libaccum_runtime.

Usage: evaluation.py MODEL EVALUATED FOLDER BUILD, two exports of one model.
"""
import ctypes
import pathlib
import sys

from program import Model

TOLERANCE = 2e-6  # f32; dropout moves the loss by 1e-3 and more


class DataOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("shuffle", ctypes.c_int32), ("drop_last", ctypes.c_int32), ("seed", ctypes.c_uint64),
                ("samples", ctypes.c_int64)]


class StepResult(ctypes.Structure):
    _fields_ = [("loss", ctypes.c_double), ("gradient_norm", ctypes.c_double), ("samples", ctypes.c_int64),
                ("targets", ctypes.c_int64), ("seconds", ctypes.c_double), ("data_seconds", ctypes.c_double),
                ("micro_steps", ctypes.c_uint32), ("skipped", ctypes.c_int32)]


def losses(library, artifact, data):
    """By evaluation, and by a step."""
    runtime = ctypes.CDLL(str(library))
    runtime.accum_last_error.restype = ctypes.c_char_p
    session, result = ctypes.c_void_p(), StepResult()

    def call(name, *arguments):
        if getattr(runtime, name)(*arguments):
            sys.exit(runtime.accum_last_error().decode())

    call("accum_open", str(artifact).encode(), None, ctypes.byref(session))
    options = DataOptions(ctypes.sizeof(DataOptions), 0, 0, 0, 0)
    call("accum_bind_files", session, (ctypes.c_char_p * 1)(str(data).encode()), ctypes.c_size_t(1), ctypes.byref(options))
    found = []
    for name in ("accum_eval", "accum_step"):
        call(name, session, ctypes.c_uint64(0), ctypes.byref(result))
        found.append(result.loss)
    return found


trained, evaluated = Model(sys.argv[1], sys.argv[3]), Model(sys.argv[2], sys.argv[3])
artifact = trained.compile("--micro-batch", 3)
evaluation, step = losses(pathlib.Path(sys.argv[4]) / "lib" / "libaccum_runtime.so", artifact, trained.data)
expected = evaluated.reference("loss")
print(f"evaluation {evaluation:.7f}, step {step:.7f}, the framework's evaluation {expected:.7f}")
if abs(evaluation - expected) > TOLERANCE * expected:
    sys.exit("evaluation is not that of the framework")
if abs(step - expected) < 100 * TOLERANCE * expected:
    sys.exit("the step drops nothing")
