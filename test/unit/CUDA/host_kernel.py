#!/usr/bin/env python3
"""Writes a translation unit that runs a template kernel on the host.

    host_kernel.py OUTPUT NAME KEY=VALUE... -- FILE.cuh...

The unit defines `void run_NAME(const unsigned *grid, unsigned threads,
void **args)`. Functions that are inline PTX are replaced by calls of
HostGpu.h; one that is not found is an error, so that a change of the templates
cannot leave one out.

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys
from pathlib import Path

BODIES = {
    "copyAsync": "requireAligned(to, BYTES); requireAligned(from, BYTES); "
                 "if (valid) std::memcpy(to, from, BYTES); "
                 "else std::memset(to, 0, BYTES);",
    "commitCopies": "",
    "awaitCopies": "",
    "hidden": "return value;",
    "sharedAddress": "return static_cast<const char *>(generic);",
    "loadMatrices": "gpt2host::loadMatrices(r, address, false);",
    "loadTransposed": "gpt2host::loadMatrices(r, address, true);",
    # Two overloads each, by the type of their last parameter.
    "multiply": "gpt2host::multiply<ELEMENT>(c, a, b0, b1);",
    "multiplyFirst": "c[0] = c[1] = c[2] = c[3] = 0.0f; "
                     "gpt2host::multiply<ELEMENT>(c, a, b0, b1);",
}
# Adding to one adds bytes.
ADDRESS = "typedef {} SharedAddress;"
INTEGERS = r"typedef [a-z ]+ u?int(32|64)_t;\n"


def replace_bodies(text):
    """Gives the functions of BODIES that `text` defines a host body."""
    def substitute(match):
        head, name, parameters = match.group(1, 2, 3)
        last = parameters.rpartition(" ")[2]
        body = BODIES[name].replace("ELEMENT", last)
        return f"{head}{name}({parameters}) {{ {body} }}\n"

    names = "|".join(sorted(BODIES, reverse=True))
    text = re.sub(rf"^(DEVICE \w+ )({names})\(([^)]*(?:\(&\w\)[^)]*)*)\) "
                  r"\{(?:[^\n]*\}\n|.*?^\}\n)",
                  substitute, text, flags=re.S | re.M)
    if "asm" in re.sub(r"(?ms)^#if CLUSTERS\n.*?^#endif\n", "", text):
        sys.exit("host_kernel.py: inline PTX without a host body")
    return text


def main():
    split = sys.argv.index("--")
    output, name = sys.argv[1:3]
    text = "".join(Path(file).read_text() for file in sys.argv[split + 1:])
    text = re.sub(r"(?m)^//.*\n", "", text)
    text = re.sub(INTEGERS, "", text)
    text = text.replace(ADDRESS.format("unsigned"),
                        ADDRESS.format("const char *"))
    text = text.replace("unsigned long long *workspace", "uint64_t *workspace")
    defines = "".join("#define %s %s\n" % tuple(entry.split("=", 1))
                      for entry in sys.argv[3:split])
    Path(output).write_text(
        '#include "test/unit/CUDA/HostGpu.h"\n'
        "using namespace gpt2host;\nusing std::max;\nusing std::min;\n"
        f"{defines}#define KERNEL_NAME kernel_{name}\n#define CLUSTERS 0\n"
        f"namespace {{\n{replace_bodies(text)}\n}} // namespace\n"
        f"void run_{name}(const unsigned *grid, unsigned threads, "
        "void **args) {\n"
        f"  gpt2host::launch(kernel_{name}, grid, threads, args);\n}}\n")


if __name__ == "__main__":
    main()
