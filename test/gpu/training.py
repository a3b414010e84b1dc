#!/usr/bin/env python3
"""Training on an NVIDIA GPU: a tiny model against the CPU target, gpt2 (124M)
beside PyTorch's autocast from the same weights and data, resume bit for bit,
and planned memory against allocated memory.

    training.py [--bin DIR] [--work DIR] [--arch ARCH]       compiles and runs
    training.py --prepare ...                                compiles only

What is already in the work folder is used as it is, so plans, data and the CPU
target's losses can be made on a machine that has gpt2c (--prepare makes them
anew) and used on one that has a GPU. The comparison with PyTorch is skipped
where torch is missing.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import array
import json
import shutil
import struct
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test/numerics"))

from tools import (MODELS, SHARED, Report, Tools,  # noqa: E402
                   largest_difference)

TINY, TINY_STEPS = "base", 12
# fp32 on both targets: sums in another order, no other rounding.
TINY_TOLERANCE = 1e-4
# A rate at which PyTorch agrees with itself: at 3e-4 and more, its own bf16 runs
# with two attention kernels are 0.03 to 0.08 apart in the means.
BATCH, TOKENS, STEPS, WARMUP, RATE = 8, 1024, 200, 20, 1e-4
# After ten steps: every loss, and every mean over ten steps, from PyTorch's.
LOSS_TOLERANCE, MEAN_TOLERANCE = 0.05, 0.01
SHARD_HEADER = 1024
VOCAB, PADDED_VOCAB = 50257, 50304
OPTIMIZER = dict(betas=(0.9, 0.95), eps=1e-8)
DECAY, CLIP = 0.1, 1.0


class TrainTools(Tools):
    """Compiles training plans, or takes those that are there."""

    def __init__(self, bin_dir, work_dir, arch, fresh):
        super().__init__(bin_dir, work_dir)
        self.arch = arch
        self.fresh = fresh

    def has(self, path):
        return path.exists() and not self.fresh

    def plan(self, model, target, precision, *flags, mode="train"):
        flags = [f"--target={target}", f"--precision={precision}", *flags]
        if target == "cuda":
            flags.append(f"--arch={self.arch}")
        path = self.plan_path(model, mode, *flags)
        return path if self.has(path) else self.compile(model, mode, *flags)

    def train(self, plan, run, data, *flags):
        """The JSON objects of a fresh run's steps."""
        shutil.rmtree(self.work / run, ignore_errors=True)
        return self.go_on(plan, run, "--data", data, "--no-shuffle", *flags)

    def go_on(self, plan, run, *flags):
        lines = self.run("gpt2-run", "train", plan, "--out", self.work / run,
                         "--json", *flags).splitlines()
        return [json.loads(line) for line in lines]


def write_shard(path, tokens):
    header = [20240520, 1, len(tokens)] + [0] * 253
    path.write_bytes(struct.pack("<256i", *header) +
                     array.array("H", tokens).tobytes())


