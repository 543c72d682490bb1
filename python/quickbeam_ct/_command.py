# SPDX-License-Identifier: MIT
"""The command `qb` of the wheel."""
import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).with_name("bin") / "qb"
    os.execv(program, ["qb", *sys.argv[1:]])
