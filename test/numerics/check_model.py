#!/usr/bin/env python3
"""Compiles one model directory for the CPU in fp32 and holds it to the
reference.safetensors beside it: logits, losses and greedy tokens.

    check_model.py BIN_DIR WORK_DIR MODEL_DIR [gpt2c flags...]

MODEL_DIR may be the bare name of one of tools.VARIANTS.

A reference has input_ids [2, T], greedy [1, N] (the continuation of the first
PROMPT ids of row 0) and either logits [2, T, V] or tail_logits [2, k, V] with
loss [2, T-1].

SPDX-License-Identifier: Apache-2.0
"""
import math
import sys
from pathlib import Path

from tools import (VARIANTS, Report, Tools, header, joined, largest_difference,
                   read_safetensors, rows, skip)

PROMPT = 8
TOLERANCE = 1e-4  # of the largest logit


def cross_entropy(logits, target):
    top = max(logits)
    return top + math.log(sum(math.exp(x - top) for x in logits)) \
        - logits[target]


def missing_bias(model):
    """Some copies of these models were saved without the attention's input
    bias, which the reference was computed with: nothing can reproduce it."""
    names = [name for file in model.glob("model*.safetensors")
             for name in header(file.read_bytes())[0]]
    return not any(name.endswith("attn.c_attn.bias") for name in names)


def check_logits(report, tools, model, reference, flags):
    plan = tools.compile(model, "eval", *flags)
    ids = rows(reference["input_ids"])
    wanted = rows(reference.get("logits") or reference["tail_logits"])
    kept = len(wanted) // len(ids)  # positions that the reference holds a row
    for row, row_ids in enumerate(ids):
        ours = tools.logits(plan, model, row_ids)
        report.check(len(ours) == len(row_ids),
                     f"row {row}: {len(ours)} rows of logits")
        worst = max(largest_difference(a, b) for a, b in zip(
            ours[-kept:], wanted[row * kept:(row + 1) * kept]))
        report.check(worst <= TOLERANCE,
                     f"row {row}: logits differ by {worst:.2e} of the largest")
        if "loss" in reference:
            losses = [cross_entropy(logits, target)
                      for logits, target in zip(ours, row_ids[1:])]
            worst = largest_difference(losses, rows(reference["loss"])[row])
            report.check(worst <= TOLERANCE,
                         f"row {row}: losses differ by {worst:.2e}")


def check_greedy(report, tools, model, reference, flags):
    plan = tools.compile(model, "generate", *flags)
    tokens = list(rows(reference["greedy"])[0])
    ours = tools.generate(plan, model, tokens[:PROMPT], len(tokens) - PROMPT)
    report.check(ours == tokens[PROMPT:],
                 f"{len(tokens) - PROMPT} greedy tokens: {joined(ours)}")


def main():
    bin_dir, work_dir, model, *flags = sys.argv[1:]
    model = Path(model) if "/" in model else VARIANTS / model
    if not model.is_dir():
        skip(f"{model} is not here")
    if missing_bias(model):
        skip(f"{model}/model.safetensors lacks h.0.attn.c_attn.bias, so its "
             "reference cannot be reproduced")
    flags = ["--target=cpu", "--precision=fp32", *flags]
    tools, report = Tools(bin_dir, work_dir), Report()
    reference = read_safetensors(model / "reference.safetensors")
    check_logits(report, tools, model, reference, flags)
    check_greedy(report, tools, model, reference, flags)
    report.done()


if __name__ == "__main__":
    main()
