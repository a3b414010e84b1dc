#!/usr/bin/env python3
"""The suite that needs an NVIDIA GPU: CUDA plans against what `transformers`
and PyTorch compute, the same prompts at several batch sizes, and planned
memory against allocated memory.

    run.py [--bin DIR] [--work DIR] [--arch ARCH]            compiles and runs
    run.py --prepare ...                                     compiles only

A run takes a plan that is already in the work folder as it is, so plans can be
made on a machine that has gpt2c and run on one that has a GPU.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test/numerics"))

from tools import (MODELS, SHARED, Report, Tools, largest_difference,  # noqa: E402
                   read_safetensors, rows)

MINI = SHARED / "models/gpt2-mini"
PROMPT = 8
LOGIT_TOLERANCE = 1e-4  # of the largest logit, fp32
# How far a perplexity may be from fp32's on the CPU.
PERPLEXITY = {"fp32": 0.002, "tf32": 0.01, "fp16": 0.02, "bf16": 0.3}
BATCHES = (1, 4, 32)
# Buckets have other kernels, whose sums differ in rounding: rows of two buckets
# may part where the two best logits are closer than this.
NEAR_TIE = {"fp32": 1e-3, "fp16": 0.05}
TINY = ("base", "head_80", "head_128", "relu_two_heads", "erf_gelu_odd_mlp",
        "untied_head", "vocab_258", "inverse_layer_scale")


class GpuTools(Tools):
    """Compiles CUDA plans, or takes those that are there."""

    def __init__(self, bin_dir, work_dir, arch, fresh):
        super().__init__(bin_dir, work_dir)
        self.fresh = fresh
        self.flags = ["--target=cuda", f"--arch={arch}"]

    def plan(self, model, mode, precision, *flags):
        flags = [*self.flags, f"--precision={precision}", *flags]
        path = self.plan_path(model, mode, *flags)
        if path.exists() and not self.fresh:
            return path
        return self.compile(model, mode, *flags)


def tiny_plans(tools):
    return {name: (tools.plan(MODELS / name, "eval", "fp32"),
                   tools.plan(MODELS / name, "generate", "fp32"))
            for name in TINY}


def mini_plans(tools):
    evals = {p: tools.plan(MINI, "eval", p) for p in PERPLEXITY}
    batched = {p: tools.plan(MINI, "generate", p, f"--batch={max(BATCHES)}")
               for p in ("fp32", "fp16")}
    return evals, batched


def check_tiny(report, tools):
    for name, (evaluate, generate) in tiny_plans(tools).items():
        model = MODELS / name
        reference = read_safetensors(model / "reference.safetensors")
        ids = list(rows(reference["input_ids"])[0])
        wanted = rows(reference.get("logits") or reference["tail_logits"])
        kept = len(wanted) // len(rows(reference["input_ids"]))
        ours = tools.logits(evaluate, model, ids)[-kept:]
        worst = max(largest_difference(a, b) for a, b in zip(ours, wanted))
        report.check(worst <= LOGIT_TOLERANCE,
                     f"{name}: logits differ by {worst:.1e} of the largest")
        tokens = list(rows(reference["greedy"])[0])
        out = tools.generate(generate, model, tokens[:PROMPT],
                             len(tokens) - PROMPT)
        report.check(out == tokens[PROMPT:], f"{name}: greedy tokens")


def generated(tools, plan, prompts):
    """Output ids of all prompts as one batch."""
    file = tools.work / "prompts.txt"
    file.write_text("".join(p["text"] + "\n" for p in prompts))
    lines = tools.run("gpt2-run", "generate", plan, "--model", MINI,
                      "--prompt-file", file, "--max-new-tokens", 64, "--greedy",
                      "--ignore-eos", "--json").splitlines()
    return [json.loads(line)["output_ids"] for line in lines]


def parts_at_near_tie(tools, evaluate, precision, prompt, ours, alone):
    """Whether two continuations part where the best two logits are close."""
    at = next(i for i, (a, b) in enumerate(zip(ours, alone)) if a != b)
    logits = tools.logits(evaluate, MINI, prompt["ids"] + alone[:at])[-1]
    second, best = sorted(logits)[-2:]
    print(f"      parts at token {at}, best logits {best - second:.4f} apart")
    return best - second < NEAR_TIE[precision]


def check_batches(report, tools, evals, batched, reference):
    prompts = [p for p in reference["prompts"] if "\n" not in p["text"]]
    for precision, plan in batched.items():
        alone = [generated(tools, plan, [p])[0] for p in prompts]
        for batch in BATCHES[1:]:
            chosen = [i % len(prompts) for i in range(batch)]
            out = generated(tools, plan, [prompts[i] for i in chosen])
            report.check(len(out) == batch and all(
                o == out[i] for o, i in zip(out, chosen)),
                f"mini {precision}: equal prompts in batch {batch} give equal "
                "rows")
            other = {i for o, i in zip(out, chosen) if o != alone[i]}
            ties = all(parts_at_near_tie(tools, evals[precision], precision,
                                         prompts[i], out[i], alone[i])
                       for i in other)
            report.check(ties, f"mini {precision}: rows of batch {batch} equal "
                         f"their batch-1 runs, {len(other)} of {len(prompts)} "
                         "prompts up to a near tie")
        if precision == "fp32":
            right = sum(o == p["greedy64"] for o, p in zip(alone, prompts))
            report.check(right == len(prompts),
                         f"mini fp32: {right} of {len(prompts)} prompts equal "
                         "transformers")


def check_perplexity(report, tools, evals, reference):
    wanted, _, tokens = reference["ppl_fp32_stride512"]
    for precision, plan in evals.items():
        result = json.loads(tools.run(
            "gpt2-run", "eval", plan, "--model", MINI, "--text",
            MINI / "val.txt", "--stride", 512, "--json"))
        off = abs(result["perplexity"] - wanted)
        report.check(off <= PERPLEXITY[precision],
                     f"mini {precision}: perplexity {result['perplexity']:.4f},"
                     f" fp32 is {wanted:.4f}")
        report.check(result["tokens"] == tokens,
                     f"mini {precision}: {result['tokens']} tokens scored")


def check_memory(report, tools, plans):
    for name, plan in plans.items():
        result = json.loads(tools.run(
            "gpt2-run", "bench", plan, "--random-weights", "--prompt-tokens",
            16, "--new-tokens", 8, "--json"))
        memory = result["memory"]
        report.check(memory["predicted_bytes"] == memory["allocated_bytes"] > 0,
                     f"{name}: {memory['predicted_bytes']} bytes predicted, "
                     f"{memory['allocated_bytes']} allocated")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=REPO / "build/bin")
    parser.add_argument("--work", default=REPO / "build/test/gpu")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--prepare", action="store_true")
    args = parser.parse_args()
    tools = GpuTools(args.bin, args.work, args.arch, fresh=args.prepare)
    if args.prepare:
        tiny_plans(tools)
        if MINI.is_dir():
            mini_plans(tools)
        return
    report = Report()
    check_tiny(report, tools)
    if MINI.is_dir():
        evals, batched = mini_plans(tools)
        reference = json.loads((MINI / "reference.json").read_text())
        check_batches(report, tools, evals, batched, reference)
        check_perplexity(report, tools, evals, reference)
        check_memory(report, tools,
                     {f"mini {p} batch 32": plan for p, plan in batched.items()})
    else:
        print(f"skipped: {MINI} is not here")
    report.done()


if __name__ == "__main__":
    main()
