# SPDX-License-Identifier: MIT
"""--scatter constant:S undoes qb simulate --faults scatter=S: values come back, for counts and transmissions, parallel and cone."""
import numpy as np
import pytest

from qbtest import fails, qb

CONE = ["--geometry", "cone", "--sod", "300", "--sdd", "500"]


@pytest.mark.parametrize("photons", [[], ["--photons", "1e6"]])
@pytest.mark.parametrize("verb", ["fbp", "fdk", "sirt"])
def test_values_come_back(tmp_path, verb, photons):
    beam = CONE if verb == "fdk" else []
    how = CONE[2:] if verb == "fdk" else ["--center", "23.5"]
    how += ["--iterations", "100"] if verb == "sirt" else []
    same = ["--detector", "48,8", "--views", "90", "--pixel-size", "2", *beam, *photons]
    qb("simulate", "disc", *same, "-o", tmp_path / "clean.h5")
    qb("simulate", "disc", *same, "--faults", "scatter=0.05", "-o", tmp_path / "s.h5")
    volume = {}
    for name, scan, more in (("clean", "clean.h5", []), ("left", "s.h5", []), ("done", "s.h5", ["--scatter", "constant:0.05"])):
        qb(verb, tmp_path / scan, "-o", tmp_path / "v.npy", *how, *more)
        volume[name] = np.load(tmp_path / "v.npy")[4]
    error = {k: abs(volume[k] - volume["clean"])[16:32, 16:32].max() for k in ("left", "done")}
    assert error["left"] > 5e-4 and error["done"] < error["left"] / 10, error


def test_refused(tmp_path):
    qb("simulate", "disc", "--detector", "24,4", "--views", "30", "-o", tmp_path / "s.h5")
    job = ["fbp", tmp_path / "s.h5", "-o", tmp_path / "v.npy", "--center", "11.5", "--scatter"]
    assert "constant:S" in fails(2, *job, "constant:1") and "constant:S" in fails(2, *job, "smooth")
    assert "line integrals" in fails(2, *job, "constant:0.1", "--quantity", "line_integral")
