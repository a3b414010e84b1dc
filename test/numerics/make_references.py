#!/usr/bin/env python3
"""Makes test/numerics/models: tiny random GPT-2 directories, one per corner of
the configuration, each with what `transformers` computes for it in fp32.

Run where torch, transformers and safetensors are installed:
    python3 test/numerics/make_references.py

SPDX-License-Identifier: Apache-2.0
"""
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

OUT = Path(__file__).resolve().parent / "models"
PROMPT, TOKENS, TAIL = 8, 24, 2  # prompt ids; ids a row; positions kept a row
# Greedy decoding must not hang on the last bit: the smallest gap between the
# two best logits, relative to the largest logit, that a reference may have.
GREEDY_GAP = 1e-3
# A continuation that repeats one token would hide a wrong position or cache.
GREEDY_DISTINCT = 6


@dataclass
class Corner:
    """A model: its configuration, storage and layout on disk."""

    name: str
    config: dict
    dtype: torch.dtype = torch.float16
    prefix: bool = True  # tensor names start with "transformer."
    legacy_buffers: bool = False  # attn.bias and attn.masked_bias in the file
    shards: int = 1
    drop_keys: list = field(default_factory=list)  # keys old files lack


# Width 32 keeps most files near 50 KB; each of the wide ones tries a head size.
CORNERS = [
    Corner("base", dict(n_layer=2), torch.float32),
    Corner("head_80", dict(n_embd=80, n_inner=48, vocab_size=131)),
    Corner("head_128", dict(n_embd=128, n_inner=40, vocab_size=67,
                            n_positions=40), torch.bfloat16),
    Corner("erf_gelu_odd_mlp", dict(activation_function="gelu", n_inner=72,
                                    vocab_size=131)),
    Corner("relu_two_heads", dict(activation_function="relu", n_head=2,
                                  vocab_size=131)),
    Corner("quick_gelu_sharded", dict(activation_function="quick_gelu",
                                      vocab_size=131),
           shards=2),
    Corner("gelu_fast_no_prefix", dict(activation_function="gelu_fast"),
           prefix=False, legacy_buffers=True,
           drop_keys=["n_inner", "tie_word_embeddings", "scale_attn_weights"]),
    Corner("untied_head", dict(tie_word_embeddings=False)),
    Corner("unscaled_attention", dict(scale_attn_weights=False,
                                      vocab_size=131),
           torch.bfloat16),
    Corner("inverse_layer_scale",
           dict(n_layer=2, n_head=2, scale_attn_by_inverse_layer_idx=True,
                reorder_and_upcast_attn=True)),
    Corner("vocab_258", dict(vocab_size=258, layer_norm_epsilon=1e-3)),
]
DEFAULTS = dict(n_embd=32, n_head=1, n_layer=1, n_positions=64, vocab_size=257,
                n_inner=None, activation_function="gelu_new", embd_pdrop=0.0,
                attn_pdrop=0.0, resid_pdrop=0.0)


def random_model(corner, seed):
    """Weights far from initialisation, rounded to what the file will hold, so
    that a wrong scale, transpose, bias or activation moves every logit."""
    settings = {**DEFAULTS, **corner.config}
    last = settings["vocab_size"] - 1
    config = GPT2Config(**settings, bos_token_id=last, eos_token_id=last,
                        attn_implementation="eager")
    generator = torch.Generator().manual_seed(seed)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight")):
                value = 1 + 0.2 * noise
            elif name.endswith("bias"):
                value = 0.1 * noise
            elif "wte" in name or "wpe" in name or "lm_head" in name:
                value = 0.2 * noise
            else:  # Conv1D, [in, out]
                value = 1.5 * noise / parameter.shape[0] ** 0.5
            parameter.copy_(value.to(corner.dtype).float())
    return model


def greedy(model, ids, count):
    """The continuation of `ids` and the smallest relative gap on the way."""
    gap = float("inf")
    for _ in range(count):
        logits = model(torch.tensor([ids])).logits[0, -1]
        best = logits.topk(2).values
        gap = min(gap, ((best[0] - best[1]) / logits.abs().max()).item())
        ids = ids + [int(logits.argmax())]
    return ids, gap


@torch.no_grad()
def reference(model, seed):
    """(tensors of reference.safetensors, smallest greedy gap)."""
    config = model.config
    generator = torch.Generator().manual_seed(1000 + seed)
    ids = torch.randint(0, config.vocab_size, (2, TOKENS), generator=generator)
    logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(
        logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    length = min(40, config.n_positions)
    tokens, gap = greedy(model, ids[0, :PROMPT].tolist(), length - PROMPT)
    return {
        "input_ids": ids,
        "tail_logits": logits[:, -TAIL:].contiguous(),
        "loss": loss,
        "greedy": torch.tensor([tokens]),
    }, gap


def relayout(folder, corner):
    """Renames tensors, adds the buffers of old files and drops config keys."""
    path = folder / "model.safetensors"
    if path.exists() and (not corner.prefix or corner.legacy_buffers):
        tensors = load_file(path)
        config = json.loads((folder / "config.json").read_text())
        span = config["n_positions"]
        if corner.legacy_buffers:
            for layer in range(config["n_layer"]):
                stem = f"transformer.h.{layer}.attn."
                tensors[stem + "bias"] = torch.ones(
                    1, 1, span, span, dtype=torch.uint8).tril()
                tensors[stem + "masked_bias"] = torch.tensor(-1e4)
        if not corner.prefix:
            tensors = {name.removeprefix("transformer."): value
                       for name, value in tensors.items()}
        save_file(tensors, path, metadata={"format": "pt"})
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for key in corner.drop_keys:
        config.pop(key, None)
    path.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def make(corner):
    folder = OUT / corner.name
    for seed in range(100):
        model = random_model(corner, seed)
        tensors, gap = reference(model, seed)
        distinct = tensors["greedy"][0, PROMPT:].unique().numel()
        if gap >= GREEDY_GAP and distinct >= GREEDY_DISTINCT:
            break
    else:
        raise SystemExit(f"{corner.name}: no seed has a clear greedy path")
    size = sum(p.numel() for p in model.parameters()) * corner.dtype.itemsize
    limit = 5 * 10**9 if corner.shards == 1 else size // corner.shards + 2000
    model.to(corner.dtype).save_pretrained(folder, max_shard_size=limit)
    (folder / "generation_config.json").unlink(missing_ok=True)
    relayout(folder, corner)
    save_file(tensors, folder / "reference.safetensors")
    files = sum(1 for _ in folder.glob("model*.safetensors"))
    print(f"{corner.name}: seed {seed}, gap {gap:.1e}, {files} file(s), "
          f"{sum(f.stat().st_size for f in folder.iterdir()) // 1024} KiB")


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    for corner in CORNERS:
        make(corner)


if __name__ == "__main__":
    main()
