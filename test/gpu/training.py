"""Training a tiny model in fp32 and tf32 against the CPU target, its checkpoint
in `transformers`, and texts that are drawn meanwhile.

SPDX-License-Identifier: Apache-2.0
"""
import json

from gpu_tools import need_torch, tiny_data
from tools import MODELS, largest_difference

MODEL, STEPS = MODELS / "base", 12
# fp32 on both targets: sums in another order, no other rounding.
TOLERANCE = 1e-4
# cuBLASLt cuts tf32 operands to 10 bits of mantissa, so every product shrinks.
# PyTorch's steps of this model with operands cut like that have losses within
# 2.1e-4 of fp32's and norms within 6.3e-3.
TOLERANCES = {"fp32": TOLERANCE, "tf32": 1e-2}
FLAGS = ("--model", MODEL, "--no-shuffle", "--steps", STEPS, "--lr", 1e-3,
         "--schedule", "constant", "--warmup", 3, "--accumulate", 2)


def train_plan(tools, target, precision="fp32"):
    return tools.plan(MODEL, "train", precision, "--batch=2", "--seq=16",
                      "--dropout=0.1", target=target)


def sample_plans(tools):
    """What trains and what generates, by precision."""
    return {precision: (train_plan(tools, "cuda", precision),
                        tools.plan(MODEL, "generate", precision))
            for precision in ("fp32", "bf16")}


def eval_plan(tools):
    return tools.plan(MODEL, "eval", "fp32")


def run(tools, target, precision="fp32"):
    """(loss, norm) of every step."""
    name = f"tiny-{target}-{precision}"
    tools.fresh_run(name)
    return [(step["loss"], step["grad_norm"]) for step in
            tools.train(train_plan(tools, target, precision), name, "--data",
                        tiny_data(tools), *FLAGS)]


def cpu_run(tools):
    """The same on the CPU target, run where plans are prepared."""
    path = tools.work / "tiny_cpu.json"
    if tools.missing(path.name):
        path.write_text(json.dumps(run(tools, "cpu")))
    return json.loads(path.read_text())


def prepare(tools):
    for precision in TOLERANCES:
        train_plan(tools, "cuda", precision)
    eval_plan(tools)
    sample_plans(tools)
    cpu_run(tools)


def check_losses(report, tools, precision):
    ours, wanted = run(tools, "cuda", precision), cpu_run(tools)
    worst = max(abs(a - b) / abs(b) for step, reference in zip(ours, wanted)
                for a, b in zip(step, reference))
    report.check(len(ours) == STEPS and worst <= TOLERANCES[precision],
                 f"tiny {precision}: losses and norms of {len(ours)} steps are "
                 f"within {worst:.1e} of the CPU target's")


def check_checkpoint(report, tools):
    need_torch()
    import torch
    import transformers
    model = tools.run_folder("tiny-cuda-fp32") / f"checkpoint-{STEPS}"
    ids = [(3 * i) % 89 for i in range(24)]
    ours = tools.logits(eval_plan(tools), model, ids)
    net = transformers.GPT2LMHeadModel.from_pretrained(model).eval()
    with torch.no_grad():
        theirs = net(torch.tensor([ids])).logits[0].tolist()
    worst = max(largest_difference(a, b) for a, b in zip(ours, theirs))
    report.check(worst <= TOLERANCE,
                 "tiny fp32: transformers loads the checkpoint, logits differ "
                 f"by {worst:.1e} of the largest")


def check_samples(report, tools):
    """Texts are what `generate` makes of their step's checkpoint, and leave
    the rest of the run as it was. What follows a text's first token rounds in
    another way where there is a cache, so in bf16 that one is compared."""
    for precision, (plan, generate) in sample_plans(tools).items():
        name = f"tiny-samples-{precision}"
        tools.fresh_run(name)
        run = tools.run_folder(name)
        lines = tools.train(plan, name, "--data", tiny_data(tools), *FLAGS,
                            "--save-every", STEPS // 2, "--sample-every",
                            STEPS // 2, "--sample-temperature", 0)
        texts = [line for line in lines if "output_ids" in line]
        same = []
        for text in texts:
            ids = text["output_ids"][:None if precision == "fp32" else 1]
            same.append(ids == tools.generate(
                generate, run / f"checkpoint-{text['step']}",
                text["prompt_ids"], len(ids)))
        report.check(same == [True, True], f"tiny {precision}: texts of two "
                     f"steps are those of their checkpoints: {same}")
        if precision == "fp32":
            folders = tools.run_folder("tiny-cuda-fp32"), run
            quiet, ours = (folder / f"checkpoint-{STEPS}/model.safetensors"
                           for folder in folders)
            report.check(quiet.read_bytes() == ours.read_bytes(), "tiny fp32: "
                         "the checkpoint is that of a run without texts")


def check(report, tools):
    for precision in TOLERANCES:
        check_losses(report, tools, precision)
    check_samples(report, tools)
    with report.part("tiny fp32, checkpoint in transformers"):
        check_checkpoint(report, tools)
