"""`gpt2-run tune` and `profile` on a tiny model in fp32: measured algorithms take
the planned memory, train to the CPU target's losses, and give the same bits in
every run.

SPDX-License-Identifier: Apache-2.0
"""
import json

from gpu_tools import tiny_data
from tools import same_files
from training import FLAGS, STEPS, TOLERANCE, cpu_run, train_plan

RUNS = ("tuned-1", "tuned-2")


def prepare(tools):
    train_plan(tools, "cuda")
    cpu_run(tools)


def tune(report, tools):
    tuned = tools.work / "runs/tuned.plan"
    tuned.parent.mkdir(parents=True, exist_ok=True)
    result = json.loads(tools.run("gpt2-run", "tune",
                                  train_plan(tools, "cuda"), "-o", tuned,
                                  "--json"))
    products = result["matmuls"]
    report.check(products and all(
        p["candidates"] > 0 and p["after_seconds"] <= p["before_seconds"]
        for p in products),
                 f"{len(products)} products measured on {result['device']}, "
                 "none is slower than before")
    return tuned


def check_profile(report, tools, plan):
    profile = json.loads(tools.run("gpt2-run", "profile", plan, "--json"))
    memory = profile["memory"]
    report.check(memory["predicted_bytes"] == memory["allocated_bytes"] > 0,
                 f"{memory['predicted_bytes']} bytes predicted, "
                 f"{memory['allocated_bytes']} allocated")
    groups = [g for p in profile["programs"] for g in p["groups"]]
    report.check(all(g["seconds"] > 0 and g["floor_seconds"] is not None
                     for g in groups),
                 f"{len(groups)} groups of instructions have times and floors")


def train(tools, plan, name):
    tools.fresh_run(name)
    return [(step["loss"], step["grad_norm"]) for step in
            tools.train(plan, name, "--data", tiny_data(tools), *FLAGS)]


def check(report, tools):
    tuned = tune(report, tools)
    check_profile(report, tools, tuned)
    first, second = (train(tools, tuned, name) for name in RUNS)
    worst = max(abs(a - b) / abs(b) for step, reference in
                zip(first, cpu_run(tools)) for a, b in zip(step, reference))
    report.check(len(first) == STEPS and worst <= TOLERANCE,
                 f"losses and norms are within {worst:.1e} of the CPU target's")
    folders = (tools.run_folder(name) / f"checkpoint-{STEPS}" for name in RUNS)
    report.check(first == second and same_files(*folders),
                 "two runs leave the same bytes")
