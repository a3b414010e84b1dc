"""gpt2-mini against `transformers`: equal prompts at several batch sizes,
greedy tokens, and perplexity in every precision.

SPDX-License-Identifier: Apache-2.0
"""
import json

from gpu_tools import MINI, need_mini

# How far a perplexity may be from fp32's on the CPU.
PERPLEXITY = {"fp32": 0.002, "tf32": 0.01, "fp16": 0.006, "bf16": 0.1}
BATCHES = (1, 4, 32)
# Buckets have other kernels, whose sums differ in rounding: rows of two buckets
# may part where the two best logits are closer than this.
NEAR_TIE = {"fp32": 1e-3, "fp16": 0.05}


def eval_plan(tools, precision):
    return tools.plan(MINI, "eval", precision)


def batched_plan(tools, precision):
    return tools.plan(MINI, "generate", precision, f"--batch={max(BATCHES)}")


def prepare(tools):
    need_mini()
    for precision in PERPLEXITY:
        eval_plan(tools, precision)
    for precision in NEAR_TIE:
        batched_plan(tools, precision)


def generated(tools, plan, prompts):
    """Output ids of all prompts as one batch."""
    file = tools.work / "prompts.txt"
    file.write_text("".join(p["text"] + "\n" for p in prompts))
    lines = tools.run("gpt2-run", "generate", plan, "--model", MINI,
                      "--prompt-file", file, "--max-new-tokens", 64, "--greedy",
                      "--ignore-eos", "--json").splitlines()
    return [json.loads(line)["output_ids"] for line in lines]


def parts_at_near_tie(tools, precision, prompt, ours, alone):
    """Whether two continuations part where the best two logits are close."""
    at = next(i for i, (a, b) in enumerate(zip(ours, alone)) if a != b)
    logits = tools.logits(eval_plan(tools, precision), MINI,
                          prompt["ids"] + alone[:at])[-1]
    second, best = sorted(logits)[-2:]
    print(f"      parts at token {at}, best logits {best - second:.4f} apart")
    return best - second < NEAR_TIE[precision]


def check_batches(report, tools, precision, prompts):
    plan = batched_plan(tools, precision)
    alone = [generated(tools, plan, [p])[0] for p in prompts]
    for batch in BATCHES[1:]:
        chosen = [i % len(prompts) for i in range(batch)]
        out = generated(tools, plan, [prompts[i] for i in chosen])
        report.check(len(out) == batch and all(
            o == out[i] for o, i in zip(out, chosen)),
            f"mini {precision}: equal prompts in batch {batch} give equal rows")
        other = {i for o, i in zip(out, chosen) if o != alone[i]}
        ties = all(parts_at_near_tie(tools, precision, prompts[i], out[i],
                                     alone[i]) for i in other)
        report.check(ties, f"mini {precision}: rows of batch {batch} equal "
                     f"their batch-1 runs, {len(other)} of {len(prompts)} "
                     "prompts up to a near tie")
    if precision == "fp32":
        right = sum(o == p["greedy64"] for o, p in zip(alone, prompts))
        report.check(right == len(prompts), f"mini fp32: {right} of "
                     f"{len(prompts)} prompts equal transformers")
    memory = tools.bench(plan, "--prompt-tokens", 16, "--new-tokens",
                         8)["memory"]
    report.check(memory["predicted_bytes"] == memory["allocated_bytes"] > 0,
                 f"mini {precision} batch {max(BATCHES)}: "
                 f"{memory['predicted_bytes']} bytes predicted, "
                 f"{memory['allocated_bytes']} allocated")


def check_perplexity(report, tools, precision, reference):
    wanted, _, tokens = reference["ppl_fp32_stride512"]
    result = json.loads(tools.run(
        "gpt2-run", "eval", eval_plan(tools, precision), "--model", MINI,
        "--text", MINI / "val.txt", "--stride", 512, "--json"))
    off = abs(result["perplexity"] - wanted)
    report.check(off <= PERPLEXITY[precision],
                 f"mini {precision}: perplexity {result['perplexity']:.4f}, "
                 f"fp32 is {wanted:.4f}")
    report.check(result["tokens"] == tokens,
                 f"mini {precision}: {result['tokens']} tokens scored")


def check(report, tools):
    need_mini()
    reference = json.loads((MINI / "reference.json").read_text())
    prompts = [p for p in reference["prompts"] if "\n" not in p["text"]]
    for precision in NEAR_TIE:
        with report.part(f"mini {precision}, batches"):
            check_batches(report, tools, precision, prompts)
    for precision in PERPLEXITY:
        with report.part(f"mini {precision}, perplexity"):
            check_perplexity(report, tools, precision, reference)
