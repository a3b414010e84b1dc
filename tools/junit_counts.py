#!/usr/bin/env python3
"""Prints "passed failed skipped" of a JUnit file, as ctest and lit write them.

SPDX-License-Identifier: Apache-2.0
"""
import sys
import xml.etree.ElementTree as ET


def outcome(case):
    """ctest says it in `status`, both say it in child elements."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in (
            "notrun", "disabled"):
        return "skipped"
    return "failed" if case.get("status") == "fail" else "passed"


def main():
    try:
        cases = list(ET.parse(sys.argv[1]).iter("testcase"))
    except (OSError, ET.ParseError) as error:
        sys.exit(f"junit_counts: {sys.argv[1]}: {error}")
    outcomes = [outcome(case) for case in cases]
    print(*(outcomes.count(o) for o in ("passed", "failed", "skipped")))


if __name__ == "__main__":
    main()
