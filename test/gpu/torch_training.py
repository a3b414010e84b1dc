"""gpt2 (124M) trained beside PyTorch's autocast, from the same weights and
data.

SPDX-License-Identifier: Apache-2.0
"""
from gpu_tools import MINI, Missing, need_mini, need_torch
from tools import SHARED

# A rate at which PyTorch agrees with itself: the means of its own bf16 runs with
# two attention kernels are 0.0001 apart here, 0.012 at 1e-4 and 0.08 at 3e-4.
BATCH, TOKENS, STEPS, WARMUP, RATE = 8, 1024, 200, 20, 5e-5
# After ten steps: every loss, and every mean over ten steps, from PyTorch's.
LOSS_TOLERANCE, MEAN_TOLERANCE = 0.05, 0.01
SHARD_HEADER = 1024
VOCAB = 50257
OPTIMIZER = dict(betas=(0.9, 0.95), eps=1e-8)
DECAY, CLIP = 0.1, 1.0
PRECISIONS = ("bf16", "fp16")


def plan_for(tools, precision):
    return tools.plan("gpt2", "train", precision, f"--batch={BATCH}",
                      f"--seq={TOKENS}", "--dropout=0")


def text_data(tools):
    """A shard of real text, long enough for every step to see new tokens."""
    path = tools.work / "text.bin"
    if path.exists():
        return path
    need_mini()
    corpus = SHARED / "data/corpus.txt.xz"
    if not corpus.exists():
        raise Missing(f"{corpus} is not here")
    import lzma
    text = tools.work / "text.txt"
    with lzma.open(corpus) as file:
        text.write_bytes(file.read(6 * STEPS * BATCH * TOKENS))
    tools.run("gpt2-run", "tokenize", "--model", MINI, text, "-o", path)
    text.unlink()
    return path


def prepare(tools):
    text_data(tools)
    for precision in PRECISIONS:
        plan_for(tools, precision)


def initial_model(tools):
    """A gpt2 (124M) directory with random weights, made by transformers."""
    import torch
    import transformers
    path = tools.run_folder("gpt2-initial")
    if not path.exists():
        torch.manual_seed(1)
        config = transformers.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0,
                                         attn_pdrop=0.0)
        transformers.GPT2LMHeadModel(config).save_pretrained(path)
    return path


def our_losses(tools, plan, model, data):
    run = "gpt2-ours"
    tools.fresh_run(run)
    steps = tools.train(plan, run, "--model", model, "--data", data,
                        "--no-shuffle", "--steps", STEPS, "--lr", RATE,
                        "--schedule", "constant", "--warmup", WARMUP,
                        "--weight-decay", DECAY, "--clip", CLIP)
    tools.fresh_run(run)  # its checkpoint is 1.5 GB
    return [step["loss"] for step in steps]


class TorchRun:
    """The same steps under PyTorch's autocast."""

    def __init__(self, model, data, precision):
        import numpy
        import torch
        import transformers
        self.torch = torch
        self.dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[precision]
        self.net = transformers.GPT2LMHeadModel.from_pretrained(
            model, attn_implementation="sdpa").cuda().train()
        self.parameters = list(self.net.parameters())
        self.optimizer = torch.optim.AdamW(
            [{"params": [p for p in self.parameters if p.dim() > 1],
              "weight_decay": DECAY},
             {"params": [p for p in self.parameters if p.dim() < 2],
              "weight_decay": 0.0}], lr=RATE, fused=True, **OPTIMIZER)
        self.scaler = torch.amp.GradScaler("cuda", enabled=precision == "fp16")
        self.tokens = torch.from_numpy(numpy.fromfile(
            data, dtype=numpy.uint16, offset=SHARD_HEADER).astype(numpy.int64))
        self.applied = 0

    def loss(self, step):
        first, count = step * BATCH * TOKENS, BATCH * TOKENS
        inputs = self.tokens[first:first + count].view(BATCH, TOKENS).cuda()
        labels = self.tokens[first + 1:first + 1 + count].cuda()
        with self.torch.autocast("cuda", dtype=self.dtype):
            logits = self.net(inputs).logits
            return self.torch.nn.functional.cross_entropy(
                logits.view(-1, VOCAB).float(), labels)

    def step(self, number):
        for group in self.optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (self.applied + 1) / WARMUP)
        loss = self.loss(number)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        self.torch.nn.utils.clip_grad_norm_(self.parameters, CLIP)
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.applied += self.scaler.get_scale() >= before
        return loss.item()


def mean_differences(ours, theirs):
    """|mean - mean| of every ten steps in a row, from step 10 on."""
    difference = [a - b for a, b in zip(ours, theirs)]
    return [abs(sum(difference[i:i + 10])) / 10
            for i in range(10, len(difference) - 9)]


def check_precision(report, tools, precision):
    plan, data = plan_for(tools, precision), text_data(tools)
    model = initial_model(tools)
    ours = our_losses(tools, plan, model, data)
    reference = TorchRun(model, data, precision)
    theirs = [reference.step(number) for number in range(STEPS)]
    worst = max(abs(a - b) for a, b in list(zip(ours, theirs))[10:])
    mean = max(mean_differences(ours, theirs))
    report.check(len(ours) == STEPS and worst <= LOSS_TOLERANCE and
                 mean <= MEAN_TOLERANCE,
                 f"gpt2 {precision}: {STEPS} steps from {ours[0]:.3f} to "
                 f"{ours[-1]:.3f} (PyTorch {theirs[-1]:.3f}); largest "
                 f"difference {worst:.4f}, of means over ten {mean:.4f}")


def check(report, tools):
    need_torch()
    for precision in PRECISIONS:
        with report.part(f"gpt2 {precision} beside PyTorch"):
            check_precision(report, tools, precision)
