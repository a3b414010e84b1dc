#!/usr/bin/env python3
"""Bad files, flags, prompts and plans: each gets one clear line that names the
thing, a non-zero exit status that is not a signal, and nothing half-written.

    check_bad_input.py BIN_DIR WORK_DIR

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tools import MODELS, REPO, Report, Tools

BASE, OTHER = MODELS / "base", MODELS / "vocab_258"
POSITIONS = json.loads((BASE / "config.json").read_text())["n_positions"]
FLIPS = 150  # damaged copies of a plan
PROMPT = ["--prompt-ids", "1,2,3", "--max-new-tokens", "2", "--greedy"]


class Cases:
    """Runs commands that must be refused."""

    def __init__(self, tools, report):
        self.tools, self.report = tools, report

    def execute(self, command, limit=None):
        def limit_files():
            # What a full disk looks like, for a user who may fill none: writes
            # past `limit` bytes fail.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.run(
            [self.tools.bin / command[0], *map(os.fsencode, command[1:])],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
            preexec_fn=limit_files if limit else None)

    def refused(self, what, command, *words, output=None, limit=None):
        """`words` must all be in the one line that the command prints."""
        done = self.execute(command, limit)
        error = done.stderr.decode(errors="replace").strip()
        told = 1 <= done.returncode < 126 and len(error.splitlines()) == 1
        named = all(word.lower() in error.lower() for word in words)
        clean = not (output and Path(output).exists())
        self.report.check(told and named and clean,
                          f"{what}: status {done.returncode}: {error}" +
                          ("" if clean else f" [left {output}]"))

    def compile_refused(self, what, model, *words, flags=(), limit=None):
        plan = self.tools.work / "refused.plan"
        plan.unlink(missing_ok=True)
        self.refused(what, ["gpt2c", str(model), "-o", str(plan), *flags],
                     *words, output=plan, limit=limit)
        left = [p.name for p in self.tools.work.glob("refused.plan*")]
        self.report.check(not left, f"{what}: leaves no file {left}")

    def run_refused(self, what, plan, *words, model=BASE, flags=PROMPT):
        self.refused(what, ["gpt2-run", "generate", str(plan), "--model",
                            str(model), *flags], *words)


def model_copy(tools, name, **changes):
    """A copy of the base model with other configuration keys."""
    folder = tools.work / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(BASE, folder)
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def check_configs(cases, tools):
    for what, changes, words in [
            ("unknown activation", dict(activation_function="swoosh"),
             ["activation_function", "swoosh"]),
            ("multi-query attention", dict(model_type="gpt_bigcode",
                                           multi_query=True), ["multi-query"]),
            ("cross attention", dict(add_cross_attention=True),
             ["add_cross_attention"]),
            ("heads that do not divide the width", dict(n_head=5),
             ["n_head"]),
            ("no layers", dict(n_layer=0), ["n_layer"]),
            ("a width that is a text", dict(n_embd="wide"), ["n_embd"]),
            ("another architecture", dict(model_type="llama"), ["llama"])]:
        folder = model_copy(tools, "config", **changes)
        cases.compile_refused(what, folder, *words)
    folder = model_copy(tools, "config")
    (folder / "config.json").write_text('{"n_embd": 3')
    cases.compile_refused("cut configuration", folder, "config.json")
    (folder / "config.json").unlink()
    cases.compile_refused("no configuration", folder, "config.json")
    cases.compile_refused("no such model", tools.work / "absent", "absent")


def check_flags(cases, tools):
    cases.compile_refused("unknown precision", BASE, "precision",
                          flags=["--precision=int3"])
    cases.compile_refused("fp16 on the CPU", BASE, "fp16",
                          flags=["--target=cpu", "--precision=fp16"])
    size = tools.compile(BASE, "generate", "--target=cpu").stat().st_size
    cases.compile_refused("full disk", BASE, "refused.plan", limit=size - 1)
    absent = tools.work / "absent" / "x.plan"
    cases.refused("no folder for the plan", ["gpt2c", str(BASE), "-o",
                                             str(absent)], "x.plan",
                  output=absent)


def check_weights(cases, tools, plan):
    folder = model_copy(tools, "weights")
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    size = int.from_bytes(whole[:8], "little")

    def with_header(change):
        text = whole[8:8 + size].decode().rstrip()
        text = change(text).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text +
                         whole[8 + size:])

    name = "transformer.h.1.attn.c_attn.bias"
    for length in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        cases.run_refused(f"weights cut to {length} bytes", plan,
                          "model.safetensors", model=folder)
    with_header(lambda text: text.replace(name, name + "x"))
    cases.run_refused("a missing tensor", plan, "h.1.attn.c_attn.bias",
                      model=folder)
    with_header(lambda text: text.replace("[32,96]", "[96,32]"))
    cases.run_refused("a shape that lies", plan, "c_attn.weight",
                      model=folder)
    with_header(lambda text: text.replace('"F32"', '"F99"'))
    cases.run_refused("an unknown type", plan, "F99", model=folder)
    file.unlink()
    cases.run_refused("no weights", plan, "model.safetensors", model=folder)
    cases.run_refused("another model's weights", plan, "n_layer",
                      model=OTHER)


def check_prompts(cases, tools, plan):
    def flags(ids, *more):
        return ["--prompt-ids", ids, "--max-new-tokens", "2", *more]
    long = ",".join("1" for _ in range(POSITIONS + 1))
    cases.run_refused("a prompt past n_positions", plan, str(POSITIONS),
                      flags=flags(long))
    cases.run_refused("new tokens past n_positions", plan, str(POSITIONS),
                      flags=["--prompt-ids", "1,2", "--max-new-tokens",
                             str(POSITIONS)])
    cases.run_refused("an id past the vocabulary", plan, "token id 257",
                      flags=["--prompt-ids=257"])
    for ids in ("-1", "1,,2", "99999999999999999999", "one"):
        cases.run_refused(f"prompt ids {ids}", plan, "--prompt-ids",
                          flags=["--prompt-ids=" + ids])
    for flag, value in (("--top-p", "nan"), ("--top-p", "0"), ("--top-p", "1.5"),
                        ("--temperature", "-1"), ("--temperature", "inf"),
                        ("--top-k", "-3"), ("--max-new-tokens", "-2")):
        cases.run_refused(f"{flag} {value}", plan, flag,
                          flags=["--prompt-ids", "1", f"{flag}={value}"])
    cases.run_refused("text without a tokenizer", plan, "--prompt-ids",
                      flags=["--prompt", "hello"])
    cases.run_refused("a prompt that is not UTF-8", plan, "UTF-8",
                      flags=["--prompt", "caf\udce9"])
    for extreme in (["--top-p", "1e-8"], ["--temperature", "0"],
                    ["--top-k", "1"]):
        greedy, extreme_ids = (
            json.loads(tools.run("gpt2-run", "generate", plan, "--model",
                                 BASE, *flags("1,2,3", *how, "--json")))
            ["output_ids"] for how in (["--greedy"], extreme))
        cases.report.check(greedy == extreme_ids,
                           f"{' '.join(extreme)} is greedy")


def check_plans(cases, tools, plan):
    whole = plan.read_bytes()
    bad = tools.work / "bad.plan"
    for length in (0, 5, 16, 64, len(whole) // 2, len(whole) - 1):
        bad.write_bytes(whole[:length])
        cases.run_refused(f"a plan cut to {length} bytes", bad, "bad.plan")
    bad.write_bytes(whole + b"x")
    cases.run_refused("a plan with a tail", bad, "bad.plan")
    for future in sorted((REPO / "test/fixtures/plans").glob("future-*")):
        cases.run_refused(future.name, future, future.name)
    cases.run_refused("a text file", BASE / "config.json", "config.json")
    cases.run_refused("no plan", tools.work / "absent.plan", "absent.plan")
    # The file's checksum covers every bit of it.
    draw = random.Random(7)
    accepted = []
    for _ in range(FLIPS):
        damaged = bytearray(whole)
        # Nearer the front there is more to mislead the loader.
        at = int(len(whole) * draw.random() ** 3)
        damaged[at] ^= 1 << draw.randrange(8)
        bad.write_bytes(damaged)
        done = cases.execute(["gpt2-run", "inspect", str(bad)])
        if not 1 <= done.returncode < 126 or len(done.stderr.splitlines()) != 1:
            accepted.append((at, done.returncode))
    cases.report.check(not accepted,
                       f"{FLIPS} flipped bits, not refused: {accepted}")


def check_cuda_plan(cases, tools):
    if Path("/dev/nvidiactl").exists():
        return
    plan = tools.work / "cuda.plan"
    done = cases.execute(["gpt2c", str(BASE), "-o", str(plan),
                          "--target=cuda", "--arch=sm_90"])
    if done.returncode:  # no NVRTC on this machine
        print("not tried: a CUDA plan:", done.stderr.decode().strip())
        return
    cases.run_refused("a CUDA plan with no GPU", plan, "cuda")


def main():
    bin_dir, work_dir = sys.argv[1:]
    tools, report = Tools(bin_dir, work_dir), Report()
    cases = Cases(tools, report)
    check_configs(cases, tools)
    check_flags(cases, tools)
    plan = tools.compile(BASE, "generate", "--target=cpu")
    check_weights(cases, tools, plan)
    check_prompts(cases, tools, plan)
    check_plans(cases, tools, plan)
    check_cuda_plan(cases, tools)
    report.done()


if __name__ == "__main__":
    main()
