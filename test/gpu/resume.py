"""Runs of a tiny model that SIGTERM stops and kill -9 ends: resumed, step 20
equals an undisturbed run bit for bit, in every precision.

SPDX-License-Identifier: Apache-2.0
"""
import json
import shutil
import signal
import subprocess

from gpu_tools import tiny_data
from tools import MODELS, interrupt, same_files

MODEL = MODELS / "base"
STEPS = 20
PRECISIONS = ("fp32", "bf16", "fp16")
# So many micro-batches that a step is longer (some 20 ms) than a signal takes.
SETTINGS = ("--accumulate", 64, "--lr", 1e-3, "--schedule", "constant",
            "--save-every", 5, "--keep", 0)
# GradScaler's rules: the loss scale doubles after so many finite steps.
GROWTH, FIRST_SCALE = 2000, 65536


def plan_for(tools, precision):
    return tools.plan(MODEL, "train", precision, "--batch=2", "--seq=16",
                      "--dropout=0.1")


def prepare(tools):
    for precision in PRECISIONS:
        plan_for(tools, precision)


def start(tools, plan, run, steps=STEPS):
    """The command of a fresh run."""
    tools.fresh_run(run)
    return tools.train_command(plan, run, "--model", MODEL, "--data",
                               tiny_data(tools), "--steps", steps, *SETTINGS)


def newest(folder):
    return max(int(path.name.split("-")[1])
               for path in folder.glob("checkpoint-*"))


def same_ends(tools, a, b):
    """Whether two runs end with the same bytes."""
    return same_files(*(tools.run_folder(run) / f"checkpoint-{STEPS}"
                        for run in (a, b)))


def disturb(report, tools, plan, run, first, what):
    """A run that begins with the command `first`, is stopped at step 7 or
    8 and killed at 13 or 14, and goes on to its end; its steps as told."""
    folder = tools.run_folder(run)
    resume = tools.train_command(plan, run, "--resume", "--steps", STEPS)
    status, stopped, messages = interrupt(first, 7, signal.SIGTERM)
    report.check(status == 0 and 7 <= stopped < STEPS and
                 newest(folder) == stopped and "stopped by SIGTERM" in messages,
                 f"{what}: SIGTERM saves step {stopped}")
    status, killed, _ = interrupt(resume, 13, signal.SIGKILL)
    saved = newest(folder)
    report.check(status == -signal.SIGKILL and saved < killed < STEPS,
                 f"{what}: kill -9 after step {killed} leaves step {saved}")
    status, last, _ = interrupt(resume, 0)
    report.check(status == 0 and last == STEPS, f"{what}: goes on to its end")


def check_bits(report, tools, precision):
    what = f"tiny {precision}"
    plan = plan_for(tools, precision)
    whole, parts = f"{what}-whole".replace(" ", "-"), "resume-parts"
    subprocess.run([str(p) for p in start(tools, plan, whole)], check=True,
                   stdout=subprocess.DEVNULL)
    disturb(report, tools, plan, parts, start(tools, plan, parts), what)
    report.check(same_ends(tools, whole, parts),
                 f"{what}: step {STEPS} equals an undisturbed run bit for bit")


def near_growth(tools, plan, run):
    """A run at step 1 whose loss scale is to double in step 9."""
    command = start(tools, plan, run, steps=1)
    subprocess.run([str(p) for p in command], check=True,
                   stdout=subprocess.DEVNULL)
    state = tools.run_folder(run) / "checkpoint-1/trainer.json"
    values = json.loads(state.read_text())
    values["finite_steps"] = GROWTH - 8
    state.write_text(json.dumps(values))


def check_scaler(report, tools):
    """The loss scale doubles in a resumed run where it does in a whole one."""
    what = "tiny fp16 scaler"
    plan = plan_for(tools, "fp16")
    near_growth(tools, plan, "scaler-whole")
    tools.fresh_run("scaler-parts")
    shutil.copytree(tools.run_folder("scaler-whole"),
                    tools.run_folder("scaler-parts"))
    steps = tools.train(plan, "scaler-whole", "--resume", "--steps", STEPS)
    scales = [step["loss_scale"] for step in steps]
    report.check(scales == [FIRST_SCALE] * 7 + [2 * FIRST_SCALE] * 12,
                 f"{what}: loss scales from step 2 on: {scales}")
    first = tools.train_command(plan, "scaler-parts", "--resume", "--steps",
                                STEPS)
    disturb(report, tools, plan, "scaler-parts", first, what)
    report.check(same_ends(tools, "scaler-whole", "scaler-parts"),
                 f"{what}: step {STEPS} equals an undisturbed run bit for bit")


def check(report, tools):
    for precision in PRECISIONS:
        with report.part(f"tiny {precision}, resume"):
            check_bits(report, tools, precision)
    with report.part("tiny fp16, loss scale over a resume"):
        check_scaler(report, tools)
