"""Checks a token shard; with more shards, that they are its parts in order.

SPDX-License-Identifier: Apache-2.0
"""
import array
import sys


def read(path):
    data = open(path, "rb").read()
    header = array.array("i", data[:1024])
    tokens = array.array("H", data[1024:])
    assert header[0] == 20240520 and header[1] == 1, list(header[:3])
    assert header[2] == len(tokens) > 0, (header[2], len(tokens))
    assert not any(header[3:])
    return tokens


whole = read(sys.argv[1])
parts = [read(path) for path in sys.argv[2:]]
if parts:
    assert sum(parts[1:], parts[0]) == whole
