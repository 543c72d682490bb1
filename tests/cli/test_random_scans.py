# SPDX-License-Identifier: MIT
"""Random scans with one to three faults each: refused, warned of, or right. random_scans.py by hand tries thousands."""
import os
import random

import pytest

from qbtest import QUICK
from random_scans import KINDS, Bench


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("scans"))


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("photons", [0, 20000])
def test_a_good_scan_is_not_warned_of(bench, kind, photons):
    assert bench.truth(kind, photons) > 0


def test_no_volume_is_wrong_in_silence(bench):
    seed = os.environ.get("QB_SEED") or str(random.randrange(1 << 30))
    wrong = [trouble for number in range(10 if QUICK else 100) if (trouble := bench.case(number, seed)[0])]
    assert not wrong, f"random_scans.py --seed {seed}: " + "; ".join(wrong)
