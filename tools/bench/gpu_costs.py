#!/usr/bin/env python3
"""Makes the table of measured op times that comes with gpt2c
(compiler/Transforms/CostsH200.json) on the GPU that it is for:

    gpu_costs.py --bin build/bin --work build/costs -o CostsH200.json

Compiles training plans of the presets, profiles each, and joins the tables.
Plans that are in the work folder are used as they are, so `--prepare` makes them
on a machine that has gpt2c for one that has the GPU; --only takes some models.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import subprocess
from pathlib import Path

# (model, sequences of 1024 tokens, dropout): as many as keep a large GPU busy,
# and few; what layers do with dropout and without.
PLANS = (("gpt2", 64, 0.1), ("gpt2", 64, 0), ("gpt2", 4, 0.1),
         ("gpt2-medium", 16, 0.1), ("gpt2-medium", 16, 0),
         ("gpt2-large", 8, 0.1), ("gpt2-xl", 4, 0.1))
# What stands for ops that no table has: a mean over the plans.
RATES = ("matmul_flops_per_second", "row_bytes_per_second")


def plan_path(work, model, batch, dropout):
    return work / f"{model}-{batch}-{dropout}.plan"


def compile_plan(args, path, model, batch, dropout):
    if path.exists() and not args.prepare:
        return
    subprocess.run([args.bin / "gpt2c", model, "-o", path, "--mode=train",
                    "--target=cuda", f"--arch={args.arch}", "--precision=bf16",
                    f"--batch={batch}", "--seq=1024", f"--dropout={dropout}"],
                   check=True, stdout=subprocess.DEVNULL)


def profile(args, path):
    costs = path.with_suffix(".json")
    subprocess.run([args.bin / "gpt2-run", "profile", path, "--repeat", "3",
                    "--costs", costs], check=True, stdout=subprocess.DEVNULL)
    return json.loads(costs.read_text())


def join(tables):
    joined = dict(tables[0], ops={})
    for rate in RATES:
        joined[rate] = round(sum(t[rate] for t in tables) / len(tables))
    for table in tables:
        for key, points in table["ops"].items():
            known = joined["ops"].setdefault(key, {})
            for rows, microseconds in points:
                known.setdefault(rows, round(microseconds, 1))
    for key, points in joined["ops"].items():
        joined["ops"][key] = sorted(points.items())
    return joined


def text_of(table):
    """An op a line."""
    ops = table.pop("ops")
    head = json.dumps(table, indent=1)[:-2]
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(points)}"
                       for key, points in sorted(ops.items()))
    return f'{head},\n "ops": {{\n{lines}\n }}\n}}\n'


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=Path("build/bin"))
    parser.add_argument("--work", type=Path, default=Path("build/costs"))
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    tables = []
    for model, batch, dropout in PLANS:
        if args.only and model not in args.only:
            continue
        path = plan_path(args.work, model, batch, dropout)
        compile_plan(args, path, model, batch, dropout)
        if not args.prepare:
            tables.append(profile(args, path))
    if tables and args.output:
        args.output.write_text(text_of(join(tables)))


if __name__ == "__main__":
    main()
