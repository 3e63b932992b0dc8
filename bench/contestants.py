# SPDX-License-Identifier: Apache-2.0
"""How each contestant is installed, compiled and run. Every round is a process of its own, so peaks are comparable."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20


def command(words, threads, more=None):
    """Runs to the end, `more` in its environment: (stdout, seconds, peak resident MiB). Fails with the last lines of stderr."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), **(more or {}))
    with tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=err, env=env, text=True)
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            err.seek(0)
            sys.exit(f"error: {' '.join(map(str, words))}: exit {process.returncode}\n{err.read()[-1500:]}")
    return out, seconds, usage.ru_maxrss * 1024 / MIB


def environment(name, pythons):
    """The Python of bench/.venv-NAME, made on demand from the first of `pythons` that is here."""
    folder = HERE / f".venv-{name}"
    python = folder / "bin" / "python"
    requirements = HERE / f"requirements-{name}.txt"
    stamp = folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        base = next((found for found in map(shutil.which, pythons) if found), None)
        if not base:
            sys.exit(f"error: {name} needs one of {', '.join(pythons)}; --{name} PYTHON names another, --only leaves it out")
        print(f"bench: installing {requirements.name} into {folder.relative_to(HERE.parent)}", file=sys.stderr)
        subprocess.run([base, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements],
                       check=True)
        stamp.write_text(requirements.read_text())
    return python


def lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def tuning(folder):
    """What makes PyTorch faster without changing it. Freed memory stays with the process: else glibc hands large arrays back, and
    every step touches their pages anew. On AMD's processors MKL takes its fast path only where its question for the vendor is
    answered so."""
    keep = 1 << 32
    settings = {"GLIBC_TUNABLES": f"glibc.malloc.mmap_threshold={keep}:glibc.malloc.trim_threshold={keep}:glibc.malloc.top_pad={1 << 28}"}
    if "AuthenticAMD" in pathlib.Path("/proc/cpuinfo").read_text():
        shim = folder / "vendor.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", shim], check=True, text=True,
                       input="int mkl_serv_intel_cpu_true(void) { return 1; }\n")
        settings["LD_PRELOAD"] = str(shim)
    return settings


class Accum:
    name = "accumc"

    def takes(self, case):
        return True

    def __init__(self, options):
        self.bin, self.threads = options.build / "bin", options.threads

    def compile(self, case, folder):
        self.artifact = folder / f"{case.key}-{case.precision}.accum"
        words = [self.bin / "accumc", case.model, "--batch", case.batch, "--dim", f"sequence={case.sequence}",
                 "--micro-batch", case.batch // case.micro_batches, "--precision", case.precision, "-o", self.artifact]
        return command(words, self.threads)[1]

    def steps(self, case, count, folder):
        words = [self.bin / "accum-run", self.artifact, "--data", f"input_ids={case.tokens}", "--steps", count,
                 "--no-shuffle", "--lr", "1e-4", "--threads", self.threads, "--log", "-",
                 "--progress", "none", "--save", folder / "trained.safetensors"]
        out, _, peak = command(words, self.threads)
        return lines(out), peak


class Scripted:
    """A Python script of this folder in an environment of its own."""

    switches = ()

    def takes(self, case):
        return case.precision == "f32"

    def environment(self, folder):
        return {}

    def __init__(self, options):
        given = getattr(options, self.key)
        self.python = given or environment(self.key, self.pythons)
        self.threads = options.threads

    def place(self, case, folder):
        return folder / f"{self.script}-{case.micro_batches}"

    def run(self, case, count, folder):
        words = [self.python, HERE / self.script, *self.switches, *(["--autocast"] if case.precision == "bf16" else []), "--model", case.model, "--tokens", case.tokens, "--micro-batches",
                 case.micro_batches, "--steps", count, "--threads", self.threads, "--artifacts", self.place(case, folder)]
        return command(words, self.threads, self.environment(folder))

    def steps(self, case, count, folder):
        out, _, peak = self.run(case, count, folder)
        return lines(out), peak


class PyTorch(Scripted):
    name, key, script = "PyTorch eager", "pytorch", "pytorch-step"
    pythons = ("python3",)

    def __init__(self, options):
        super().__init__(options)
        self.untuned = options.untuned

    def takes(self, case):
        return True

    def environment(self, folder):
        return {} if self.untuned else tuning(folder)

    def compile(self, case, folder):
        return None


class PyTorchCompiled(PyTorch):
    name, switches = "PyTorch compiled", ("--compiled",)

    def compile(self, case, folder):
        """Its first step compiles, into a cache of its own that the rounds share."""
        cache = folder / f"inductor-{case.key}-{case.precision}"
        shutil.rmtree(cache, ignore_errors=True)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
        return lines(self.run(case, 1, folder)[0])[0]["ms"] / 1e3


class OnnxRuntime(Scripted):
    name, key, script = "ONNX Runtime 1.19.2", "onnxruntime", "onnxruntime-step"
    pythons = ("python3.11", "python3.10", "python3.9")

    def compile(self, case, folder):
        shutil.rmtree(self.place(case, folder), ignore_errors=True)
        return lines(self.run(case, 0, folder)[0])[0]["compile_s"]


class LlmC(Scripted):
    """Its C for CPUs, from a checkout that --llmc names; it has no accumulation there."""

    name, key, script = "llm.c", "pytorch", "llmc-step"
    pythons = ("python3",)

    def __init__(self, options):
        super().__init__(options)
        if not options.llmc:
            sys.exit("error: --llmc FOLDER names a checkout of llm.c; --only leaves it out")
        self.checkout = options.llmc

    def takes(self, case):
        return case.micro_batches == 1 and super().takes(case)

    def compile(self, case, folder):
        """With the flags of its own Makefile."""
        place = self.place(case, folder)
        place.mkdir(exist_ok=True)
        words = ["cc", "-Ofast", "-march=native", "-fopenmp", "-DOMP", "-w", "-I", self.checkout, HERE / "llmc-step.c", "-o",
                 place / "llmc-step", "-lm"]
        return command(words, self.threads)[1]


ALL = {"accumc": Accum, "pytorch": PyTorch, "compiled": PyTorchCompiled, "onnxruntime": OnnxRuntime, "llmc": LlmC}
