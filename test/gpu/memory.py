"""Predicted memory against allocated memory: every preset, precision and mode
with random weights, and gpt2-xl's training in 22 GiB.

SPDX-License-Identifier: Apache-2.0
"""
from tools import Failure

PRESETS = ("tiny", "distilgpt2", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
BENCH = {"train": ("--repeat", 1), "eval": ("--repeat", 1),
         "generate": ("--prompt-tokens", 16, "--new-tokens", 4, "--repeat", 1)}
# What a plan is refused for where the GPU has less (DeviceArenas.h): what the
# driver takes for modules, graphs and cuBLASLt must stay below it.
RESERVE = 256 << 20
BUDGET_GIB, BUDGET_STEPS = 22, 8


def plan_for(tools, preset, precision, mode):
    shape = [] if mode == "generate" else [
        "--batch=1", f"--seq={64 if preset == 'tiny' else 256}"]
    return tools.plan(preset, mode, precision, *shape)


def budget_plan(tools):
    return tools.plan("gpt2-xl", "train", "fp16", "--batch=1", "--seq=1024",
                      f"--memory-budget={BUDGET_GIB}GiB")


def prepare(tools):
    for preset in PRESETS:
        for precision in PRECISIONS:
            for mode in BENCH:
                plan_for(tools, preset, precision, mode)
    budget_plan(tools)


def finite(losses):
    """gpt2-run prints null for what is no number."""
    return all(isinstance(loss, float) for loss in losses)


def bench(report, tools, what, plan, *flags):
    """What the benchmark says, or None where the GPU is too small."""
    try:
        return tools.bench(plan, *flags)
    except Failure as why:
        if "but the GPU has" not in str(why):
            raise
        report.skip(what, str(why).partition("gpt2-run: ")[2])
        return None


def describe(memory):
    return (f"{memory['predicted_bytes']} bytes predicted, "
            f"{memory['allocated_bytes']} allocated, reserve "
            f"{memory['reserve_bytes'] / 2**20:.0f} MiB")


def exact(memory):
    return (memory["predicted_bytes"] == memory["allocated_bytes"] > 0 and
            memory["reserve_bytes"] <= RESERVE)


def check_plan(report, tools, preset, precision, mode):
    what = f"{preset} {precision} {mode}"
    plan = plan_for(tools, preset, precision, mode)
    result = bench(report, tools, what, plan, *BENCH[mode])
    if not result:
        return
    losses = {"train": result.get("losses"), "eval": [result.get("mean_loss")],
              "generate": []}[mode]
    report.check(exact(result["memory"]) and finite(losses),
                 f"{what}: {describe(result['memory'])}" +
                 "".join(f", loss {loss:.3f}" if loss else ", loss not finite"
                         for loss in losses))


def check_budget(report, tools):
    what = f"gpt2-xl fp16, 1 x 1024 tokens in {BUDGET_GIB} GiB"
    result = bench(report, tools, what, budget_plan(tools), "--repeat",
                   BUDGET_STEPS)
    if not result:
        return
    memory, losses = result["memory"], result["losses"]
    report.check(exact(memory) and
                 memory["allocated_bytes"] <= BUDGET_GIB << 30,
                 f"{what}: {describe(memory)}")
    report.check(finite(losses) and losses[-1] < losses[0] - 0.5,
                 f"{what}: {result['step']['seconds']:.3f} s a step, "
                 f"{result['skipped_steps']} skipped, losses {losses}")


def check(report, tools):
    for preset in PRESETS:
        for precision in PRECISIONS:
            for mode in BENCH:
                with report.part(f"{preset} {precision} {mode}"):
                    check_plan(report, tools, preset, precision, mode)
    with report.part(f"gpt2-xl in {BUDGET_GIB} GiB"):
        check_budget(report, tools)
