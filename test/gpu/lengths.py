"""Fine-tuning a tiny model on documents that run in programs for shorter
sequences: against the CPU target, and against padding all of them.

SPDX-License-Identifier: Apache-2.0
"""
import json
import shutil

from gpu_tools import REPO, tiny_data

TOKENIZER = REPO / "test/fixtures/tokenizer/files"
BUCKETS = "--seq-buckets=8,16"
STEPS = 12
# fp32 everywhere: sums in another order, no other rounding.
TOLERANCE = 1e-4
FLAGS = ("--steps", STEPS, "--lr", 1e-3, "--schedule", "constant", "--warmup",
         3, "--accumulate", 2)


def plan_for(tools, target, *flags):
    return tools.plan(tools.work / "text-model", "train", "fp32", "--batch=2",
                      "--seq=32", "--dropout=0.1", *flags, target=target)


def text_model(tools):
    """A directory with a configuration, weights and a tokenizer."""
    path = tools.work / "text-model"
    if not tools.missing(f"{path.name}/model.safetensors"):
        return path
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(TOKENIZER, path)
    config = json.loads((REPO / "models/presets/tiny.json").read_text())
    vocabulary = json.loads((path / "vocab.json").read_text())
    config["vocab_size"] = 1 + max(vocabulary.values())
    config["bos_token_id"] = config["eos_token_id"] = None
    (path / "config.json").write_text(json.dumps(config))
    tools.fresh_run("text-start")
    tools.train(plan_for(tools, "cpu"), "text-start", "--data",
                tiny_data(tools), "--steps", 1)
    shutil.copy(tools.run_folder("text-start") / "checkpoint-1"
                / "model.safetensors", path)
    return path


def documents(tools):
    """Documents of 2 to 18 words."""
    path = tools.work / "documents.txt"
    words = "cat mat sat on the".split()
    path.write_text("".join(
        " ".join(words[i * j % 5] for j in range(1, 3 + i * i % 17)) + "\n"
        for i in range(60)))
    return path


def run(tools, target, *flags):
    """(loss, norm, rows computed) of every step."""
    name = f"text-{target}"
    tools.fresh_run(name)
    model = text_model(tools)
    steps = tools.train(plan_for(tools, target, *flags), name, "--model", model,
                        "--data", documents(tools), *FLAGS)
    return [(s["loss"], s["grad_norm"], s["computed_tokens"]) for s in steps]


def cpu_run(tools):
    """The same on the CPU target, run where plans are prepared."""
    path = tools.work / "text_cpu.json"
    if tools.missing(path.name):
        path.write_text(json.dumps(run(tools, "cpu", BUCKETS)))
    return json.loads(path.read_text())


def prepare(tools):
    text_model(tools)
    plan_for(tools, "cuda", BUCKETS)
    plan_for(tools, "cuda")
    cpu_run(tools)


def check(report, tools):
    short, padded = run(tools, "cuda", BUCKETS), run(tools, "cuda")
    for name, wanted in (("the CPU target's", cpu_run(tools)),
                         ("those of padded rows", padded)):
        worst = max(abs(a - b) / abs(b) for ours, theirs in zip(short, wanted)
                    for a, b in zip(ours[:2], theirs[:2]))
        report.check(len(short) == len(wanted) and worst <= TOLERANCE,
                     f"short texts: losses and norms of {len(short)} steps are "
                     f"within {worst:.1e} of {name}")
    rows = [sum(step[2] for step in steps) for steps in (short, padded)]
    report.check(rows[0] < rows[1],
                 f"short texts: {rows[0]} rows where padding takes {rows[1]}")
