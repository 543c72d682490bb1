# SPDX-License-Identifier: MIT
"""--rings: detector columns that answer otherwise than their flats say, in simulated scans that have them or not."""
import h5py
import numpy as np
import pytest

from qbtest import opencl, provenance_h5, qb, qb_json, read_h5, write_scan  # noqa: F401

PARALLEL = ["shepp-logan", "--views", "300", "--detector", "256,3", "--pixel-size", "0.1", "--seed", "3"]
CONE = ["spheres", "--geometry", "cone", "--sod", "200", "--sdd", "350", "--views", "160", "--detector", "128,64",
        "--pixel-size", "0.4", "--seed", "3"]
FBP = ["fbp", "--center", "127.5", "--accuracy", "high"]
FDK = ["fdk", "--sod", "200", "--sdd", "350", "--pixel-size", "0.4", "--accuracy", "high"]


def energy(volume):
    return (volume.astype(float) ** 2).sum()


def reconstruct(folder, verb, scan, *options):
    qb(verb[0], scan, "-o", "v.h5", *verb[1:], *options, cwd=folder)
    return read_h5(folder / "v.h5")


@pytest.mark.parametrize("scan,verb", [(PARALLEL, FBP), (CONE, FDK)], ids=["fbp", "fdk"])
def test_rings_go_and_the_object_stays(tmp_path, scan, verb):
    qb("simulate", *scan, "-o", "clean.h5", cwd=tmp_path)
    qb("simulate", *scan, "-o", "rings.h5", "--rings", "0.01", cwd=tmp_path)
    clean, rings = (reconstruct(tmp_path, verb, f"{name}.h5") for name in ("clean", "rings"))
    assert energy(rings - clean) > 0.001 * energy(clean), "rings to be taken out"
    for method in "sort", "wavelet":
        left = reconstruct(tmp_path, verb, "rings.h5", "--rings", method)
        print(f"{method}: {energy(left - clean) / energy(rings - clean):.4f} of the rings' energy is left")
        assert energy(left - clean) < 0.1 * energy(rings - clean), method
        touched = reconstruct(tmp_path, verb, "clean.h5", "--rings", method)
        changed = np.sqrt(energy(touched - clean) / energy(clean))
        print(f"{method}: {changed:.5f} of a clean volume changes")
        assert changed < 0.01, method


def test_every_quantity_is_corrected(tmp_path):
    """Of counts it is the flat's gain that changes, of transmissions a new one, of line integrals what is taken off."""
    qb("simulate", *PARALLEL, "-o", "rings.h5", "--rings", "0.01", cwd=tmp_path)
    with h5py.File(tmp_path / "rings.h5") as f:
        t, theta = f["/exchange/data"][:], f["/exchange/theta"][:]
    dark, flat = 100, np.linspace(30000, 50000, t.shape[2], dtype=np.float32)
    scans = {"transmission": t, "line_integral": -np.log(t), "counts": t * (flat - dark) + dark}
    found = {}
    for quantity, values in scans.items():
        fields = {}
        if quantity == "counts":
            frames = np.broadcast_to(flat, (2, *t.shape[1:]))
            fields = {"flats": frames, "darks": np.full_like(frames, dark)}
        write_scan(tmp_path / "s.h5", values.astype(np.float32), theta, pixel=0.1, quantity=quantity, **fields)
        found[quantity] = reconstruct(tmp_path, FBP, "s.h5", "--rings", "sort")
    plain = reconstruct(tmp_path, FBP, "rings.h5")
    size = np.sqrt(energy(plain))
    for quantity, volume in found.items():
        assert np.sqrt(energy(volume - found["transmission"])) < 1e-4 * size, quantity
        assert np.sqrt(energy(volume - plain)) > 0.1 * size, quantity


