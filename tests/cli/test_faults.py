# SPDX-License-Identifier: MIT
"""qb simulate --faults: what each kind does to a scan, against the same scan without it; and which --rings takes it off."""
import h5py
import numpy as np
import pytest

from qbtest import fails, qb, read_h5

SCAN = ["simulate", "foam", "--detector", "128,2", "--views", 101, "--seed", 4]


def values(folder, *faults, scan=SCAN):
    qb(*scan, "-o", "s.h5", *faults, "-q", cwd=folder)
    with h5py.File(folder / "s.h5") as f:
        return f["/exchange/data"][:].astype(float)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return values(tmp_path_factory.mktemp("clean"))


def runs(columns):
    """Lengths of runs of neighbouring columns."""
    return [len(r) for r in np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1)]


def test_columns(tmp_path, clean):
    part = np.linspace(0, 1, 101)
    for kind, size in (("wide", 0.1), ("partial", 0.2), ("drifting", 0.2)):
        factor = values(tmp_path, "--faults", f"{kind}={size}") / clean
        assert np.allclose(factor[:, 0], factor[:, 1], atol=1e-5), "all rows have it"
        columns = np.flatnonzero(np.abs(factor[:, 0] - 1).max(0) > 1e-4)
        assert len(runs(columns)) == 2 and columns[0] >= 4 and columns[-1] < 124
        assert all(5 <= n <= 12 if kind == "wide" else n == 1 for n in runs(columns))
        for f in factor[:, 0, columns].T:
            error = f[np.abs(f - 1).argmax()] - 1
            assert 0.5 * size - 1e-4 <= abs(error) <= 1.5 * size + 1e-4
            if kind == "partial":
                faulty = np.abs(f - 1) > 1e-4
                assert 0.2 < faulty.mean() < 0.52 and len(runs(np.flatnonzero(faulty))) == 1
                assert np.allclose(f[faulty], 1 + error, atol=1e-4)
            else:
                assert np.allclose(f, 1 + error * (part if kind == "drifting" else 1), atol=1e-4)


def test_dead_and_flickering_columns(tmp_path, clean):
    scan = values(tmp_path, "--faults", "dead=2,flicker=3")
    assert ((scan == 0).all(axis=(0, 1))).sum() == 2
    factor = scan[:, :, (scan != 0).all(axis=(0, 1))] / clean[:, :, (scan != 0).all(axis=(0, 1))]
    flickering = np.abs(factor - 1).max(axis=(0, 1)) > 1e-4
    assert flickering.sum() == 3
    assert abs(factor[:, :, flickering].mean() - 1) < 0.15 and factor[:, :, flickering].std() > 0.4
    counts = values(tmp_path, "--faults", "dead=2", "--photons", 5000)
    assert (counts.mean(axis=(0, 1)) < 110).sum() == 2, "a dead column has the dark's counts"


def test_the_beam(tmp_path, clean):
    part, x = np.linspace(0, 1, 101)[:, None, None], np.linspace(-1, 1, 128)
    y = np.array([-1, 1])[:, None]

    def beam(x):
        return 1.05 - 0.22 * (x - 0.15) ** 2 - 0.12 * (y + 0.1) ** 2 + 0.02 * np.sin(5 * x + 3 * y)

    for faults, truth in (("fade=0.03", 1 - 0.03 * part), ("tilt=0.05", 1 + 0.05 * part * x),
                          ("move=6", beam(x - 6 * part * 2 / 127) / beam(x)),
                          ("fade=0.1,tilt=0.02", (1 - 0.1 * part) * (1 + 0.02 * part * x))):
        assert np.allclose(values(tmp_path, "--faults", faults), clean * truth, rtol=1e-5), faults


def test_what_cannot_be(tmp_path):
    for text, says in (("magic=1", "wide, partial"), ("wide", "KIND=VALUE"), ("wide=0", "above 0"), ("dead=1.5", "number of columns"),
                       ("fade=2", "up to 0.9"), ("wide=0.1;dead=1", "KIND=VALUE"), ("wide=nan", "above 0")):
        fails(2, *SCAN, "-o", "s.h5", "--faults", text, says=["--faults", says], cwd=tmp_path)
    fails(2, *SCAN, "-o", "s.sim", "--faults", "dead=1", says=["--faults"], cwd=tmp_path)


# ---- what --rings makes of them ----

DENSE = ["sort", "wavelet", "titarenko", "raven", "double-flat", "fit"]  # and single columns
METHODS = [*DENSE, "large", "dead", "all", "auto"]
KINDS = {"narrow": ["--rings", 0.03], "wide": ["--faults", "wide=0.1"], "partial": ["--faults", "partial=0.3"],
         "drifting": ["--faults", "drifting=0.2"], "flicker": ["--faults", "flicker=3"]}
