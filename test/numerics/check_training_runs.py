#!/usr/bin/env python3
"""Runs of gpt2-run train that are stopped, killed and fed with bad files. A run
that goes on must write the same bytes as one that was never disturbed.

    check_training_runs.py BIN_DIR WORK_DIR
                           (resume | text | lengths | samples | refusals)

SPDX-License-Identifier: Apache-2.0
"""
import json
import random
import resource
import shutil
import signal
import subprocess
import sys

from tools import REPO, Report, Tools, interrupt, same_files, write_shard

TOKENIZER = REPO / "test/fixtures/tokenizer/files"
STEPS = 60
SETTINGS = ["--steps", STEPS, "--accumulate", 16, "--lr", "3e-3", "--warmup", 5,
            "--save-every", 5, "--keep", 0, "--val-every", 20, "--val-steps", 4]


def words(count, seed=0):
    """Bytes with something to learn in them."""
    draw = random.Random(seed)
    vocabulary = ["the ", "cat ", "sat ", "on ", "a ", "mat. "]
    return "".join(draw.choice(vocabulary) for _ in range(count)).encode()


class Runs:
    def __init__(self, tools, report):
        self.tools, self.report = tools, report
        self.work = tools.work
        self.data = [write_shard(self.work / f"train_{i}.bin", words(3000, i))
                     for i in (1, 2)]
        self.val = write_shard(self.work / "val.bin", words(300, 3))

    def compile(self, model, *flags):
        plan = self.work / f"{'-'.join(f.strip('-') for f in flags)}.plan"
        self.tools.run("gpt2c", model, "-o", plan, "--mode=train",
                       "--target=cpu", "--batch=2", "--seq=16", *flags)
        return plan

    def command(self, plan, out, *flags):
        return [str(part) for part in
                (self.tools.bin / "gpt2-run", "train", plan, "--out", out,
                 *flags)]

    def fresh(self, name):
        out = self.work / name
        shutil.rmtree(out, ignore_errors=True)
        return out

    def start(self, plan, name):
        """What begins a run."""
        out = self.fresh(name)
        return out, self.command(plan, out, "--data",
                                 self.work / "train_*.bin", "--val", self.val,
                                 "--json", *SETTINGS)

    def check(self, ok, what):
        self.report.check(ok, what)

    def same(self, a, b, what):
        """Whether the last checkpoints of two runs hold the same bytes."""
        self.check(same_files(*(run / f"checkpoint-{STEPS}"
                                for run in (a, b))), what)

    def refused(self, command, *texts, limit=None):
        def lower():
            if limit is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = subprocess.run(command, capture_output=True, text=True,
                              preexec_fn=lower)
        line = done.stderr.strip().splitlines()[-1] if done.stderr else ""
        self.check(0 < done.returncode < 100 and all(t in line for t in texts),
                   f"refused with {texts}: {done.returncode} {line}")


def check_resume(runs):
    for flags in (["--precision=fp32"], ["--precision=bf16", "--dropout=0"]):
        plan = runs.compile("tiny", *flags)
        whole, command = runs.start(plan, "whole")
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        steps = [json.loads(line) for line in output.splitlines()]
        runs.check([s["step"] for s in steps] == list(range(1, STEPS + 1)),
                   "an object a step")
        runs.check(steps[-1]["val_loss"] < 0.8 * steps[0]["loss"],
                   f"{flags}: the loss falls")
        for name in ("run.json", "metrics.jsonl", "loss.svg"):
            runs.check((whole / name).exists(), name)

        parts, command = runs.start(plan, "parts")
        resume = runs.command(plan, parts, "--resume", "--json")
        status, last, err = interrupt(command, 7, signal.SIGTERM)
        runs.check(status == 0 and 7 <= last < STEPS and
                   f"stopped by SIGTERM after step {last}" in err,
                   f"SIGTERM: status {status} after step {last}")
        runs.check((parts / f"checkpoint-{last}").is_dir(), "saved there")
        status, last, err = interrupt(resume, last + 11, signal.SIGKILL)
        runs.check(status == -signal.SIGKILL and last < STEPS, "kill -9")
        status, last, err = interrupt(resume, 40, signal.SIGINT)
        runs.check(status == 0 and "stopped by SIGINT" in err, "SIGINT")
        status, last, err = interrupt(resume, 0)
        runs.check(status == 0 and last == STEPS, "runs to its end")
        runs.same(whole, parts, f"{flags}: resumed bit for bit")
        runs.check([json.loads(line)["step"] for line in
                    (parts / "metrics.jsonl").read_text().splitlines()] ==
                   list(range(STEPS + 1)), "metrics have every step once")
    check_checkpoint(runs, whole / f"checkpoint-{STEPS}")
    # As `timeout` sends it: to the process and to its group.
    twice, command = runs.start(plan, "twice")
    status, last, err = interrupt(command, 7, signal.SIGTERM,
                                  signal.SIGTERM)
    runs.check(status == 0 and (twice / f"checkpoint-{last}").is_dir(),
               f"SIGTERM twice at once: status {status}, saved step {last}")


