# SPDX-License-Identifier: MIT
"""What the library that runs is made of."""
import pathlib

from ._library import SONAME, c_char_p, declare, lib, version

declare("qb_build_summary", result=c_char_p)


def show_config():
    """A dictionary: the version, the library's file, what each part of it is ("FFT", "HDF5", "CUDA", ...), and the
    licences of what a wheel holds besides, by name."""
    parts = dict(line.split(": ", 1) for line in lib.qb_build_summary().decode().splitlines())
    texts = sorted((pathlib.Path(__file__).parent / "LICENSES").glob("*.txt"))
    return {"version": version(), "library": lib._name or SONAME, "parts": parts, "licences": {p.stem: p.read_text() for p in texts}}