CURES = {"narrow": [*DENSE, "large", "all", "auto"], "wide": ["large", "all", "auto"], "partial": ["dead", "all", "auto"],
         "drifting": [*DENSE, "large", "all", "auto"], "flicker": ["dead", "all", "auto"]}


def ring_energy(image):
    """Of the means over each half turn of a polar transform, which rings of a scan over half a turn keep."""
    n = len(image)
    middle = (n - 1) / 2
    radius, angle = np.arange(6, middle - 2, 0.5)[:, None], np.linspace(0, 2 * np.pi, 720, endpoint=False)
    y, x = middle + radius * np.sin(angle), middle + radius * np.cos(angle)
    i, j = y.astype(int), x.astype(int)
    u, v = y - i, x - j
    polar = (1 - u) * ((1 - v) * image[i, j] + v * image[i, j + 1]) + u * ((1 - v) * image[i + 1, j] + v * image[i + 1, j + 1])
    return sum((half.mean(1) ** 2 * radius[:, 0]).sum() for half in np.split(polar, 2, axis=1))


@pytest.mark.parametrize("kind", KINDS)
def test_rings_of_each_kind(tmp_path, kind):
    """Where a method is for a kind, the energy of its rings goes down ten times; none makes any kind worse."""
    scan = ["simulate", "foam", "--detector", "256,4", "--views", 400, "--seed", 5]

    def slice_of(name, *options):
        qb("fbp", name, "-o", "v.h5", "--center", "127.5", "-q", *options, cwd=tmp_path)
        return read_h5(tmp_path / "v.h5").astype(float)

    qb(*scan, "-o", "clean.h5", "-q", cwd=tmp_path)
    qb(*scan, "-o", "faulty.h5", "-q", *KINDS[kind], cwd=tmp_path)
    truth = slice_of("clean.h5")
    faults = slice_of("faulty.h5") - truth
    for method in METHODS:
        left = slice_of("faulty.h5", "--rings", method) - truth
        error, rings = np.linalg.norm(left) / np.linalg.norm(faults), sum(map(ring_energy, left)) / sum(map(ring_energy, faults))
        print(f"{kind}: --rings {method} leaves {error:.3f} of the error, {rings:.4f} of the rings' energy")
        assert error < 1.01, method
        if method in CURES[kind]:
            assert rings < 0.1, method


def test_distortion(tmp_path):
    """An ideal place r from the middle is seen at r (1 + K (r/R)^2): discorpy's file of these factors takes it out."""
    k, columns, rows = 0.15, 192, 128
    same = ["--detector", f"{columns},{rows}", "--views", 4, "--seed", 2]
    qb("simulate", "spheres", *same, "-o", tmp_path / "ideal.npy")
    qb("simulate", "spheres", *same, "--faults", f"distortion={k}", "-o", tmp_path / "seen.npy")
    x, y = (columns - 1) / 2, (rows - 1) / 2
    (tmp_path / "d.txt").write_text(f"xcenter = {x}\nycenter = {y}\nfactor0 = 1\nfactor1 = 0\nfactor2 = {k / (x * x + y * y)}\n")
    qb("convert", tmp_path / "seen.npy", "--quantity", "transmission", "--angles", "0:180", "--distortion", tmp_path / "d.txt", "-o", tmp_path / "p.npy")
    ideal, seen, done = -np.log(np.load(tmp_path / "ideal.npy")), -np.log(np.load(tmp_path / "seen.npy")), np.load(tmp_path / "p.npy")
    inside = np.s_[:, 8:-8, 8:-8]
    left, before = (np.linalg.norm((a - ideal)[inside]) / np.linalg.norm(ideal[inside]) for a in (done, seen))
    assert left < 0.1 * before and before > 0.1, (left, before)


@pytest.mark.parametrize("beam", [["--pixel-size", 1], ["--pixel-size", "1,1.5", "--geometry", "cone", "--sod", 400, "--sdd", 600]], ids=["parallel", "cone"])
def test_shifts(tmp_path, beam):
    """By whole pixels the numbers lie elsewhere, exactly; by parts of one and turned, --shifts with the same file takes them back."""
    same, random = ["simulate", "spheres", "--detector", "96,64", "--views", 12, "--seed", 2, *beam], np.random.default_rng(1)
    ideal = values(tmp_path, scan=same)
    whole = random.integers(-4, 5, (12, 2))
    np.savetxt(tmp_path / "whole.txt", whole, fmt="%d")
    np.savetxt(tmp_path / "parts.txt", np.c_[random.uniform(-4, 4, (12, 2)), random.uniform(-2, 2, 12)])
    seen = values(tmp_path, "--faults", "fade=0.5,shifts=whole.txt", scan=same)
    back = np.stack([np.roll(view, (-v, -u), (0, 1)) for view, (u, v) in zip(seen, whole)]) / (1 - 0.5 * np.linspace(0, 1, 12))[:, None, None]
    inner = np.s_[:, 6:-6, 6:-6]
    assert np.allclose(back[inner], ideal[inner], atol=2e-6) and not np.allclose(seen[inner], ideal[inner], atol=0.1)
    seen = values(tmp_path, "--faults", "shifts=parts.txt", scan=same)
    qb("convert", "s.h5", "--shifts", "parts.txt", "-o", "p.npy", cwd=tmp_path)
    left, before = (np.linalg.norm((np.log(ideal) + p)[inner]) / np.linalg.norm(np.log(ideal)[inner]) for p in (np.load(tmp_path / "p.npy"), -np.log(seen)))
    assert left < 0.1 * before < 0.1, (left, before)
    (tmp_path / "few.txt").write_text("1 2\n")
    fails(3, *same, "-o", "x.h5", "--faults", "shifts=few.txt", says=["few.txt", "12 views"], cwd=tmp_path)
    fails(2, *same, "-o", "x.h5", "--faults", "shifts=", says=["--shifts"], cwd=tmp_path)