def test_memory_and_threads_do_not_change_a_bit_and_the_file_says_what_was_done(tmp_path):
    qb("simulate", *CONE, "-o", "rings.h5", "--rings", "0.01", "--photons", "20000", cwd=tmp_path)
    report = qb_json("fdk", "rings.h5", "-o", "v.h5", *FDK[1:], "--rings", "sort", cwd=tmp_path)
    want = read_h5(tmp_path / "v.h5")
    assert report["preparation"]["rings"].startswith("sort: stripes of 0.0")
    assert provenance_h5(tmp_path / "v.h5")["plan"]["options"]["rings"] == "sort"
    for options in (["--threads", "1"], ["--max-ram", "60M"]):
        assert (reconstruct(tmp_path, FDK, "rings.h5", "--rings", "sort", *options) == want).all(), options
    # a part of the slices has the same rings as the whole, by the same kernel: a single one has its own where there is no AVX-512
    qb("simulate", *PARALLEL, "-o", "p.h5", "--rings", "0.01", cwd=tmp_path)
    whole = reconstruct(tmp_path, FBP, "p.h5", "--rings", "wavelet")
    kernel = provenance_h5(tmp_path / "v.h5")["plan"]["kernel"]
    part = reconstruct(tmp_path, FBP, "p.h5", "--rings", "wavelet", "--slices", "1:2", "--kernel", kernel)
    assert (part[0] == whole[1]).all()


def difference(volume, truth):
    return np.sqrt(energy(volume - truth) / energy(truth))


def lines_reconstructed(folder, lines, *options):
    """A slice of one row's line integrals [view, column] over half a turn, the axis in the middle."""
    views, columns = lines.shape
    write_scan(folder / "lines.h5", lines[:, None].astype(np.float32), np.arange(views) * 180 / views, pixel=1.0,
               quantity="line_integral")
    qb("fbp", "lines.h5", "-o", "lines_v.h5", "--center", (columns - 1) / 2, "--quiet", *options, cwd=folder)
    return read_h5(folder / "lines_v.h5")


@pytest.fixture(scope="module")
def foam(tmp_path_factory):
    """Line integrals of a foam, without noise and faults."""
    folder = tmp_path_factory.mktemp("foam")
    qb("simulate", "foam", "-o", "foam.h5", "--detector", "256,1", "--views", 400, "--seed", 5, cwd=folder)
    with h5py.File(folder / "foam.h5") as f:
        return -np.log(f["/exchange/data"][:, 0].astype(float))


@pytest.mark.parametrize("kind,method,part", [
    ("narrow", "sort", 0.5), ("narrow", "wavelet", 0.5), ("narrow", "all", 0.5), ("dead", "dead", 0.1), ("dead", "all", 0.1),
    ("partial", "dead", 0.5), ("partial", "auto", 0.1), ("drifting", "all", 0.31), ("wide", "large", 0.1), ("wide", "all", 0.1)])
def test_stripes_on_a_foam(tmp_path, foam, kind, method, part):
    """Each fault is put into line integrals of a known foam; so large a part of what it does is left at most."""
    random = np.random.default_rng(1)
    views, columns = foam.shape
    faulty = foam.copy()
    if kind == "narrow":
        faulty[:, random.choice(columns, 25, False)] += random.normal(0, 0.03, 25)
    elif kind == "dead":
        faulty[:, 77] = 2
        faulty[:, 140] += random.normal(0, 1, views)
        faulty[:, 201] = random.uniform(0, 4, views)
    elif kind == "partial":
        faulty[100:200, 70] += 0.3
        faulty[250:, 150] -= 0.2
    elif kind == "wide":
        for first, width, height in ((40, 3, 0.1), (75, 12, -0.08), (180, 10, 0.25)):
            faulty[:, first:first + width] += height
    else:
        faulty[:, [50, 120, 200]] += np.linspace(0, 0.2, views)[:, None]
    truth, before = (lines_reconstructed(tmp_path, lines) for lines in (foam, faulty))
    after = lines_reconstructed(tmp_path, faulty, "--rings", method)
    print(f"{kind}: {difference(before, truth):.4f} before, {difference(after, truth):.4f} after --rings {method}")
    assert difference(after, truth) < part * difference(before, truth)