def check_checkpoint(runs, checkpoint):
    """It is a model directory: it compiles, and has learned its words."""
    plan = runs.tools.compile(checkpoint, "generate", "--target=cpu",
                              "--precision=fp32")
    ids = runs.tools.generate(plan, checkpoint, b"the cat ", 16)
    text = bytes(i for i in ids if i < 256).decode()
    runs.check(set(text) <= set("the cat sat on a mat. ") and " " in text,
               f"it continues with {text!r}")


def text_model(runs):
    """A model directory with weights and a tokenizer."""
    config = json.loads((REPO / "models/presets/tiny.json").read_text())
    config["vocab_size"] = 1 + max(
        json.loads((TOKENIZER / "vocab.json").read_text()).values())
    config["bos_token_id"] = config["eos_token_id"] = None
    start = runs.work / "start"
    shutil.rmtree(start, ignore_errors=True)
    start.mkdir()
    (start / "config.json").write_text(json.dumps(config))
    plan = runs.compile(start, "--precision=fp32")
    scratch = runs.fresh("scratch")
    subprocess.run(runs.command(plan, scratch, "--data", *runs.data, "--steps",
                                1), check=True, stdout=subprocess.DEVNULL)
    for path in [scratch / "checkpoint-1/model.safetensors",
                 *TOKENIZER.iterdir()]:
        shutil.copy(path, start / path.name)
    return start


def check_text(runs):
    """Fine-tuning on documents."""
    start = text_model(runs)
    plan = runs.compile(start, "--precision=fp32")
    data = runs.work / "docs.jsonl"
    data.write_text("".join(json.dumps({"text": words(3 + i % 9, i).decode()}) +
                            "\n" for i in range(80)))
    outs = []
    for name, steps in (("text-whole", [30]), ("text-parts", [11, 30])):
        out = runs.fresh(name)
        outs.append(out)
        for i, last in enumerate(steps):
            flags = (["--resume"] if i else
                     ["--model", start, "--data", data, "--split", "0.2",
                      "--accumulate", 2, "--lr", "3e-3", "--schedule",
                      "constant"])
            output = subprocess.run(
                runs.command(plan, out, "--steps", last, "--json", *flags),
                check=True, stdout=subprocess.PIPE, text=True).stdout
    check_prompts(runs, plan, start, data)
    steps = [json.loads(line) for line in output.splitlines()]
    runs.check(len({s["tokens"] for s in steps}) > 3, "uneven counts of labels")
    first = json.loads((outs[0] / "metrics.jsonl").read_text().split("\n")[0])
    runs.check(steps[-1]["val_loss"] < 0.9 * first["val_loss"],
               "the validation loss falls")
    a, b = (out / "checkpoint-30" for out in outs)
    for name in ("model.safetensors", "optimizer.safetensors", "vocab.json"):
        runs.check((a / name).read_bytes() == (b / name).read_bytes(),
                   f"text: {name} resumed bit for bit")


def check_lengths(runs):
    """Documents that run in programs for shorter sequences."""
    start = text_model(runs)
    data = runs.work / "docs.txt"
    data.write_bytes(b"\n".join(words(1 + i * i % 7, i) for i in range(90)))
    settings = ["--model", start, "--data", data, "--split", "0.2",
                "--accumulate", 3, "--lr", "1e-3", "--steps", 12,
                "--val-every", 6]

    def train(plan, name, *flags):
        out = runs.fresh(name)
        output = subprocess.run(
            runs.command(plan, out, "--json", *settings, *flags), check=True,
            stdout=subprocess.PIPE, text=True).stdout
        return [json.loads(line) for line in output.splitlines()]

    flags = ["--precision=fp32", "--dropout=0.1"]
    whole = train(runs.compile(start, *flags), "padded")
    plan = runs.compile(start, *flags, "--seq-buckets=4,8")
    short = train(plan, "short")
    computed = [sum(s["computed_tokens"] for s in steps)
                for steps in (whole, short)]
    runs.check(computed[0] == 12 * 3 * 2 * 16 and computed[1] < computed[0],
               f"rows computed: {computed}")
    runs.check(all(a["tokens"] == b["tokens"] for a, b in zip(whole, short)),
               "the same labels")
    # As in TrainingLengthsTest.cpp, over 12 steps instead of 4.
    worst = max(abs(a[key] - b[key]) / a[key] for a, b in zip(whole, short)
                for key in ("loss", "grad_norm", "val_loss") if key in a)
    runs.check(worst <= 1e-4, f"losses and norms differ by {worst:.1e}")

    grouped = train(plan, "grouped", "--group-by-length")
    spent = sum(s["computed_tokens"] for s in grouped)
    runs.check(spent < computed[1], f"grouped by length: {spent} rows")
    parts, again = runs.fresh("grouped-parts"), ["--resume", "--steps", 12]
    command = runs.command(plan, parts, "--json", *settings,
                           "--group-by-length", "--save-every", 2)
    status, last, err = interrupt(command, 5, signal.SIGKILL)
    runs.check(status == -signal.SIGKILL, "kill -9")
    subprocess.run(runs.command(plan, parts, *again), check=True,
                   stdout=subprocess.DEVNULL)
    a, b = (runs.work / name / "checkpoint-12"
            for name in ("grouped", "grouped-parts"))
    for name in ("model.safetensors", "optimizer.safetensors"):
        runs.check((a / name).read_bytes() == (b / name).read_bytes(),
                   f"grouped by length: {name} resumed bit for bit")
    runs.refused(runs.command(plan, runs.fresh("bad"), *settings,
                              "--group-by-length", "--no-shuffle"),
                 "--group-by-length and --no-shuffle")
    runs.refused(runs.command(plan, runs.fresh("bad"), "--data", *runs.data,
                              "--steps", 4, "--group-by-length"),
                 "--group-by-length is for texts")