def test_a_collimator(tmp_path):
    """Columns that blades cover are dark in flats, too: they were not measured, and an object between the blades is as it was."""
    same = ["--detector", "96,4", "--views", 120, "--size", "50,50,4", "--photons", 1e5, "--seed", 2]
    for name, faults in (("plain", []), ("covered", ["--faults", "collimator=8"])):
        qb("simulate", "disc", *same, *faults, "-o", tmp_path / f"{name}.h5")
        qb("fbp", tmp_path / f"{name}.h5", "--center", "47.5", "-o", tmp_path / f"{name}.npy")
    plain, covered = (np.load(tmp_path / f"{name}.npy")[:, 20:-20, 20:-20] for name in ("plain", "covered"))
    assert np.linalg.norm(plain - covered) < 5e-3 * np.linalg.norm(plain)
    said = qb("info", tmp_path / "covered.h5").stdout
    assert "64 dead in the flats" in said, said


def test_zingers_and_blank_views(tmp_path):
    """So many pixels are brighter by half a beam and more, so many views have none; --zingers finds the first, every verb leaves the others out."""
    scan = ["foam", "--detector", "96,24", "--views", 200, "--seed", 4, "--photons", 30000]
    qb("simulate", *scan, "-o", "clean.h5", cwd=tmp_path)
    qb("simulate", *scan, "--faults", "zingers=1e-3", "-o", "hit.h5", cwd=tmp_path)
    qb("simulate", *scan, "--faults", "blank=0.1", "-o", "blank.h5", cwd=tmp_path)
    for name, more in ("clean", []), ("hit", []), ("mended", ["--zingers", 8]):
        qb("convert", "hit.h5" if name == "mended" else f"{name}.h5", *more, "-o", f"{name}.npy", cwd=tmp_path)
    clean, hit, mended = (np.load(tmp_path / f"{name}.npy") for name in ("clean", "hit", "mended"))
    zingers = clean - hit > 0.3
    assert 0.7e-3 < zingers.mean() < 1.2e-3
    changed = mended != hit
    assert changed[zingers].mean() > 0.99 and changed[clean - hit < 0.05].mean() < 3e-5
    assert abs(mended - clean)[zingers].mean() < 0.1 * abs(hit - clean)[zingers].mean()
    said = qb("fbp", "blank.h5", "--center", "middle", "-o", "v.npy", cwd=tmp_path).stderr
    assert "[views-blank]" in said
    qb("fbp", "clean.h5", "--center", "middle", "-o", "w.npy", cwd=tmp_path)
    v, w = np.load(tmp_path / "v.npy"), np.load(tmp_path / "w.npy")
    assert np.linalg.norm(v - w) < 0.2 * np.linalg.norm(w)


def test_fringes(tmp_path):
    """Phase contrast of a length is what --paganin of that length and of the pixels' Laplacian takes out."""
    scan = ["spheres", "--detector", "80,48", "--views", 6, "--seed", 4]
    qb("simulate", *scan, "-o", "clean.npy", cwd=tmp_path)
    qb("simulate", *scan, "--faults", "phase=6", "-o", "edges.npy", cwd=tmp_path)
    clean, edges = (np.load(tmp_path / f"{name}.npy").astype(float) for name in ("clean", "edges"))
    around = np.pad(clean, ((0, 0), (1, 1), (1, 1)), mode="edge")
    laplacian = around[:, :-2, 1:-1] + around[:, 2:, 1:-1] + around[:, 1:-1, :-2] + around[:, 1:-1, 2:] - 4 * clean
    assert abs(edges - (clean - (6 / (2 * np.pi)) ** 2 * laplacian)).max() < 1e-5 and abs(edges - clean).max() > 0.05
    qb("convert", "edges.npy", "--quantity", "transmission", "--angles", "0:180", "--paganin", "6px", "--paganin-kernel", "generalised", "-o", "out.npy", cwd=tmp_path)
    assert abs(np.load(tmp_path / "out.npy") + np.log(clean)).max() < 1e-3
