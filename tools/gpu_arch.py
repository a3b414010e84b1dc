#!/usr/bin/env python3
"""Prints the architecture of this machine's first GPU, such as sm_90, or ends
with a line that says why there is none. Asks the driver, and needs nothing
built.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import sys

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


def main():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        sys.exit("no NVIDIA driver is here (libcuda.so.1)")
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        sys.exit("the NVIDIA driver finds no GPU that it can use")
    if count.value == 0:
        sys.exit("the NVIDIA driver finds no GPU")
    major, minor = ctypes.c_int(), ctypes.c_int()
    for number, to in ((MAJOR, major), (MINOR, minor)):
        if driver.cuDeviceGetAttribute(ctypes.byref(to), number, 0):
            sys.exit("the NVIDIA driver does not tell the GPU's architecture")
    print(f"sm_{major.value}{minor.value}")


if __name__ == "__main__":
    main()
