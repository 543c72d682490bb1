# SPDX-License-Identifier: MIT
"""The curve of --hardening is found in the scan of one material: aluminium under 120 kV, whose slices are dark in the middle."""
import numpy as np
import pytest

from qbtest import qb, qb_json

# NIST's mass attenuation of aluminium (cm2/g) at these energies (keV), times 2.699 g/cm3, in 1/mm; and a filtered tube's share of each.
ENERGY = np.array([20, 30, 40, 50, 60, 80, 100, 120])
ALUMINIUM = np.array([3.441, 1.128, 0.5685, 0.3681, 0.2778, 0.2018, 0.1704, 0.155]) * 2.699 / 10
SPECTRUM = np.array([2, 9, 14, 15, 20, 14, 8, 1]) / 83
CONE = ["--sod", 200, "--sdd", 400]


def harden(folder, phantom, beam, photons=None, columns=160, views=120):
    """p.npy, line integrals of the beam's whole spectrum, and the options that read it."""
    more = ["-g", "cone", *CONE, "--pixel-size", 0.6] if beam == "cone" else ["--pixel-size", 0.3]
    qb("simulate", phantom, *more, "--detector", f"{columns},12", "--views", views, "--attenuation", 0.02, "--center-offset", 3.25, "-o", "t.npy", cwd=folder)
    path = -np.log(np.load(folder / "t.npy").astype(float)) / 0.02
    seen = sum(share * np.exp(-mu * path) for share, mu in zip(SPECTRUM, ALUMINIUM))
    if photons:
        seen = np.maximum(np.random.default_rng(1).poisson(photons * seen), 1) / photons
    np.save(folder / "p.npy", -np.log(seen).astype(np.float32))
    return ["p.npy", "--quantity", "line_integral", "--angles", "0:360" if beam == "cone" else "0:180", "--pixel-size", 0.6 if beam == "cone" else 0.3]


def cupping(slice_):
    """Share that the middle of a disc lacks of its rim."""
    y, x = np.mgrid[:slice_.shape[0], :slice_.shape[1]] - (slice_.shape[0] - 1) / 2
    radius = np.hypot(x, y)
    edge = np.sqrt((slice_ > 0.5 * np.median(slice_[radius < 20])).sum() / np.pi)
    return 1 - slice_[radius < 0.3 * edge].mean() / slice_[(radius > edge - 8) & (radius < edge - 5)].mean()


@pytest.mark.parametrize("beam", ["parallel", "cone"])
@pytest.mark.parametrize("photons", [None, 20000])
def test_cupping_goes(tmp_path, beam, photons):
    scan = harden(tmp_path, "disc", beam, photons)
    found = qb_json("hardening", *scan, *(CONE if beam == "cone" else []), cwd=tmp_path)
    assert found["column"] == pytest.approx(82.75, abs=0.3) and not found["warnings"]
    assert found["loss"] == pytest.approx(0.21, abs=0.04) and found["rms"] < 0.01
    place = ["fdk", *scan, *CONE, "--detector-offset=-1.95,0"] if beam == "cone" else ["fbp", *scan, "--center", 82.75]
    left = {}
    for name, more in (("without", []), ("with", ["--hardening", f"{found['hardening'][0]},{found['hardening'][1]}"])):
        qb(*place, *more, "-o", "v.npy", cwd=tmp_path)
        left[name] = cupping(np.load(tmp_path / "v.npy")[6])
    assert left["without"] > 0.13 and abs(left["with"]) < 0.01


def test_what_is_printed_is_an_option(tmp_path):
    scan = harden(tmp_path, "disc", "parallel")
    said = qb("hardening", *scan, cwd=tmp_path).stdout
    assert said.startswith("--hardening 0.0")
    qb("fbp", *scan, "--center", 82.75, *said.splitlines()[0].split(), "-o", "v.npy", cwd=tmp_path)


@pytest.mark.parametrize("phantom", ["shepp-logan", "spheres"])
def test_several_materials_and_little_of_them_are_refused(tmp_path, phantom):
    scan = harden(tmp_path, phantom, "parallel")
    assert "one material" in qb("hardening", *scan, code=3, cwd=tmp_path).stderr
