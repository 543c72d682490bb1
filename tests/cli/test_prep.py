# SPDX-License-Identifier: MIT
"""Corrections of the detector's numbers, through the whole command: scans with a fault that is known."""
import numpy as np
import pytest

from qbtest import circle, qb, read_h5, sinogram, write_scan


@pytest.mark.parametrize("quantity", ["line_integral", "transmission"])
def test_a_hardened_disc_is_flat_again(tmp_path, quantity):
    """A disc whose line integrals p were hardened to m, where m + 0.06 m^2 + 0.01 m^3 = p."""
    n, mu = 192, 0.02
    angles = np.arange(200) * 0.9
    p = sinogram([(mu, 75, 75, 0, 0, 0)], angles, n, (n - 1) / 2)
    m = p.copy()
    for _ in range(30):
        m -= (m + 0.06 * m**2 + 0.01 * m**3 - p) / (1 + 0.12 * m + 0.03 * m**2)
    values = m if quantity == "line_integral" else np.exp(-m)
    write_scan(tmp_path / "s.h5", values[:, None].astype(np.float32), angles, quantity=quantity)

    def parts(*options):
        qb("fbp", "s.h5", "-o", "v.h5", "--center", (n - 1) / 2, "--accuracy", "high", *options, cwd=tmp_path)
        found = read_h5(tmp_path / "v.h5")[0]
        return found[circle(n, 20)].mean() / mu, found[circle(n, 68) & ~circle(n, 60)].mean() / mu

    middle, rim = parts()
    assert middle < 0.93 * rim, "the cup that is to be filled"
    middle, rim = parts("--hardening", "0.06,0.01")
    assert abs(middle - 1) < 0.005 and abs(rim - 1) < 0.005, (middle, rim)
