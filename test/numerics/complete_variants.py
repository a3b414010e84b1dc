#!/usr/bin/env python3
"""Gives shared/models/variants the biases that they lack.

    complete_variants.py FROM TO
    GPT2_VARIANTS=TO tools/check

The files there hold no `attn.c_attn.bias`, which their references were computed
with, so tests skip them. Each model is a torch seed: behind the numbers that
transformers' own initialisation drew come, in the order of named_parameters(),
0.15 randn for matrices, 1 + 0.1 randn for the weights of norms and 0.1 randn for
biases. That gives every tensor that the files do hold, which is checked.

In "train" the third of that bias which belongs to the keys has a gradient of
exactly zero, so AdamW moves it by noise: PyTorch itself misses its own reference
by 2e-3 of that tensor's norm after 12 steps.

SPDX-License-Identifier: Apache-2.0
"""
import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

# Of each model: the seed, and how many numbers its initialisation drew.
DRAWN = {"base": (411, 311552), "erf_gelu_wide_mlp": (1785, 274688),
         "inverse_layer_scale": (2015, 311552),
         "no_prefix_legacy_buffers": (2538, 311552),
         "odd_vocab_258": (1183, 1098752), "train": (542, 1098240),
         "untied_head": (1146, 311552)}
LAYER = ("ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias",
         "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight", "ln_2.bias",
         "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight",
         "mlp.c_proj.bias")
PREFIX = "transformer."


def names(config):
    yield from ("wte.weight", "wpe.weight")
    for layer in range(config["n_layer"]):
        yield from (f"h.{layer}.{name}" for name in LAYER)
    yield from ("ln_f.weight", "ln_f.bias")
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight"


def drawn(name, shape, generator):
    values = torch.randn(shape, generator=generator)
    if len(shape) > 1:
        return 0.15 * values
    is_norm_weight = name.endswith(".weight")
    return 1 + 0.1 * values if is_norm_weight else 0.1 * values


def completed(folder, seed, skipped):
    config = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    prefix = "" if "wte.weight" in tensors else PREFIX
    held = {name.removeprefix(PREFIX): value for name, value in tensors.items()}
    generator = torch.Generator().manual_seed(seed)
    torch.rand(skipped, generator=generator)
    for name in names(config):
        shape = held[name].shape if name in held else (3 * config["n_embd"],)
        values = drawn(name, shape, generator)
        if name not in held:
            tensors[prefix + name] = values
        elif (values - held[name]).abs().max() > 1e-6:
            sys.exit(f"{folder}: {name} is not what seed {seed} draws")
    return tensors


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(Path, sys.argv[1:])
    for name, (seed, skipped) in DRAWN.items():
        tensors = completed(source / name, seed, skipped)
        (target / name).mkdir(parents=True, exist_ok=True)
        for file in (source / name).iterdir():
            shutil.copyfile(file, target / name / file.name)
        save_file(tensors, target / name / "model.safetensors",
                  metadata={"format": "pt"})


if __name__ == "__main__":
    main()
