#!/usr/bin/env python3
"""Writes the configuration and the tokenizer of a small GPT-2 that reads bytes:
one token for each of the 256, and <|endoftext|>.

    byte_level_model.py DIR

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys
from pathlib import Path

END = 256
# Small enough to learn something in a minute on two cores.
CONFIG = dict(architectures=["GPT2LMHeadModel"], model_type="gpt2",
              vocab_size=257, n_positions=128, n_embd=128, n_layer=3, n_head=4,
              activation_function="gelu_new", layer_norm_epsilon=1e-5,
              initializer_range=0.1,
              attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0,
              tie_word_embeddings=True, bos_token_id=END, eos_token_id=END)


def byte_vocabulary():
    """GPT-2 spells bytes as visible characters: those that Latin-1 prints stand
    for themselves, and have the first ids; the others follow from U+0100 on."""
    printed = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    letters = [*map(chr, printed), *(chr(256 + i) for i in range(len(others)))]
    return {letter: i for i, letter in enumerate(letters)}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: byte_level_model.py DIR")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {**byte_vocabulary(), "<|endoftext|>": END}
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")


if __name__ == "__main__":
    main()
