# SPDX-License-Identifier: MIT
"""The curve of --hardening, found in the scan of one material, of a table, or of a spectrum: aluminium under 120 kV, whose slices are dark in the middle."""
import numpy as np
import pytest

from qbtest import fails, few, instead, opencl, qb, qb_json

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


@pytest.mark.parametrize("verb", ["fbp", "fdk", "convert"])
def test_fit(tmp_path, verb):
    """--hardening fit does what the curve that qb hardening prints does."""
    beam = "cone" if verb == "fdk" else "parallel"
    scan = harden(tmp_path, "disc", beam, columns=96, views=90)
    of_cone = CONE if verb == "fdk" else []
    found = qb_json("hardening", *scan, *of_cone, cwd=tmp_path)
    curve = "{:.5g},{:.5g}".format(*found["hardening"])
    place = {"fbp": ["--center", 50.75], "fdk": [*CONE, "--detector-offset=-1.95,0"], "convert": []}[verb]
    said = qb(verb, *scan, *place, "--hardening", "fit", "-o", "fit.npy", cwd=tmp_path).stderr
    qb(verb, *scan, *place, f"--hardening={curve}", "-o", "given.npy", cwd=tmp_path)
    assert f"--hardening fit found {curve}:" in said
    assert (np.load(tmp_path / "fit.npy") == np.load(tmp_path / "given.npy")).all()
    assert "leave this option out" in fails(2, "hardening", *scan, *of_cone, "--hardening", "fit", cwd=tmp_path)


def test_what_is_printed_is_an_option(tmp_path):
    scan = harden(tmp_path, "disc", "parallel")
    said = qb("hardening", *scan, cwd=tmp_path).stdout
    assert said.startswith("--hardening 0.0")
    qb("fbp", *scan, "--center", 82.75, *said.splitlines()[0].split(), "-o", "v.npy", cwd=tmp_path)


@pytest.mark.parametrize("phantom", ["shepp-logan", "spheres"])
def test_several_materials_and_little_of_them_are_refused(tmp_path, phantom):
    scan = harden(tmp_path, phantom, "parallel")
    assert "one material" in qb("hardening", *scan, code=3, cwd=tmp_path).stderr


VERBS = {"fbp": ["--center", "middle"], "fdk": ["-g", "cone", *CONE], "sirt": ["--center", "middle", "--iterations", 100]}
TUBE = "al,120,al:1,at:60"


