#!/usr/bin/env python3
"""Checks that each generated page documents something: a heading, more than a
heading, and a description under every op or pass.

    check_docs.py FOLDER PAGE...

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys
from pathlib import Path


def faults(page):
    if not page.is_file():
        return ["was not generated"]
    sections = re.split(r"^(?=#+ )", page.read_text(), flags=re.M)[1:]
    if len(sections) < 2:
        return ["documents nothing"]
    return [f"`{name}` says nothing" for name, text in
            (s.split("\n", 1) for s in sections)
            if name.startswith("### `") and not text.strip()]


def main():
    folder, *pages = sys.argv[1:]
    found = [f"{page}.md {fault}" for page in pages
             for fault in faults(Path(folder) / f"{page}.md")]
    print("\n".join(found) or f"{len(pages)} pages")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