def tiny_data(tools):
    """Tokens of a simple pattern that the tiny vocabulary holds."""
    path = tools.work / "tiny.bin"
    if not tools.has(path):
        write_shard(path, [(i * i + i // 7) % 89 for i in range(4000)])
    return path


TINY_FLAGS = ("--lr", 1e-3, "--schedule", "constant",
              "--warmup", 3, "--accumulate", 2)


def tiny_plan(tools, target):
    return tools.plan(MODELS / TINY, target, "fp32", "--batch=2", "--seq=16",
                      "--dropout=0.1")


def cpu_losses(tools):
    """Losses and norms of the tiny run on the CPU target, run once."""
    path = tools.work / "tiny_cpu.json"
    if not tools.has(path):
        steps = tools.train(tiny_plan(tools, "cpu"), "tiny-cpu",
                            tiny_data(tools), "--model", MODELS / TINY,
                            "--steps", TINY_STEPS, *TINY_FLAGS)
        path.write_text(json.dumps([[s["loss"], s["grad_norm"]]
                                    for s in steps]))
    return json.loads(path.read_text())


def check_tiny(report, tools):
    plan, data = tiny_plan(tools, "cuda"), tiny_data(tools)
    flags = ("--model", MODELS / TINY, *TINY_FLAGS)
    whole = tools.train(plan, "tiny-cuda", data, *flags, "--steps",
                        TINY_STEPS)
    worst = max(abs(ours - theirs) / abs(theirs)
                for step, wanted in zip(whole, cpu_losses(tools))
                for ours, theirs in zip((step["loss"], step["grad_norm"]),
                                        wanted))
    report.check(len(whole) == TINY_STEPS and worst <= TINY_TOLERANCE,
                 f"tiny fp32: losses and norms of {len(whole)} steps are "
                 f"within {worst:.1e} of the CPU target's")
    tools.train(plan, "tiny-cut", data, *flags, "--steps", 7)
    tools.go_on(plan, "tiny-cut", "--resume", "--steps", TINY_STEPS)
    same = all((tools.work / f"tiny-cuda/checkpoint-{TINY_STEPS}/{name}")
               .read_bytes() ==
               (tools.work / f"tiny-cut/checkpoint-{TINY_STEPS}/{name}")
               .read_bytes()
               for name in ("model.safetensors", "optimizer.safetensors"))
    report.check(same, "tiny fp32: stopped at step 7 and resumed, step "
                 f"{TINY_STEPS} equals an undisturbed run bit for bit")


def tiny_eval_plan(tools):
    return tools.plan(MODELS / TINY, "cuda", "fp32", mode="eval")


def check_checkpoint(report, tools):
    """A checkpoint of ours gives transformers our logits."""
    if not has_torch():
        return
    import torch
    import transformers
    model = tools.work / f"tiny-cuda/checkpoint-{TINY_STEPS}"
    ids = [(3 * i) % 89 for i in range(24)]
    ours = tools.logits(tiny_eval_plan(tools), model, ids)
    net = transformers.GPT2LMHeadModel.from_pretrained(model).eval()
    with torch.no_grad():
        theirs = net(torch.tensor([ids])).logits[0].tolist()
    worst = max(largest_difference(a, b) for a, b in zip(ours, theirs))
    report.check(worst <= TINY_TOLERANCE,
                 f"tiny fp32: transformers loads the checkpoint, logits differ "
                 f"by {worst:.1e} of the largest")


def has_torch():
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return False
    return True


def gpt2_plans(tools):
    return {p: tools.plan("gpt2", "cuda", p, f"--batch={BATCH}",
                          f"--seq={TOKENS}", "--dropout=0")
            for p in ("bf16", "fp16")}


def text_data(tools):
    """A shard of real text, long enough for every step to see new tokens."""
    path = tools.work / "text.bin"
    if not tools.has(path):
        import lzma
        text = tools.work / "text.txt"
        with lzma.open(SHARED / "data/corpus.txt.xz") as corpus:
            text.write_bytes(corpus.read(6 * STEPS * BATCH * TOKENS))
        tools.run("gpt2-run", "tokenize", "--model", SHARED / "models/gpt2-mini",
                  text, "-o", path)
        text.unlink()
    return path


def initial_model(work):
    """A gpt2 (124M) directory with random weights, made by transformers."""
    import torch
    import transformers
    path = work / "gpt2-initial"
    if not path.exists():
        torch.manual_seed(1)
        config = transformers.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0,
                                         attn_pdrop=0.0)
        transformers.GPT2LMHeadModel(config).save_pretrained(path)
    return path


def torch_losses(model, data, precision):
    """What PyTorch's autocast makes of the same steps."""
    import numpy
    import torch
    import transformers
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    net = transformers.GPT2LMHeadModel.from_pretrained(
        model, attn_implementation="sdpa").cuda().train()
    parameters = list(net.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in parameters if p.dim() > 1],
          "weight_decay": DECAY},
         {"params": [p for p in parameters if p.dim() < 2],
          "weight_decay": 0.0}], lr=RATE, fused=True, **OPTIMIZER)
    scaler = torch.amp.GradScaler("cuda", enabled=precision == "fp16")
    tokens = torch.from_numpy(numpy.fromfile(
        data, dtype=numpy.uint16, offset=SHARD_HEADER).astype(numpy.int64))
    losses, applied = [], 0
    for step in range(STEPS):
        first = step * BATCH * TOKENS
        inputs = tokens[first:first + BATCH * TOKENS].view(BATCH, TOKENS).cuda()
        labels = tokens[first + 1:first + 1 + BATCH * TOKENS].cuda()
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (applied + 1) / WARMUP)
        with torch.autocast("cuda", dtype=dtype):
            logits = net(inputs).logits
            loss = torch.nn.functional.cross_entropy(
                logits.view(-1, VOCAB).float(), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        applied += scaler.get_scale() >= before
        losses.append(loss.item())
    return losses


def mean_differences(ours, theirs):
    """|mean - mean| of every ten steps in a row, from step 10 on."""
    difference = [a - b for a, b in zip(ours, theirs)]
    return [abs(sum(difference[i:i + 10])) / 10
            for i in range(10, len(difference) - 9)]


def check_gpt2(report, tools):
    if not has_torch():
        return
    model, data = initial_model(tools.work), text_data(tools)
    for precision, plan in gpt2_plans(tools).items():
        steps = tools.train(plan, f"gpt2-{precision}", data, "--model", model,
                            "--steps", STEPS, "--lr", RATE, "--schedule",
                            "constant", "--warmup", WARMUP, "--weight-decay",
                            DECAY, "--clip", CLIP)
        ours = [step["loss"] for step in steps]
        theirs = torch_losses(model, data, precision)
        worst = max(abs(a - b) for a, b in list(zip(ours, theirs))[10:])
        mean = max(mean_differences(ours, theirs))
        report.check(len(ours) == STEPS and worst <= LOSS_TOLERANCE and
                     mean <= MEAN_TOLERANCE,
                     f"gpt2 {precision}: {STEPS} steps from {ours[0]:.3f} to "
                     f"{ours[-1]:.3f} (PyTorch {theirs[-1]:.3f}); largest "
                     f"difference {worst:.4f}, of means over ten {mean:.4f}")
        shutil.rmtree(tools.work / f"gpt2-{precision}", ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=REPO / "build/bin")
    parser.add_argument("--work", default=REPO / "build/test/gpu-training")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--prepare", action="store_true")
    args = parser.parse_args()
    tools = TrainTools(args.bin, args.work, args.arch, fresh=args.prepare)
    if args.prepare:
        tiny_plan(tools, "cuda")
        tiny_eval_plan(tools)
        cpu_losses(tools)
        if SHARED.is_dir():
            gpt2_plans(tools)
            text_data(tools)
        return
    report = Report()
    check_tiny(report, tools)
    check_checkpoint(report, tools)
    if (tools.work / "text.bin").exists() or SHARED.is_dir():
        check_gpt2(report, tools)
    else:
        print(f"skipped: {SHARED} is not here")
    report.done()


if __name__ == "__main__":
    main()
