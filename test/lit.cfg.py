# SPDX-License-Identifier: Apache-2.0
# lit: every *.mlir and *.test below this folder. Run by ./dev test.
import glob
import importlib.util
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "accum"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
build = os.environ.get("ACCUM_BUILD", os.path.join(config.test_source_root, "..", "build"))
build = os.path.realpath(build)
config.test_exec_root = os.path.join(build, "test", "lit")
llvm = "/usr/lib/llvm-22/bin"
# Where `./dev setup` puts ptxas and nvcc on machines without a CUDA toolkit.
cuda = [os.path.join(os.path.dirname(config.test_source_root), "build", "cuda-tools", "bin"), "/usr/local/cuda/bin"]
config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), llvm, os.environ["PATH"], *cuda])
# Memory that means nothing is NaN (docs/verifying.md): a kernel that reads it too early is seen.
config.environment["ACCUM_POISON"] = "1"
for tool in ["ptxas", "nvcc"]:
    if shutil.which(tool, path=config.environment["PATH"]):
        config.available_features.add(tool)
if subprocess.run([sys.executable, os.path.join(config.test_source_root, "e2e", "cgroup.py")], capture_output=True).returncode == 0:
    config.available_features.add("writable-memory-cgroup")
if subprocess.run([sys.executable, os.path.join(config.test_source_root, "e2e", "full-disk.py"), "mounts"], capture_output=True).returncode == 0:
    config.available_features.add("mounts")
if subprocess.run([sys.executable, os.path.join(config.test_source_root, "e2e", "two-hosts.py")], capture_output=True).returncode == 0:
    config.available_features.add("network-namespaces")
config.excludes = ["fuzz"]
if importlib.util.find_spec("onnx") and importlib.util.find_spec("onnx.defs"):
    config.available_features.add("onnx")
# The environment of the Python package's tests, in which `./dev test` installs TensorBoard.
python_tools = os.path.join(os.path.dirname(config.test_source_root), "build", "python-tools")
if glob.glob(os.path.join(python_tools, "lib", "python*", "site-packages", "tensorboard")):
    config.available_features.add("tensorboard")
if os.path.exists(os.path.join(build, "test", "runtime", "step-allocations")):  # not with sanitizers
    config.available_features.add("allocation-count")
config.substitutions.append(("%models", os.path.join(config.test_source_root, "models")))
config.substitutions.append(("%source", os.path.dirname(config.test_source_root)))
config.substitutions.append(("%build", build))
config.substitutions.append(("%cuts", "all" if os.environ.get("ACCUM_NIGHTLY") else "sample"))
config.substitutions.append(("%published", "" if os.environ.get("ACCUM_NIGHTLY") else "'GPT-3 1.3B' 'GPT-3 13B' 'T5 11B'"))
config.substitutions.append(("%python-tools", os.path.join(python_tools, "bin", "python")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%expect", f"{sys.executable} {config.test_source_root}/expect.py"))
