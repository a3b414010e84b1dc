#!/usr/bin/env python3
"""Training plans for less and less memory: each fits its budget, and each trains
to the same bytes as the plan that keeps everything.

    check_memory_budgets.py BIN_DIR WORK_DIR (fp32 | bf16 | chunks | refusals)

SPDX-License-Identifier: Apache-2.0
"""
import json
import random
import re
import shlex
import shutil
import subprocess
import sys

from tools import Report, Tools, write_shard

MODE = ["--mode=train", "--seq=32"]
STEPS = 3


class Budgets:
    def __init__(self, tools, report):
        self.tools, self.report = tools, report
        draw = random.Random(1)
        self.data = write_shard(tools.work / "train.bin",
                                [draw.randrange(256) for _ in range(4000)])

    def attempt(self, command):
        command = [str(part) for part in command]
        print("$", *command, flush=True)
        done = subprocess.run([self.tools.bin / command[0], *command[1:]],
                              capture_output=True, text=True,
                              cwd=self.tools.work)
        return done.returncode, done.stdout, done.stderr

    def compile(self, name, *flags, batch="--batch=2"):
        """(bytes by kind, what gpt2c printed), or (None, the error)."""
        status, out, error = self.attempt(
            ["gpt2c", "tiny", "-o", self.tools.work / name, *MODE, batch,
             *flags])
        if status:
            return None, error
        kinds = re.findall(r"^  (\w+) +(\d+) bytes", out, re.MULTILINE)
        return {kind: int(size) for kind, size in kinds}, out

    def train(self, plan, *flags):
        """The lines of metrics and the trained weights."""
        run = self.tools.work / f"{plan}.run"
        shutil.rmtree(run, ignore_errors=True)
        status, out, error = self.attempt(
            ["gpt2-run", "train", self.tools.work / plan, "--data", self.data,
             "--out", run, "--steps", STEPS, "--seed", 5, "--lr", "1e-3",
             *flags])
        if status:
            return None, error
        losses = [(step["loss"], step["grad_norm"]) for step in
                  map(json.loads, (line for line in out.splitlines()
                                   if line.startswith("{")))]
        weights = run / f"checkpoint-{STEPS}" / "model.safetensors"
        return losses, weights.read_bytes()

    def same_bits(self, precision, chunks):
        flags = [f"--precision={precision}", f"--lm-head-chunks={chunks}"]
        if precision != "fp32":
            flags.append("--storage=full")  # lean rounds gradients
        full, text = self.compile("all.plan", *flags)
        expected = self.train("all.plan", "--accumulate", 2, "--json")
        self.report.check(expected[0] is not None and
                          len(expected[0]) == STEPS,
                          f"{precision}: trains with everything kept")
        plans = {"block.plan": self.compile("block.plan", "--remat=block",
                                            *flags)[0]}
        for percent in range(95, 0, -10):
            budget = full["total"] - full["activations"] * (100 - percent) // 100
            name = f"{percent}.plan"
            use, text = self.compile(name, *flags, f"--memory-budget={budget}")
            if use is None:
                self.report.check("needs at least" in text,
                                  f"{name} is refused: {text[:120]}")
                break
            self.report.check(use["total"] <= budget,
                              f"{name}: {use['total']} of {budget} bytes")
            self.report.check("rematerialization auto" in text,
                              f"{name} says what it recomputes")
            plans[name] = use
        sizes = {use["activations"] for use in plans.values()}
        self.report.check(len(sizes) >= 4, f"sizes of activations: {sizes}")
        for name in plans:
            got = self.train(name, "--accumulate", 2, "--json")
            self.report.check(got == expected,
                              f"{precision}: {name} trains to the same bytes")

    def advice(self):
        """The command in a refusal, run as it stands, makes a plan."""
        full, _ = self.compile("all.plan")
        use, error = self.compile("none.plan",
                                  f"--memory-budget={full['total']}",
                                  batch="--batch=8")
        found = re.search(r"this fits in [\d.]+ \w+: (gpt2c .*?)( \(|$)",
                          error.strip())
        self.report.check(use is None and found is not None,
                          f"a refusal names a command: {error.strip()}")
        if found:
            status, out, error = self.attempt(shlex.split(found[1]))
            self.report.check(status == 0, f"which works: {error}")
        use, error = self.compile("none.plan", "--memory-budget=1MiB")
        self.report.check(use is None and "partitioned" in error and
                          "more than --memory-budget (1.00 MiB)" in error,
                          "where nothing helps, it says so")

    def fit(self):
        use, text = self.compile("fit.plan", "--fit=8MiB",
                                 "--tokens-per-step=1024")
        self.report.check(use is None and "--fit chooses --batch" in text,
                          "--fit and --batch exclude each other")
        status, out, error = self.attempt(
            ["gpt2c", "tiny", "-o", self.tools.work / "fit.plan",
             "--mode=train", "--seq=32", "--fit=8MiB",
             "--tokens-per-step=1024"])
        found = re.search(r"micro-batch +(\d+) x 32 tokens", out)
        total = re.search(r"total +(\d+) bytes", out)
        self.report.check(status == 0 and found and total and
                          int(total[1]) <= 8 << 20,
                          f"--fit makes a plan that fits: {error}")
        self.report.check(bool(found) and 32 % int(found[1]) == 0,
                          "whose micro-batch divides the step")
        status, out, error = self.attempt(
            ["gpt2c", "tiny", "-o", self.tools.work / "fit.plan",
             "--mode=train", "--seq=32", "--fit=8MiB",
             "--tokens-per-step=1000"])
        self.report.check(status == 2 and "is no multiple of --seq=32" in error,
                          "a step that does not divide is refused")

    def lean(self):
        full, _ = self.compile("full.plan", "--precision=bf16")
        use, text = self.compile("lean.plan", "--precision=bf16",
                                 "--storage=lean")
        self.report.check(use is not None and
                          use["gradients"] < full["gradients"] * 3 // 4 and
                          use["weights"] < full["weights"],
                          f"lean storage takes less: {use}")
        losses, _ = self.train("lean.plan", "--json")
        self.report.check(losses is not None and len(losses) == STEPS,
                          "a lean plan trains")
        expected, _ = self.train("full.plan", "--json")
        worst = max(abs(a - b) for (a, _), (b, _) in
                    zip(losses or [(9, 0)], expected))
        self.report.check(worst < 0.01, f"as the full one does: {worst}")
        refused, error = self.train("lean.plan", "--accumulate", 2)
        self.report.check(refused is None and
                          "a step is at most 1 x 64 tokens, not 2 x 64 = 128"
                          in error, f"but not two micro-batches: {error}")
        _, error = self.compile("x.plan", "--storage=lean")
        self.report.check("needs --precision=bf16 or fp16" in error,
                          "fp32 has no lean storage")


def main():
    bin_dir, work_dir, part = sys.argv[1:]
    report = Report()
    budgets = Budgets(Tools(bin_dir, work_dir), report)
    if part == "refusals":
        budgets.advice()
        budgets.fit()
        budgets.lean()
    elif part == "chunks":
        budgets.same_bits("fp32", 3)
    else:
        budgets.same_bits(part, 1)
    report.done()


if __name__ == "__main__":
    main()
