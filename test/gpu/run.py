#!/usr/bin/env python3
"""Whole models on an NVIDIA GPU, part by part.

    run.py [PART...]              runs parts, or all; what is not in the work
                                  folder is compiled first
    run.py --prepare [PART...]    makes anew what they need, and runs nothing
    run.py --list                 names the parts

A work folder that one machine prepared can be carried to one that has a GPU
and no gpt2c; what was not carried is skipped by name. A part is a module here:
prepare(tools) compiles and check(report, tools) runs, both with the same calls
of tools.plan().

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import shutil

# First: it finds the module `tools`, which the parts import.
from gpu_tools import REPO, GpuReport, GpuTools, Missing

import generation
import lengths
import memory
import mini
import resume
import torch_training
import training
import tuning

PARTS = {module.__name__.replace("_", "-"): module for module in
         (generation, mini, memory, training, tuning, lengths, resume,
          torch_training)}


def prepare(tools, names):
    # Nothing but what is carried stays.
    shutil.rmtree(tools.run_folder(""), ignore_errors=True)
    for name in names:
        try:
            PARTS[name].prepare(tools)
        except Missing as why:
            print(f"not prepared: {name}: {why}")


def main():
    parser = argparse.ArgumentParser(
        description="Whole models on an NVIDIA GPU, part by part.")
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help="parts to run (all): " + ", ".join(PARTS))
    parser.add_argument("--bin", default=REPO / "build/bin",
                        help="holds gpt2-run, and gpt2c where plans are made")
    parser.add_argument("--work", default=REPO / "build/test/gpu",
                        help="where plans are kept")
    parser.add_argument("--arch", default="sm_90",
                        help="what plans are compiled for (sm_90)")
    parser.add_argument("--prepare", action="store_true",
                        help="compile and run nothing")
    parser.add_argument("--list", action="store_true", help="name the parts")
    args = parser.parse_args()
    if args.list:
        print(*PARTS, sep="\n")
        return
    for name in args.parts:
        if name not in PARTS:
            parser.error(f"no part '{name}'; there are: {', '.join(PARTS)}")
    names = args.parts or list(PARTS)
    tools = GpuTools(args.bin, args.work, args.arch, fresh=args.prepare)
    if args.prepare:
        prepare(tools, names)
        return
    report = GpuReport()
    for name in names:
        with report.part(name):
            PARTS[name].check(report, tools)
    report.done()


if __name__ == "__main__":
    main()
