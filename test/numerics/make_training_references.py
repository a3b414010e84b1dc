#!/usr/bin/env python3
"""Makes test/numerics/training: tiny GPT-2 directories, each with what PyTorch
computes in fp32 over some steps of training.

Run where torch, transformers and safetensors are installed:
    python3 test/numerics/make_training_references.py

reference.safetensors holds, with S steps of M micro-batches of N sequences of
T tokens:
    tokens, targets   [S, M, N, T] i32; a target of -1 is not scored
    learning_rate, loss, grad_norm  [S]; norms are from before clipping
    adamw             beta1, beta2, epsilon, weight decay (of matrices and
                      tables), largest norm
    grad0.NAME        gradients of step 0 before clipping, as the file names and
                      shapes the parameters
    final.NAME        parameters after step S

SPDX-License-Identifier: Apache-2.0
"""
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

OUT = Path(__file__).resolve().parent / "training"
STEPS, WARMUP = 12, 4
BETAS, EPSILON, DECAY = (0.9, 0.95), 1e-8, 0.1


@dataclass
class Case:
    """A model and the shape of its batches."""

    name: str
    config: dict
    micro_batches: int
    batch: int
    tokens: int
    learning_rate: float
    clip: float  # some steps must be clipped, others not


# More positions than tokens and a vocabulary that needs padding; sizes keep
# both directories under 300 KB.
CASES = [
    Case("tied", dict(n_embd=32, n_head=2, n_layer=2, n_inner=40), 2, 3, 24,
         3e-3, 3.0),
    Case("untied", dict(n_embd=16, n_head=2, n_layer=2, n_inner=24,
                        activation_function="gelu", tie_word_embeddings=False,
                        scale_attn_by_inverse_layer_idx=True,
                        reorder_and_upcast_attn=True), 3, 1, 32, 5e-3,
         2.0),
]


def make_model(case, seed):
    """Weights that float16 holds, far enough from initialisation that every
    gradient counts."""
    config = GPT2Config(vocab_size=97, n_positions=32, bos_token_id=96,
                        eos_token_id=96, attn_pdrop=0.0, embd_pdrop=0.0,
                        resid_pdrop=0.0, attn_implementation="eager",
                        **case.config)
    model = GPT2LMHeadModel(config).train()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if ".ln_" in name and name.endswith("weight"):
                value = 1 + 0.2 * noise
            else:
                value = (0.1 if parameter.dim() == 1 else 0.25) * noise
            parameter.copy_(value.half().float())
    return model


def make_batches(case, seed):
    """The same few cycles of tokens in every step, so that there is something
    to learn, with a prompt of another length in each row that is not scored. Of
    step 2, one micro-batch is not scored at all."""
    generator = torch.Generator().manual_seed(seed)
    shape = (STEPS, case.micro_batches, case.batch, case.tokens + 1)
    cycle = torch.randint(0, 97, shape[1:-1] + (7,), generator=generator)
    tokens = torch.stack([cycle.roll(step, -1) for step in range(STEPS)])
    tokens = tokens.repeat(1, 1, 1, shape[-1])[..., :shape[-1]]
    inputs, targets = tokens[..., :-1], tokens[..., 1:].clone()
    prompts = torch.randint(0, case.tokens, shape[:-1] + (1,),
                            generator=generator)
    targets[torch.arange(case.tokens) < prompts] = -1
    targets[2, -1] = -1
    return inputs.int().contiguous(), targets.int().contiguous()


def rate(case, step):
    """Linear warm-up, then linear decay to a tenth."""
    if step < WARMUP:
        return case.learning_rate * (step + 1) / WARMUP
    return case.learning_rate * (1 - 0.9 * (step - WARMUP) / (STEPS - WARMUP))


def train(case, model, inputs, targets):
    """The tensors of reference.safetensors."""
    parameters = dict(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in parameters.values() if p.dim() >= 2],
          "weight_decay": DECAY},
         {"params": [p for p in parameters.values() if p.dim() < 2],
          "weight_decay": 0.0}],
        lr=0.0, betas=BETAS, eps=EPSILON)
    rates, losses, norms, out = [], [], [], {}
    for step in range(STEPS):
        rates.append(rate(case, step))
        for group in optimizer.param_groups:
            group["lr"] = rates[-1]
        optimizer.zero_grad()
        scored, loss = int((targets[step] >= 0).sum()), 0.0
        for micro_inputs, micro_targets in zip(inputs[step], targets[step]):
            logits = model(micro_inputs.long()).logits
            part = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), micro_targets.flatten().long(),
                ignore_index=-1, reduction="sum") / scored
            part.backward()
            loss += part.item()
        if step == 0:
            out |= {f"grad0.{name}": p.grad.clone()
                    for name, p in parameters.items()}
        losses.append(loss)
        norms.append(torch.nn.utils.clip_grad_norm_(
            parameters.values(), case.clip).item())
        optimizer.step()
    out |= {f"final.{name}": p.detach().clone()
            for name, p in parameters.items()}
    out |= dict(loss=torch.tensor(losses, dtype=torch.float64),
                grad_norm=torch.tensor(norms, dtype=torch.float64),
                learning_rate=torch.tensor(rates, dtype=torch.float64),
                adamw=torch.tensor([*BETAS, EPSILON, DECAY, case.clip],
                                   dtype=torch.float64))
    return out


def make(case, seed):
    folder = OUT / case.name
    model = make_model(case, seed)
    inputs, targets = make_batches(case, seed)
    half = GPT2LMHeadModel(model.config).half()
    half.load_state_dict(model.state_dict())
    half.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    tensors = train(case, model, inputs, targets)
    norms = tensors["grad_norm"]
    assert norms.min() < case.clip < norms.max(), norms
    save_file({"tokens": inputs, "targets": targets, **tensors},
              folder / "reference.safetensors")
    print(f"{case.name}: losses {tensors['loss'][0]:.3f} to "
          f"{tensors['loss'][-1]:.3f}, norms {norms.min():.2f} to "
          f"{norms.max():.2f}, "
          f"{sum(f.stat().st_size for f in folder.iterdir()) // 1024} KiB")


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    torch.set_num_threads(1)
    for seed, case in enumerate(CASES):
        make(case, seed)


if __name__ == "__main__":
    main()