def check_prompts(runs, plan, start, data):
    """Texts of several prompts, and on all of the documents a validation."""
    out = runs.fresh("prompts")
    output = subprocess.run(
        runs.command(plan, out, "--steps", 6, "--model", start, "--data", data,
                     "--val", data, "--val-steps", "all", "--sample-every", 6,
                     "--sample-prompt", "the cat ", "on", "--sample-prompt", "",
                     "--sample-tokens", 5, "--sample-temperature", 0),
        check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = (out / "metrics.jsonl").read_text().splitlines()
    texts = [json.loads(line) for line in lines[-3:]]
    compiled = runs.tools.compile(out / "checkpoint-6", "generate",
                                  "--target=cpu", "--precision=fp32")
    for text, prompt in zip(texts, ("the cat ", "on", None)):
        flags = (["--prompt", prompt] if prompt else
                 ["--prompt-ids", ",".join(map(str, text["prompt_ids"]))])
        line = json.loads(runs.tools.run(
            "gpt2-run", "generate", compiled, "--model", out / "checkpoint-6",
            "--max-new-tokens", 5, "--greedy", "--json", *flags))
        runs.check(line["text"] == text["text"] and
                   (prompt is None or prompt == text["prompt"]) and
                   text["prompt"] + text["text"] in output,
                   f"{text['prompt']!r} goes on with {text['text']!r}")


def check_samples(runs):
    """Texts are those that `generate` makes of the step's checkpoint, and a run
    with them writes the bytes of one without."""
    plain = ["--sample-temperature", 0]
    for flags, draws in (
            (["--precision=fp32"], plain),
            (["--precision=fp32", "--remat=block", "--lm-head-chunks=4"],
             ["--sample-temperature", 0.7, "--sample-top-k", 5,
              "--sample-top-p", 0.9, "--sample-seed", 12345678901]),
            (["--precision=bf16", "--storage=lean"], plain)):
        plan = runs.compile("tiny", *flags)
        common = ["--steps", STEPS, "--lr", "3e-3", "--save-every", 20,
                  "--keep", 0, "--data", *runs.data]
        quiet, out = runs.fresh("quiet"), runs.fresh("samples")
        subprocess.run(runs.command(plan, quiet, *common), check=True,
                       stdout=subprocess.DEVNULL)
        output = subprocess.run(
            runs.command(plan, out, *common, "--json", "--sample-every", 20,
                         *draws), check=True, stdout=subprocess.PIPE,
            text=True).stdout
        lines = [json.loads(line) for line in output.splitlines()]
        texts = [line for line in lines if "output_ids" in line]
        runs.check([t["step"] for t in texts] == [20, 40, 60] and
                   all(t["prompt_ids"] == [256] for t in texts),
                   f"{flags}: a text every 20 steps, from the end of a text on")
        runs.check(lines == [json.loads(line) for line in
                             (out / "metrics.jsonl").read_text().splitlines()],
                   "metrics hold them")
        for text in texts:
            ids = generated(runs, out / f"checkpoint-{text['step']}", flags[0],
                            len(text["output_ids"]), draws)
            runs.check(ids == text["output_ids"] and len(set(ids)) > 1,
                       f"{flags}: step {text['step']} {text['output_ids']}, "
                       f"its checkpoint {ids}")
        for name in ("model.safetensors", "optimizer.safetensors"):
            runs.check((quiet / f"checkpoint-{STEPS}" / name).read_bytes() ==
                       (out / f"checkpoint-{STEPS}" / name).read_bytes(),
                       f"{flags}: {name} as without samples")
    plan = runs.compile("tiny", "--precision=fp32")
    refused = runs.fresh("refused")
    base = ["--data", *runs.data, "--steps", 4, "--sample-every", 2]
    for more, words_of_it in (
            (["--sample-prompt", "Once"], ["--sample-prompt", "tokenizer"]),
            (["--sample-tokens", 16], ["--sample-tokens is 16", "--seq"]),
            (["--sample-top-p", 0], ["--sample-top-p is 0", "above 0"])):
        runs.refused(runs.command(plan, refused, *base, *more), *words_of_it)


def generated(runs, checkpoint, precision, count, draws):
    """What `generate` writes with the settings that train's draws have."""
    plan = runs.tools.compile(checkpoint, "generate", "--target=cpu", precision)
    flags = [str(flag).replace("--sample-", "--") for flag in draws]
    line = runs.tools.run("gpt2-run", "generate", plan, "--model", checkpoint,
                          "--prompt-ids", 256, "--max-new-tokens", count,
                          "--json", *flags)
    return json.loads(line)["output_ids"]


def check_refusals(runs):
    plan = runs.compile("tiny", "--precision=fp32")
    good, command = runs.start(plan, "good")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    resume = runs.command(plan, good, "--resume", "--steps", STEPS + 5)

    runs.refused(command, "holds a run already", "--resume")
    runs.refused(runs.command(plan, good, "--resume"), f"at step {STEPS}")
    other = runs.compile("tiny", "--precision=bf16")
    runs.refused(runs.command(other, good, "--resume", "--steps", 99),
                 "FP32", "BF16")
    runs.refused(runs.command(plan, runs.fresh("none"), "--resume"),
                 "no checkpoint to resume from")
    runs.check(not (runs.work / "none").exists(), "nothing is made")

    base = ["--data", *runs.data, "--steps", 4]
    out = runs.fresh("bad")
    runs.refused(runs.command(plan, out, *base, "--val",
                              runs.work / "val_*.bin"), "matches no file")
    runs.refused(runs.command(plan, out, *base, "--tokens-per-step", 100),
                 "no multiple of the 32 tokens", "take 96 or 128")
    generate = runs.tools.compile("tiny", "generate", "--target=cpu")
    runs.refused(runs.command(generate, out, *base), "--mode=train")
    empty = runs.work / "empty.bin"
    empty.write_bytes(b"")
    runs.refused(runs.command(plan, out, "--data", empty, "--steps", 4),
                 "empty.bin", "empty")
    cut = runs.work / "cut.bin"
    cut.write_bytes(runs.data[0].read_bytes()[:-7])
    runs.refused(runs.command(plan, out, "--data", cut, "--steps", 4),
                 "cut.bin", "truncated")

    # An id past the vocabulary, met halfway through the run.
    tokens = list(words(400))
    tokens[900] = 5000
    bad = write_shard(runs.work / "bad.bin", tokens)
    runs.refused(runs.command(plan, out, "--data", runs.data[0], bad,
                              "--no-shuffle", "--steps", 4000, "--keep", 2),
                 "bad.bin", "token 900 has id 5000", "saved in")
    saved = list(out.glob("checkpoint-*"))
    runs.check(len(saved) == 1, f"saved before the bad shard: {saved}")

    # A full disk: the last checkpoint survives and nothing half-written does.
    before = sorted(path.name for path in good.iterdir()
                    if path.is_dir())
    for limit in (200_000, 700_000):
        runs.refused(resume, "could not be saved", limit=limit)
        runs.check(sorted(path.name for path in good.iterdir()
                          if path.is_dir()) == before, f"{limit}: as before")

    # Damage to the newest checkpoint: the one before it is taken.
    newest, previous = (good / f"checkpoint-{s}" for s in (STEPS, STEPS - 5))
    optimizer = newest / "optimizer.safetensors"
    optimizer.write_bytes(optimizer.read_bytes()[:-1])
    status, last, err = interrupt(resume + ["--json"], 0)
    runs.check(status == 0 and f"resumed from {previous}" in err and
               "truncated" in err, "a half-written checkpoint is passed over")
    for path in good.glob("checkpoint-*"):
        (path / "optimizer.safetensors").unlink()
    runs.refused(resume, "has no optimizer.safetensors", "--model")


if __name__ == "__main__":
    report = Report()
    tools = Tools(sys.argv[1], sys.argv[2])
    {"resume": check_resume, "text": check_text, "lengths": check_lengths,
     "samples": check_samples,
     "refusals": check_refusals}[sys.argv[3]](Runs(tools, report))
    report.done()
