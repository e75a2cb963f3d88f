#!/usr/bin/env bash
# have_gpu.sh: exit 0 when the NVIDIA driver says that a GPU is here, else 1. Prints nothing.
#
# The driver is asked, not /dev: WSL2 has a GPU without /dev/nvidia0, and a container may see device
# files or /proc/driver/nvidia of a GPU that it may not use.
set -uo pipefail

# WSL2 keeps the driver's files in a folder that is not always on the path.
PATH=$PATH:/usr/lib/wsl/lib

if command -v nvidia-smi >/dev/null; then
  timeout 60 nvidia-smi -L 2>/dev/null | grep '^GPU ' >/dev/null  # -q would end nvidia-smi by SIGPIPE
  exit
fi
# Containers may have the driver's library without the tool.
if command -v python3 >/dev/null; then
  timeout 60 python3 -ISc '
import ctypes
for name in ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"):
    try:
        cuda = ctypes.CDLL(name)
    except OSError:
        continue
    count = ctypes.c_int(0)
    if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0:
        raise SystemExit(0)
raise SystemExit(1)' 2>/dev/null
  exit
fi
compgen -G '/dev/nvidia[0-9]*' >/dev/null && compgen -G '/proc/driver/nvidia/gpus/*' >/dev/null
