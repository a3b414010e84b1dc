"""What the GPU suite's parts share: plans that are compiled or carried, data,
and checks of which one part's failure does not end the others.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import json
import shutil
import sys
import traceback
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test/numerics"))

from tools import (SHARED, Failure, Report, Tools,  # noqa: E402
                   write_shard)

MINI = SHARED / "models/gpt2-mini"


class Missing(Exception):
    """Something that a check needs and this machine lacks."""


class GpuReport(Report):
    """A report of parts: what one lacks is skipped by name."""

    def skip(self, what, why):
        print(f"skipped: {what}: {why}", flush=True)

    @contextlib.contextmanager
    def part(self, name):
        """Ends with what is missing or wrong in it, and the next one runs."""
        try:
            yield
        except Missing as why:
            self.skip(name, why)
        except Failure as why:
            self.check(False, f"{name}: {why}")
        except Exception as why:  # an output that is not what it should be
            traceback.print_exc()
            self.check(False, f"{name}: {type(why).__name__}: {why}")


class GpuTools(Tools):
    """Compiles plans, or takes those that are in the work folder already. With
    `fresh`, what an earlier run left there is made anew, once."""

    def __init__(self, bin_dir, work_dir, arch, fresh):
        super().__init__(bin_dir, work_dir)
        self.arch = arch
        self.fresh = fresh
        self.made = set()

    def missing(self, name):
        """Whether a file of the work folder is still to be made."""
        if (self.work / name).exists() and (not self.fresh or
                                            name in self.made):
            return False
        if not (self.bin / "gpt2c").exists():
            raise Missing(f"{name} is not in {self.work}, and {self.bin} has "
                          "no gpt2c to make it with")
        self.made.add(name)
        return True

    def plan(self, model, mode, precision, *flags, target="cuda"):
        flags = [f"--target={target}", f"--precision={precision}", *flags]
        if target == "cuda":
            flags.append(f"--arch={self.arch}")
        path = self.plan_path(model, mode, *flags)
        return self.compile(model, mode, *flags) if self.missing(
            path.name) else path

    def run_folder(self, run):
        return self.work / "runs" / run

    def train_command(self, plan, run, *flags):
        return [self.bin / "gpt2-run", "train", plan, "--out",
                self.run_folder(run), "--json", *flags]

    def fresh_run(self, run):
        shutil.rmtree(self.run_folder(run), ignore_errors=True)

    def train(self, plan, run, *flags):
        """The JSON objects of a run's steps."""
        lines = self.run("gpt2-run", *self.train_command(plan, run,
                                                         *flags)[1:])
        return [json.loads(line) for line in lines.splitlines()]

    def bench(self, plan, *flags):
        """What gpt2-run bench says of a plan with random weights."""
        return json.loads(self.run("gpt2-run", "bench", plan,
                                   "--random-weights", "--json", *flags))


def tiny_data(tools):
    """Tokens of a simple pattern that a tiny model's vocabulary holds."""
    path = tools.work / "tiny.bin"
    if not path.exists():
        write_shard(path, [(i * i + i // 7) % 89 for i in range(4000)])
    return path


def need_mini():
    """gpt2-mini, which lies beside the repository."""
    if not MINI.is_dir():
        raise Missing(f"{MINI} is not here")


def need_torch():
    """PyTorch and transformers, for comparisons with them."""
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise Missing(error) from None
