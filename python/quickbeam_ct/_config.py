# SPDX-License-Identifier: MIT
"""What the library that runs is made of."""
import ctypes
import pathlib

from ._command import name_mpi
from ._library import OK, SONAME, c_char_p, c_size_t, declare, lib, version

declare("qb_build_summary", result=c_char_p)
declare("qb_ranks_library", c_char_p, c_size_t)


def _mpi_found():
    name_mpi()
    room = ctypes.create_string_buffer(256)
    return (room.value if lib.qb_ranks_library(room, len(room)) == OK else lib.qb_detail()).decode(errors="replace")


def show_config():
    """A dictionary: the version, the library's file, what each part of it is ("FFT", "HDF5", "CUDA", ...), and the
    licences of what a wheel holds besides, by name."""
    parts = dict(line.split(": ", 1) for line in lib.qb_build_summary().decode().splitlines())
    if "MPICH are looked for" in parts["MPI"]:
        parts["MPI that is found"] = _mpi_found()
    texts = sorted((pathlib.Path(__file__).parent / "LICENSES").glob("*.txt"))
    return {"version": version(), "library": lib._name or SONAME, "parts": parts, "licences": {p.stem: p.read_text() for p in texts}}
