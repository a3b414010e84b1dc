# The lit suite: which files are tests and which tools they call.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os

import lit.formats

config.name = "gpt2c"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "numerics", "fuzz", "gpu", "fixtures", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.gpt2_binary_dir + "/test"

# Debian puts an older FileCheck on PATH too, so LLVM's own folder goes first.
config.environment["PATH"] = os.pathsep.join(
    [config.gpt2_binary_dir + "/bin", config.llvm_bindir,
     os.environ.get("PATH", "")])
# One thread a test: lit runs as many tests as there are cores.
config.environment["OMP_NUM_THREADS"] = "1"

config.substitutions.append(("%python", config.python))
# `%repo` is the source tree, `%models` the committed tiny models.
config.substitutions.append(("%repo", config.gpt2_source_dir))
config.substitutions.append(
    ("%models", config.gpt2_source_dir + "/test/numerics/models"))
if config.gpt2_have_cuda:
    config.available_features.add("cuda-headers")
if os.path.isdir("/proc/driver/nvidia/gpus"):
    config.available_features.add("gpu")


def loads(library):
    try:
        ctypes.CDLL(library)
        return True
    except OSError:
        return False


# CUDA plans compile where NVRTC can be loaded, GPU or not.
if any(map(loads, ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"])):
    config.available_features.add("nvrtc")
