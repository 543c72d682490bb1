# SPDX-License-Identifier: MIT
"""--scatter undoes qb simulate --faults scatter=S and smooth=A: values come back, for counts and transmissions, parallel and cone."""
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

CONE = ["--geometry", "cone", "--sod", "300", "--sdd", "500"]


SCATTER = {"scatter=0.05": "constant:0.05", "smooth=0.1": "smooth:0.1,6"}  # 6: an eighth of the columns


@pytest.mark.parametrize("fault", SCATTER)
@pytest.mark.parametrize("photons", [[], ["--photons", "1e6"]])
@pytest.mark.parametrize("verb", ["fbp", "fdk", "sirt"])
def test_values_come_back(tmp_path, verb, photons, fault):
    beam = CONE if verb == "fdk" else []
    how = CONE[2:] if verb == "fdk" else ["--center", "23.5"]
    how += ["--iterations", "100"] if verb == "sirt" else []
    same = ["--detector", "48,8", "--views", "90", "--pixel-size", "2", *beam, *photons]
    qb("simulate", "disc", *same, "-o", tmp_path / "clean.h5")
    qb("simulate", "disc", *same, "--faults", fault, "-o", tmp_path / "s.h5")
    volume = {}
    for name, scan, more in (("clean", "clean.h5", []), ("left", "s.h5", []), ("done", "s.h5", ["--scatter", SCATTER[fault]])):
        qb(verb, tmp_path / scan, "-o", tmp_path / "v.npy", *how, *more)
        volume[name] = np.load(tmp_path / "v.npy")[4]
    error = {k: abs(volume[k] - volume["clean"])[16:32, 16:32].max() for k in ("left", "done")}
    assert error["left"] > 5e-4 and error["done"] < error["left"] / 10, error


@pytest.mark.parametrize("rows", [1, 40])
def test_a_gaussian(tmp_path, rows):
    """What is simulated is 1 - (1 - P) * (1 - A G); what comes back is -ln P, in any rows and however it is cut."""
    same = ["--detector", f"64,{rows}", "--views", "12", "--pixel-size", "2", "-g", "cone", *CONE[2:]]
    qb("simulate", "spheres", *same, "-o", tmp_path / "clean.npy")
    qb("simulate", "spheres", *same, "--faults", "smooth=0.3", "-o", tmp_path / "s.npy")
    clean, seen = np.load(tmp_path / "clean.npy").astype(float), np.load(tmp_path / "s.npy")
    spread = 1 - clean
    kernel = np.exp(-0.5 * (np.arange(-40, 41) / 8) ** 2)
    for axis in (1, 2) if rows > 1 else (2,):
        padded = np.pad(spread, [(40 * (a == axis),) * 2 for a in range(3)], mode="edge")
        spread = np.apply_along_axis(lambda line: np.convolve(line, kernel / kernel.sum(), "valid"), axis, padded)
    assert abs(seen - clean - 0.3 * spread).max() < 1e-6 < 0.01 < spread.max()
    job = ["convert", tmp_path / "s.npy", "--quantity", "transmission", "--angles", "0:360", "--scatter", "smooth:0.3,8"]
    told = qb(*job, "-o", tmp_path / "p.npy").stderr
    done = np.load(tmp_path / "p.npy")
    assert "spread by a Gaussian of 8 columns" in told and abs(done + np.log(clean)).max() < 2e-3 < 0.02 < abs(np.log(seen / clean)).max()
    if rows > 1:
        job = ["fdk", *job[1:], *CONE[2:], "--pixel-size", 2]
        kernel = qb_json(*job, "-o", tmp_path / "v.npy")["kernel"]  # few slices may have another one
        qb(*job, "-t", 1, "--kernel", kernel, "--slices", "17:29", "-o", tmp_path / "w.npy")
        assert abs(np.load(tmp_path / "w.npy") - np.load(tmp_path / "v.npy")[17:29]).max() < 1e-8


def test_refused(tmp_path):
    qb("simulate", "disc", "--detector", "24,4", "--views", "30", "-o", tmp_path / "s.h5")
    job = ["fbp", tmp_path / "s.h5", "-o", tmp_path / "v.npy", "--center", "11.5", "--scatter"]
    assert "constant:S" in fails(2, *job, "constant:1") and "constant:S" in fails(2, *job, "smooth")
    assert "A above 0 and up to 0.5" in fails(2, *job, "smooth:0.6,6") and "smooth:A,SIGMA" in fails(2, *job, "smooth:0.1")
    assert "half of the detector" in fails(2, *job, "smooth:0.1,13") and "half of the detector" in fails(2, *job, "smooth:0.1,0.5")
    assert "line integrals" in fails(2, *job, "smooth:0.1,3", "--quantity", "line_integral")
    assert "line integrals" in fails(2, *job, "constant:0.1", "--quantity", "line_integral")
