#!/usr/bin/env python3
"""Holds gpt2-mini, a trained model with the real vocabulary, to what
`transformers` computes for it in fp32: tokenizer, greedy text, the best
logits, and perplexity in fp32 and bf16.

    check_mini.py BIN_DIR WORK_DIR (generate | perplexity)

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys

from tools import SHARED, Report, Tools, skip

MODEL = SHARED / "models/gpt2-mini"
CPU = "--target=cpu"
# How far a perplexity may be from fp32's.
PERPLEXITY = {"fp32": 0.002, "bf16": 0.1}
LOGIT_TOLERANCE = 1e-3


def check_result(report, prompt, result):
    name = repr(prompt["text"])
    report.check(result["prompt_ids"] == prompt["ids"], f"ids of {name}")
    report.check(result["output_ids"] == prompt["greedy64"],
                 f"greedy tokens after {name}")
    report.check(result["text"].endswith(prompt["greedy_text"]),
                 f"greedy text after {name}")


def check_generate(report, tools, reference):
    plan = tools.compile(MODEL, "generate", CPU, "--precision=fp32")
    flags = ["--model", MODEL, "--max-new-tokens", 64, "--greedy",
             "--ignore-eos", "--json"]
    # A file holds one prompt a line, so the others go one by one.
    lines = [p for p in reference["prompts"] if "\n" not in p["text"]]
    file = tools.work / "prompts.txt"
    file.write_text("".join(p["text"] + "\n" for p in lines))
    output = tools.run("gpt2-run", "generate", plan, "--prompt-file", file,
                       *flags)
    results = [json.loads(line) for line in output.splitlines()]
    report.check(len(results) == len(lines),
                 f"{len(results)} results for {len(lines)} prompts")
    for prompt, result in zip(lines, results):
        check_result(report, prompt, result)
    for prompt in reference["prompts"]:
        if "\n" in prompt["text"]:
            result = tools.run("gpt2-run", "generate", plan, "--prompt",
                               prompt["text"], *flags)
            check_result(report, prompt, json.loads(result))


def check_top_logits(report, tools, reference):
    plan = tools.compile(MODEL, "eval", CPU, "--precision=fp32")
    for prompt in reference["prompts"]:
        last = tools.logits(plan, MODEL, prompt["ids"])[-1]
        wanted = dict(zip(prompt["last_top8"], prompt["last_top8_logits"]))
        best = sorted(range(len(last)), key=lambda i: -last[i])[:len(wanted)]
        worst = max(abs(last[i] - value) for i, value in wanted.items())
        report.check(set(best) == set(wanted) and worst <= LOGIT_TOLERANCE,
                     f"top {len(wanted)} logits after {prompt['text']!r}: "
                     f"off by {worst:.1e}")


def check_perplexity(report, tools, reference):
    for precision, strides in (("fp32", (512, 1024)), ("bf16", (512,))):
        plan = tools.compile(MODEL, "eval", CPU, f"--precision={precision}")
        for stride in strides:
            wanted, _, tokens = reference[f"ppl_fp32_stride{stride}"]
            result = json.loads(tools.run(
                "gpt2-run", "eval", plan, "--model", MODEL, "--text",
                MODEL / "val.txt", "--stride", stride, "--json"))
            off = abs(result["perplexity"] - wanted)
            report.check(off <= PERPLEXITY[precision],
                         f"{precision}, stride {stride}: perplexity "
                         f"{result['perplexity']:.4f}, fp32 is {wanted:.4f}")
            report.check(result["tokens"] == tokens,
                         f"{result['tokens']} tokens scored of {tokens}")


def main():
    bin_dir, work_dir, part = sys.argv[1:]
    if not MODEL.is_dir():
        skip(f"{MODEL} is not here")
    tools, report = Tools(bin_dir, work_dir), Report()
    reference = json.loads((MODEL / "reference.json").read_text())
    if part == "generate":
        check_generate(report, tools, reference)
        check_top_logits(report, tools, reference)
    else:
        check_perplexity(report, tools, reference)
    report.done()


if __name__ == "__main__":
    main()