@pytest.mark.parametrize("method,most", [("sort", 0.008), ("wavelet", 0.008), ("all", 0.008), ("large", 0.036), ("dead", 0.036)])
def test_gains_of_single_columns_on_a_foam(tmp_path, method, most):
    """Structure of a foam is ten times as large as the stripes: none is made worse, and those that look for them find them."""
    foam, how = ["foam", "--detector", "256,4", "--views", 400, "--seed", 5], ["fbp", "--center", "127.5"]
    qb("simulate", *foam, "-o", "clean.h5", cwd=tmp_path)
    qb("simulate", *foam, "-o", "rings.h5", "--rings", 0.03, cwd=tmp_path)
    truth = reconstruct(tmp_path, how, "clean.h5")
    before, after = (difference(reconstruct(tmp_path, how, "rings.h5", "--rings", m), truth) for m in ("keep", method))
    print(f"{before:.4f} before, {after:.4f} after --rings {method}")
    assert 0.03 < before and after < most and after <= before


@pytest.mark.parametrize("fault", [["--rings", 0.03], ["--faults", "wide=0.1"]], ids=["narrow", "wide"])
def test_ten_times_down(tmp_path, fault):
    """Energy of foams with stripes side by side, beside air, in it and in the first columns; wide ones beside structure and each other."""
    before = after = 0
    for seed in 3, 6, 9:
        foam, how = ["foam", "--detector", "256,4", "--views", 400, "--seed", seed], ["fbp", "--center", "127.5"]
        qb("simulate", *foam, "-o", "clean.h5", cwd=tmp_path)
        qb("simulate", *foam, *fault, "-o", "rings.h5", cwd=tmp_path)
        truth = reconstruct(tmp_path, how, "clean.h5")
        left, gone = (energy(reconstruct(tmp_path, how, "rings.h5", "--rings", m) - truth) for m in ("keep", "auto"))
        before, after = before + left, after + gone
    print(f"{before / after:.1f} times")
    assert after < 0.1 * before


@pytest.mark.parametrize("how", [[], ["--paganin", "6px"]])
def test_few_columns(tmp_path, how):
    """Their edges that stand still look like stripes: the mildest is to leave them."""
    foam, fbp = ["foam", "--detector", "64,8", "--views", 180, "--seed", 36], ["fbp", "--center", "31.5", *how]
    qb("simulate", *foam, "-o", "clean.h5", cwd=tmp_path)
    qb("simulate", *foam, "-o", "rings.h5", "--rings", 0.03, cwd=tmp_path)
    truth, before, after = (reconstruct(tmp_path, fbp, *scan) for scan in (["clean.h5"], ["rings.h5"], ["rings.h5", "--rings", "auto"]))
    assert 0 < difference(after, truth) < 1.001 * difference(before, truth)


def test_a_filtered_foam(tmp_path):
    """Phase retrieval spreads stripes to the columns around: weak ones are looked for only in rows that have sure ones."""
    foam, how = ["foam", "--detector", "256,4", "--views", 400, "--seed", 5], ["fbp", "--center", "127.5", "--paganin", "3px"]
    qb("simulate", *foam, "-o", "clean.h5", cwd=tmp_path)
    qb("simulate", *foam, "-o", "rings.h5", "--rings", 0.03, cwd=tmp_path)
    truth, kept = (reconstruct(tmp_path, how, "clean.h5", "--rings", m) for m in ("keep", "auto"))
    before, after = (difference(reconstruct(tmp_path, how, "rings.h5", "--rings", m), truth) for m in ("keep", "auto"))
    assert difference(kept, truth) < 1e-3
    assert 0.02 < before and after < 0.6 * before


METHODS = ["sort", "wavelet", "titarenko", "raven", "double-flat", "fit", "large", "dead", "all", "auto"]


