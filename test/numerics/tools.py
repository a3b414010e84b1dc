"""Runs the tools and reads their outputs, with the standard library alone.

SPDX-License-Identifier: Apache-2.0
"""
import array
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
MODELS = REPO / "test/numerics/models"
# Larger models and texts lie beside the repository; tests that want them are
# skipped where they are absent.
SHARED = Path(os.environ.get("GPT2_SHARED", REPO.parent / "shared"))
# Models with references, one folder each: GPT2_VARIANTS names another copy, such
# as complete_variants.py makes.
VARIANTS = Path(os.environ.get("GPT2_VARIANTS", SHARED / "models/variants"))
SKIPPED = 77  # the exit status that ctest counts as skipped

_TYPES = {"F32": "f", "F64": "d", "I64": "q", "I32": "i"}


def header(data):
    """(the entries by name, where the tensors begin) of a safetensors file."""
    (length,) = struct.unpack_from("<Q", data)
    entries = json.loads(data[8:8 + length])
    entries.pop("__metadata__", None)
    return entries, 8 + length


def read_safetensors(path):
    """{name: (shape, values)} of a file with 4 and 8 byte types."""
    data = Path(path).read_bytes()
    entries, start = header(data)
    tensors = {}
    for name, entry in entries.items():
        begin, end = entry["data_offsets"]
        values = array.array(_TYPES[entry["dtype"]])
        values.frombytes(data[start + begin:start + end])
        tensors[name] = (entry["shape"], values)
    return tensors


def rows(tensor):
    """The rows of a tensor along its last dimension."""
    shape, values = tensor
    width = shape[-1]
    return [values[i:i + width] for i in range(0, len(values), width)]


def joined(ids):
    return ",".join(str(i) for i in ids)


def largest_difference(ours, theirs):
    """max |a - b| over max |b|; infinite when a value is not a number."""
    assert len(ours) == len(theirs), (len(ours), len(theirs))
    scale = max(abs(value) for value in theirs)
    worst = 0.0
    for a, b in zip(ours, theirs):
        difference = abs(a - b)
        if not difference <= worst:
            worst = difference if difference == difference else float("inf")
    return worst / scale


def write_shard(path, tokens):
    """A token shard in llm.c's format."""
    path.write_bytes(struct.pack("<3i", 20240520, 1, len(tokens)) +
                     bytes(1012) + array.array("H", list(tokens)).tobytes())
    return path


def same_files(a, b):
    """Whether two folders hold the same files, to the byte."""
    names = sorted(path.name for path in a.iterdir())
    return names == sorted(path.name for path in b.iterdir()) and all(
        (a / name).read_bytes() == (b / name).read_bytes() for name in names)


def interrupt(command, at, *signals):
    """Sends signals to a training run when it has told of step `at`: its exit
    status, the last step it told of, and its messages."""
    command = [str(part) for part in command]
    print("$", *command, f"# {signals} at {at}", flush=True)
    process = subprocess.Popen(command, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    last = 0
    for line in process.stdout:
        last = json.loads(line)["step"]
        if last == at:
            for number in signals:
                process.send_signal(number)
    return process.wait(), last, process.stderr.read()


class Failure(SystemExit):
    """A tool that is not there, or ended with another status than 0; ends the
    program where nobody catches it."""


class Tools:
    """gpt2c and gpt2-run of one build; commands are echoed as they run."""

    def __init__(self, bin_dir, work_dir):
        self.bin = Path(bin_dir)
        self.work = Path(work_dir)
        self.work.mkdir(parents=True, exist_ok=True)

    def run(self, *command):
        command = [str(part) for part in command]
        print("$", " ".join(command), flush=True)
        program = self.bin / command[0]
        if not program.exists():
            raise Failure(f"FAILED: {program} is not there")
        done = subprocess.run([program, *command[1:]], capture_output=True,
                              text=True)
        print(done.stderr, end="", file=sys.stderr, flush=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            raise Failure(f"FAILED: exit status {done.returncode}: {last}")
        return done.stdout

    def plan_path(self, model, mode, *flags):
        name = "-".join([Path(model).name, mode,
                         *(f.strip("-") for f in flags)])
        return self.work / (name.replace("=", "_") + ".plan")

    def compile(self, model, mode, *flags):
        plan = self.plan_path(model, mode, *flags)
        self.run("gpt2c", model, "-o", plan, f"--mode={mode}", *flags)
        return plan

    def logits(self, plan, model, ids):
        """One row of logits an id."""
        out = self.work / "logits.safetensors"
        out.unlink(missing_ok=True)
        self.run("gpt2-run", "eval", plan, "--model", model, "--ids",
                 joined(ids), "--logits", out)
        return rows(read_safetensors(out)["logits"])

    def generate(self, plan, model, ids, count, *flags):
        """The greedy continuation of `ids`, whatever eos says."""
        line = self.run("gpt2-run", "generate", plan, "--model", model,
                        "--prompt-ids", joined(ids), "--max-new-tokens", count,
                        "--greedy", "--ignore-eos", "--json", *flags)
        return json.loads(line)["output_ids"]


class Report:
    """Counts checks and times them; `done` ends the program with what they
    came to."""

    def __init__(self):
        self.failed = 0
        self.start = time.monotonic()

    def check(self, ok, what):
        """`what` took the time since the check before it."""
        now = time.monotonic()
        print("ok    " if ok else "FAILED", what,
              f"({now - self.start:.1f} s)", flush=True)
        self.start = now
        self.failed += not ok

    def done(self):
        sys.exit(1 if self.failed else 0)


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)
