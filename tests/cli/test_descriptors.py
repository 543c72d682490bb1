# SPDX-License-Identifier: MIT
"""A shell may start qb with standard descriptors closed (`2>&-`): no output may then get such a number, and with it the words
meant for a terminal."""
import os
import subprocess

import numpy as np
import pytest

from qbtest import PATIENCE, QB, leftovers, qb, qb_json, write_scan

CLOSED = [(0,), (1,), (2,), (1, 2), (0, 1, 2)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("descriptors")
    p = np.random.default_rng(5).uniform(0, 1, (12, 4, 32)).astype(np.float32)
    write_scan(folder / "scan.h5", p, np.arange(12) * 15.0, quantity="line_integral")
    for name in ("v.raw", "v.npy", "v.h5", "v.tif", "v/"):
        (folder / "plain").mkdir(exist_ok=True)
        qb(*command(f"plain/{name}"), cwd=folder)
    return folder


def command(name):
    """It has things to say on both: --verbose on standard error, --json on standard output."""
    return ["fbp", "scan.h5", "--center", "15.5", "--threads", "2", "--verbose", "--json", "-o", name]


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("name", ["v.raw", "v.npy", "v.h5", "v.tif", "v/"])
def test_closed_descriptors_change_no_output(place, name, closed):
    def close():
        for number in closed:
            os.close(number)

    folder = "_".join(map(str, closed))
    (place / folder).mkdir(exist_ok=True)
    done = subprocess.run([QB, *command(f"{folder}/{name}")], cwd=place, preexec_fn=close, timeout=PATIENCE,
                          stdout=None if 1 in closed else subprocess.DEVNULL, stderr=None if 2 in closed else subprocess.DEVNULL)
    assert done.returncode == 0 and not [n for n in leftovers(place / folder) if n.startswith(".")]
    here, there = place / folder / name, place / "plain" / name
    if name in ("v.raw", "v.npy"):
        assert here.read_bytes() == there.read_bytes()
    assert qb_json("compare", here, there)["max_abs"] == 0