def faults_of_all_strengths(lines):
    """Each kind from far below the noise to far above it, in line integrals with no noise, some and much: (name, faulty, without the fault)."""
    views, columns = lines.shape
    part = np.zeros((views, 1))
    part[views // 3:views // 2] = 1
    for noise in (0, 0.01, 0.05):
        random = np.random.default_rng(4)
        clean = lines + noise * random.normal(size=lines.shape)
        for strength in (0.003, 0.01, 0.03, 0.1, 0.3):
            for kind, over_views in (("narrow", 1), ("drifting", np.linspace(0, 1, views)[:, None]), ("partial", part), ("wide", 1)):
                where = np.zeros(columns)
                for at in random.choice(np.arange(10, columns - 25, 14), 5, False):
                    where[at:at + (8 if kind == "wide" else 1)] = random.choice([-1, 1])
                yield f"{kind} {strength} in noise of {noise}", clean + strength * over_views * where, clean


@pytest.mark.parametrize("method", METHODS)
def test_no_method_is_worse_than_none(tmp_path, foam, method):
    names, faulty, clean = zip(*faults_of_all_strengths(foam))
    lines = np.stack([*faulty, *clean[::20]], 1).astype(np.float32)
    write_scan(tmp_path / "s.h5", lines, np.arange(len(foam)) * 180 / len(foam), pixel=1.0, quantity="line_integral")
    before, after = (reconstruct(tmp_path, FBP, "s.h5", "--rings", m) for m in ("keep", method))
    for i, name in enumerate(names):
        truth = before[len(names) + i // 20]
        left = np.sqrt(energy(after[i] - truth) / energy(before[i] - truth))
        assert left < 1.01, (name, left)
    assert difference(after[len(names):], before[len(names):]) < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_an_object_without_stripes_stays(tmp_path, foam, method):
    """A foam; concentric shells, whose edges are stripes of the object itself, without noise and with it."""
    truth = lines_reconstructed(tmp_path, foam)
    assert difference(lines_reconstructed(tmp_path, foam, "--rings", method), truth) < 1e-3
    columns = 256
    at = np.arange(columns)[:, None] - (columns - 1) / 2 + (np.arange(8) + 0.5) / 8 - 0.5
    chords = sum(density * 2 * np.sqrt(np.maximum(radius ** 2 - at ** 2, 0)).mean(1) for radius, density in [
        (100, .01), (90, -.01), (80, .02), (76, -.02), (60, .015), (58, -.015), (40, .01), (30, .01), (12, .02)])
    shells = np.repeat(chords[None], 300, 0)
    for noise in (0, np.random.default_rng(1).normal(0, 0.01, shells.shape)):
        truth = lines_reconstructed(tmp_path, shells + noise)
        changed = difference(lines_reconstructed(tmp_path, shells + noise, "--rings", method), truth)
        print(f"{method}: {changed:.5f} of the shells changes")
        assert changed < 0.01


@pytest.mark.parametrize("method", ["sort", "large", "auto"])
def test_thin_walls_that_stand_still_stay_and_stripes_go(tmp_path, method):
    """Walls of one column about an axis between two columns; each is seen at both sides of the axis, a stripe is not."""
    columns, random = 128, np.random.default_rng(5)
    x = (np.arange(columns * 16) + 0.5) / 16 - 0.5 - 64.1
    walls = sum(density * (np.sqrt(np.maximum(radius**2 - x**2, 0)) - np.sqrt(np.maximum((radius - 1)**2 - x**2, 0)))
                for radius, density in ((50, .08), (30, .08), (14, .08))).reshape(columns, 16).mean(1)
    clean = walls + random.normal(0, 0.01, (180, columns))
    faulty = clean.copy()
    faulty[:, [24, 40, 108]] += (0.1, -0.1, 0.2)
    truth, before = (lines_reconstructed(tmp_path, lines) for lines in (clean, faulty))
    assert difference(lines_reconstructed(tmp_path, clean, "--rings", method), truth) < 1e-3
    after = lines_reconstructed(tmp_path, faulty, "--rings", method)
    print(f"{method}: {difference(before, truth):.4f} before, {difference(after, truth):.4f} after")
    assert difference(after, truth) < 0.3 * difference(before, truth)


def test_the_thin_wall_around_a_sample_that_moves_stays(tmp_path):
    """The views do not show that it stands still, but --center says where its other side is. A stripe in air goes, and one within."""
    columns, random = 128, np.random.default_rng(6)
    x, angle = (np.arange(columns * 8) + 0.5) / 8 - 0.5 - (columns - 1) / 2, np.arange(180)[:, None] * np.pi / 180
    discs = [(far, turn, radius, density) for far, turn, radius, density in
             zip(random.uniform(0, 0.25, 30), random.uniform(0, 7, 30), random.uniform(0.01, 0.06, 30), -np.ones(30))]
    lines = sum(density * np.sqrt(np.maximum((radius * columns) ** 2 - (x - far * columns * np.cos(angle - turn)) ** 2, 0))
                for far, turn, radius, density in [(0, 0, 0.32, 1), *discs]) / columns
    lines = lines + 0.08 * (np.sqrt(np.maximum((0.41 * columns) ** 2 - x ** 2, 0)) - np.sqrt(np.maximum((0.41 * columns - 1) ** 2 - x ** 2, 0)))
    clean = lines.reshape(180, columns, 8).mean(2) + random.normal(0, 0.01, (180, columns))
    faulty = clean.copy()
    faulty[:, [5, columns // 3]] += 0.03
    truth, before = (lines_reconstructed(tmp_path, lines) for lines in (clean, faulty))
    kept, after = (lines_reconstructed(tmp_path, lines, "--rings", "auto") for lines in (clean, faulty))
    print(f"{difference(kept, truth):.4f} of the clean slice changes; {difference(before, truth):.4f} before, {difference(after, truth):.4f} after")
    assert difference(kept, truth) < 1e-3
    assert difference(after, truth) < 0.8 * difference(before, truth)


@pytest.mark.parametrize("hole, strength", [(0, 0.05), (87, 0.02)], ids=["cylinder", "tube"])
@pytest.mark.parametrize("method", ["sort", "all", "auto"])
def test_stripes_in_all_columns_of_a_still_object(tmp_path, method, hole, strength):
    """Its structure is mirrored, the stripes are not; beside walls they stay."""
    x, random = np.arange(256) - 127.5, np.random.default_rng(5)
    clean = 0.02 * (np.sqrt(np.maximum(90.3**2 - x**2, 0)) - np.sqrt(np.maximum(hole**2 - x**2, 0))) + random.normal(0, 0.005, (180, 256))
    truth, before, after = (lines_reconstructed(tmp_path, lines, *options)
                            for stripes in [random.normal(0, strength, 256)]
                            for lines, options in ((clean, ()), (clean + stripes, ()), (clean + stripes, ("--rings", method))))
    print(f"{method}: {difference(before, truth):.4f} before, {difference(after, truth):.4f} after")
    assert difference(after, truth) < 0.6 * difference(before, truth)


@pytest.mark.parametrize("seed", [1, 7])
def test_other_foams_stay(tmp_path, seed):
    """By less than 0.3 of what their noise does; their structure shows more in the sorted columns than that of others."""
    foam = ["simulate", "foam", "--detector", "200,3", "--views", 300, "--seed", seed]
    qb(*foam, "-o", "clean.h5", cwd=tmp_path)
    qb(*foam, "-o", "noisy.h5", "--photons", 20000, cwd=tmp_path)
    how = ["fbp", "--center", "99.5"]
    clean, noisy = (reconstruct(tmp_path, how, f"{name}.h5") for name in ("clean", "noisy"))
    for name, volume in (("clean", clean), ("noisy", noisy)):
        changed = reconstruct(tmp_path, how, f"{name}.h5", "--rings", "all") - volume
        print(f"{name}: {np.sqrt(energy(changed) / energy(noisy - clean)):.4f} of the noise")
        assert energy(changed) < 0.3 ** 2 * energy(noisy - clean)


def test_weak_stripes_in_all_columns(tmp_path):
    """Where the object is smooth they are found."""
    random = np.random.default_rng(2)
    columns, views = 256, 300
    x, angle = np.arange(columns) - (columns - 1) / 2, np.pi * np.arange(views)[:, None] / views
    lines = sum(density * 2 * np.sqrt(np.maximum(radius ** 2 - (x - far * np.cos(angle - turn)) ** 2, 0))
                for radius, density, far, turn in [(110, .001, 5, 0), (40, .001, 50, 1), (25, -.0005, 60, 3)])
    lines += random.normal(0, 0.003, lines.shape)
    faulty = lines + random.normal(0, 0.01, columns)
    truth, before = (lines_reconstructed(tmp_path, p) for p in (lines, faulty))
    for method in ("sort", "wavelet", "titarenko", "raven", "double-flat", "fit", "all", "auto"):
        after = lines_reconstructed(tmp_path, faulty, "--rings", method)
        print(f"{difference(before, truth):.4f} before, {difference(after, truth):.4f} after --rings {method}")
        assert difference(after, truth) < 0.5 * difference(before, truth)


def test_unusable_columns_give_the_same_bits_and_are_counted(tmp_path, foam):
    faulty = foam.copy()
    faulty[:, 77] += np.random.default_rng(3).normal(0, 1, len(foam))
    report = qb_json("fbp", write_scan(tmp_path / "s.h5", np.repeat(np.exp(-faulty[:, None]), 3, 1).astype(np.float32),
                                       np.arange(400) * 180 / 400, pixel=1.0, quantity="transmission"),
                     "-o", "v.h5", "--center", "127.5", "--rings", "all:snr=4", cwd=tmp_path)
    assert report["preparation"]["rings"].endswith("3 of 768 pixels are unusable")
    assert report["preparation"]["dead"] == 3 * 400
    want = read_h5(tmp_path / "v.h5")
    for options in (["--threads", "1"], ["--max-ram", "60M"]):
        assert (reconstruct(tmp_path, FBP[:3], "s.h5", "--rings", "all:snr=4", *options) == want).all(), options


def test_stripes_that_change_give_the_same_bits(tmp_path, opencl):  # noqa: F811
    """Before --hardening, of counts and of line integrals; a device takes off the same."""
    qb("simulate", "foam", "--detector", "256,5", "--views", 400, "--seed", 5, "--photons", 30000, "--faults", "partial=0.3,drifting=0.2",
       "-o", "s.h5", cwd=tmp_path)
    qb("convert", "s.h5", "-o", "l.h5", cwd=tmp_path)
    for scan in "s.h5", "l.h5":
        how = [*FBP, "--hardening", "0.05,0.01", "--rings", "auto"]
        report = qb_json(how[0], scan, "-o", "v.h5", *how[1:], cwd=tmp_path)
        assert "partial or drifting stripes in 5 of 5 rows" in report["preparation"]["rings"]
        want, kernel = read_h5(tmp_path / "v.h5"), ["--kernel", provenance_h5(tmp_path / "v.h5")["plan"]["kernel"]]
        for options in (["--threads", "1", "--max-ram", "60M"], ["--slices", "1:4:2"]):
            got = reconstruct(tmp_path, how, scan, *kernel, *options)
            assert (got == (want[1:4:2] if "--slices" in options else want)).all(), (scan, options)
    assert difference(reconstruct(tmp_path, how, "l.h5", "--device", opencl), want) < 1e-5


def test_auto_says_what_there_is(tmp_path, foam):
    """Each kind by its name; nothing is changed where there is none."""
    def said(lines):
        write_scan(tmp_path / "s.h5", np.repeat(lines[:, None], 2, 1).astype(np.float32), np.arange(400) * 180 / 400, pixel=1.0,
                   quantity="line_integral")
        return qb_json("fbp", "s.h5", "-o", "v.h5", "--center", "127.5", "--rings", "auto", cwd=tmp_path)["preparation"]["rings"]

    assert said(foam) == "auto: none found in 2 rows"
    faulty, random = foam.copy(), np.random.default_rng(6)
    faulty[:, 77] += random.normal(0, 1, 400)
    faulty[:, 120:128] += 0.2
    faulty[:, random.choice(70, 10, False) + 150] += 0.1
    text = said(faulty)
    assert all(f"{kind} in 2" in text for kind in ("unusable columns", "wide stripes", "narrow stripes")), text
    assert "of 2 rows" in text and "2 of 512 pixels" in text, text


@pytest.mark.parametrize("columns, rows, views, seed", [(200, 3, 300, 7), (256, 8, 400, 34), (128, 8, 180, 35), (64, 8, 180, 34), (64, 4, 400, 5), (64, 2, 180, 8)])
def test_auto_leaves_foams_alone(tmp_path, columns, rows, views, seed):
    """Bubbles about the axis and the rim of the foam show edges two or three columns wide that hardly move."""
    qb("simulate", "foam", "--detector", f"{columns},{rows}", "--views", views, "--seed", seed, "-o", "clean.h5", cwd=tmp_path)
    how = ["fbp", "--center", (columns - 1) / 2]
    clean, after = (reconstruct(tmp_path, how, "clean.h5", "--rings", m) for m in ("keep", "auto"))
    assert difference(after, clean) < 1e-3


def test_a_method_that_is_not_there(tmp_path):
    qb("simulate", *PARALLEL, "-o", "s.h5", cwd=tmp_path)
    for text, says in (("magic", "sort"), ("all:snr", "snr="), ("all:small=20", "odd"), ("all:large=5", "9 to 1001"),
                       ("sort:snr=0", "1 to 100"), ("sortx", "sort")):
        done = qb("fbp", "s.h5", "-o", "v.h5", "--rings", text, cwd=tmp_path, code=2)
        assert "--rings" in done.stderr and says in done.stderr, done.stderr


@pytest.mark.parametrize("phantom,detector,views", [("foam", "96,4", 180), ("shepp-logan", "64,16", 60), ("spheres", "96,8", 180), ("spheres", "64,32", 60),
                                                    ("spheres", "128,2", 60), ("ball", "96,4", 180)])
def test_clean_objects_have_no_marks(tmp_path, phantom, detector, views):
    """Without noise nothing is lost, and what is changed is far less than what noise would do."""
    scan = ["simulate", phantom, "--detector", detector, "--views", views]
    qb(*scan, "-o", "clean.h5", cwd=tmp_path)
    qb(*scan, "-o", "noisy.h5", "--photons", 20000, cwd=tmp_path)
    how = ["fbp", "--center", (int(detector.split(",")[0]) - 1) / 2]
    clean, noisy = (reconstruct(tmp_path, how, f"{name}.h5") for name in ("clean", "noisy"))
    for method in "sort", "dead", "all":
        report = qb_json("fbp", "clean.h5", "-o", "v.h5", *how[1:], "--rings", method, cwd=tmp_path)
        marked = report["preparation"]["dead"]
        assert energy(read_h5(tmp_path / "v.h5") - clean) < 0.3 ** 2 * energy(noisy - clean), method
        assert marked == 0, (method, marked)


def test_sizes_follow_the_bin(tmp_path):
    """Sizes are those of the detector: binned by 2, 61 columns are 31, which is what large= says of a scan that is binned already."""
    qb("simulate", "foam", *PARALLEL[1:], "-o", "s.h5", cwd=tmp_path)
    with h5py.File(tmp_path / "s.h5", "a") as f:
        f["/exchange/data"][:, :, 60:100] *= 0.9
    qb("convert", "s.h5", "--bin", "2", "-o", "b.h5", cwd=tmp_path)
    same = ["fbp", "--center", "middle", "--accuracy", "high"]
    binned = reconstruct(tmp_path, same, "s.h5", "--bin", "2", "--rings", "large:large=61")
    half, whole = (reconstruct(tmp_path, same, "b.h5", "--rings", f"large:large={large}") for large in (31, 61))
    assert energy(binned - half) < 1e-9 * energy(binned) < 1e-3 * energy(binned) < energy(binned - whole)


def test_stripes_stay_in_the_pixels_of_views_that_move(tmp_path):
    """They are found in the stored images, before --shifts moves these back; bits do not depend on chunks."""
    rng = np.random.default_rng(3)
    np.savetxt(tmp_path / "moves.txt", np.stack([rng.uniform(-4, 4, 400), rng.uniform(-1, 1, 400)], 1))
    foam = ["simulate", "foam", "--detector", "256,12", "--views", "400", "--seed", "5", "--faults", "shifts=moves.txt", "-o"]
    qb(*foam, "clean.h5", cwd=tmp_path)
    qb(*foam, "rings.h5", "--rings", "0.03", cwd=tmp_path)
    with h5py.File(tmp_path / "rings.h5") as f:
        t, theta = f["/exchange/data"][:], f["/exchange/theta"][:]
    flat, dark = rng.uniform(3e4, 5e4, t.shape[1:]), np.full(t.shape[1:], 100)
    write_scan(tmp_path / "lines.h5", -np.log(t), theta, pixel=1, quantity="line_integral")
    write_scan(tmp_path / "counts.h5", (t * (flat - dark) + dark).astype("f4"), theta, pixel=1, quantity="counts",
               flats=flat[None].astype("f4"), darks=dark[None].astype("f4"))

    def made(scan, *how):
        return reconstruct(tmp_path, FBP, scan, "--shifts", "moves.txt", *how)

    def error(volume, slices=slice(None)):
        truth = clean[slices, 40:-40, 40:-40]
        return np.sqrt(energy(volume[:, 40:-40, 40:-40] - truth) / energy(truth))

    clean = made("clean.h5")
    before, changed, whole = error(made("rings.h5")), error(made("clean.h5", "--rings", "all")), made("counts.h5", "--rings", "all")
    after = [error(whole), error(made("lines.h5", "--rings", "all", "--slices", "3:10:3"), (3, 6, 9))]
    print(f"stripes made an error of {before:.4f}, {np.round(after, 4)} is left; {changed:.5f} of a clean volume changes")
    assert before > 0.02 and max(after) < 0.01 and changed < 0.001
    assert np.array_equal(made("counts.h5", "--rings", "all", "--threads", "1", "--max-ram", "60M"), whole)


@pytest.mark.parametrize("option", ["--distortion", "--shifts"])
def test_a_plan_counts_the_field_of_images_that_are_resampled(tmp_path, option):
    """The memory of the process itself varies by some pages."""
    qb("simulate", "disc", "--detector", "256,256", "--views", "8", "--photons", "1000", "-o", "s.h5", cwd=tmp_path)
    (tmp_path / "how.txt").write_text("127.5\n127.5\n1\n1e-5\n" if option == "--distortion" else "1 0.5\n" * 8)
    plan = ["plan", "fbp", tmp_path / "s.h5", "--center", "middle", option, tmp_path / "how.txt", "-o", tmp_path / "v.npy", "--rings"]
    without, with_rings = (qb_json(*plan, rings)["memory_bytes"] for rings in ("keep", "all"))
    assert with_rings - without == pytest.approx(256 * 256 * 4, rel=0.3)


def test_edges_that_move_are_no_unusable_columns(tmp_path):
    """They change as roughly as a column that fluctuates, which is the only one found."""
    rng = np.random.default_rng(3)
    np.savetxt(tmp_path / "moves.txt", rng.uniform((-4, -1), (4, 1), (400, 2)))
    qb("simulate", "foam", "--detector", "256,12", "--views", "400", "--seed", "5", "--faults", "shifts=moves.txt", "-o", "s.h5", cwd=tmp_path)
    with h5py.File(tmp_path / "s.h5", "a") as f:
        f["/exchange/data"][:, 5, 100] = rng.uniform(0.05, 1, 400)
    said = qb("convert", "s.h5", "--shifts", "moves.txt", "--rings", "auto", "-o", "lines.npy", cwd=tmp_path).stderr
    assert "unusable columns in 1 of 12 rows; 1 of 3072 pixels are unusable" in said, said


def test_what_stands_still_near_the_end_of_rows_stays(tmp_path):
    """The wall of a concentric tube a few columns from the end, and a pin on the axis of a half acquisition, which lies there."""
    x = (np.arange(128 * 16) + 0.5) / 16 - 0.5 - 63.5 + 14.77
    tube = 0.04 * (np.sqrt(np.maximum(0, 44.86**2 - x**2)) - np.sqrt(np.maximum(0, 42.32**2 - x**2))).reshape(128, 16).mean(1)
    lines = (tube + np.random.default_rng(1).normal(0, 2e-4, (90, 1, 128))).astype("f4")
    with h5py.File(tmp_path / "tube.h5", "w") as file:
        file["exchange/data"], file["exchange/theta"] = lines, np.arange(90) * 2.0
    qb("simulate", "ball", "-o", "pin.h5", "--detector", "128,3", "--views", 180, "--angles", "0:360", "--center-offset", -40, cwd=tmp_path)
    for name, more in ("tube", ["--quantity", "line_integral"]), ("pin", []):
        kept, auto = (qb_lines(tmp_path, name, *more, "--rings", how) for how in ("keep", "auto"))
        assert np.abs(auto - kept).max() < 0.02 * kept.max(), name


def qb_lines(folder, name, *how):
    qb("convert", f"{name}.h5", "-o", "lines.npy", *how, cwd=folder)
    return np.load(folder / "lines.npy")
