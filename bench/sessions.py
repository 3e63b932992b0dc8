# SPDX-License-Identifier: Apache-2.0
"""Programs of accumc in this process, through the C interface of the runtime: several at once, step by step."""
import ctypes


class OpenOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("threads", ctypes.c_int32), ("random_params", ctypes.c_int32),
                ("skip_nan", ctypes.c_int32), ("random_seed", ctypes.c_uint64), ("target", ctypes.c_char_p),
                ("launcher", ctypes.c_char_p), ("program", ctypes.c_void_p)]


class DataOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("shuffle", ctypes.c_int32), ("drop_last", ctypes.c_int32),
                ("seed", ctypes.c_uint64), ("samples", ctypes.c_int64)]


class HyperOptions(ctypes.Structure):
    """All fields: the defaults are written over the whole of it."""

    _fields_ = [("size", ctypes.c_uint32)] + [(name, ctypes.c_double) for name in (
        "lr", "weight_decay", "beta1", "beta2", "eps", "momentum")] + [
        ("decay", ctypes.c_char_p), ("clip_norm", ctypes.c_double), ("skip_spikes", ctypes.c_double),
        ("decays", ctypes.c_void_p), ("lr_scales", ctypes.c_void_p), ("ema", ctypes.c_double)]


class StepResult(ctypes.Structure):
    _fields_ = [("loss", ctypes.c_double), ("gradient_norm", ctypes.c_double), ("samples", ctypes.c_int64),
                ("targets", ctypes.c_int64), ("seconds", ctypes.c_double), ("data_seconds", ctypes.c_double),
                ("micro_steps", ctypes.c_uint32), ("skipped", ctypes.c_int32)]


class Runtime:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.accum_last_error.restype = ctypes.c_char_p

    def check(self, code):
        if code:
            raise RuntimeError(self.library.accum_last_error().decode())


class Session:
    """An artifact with random inputs, whose weights stay as they are (a learning rate of 0)."""

    def __init__(self, runtime, artifact):
        self.runtime, self.handle, self.steps = runtime, ctypes.c_void_p(), 0
        options = OpenOptions(size=ctypes.sizeof(OpenOptions), launcher=b"auto")
        runtime.check(runtime.library.accum_open(str(artifact).encode(), ctypes.byref(options), ctypes.byref(self.handle)))
        hyper = HyperOptions()
        runtime.library.accum_hyper_defaults(ctypes.byref(hyper))
        hyper.lr = 0
        runtime.check(runtime.library.accum_set_hyper(self.handle, ctypes.byref(hyper)))
        data = DataOptions(size=ctypes.sizeof(DataOptions), shuffle=1)
        runtime.check(runtime.library.accum_bind_synthetic(self.handle, ctypes.byref(data)))

    def step(self):
        """Seconds of the next step, without what drawing its samples takes."""
        result = StepResult(skipped=0)
        self.runtime.check(self.runtime.library.accum_step(self.handle, ctypes.c_uint64(self.steps), ctypes.byref(result)))
        self.steps += 1
        return result.seconds - result.data_seconds

    def close(self):
        self.runtime.library.accum_close(self.handle)