def middle(volume):
    y, x = np.mgrid[:volume.shape[-2], :volume.shape[-1]] - (volume.shape[-1] - 1) / 2
    return volume[len(volume) // 2][np.hypot(x, y) < 0.2 * volume.shape[-1]]


@pytest.mark.parametrize("verb,photons", few(("fbp", 0), ("fdk", 4e6), others=[("sirt", 0)]))
def test_a_tube(tmp_path, verb, photons):
    """A disc of aluminium under a tube comes back as one at 60 keV, 0.075/mm, and even: as it was without the tube."""
    beam = VERBS["fdk"] if verb == "fdk" else []
    same = ["--detector", "96,6", "--views", 120, "--pixel-size", 1, "--attenuation", 0.075, "--photons", photons, *beam]
    how = VERBS[verb][2:] if verb == "fdk" else VERBS[verb]
    mean, cup = {}, {}
    for name, tube, more in (("mono", [], []), ("left", ["--spectrum", TUBE], []), ("done", ["--spectrum", TUBE], ["--hardening", f"spectrum:{TUBE}"])):
        qb("simulate", "disc", *same, *tube, "-o", "s.h5", cwd=tmp_path)
        said = qb(verb, "s.h5", *how, *more, "-o", "v.npy", cwd=tmp_path).stderr
        volume = np.load(tmp_path / "v.npy")
        mean[name], cup[name] = middle(volume).mean(), cupping(volume[3])
    assert cup["left"] - cup["mono"] > 0.1 and abs(cup["done"] - cup["mono"]) < 1e-3 and "warning" not in said, cup
    assert abs(mean["done"] / mean["mono"] - 1) < 0.005 < abs(mean["left"] / mean["mono"] - 1), mean


def test_devices(opencl, tmp_path):
    """A table on a device as on the CPU, for counts, transmissions and line integrals."""
    (tmp_path / "t.txt").write_text("# measured true\n0 0\n0.5 0.52\n1, 1.1\n2 2.4\n4 5.6\n")
    for photons, curve in (0, f"spectrum:{TUBE}"), (3e4, "table:t.txt"):
        qb("simulate", "disc", "--detector", "64,4", "--views", 60, "--pixel-size", 1, "--attenuation", 0.06, "--photons", photons, "-o", "s.h5", cwd=tmp_path)
        for device in "cpu", opencl:
            qb("fbp", "s.h5", "--center", "middle", "--hardening", curve, "--device", device, "-o", f"{device[:3]}.npy", cwd=tmp_path)
        one, other = np.load(tmp_path / "cpu.npy"), np.load(tmp_path / "ope.npy")
        assert np.linalg.norm(one - other) < 1e-3 * np.linalg.norm(one)


def test_tables(tmp_path):
    """What was measured behind lengths of aluminium, in a file: the disc comes back at NIST's 0.2778 cm2/g of 60 keV."""
    lengths = np.linspace(0, 80, 100)
    seen = sum(share * np.exp(-mu * lengths) for share, mu in zip(SPECTRUM, ALUMINIUM))
    np.savetxt(tmp_path / "t.txt", np.column_stack([-np.log(seen), ALUMINIUM[4] * lengths])[1:], header="measured true")
    scan = harden(tmp_path, "disc", "parallel")
    qb("fbp", *scan, "--center", 82.75, "--hardening", "table:t.txt", "-o", "v.npy", cwd=tmp_path)
    volume = np.load(tmp_path / "v.npy")
    assert abs(cupping(volume[6])) < 0.01 and middle(volume).mean() == pytest.approx(ALUMINIUM[4], rel=5e-3)
    qb("convert", *scan[:3], "--angles", "0:180", "--hardening", "table:t.txt", "-o", "c.npy", cwd=tmp_path)
    rays = np.load(tmp_path / "p.npy").astype(float)
    want = np.interp(rays, -np.log(seen), ALUMINIUM[4] * lengths)
    assert abs(np.load(tmp_path / "c.npy") - want).max() < 2e-3


def test_exchanged_columns(tmp_path):
    """True, measured: a curve that bends the other way is named by every method; the right one and a straight one are not."""
    scan = harden(tmp_path, "disc", "parallel", columns=64, views=40)
    for text, warned in ("0.6 0.5\n1.4 1\n3.2 2\n", True), ("0.5 0.6\n1 1.4\n2 3.2\n", False), ("1 1.5\n2 3\n", False):
        (tmp_path / "t.txt").write_text(text)
        for verb in ["fbp"], ["sirt", "--iterations", 1]:
            said = qb(*verb, *scan, "--center", "middle", "--hardening", "table:t.txt", "-o", "v.npy", cwd=tmp_path).stderr
            assert ("[hardening-lowers]" in said) == warned, said


def test_bad_tables(tmp_path):
    scan = harden(tmp_path, "disc", "parallel", columns=32, views=20)
    job = ["fbp", *scan, "--center", "middle", "--hardening", "table:t.txt", "-o", "v.npy"]
    for text, said in ("1 1\n0.5 2\n", "must rise"), ("1 1\n2 1\n", "must rise"), ("1 1\n", "1 line:"), ("1 one\n", "not two numbers"), ("", "0 lines"):
        (tmp_path / "t.txt").write_text(text)
        fails(3, *job, says=[said], cwd=tmp_path)
    fails(3, *instead(job, "--hardening", "table:none.txt"), says=["none.txt"], cwd=tmp_path)


def test_bad_spectra(tmp_path):
    job = ["simulate", "disc", "--detector", "16,2", "--views", 4, "-o", "s.h5", "--spectrum"]
    fails(2, *job, "al,10", says=["no flux"], cwd=tmp_path)
    fails(2, *job, "al,60,sn:90", says=["no flux", "are they in mm?"], cwd=tmp_path)
    fails(2, "simulate", "disc", "--spectrum", "al,60", "-o", "s.sim", says=["--spectrum"], cwd=tmp_path)
