"""Tiny models against what `transformers` computes: logits and greedy tokens.

SPDX-License-Identifier: Apache-2.0
"""
from tools import MODELS, largest_difference, read_safetensors, rows

TINY = ("base", "head_80", "head_128", "relu_two_heads", "erf_gelu_odd_mlp",
        "untied_head", "vocab_258", "inverse_layer_scale")
PROMPT = 8
LOGIT_TOLERANCE = 1e-4  # of the largest logit, fp32


def plans(tools, name):
    return [tools.plan(MODELS / name, mode, "fp32")
            for mode in ("eval", "generate")]


def prepare(tools):
    for name in TINY:
        plans(tools, name)


def check_model(report, tools, name):
    evaluate, generate = plans(tools, name)
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


def check(report, tools):
    for name in TINY:
        with report.part(name):
            check_model(report, tools, name)
