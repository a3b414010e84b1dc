#!/usr/bin/env python3
"""CPU speed beside what the machine can do, in one run: read bandwidth is
measured before and after each decode, since it drifts on shared machines.

    tools/bench/cpu_bench.py [--model gpt2] [--precisions fp32,bf16]
                             [--threads 2] [--bin build/bin] [--rounds 3]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PROMPT, SHORT_PROMPT, NEW_TOKENS = 512, 16, 128
BYTES = {"fp32": 4, "bf16": 2}


def output(*command, threads=None):
    env = dict(os.environ)
    if threads:
        env["OMP_NUM_THREADS"] = str(threads)
    return subprocess.run([str(c) for c in command], env=env, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def weights_read(plan, bench):
    """Bytes of weights that one decoded token reads: every matrix once. The
    position table gives one row and the token table is read as the head."""
    description = json.loads(output(bench / "gpt2-run", "inspect", plan,
                                    "--json"))
    return sum(weight["bytes"] for weight in description["weights"]
               if "wpe" not in weight["name"])


def measure(args, precision, plan):
    """One round: bandwidth, decode, bandwidth, prefill."""
    weights = weights_read(plan, args.bin)

    def bandwidth():
        return json.loads(output(args.bin / "read-bandwidth", weights >> 20,
                                 args.threads))["median_gbps"]

    def bench(prompt, new):
        return json.loads(output(
            args.bin / "gpt2-run", "bench", plan, "--random-weights",
            "--prompt-tokens", prompt, "--new-tokens", new, "--json",
            threads=args.threads))

    before = bandwidth()
    decode = bench(SHORT_PROMPT, NEW_TOKENS)["decode"]["tokens_per_second"]
    after = bandwidth()
    prefill = bench(PROMPT, 2)["prefill"]["tokens_per_second"]
    limit = (before + after) / 2
    return {"decode": decode, "prefill": prefill, "bandwidth": limit,
            "share": decode * weights / 1e9 / limit}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", type=Path, default=REPO / "build/bin")
    args = parser.parse_args()
    print(f"{args.model}, {args.threads} threads, medians of {args.rounds} "
          "rounds")
    print("| precision | decode tok/s | read GB/s | share of bandwidth | "
          f"prefill {PROMPT} tok/s |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for precision in args.precisions.split(","):
            plan = Path(folder) / f"{precision}.plan"
            output(args.bin / "gpt2c", args.model, "-o", plan,
                   "--mode=generate", "--target=cpu",
                   f"--precision={precision}")
            rounds = [measure(args, precision, plan)
                      for _ in range(args.rounds)]
            middle = {key: statistics.median(r[key] for r in rounds)
                      for key in rounds[0]}
            print(f"| {precision} | {middle['decode']:.1f} | "
                  f"{middle['bandwidth']:.1f} | {middle['share']:.0%} | "
                  f"{middle['prefill']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
