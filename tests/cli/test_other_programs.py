# SPDX-License-Identifier: MIT
"""What other programs do to scans before they come here: flats flipped, of another place, with the object, in the other byte order,
among the views; views scaled one by one, repeated, or of two gains. The truth is what the scan gives before that."""
import h5py
import numpy as np
import pytest
from qbtest import fails, qb, qb_json, write_scan

VIEWS, ROWS, COLUMNS, DARK = 90, 16, 96, 100
ANGLES = np.arange(VIEWS) * 180 / VIEWS


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """Line integrals of spheres; flats of a detector whose pixels differ by 5 %; what it gives."""
    folder = tmp_path_factory.mktemp("told")
    qb("simulate", "foam", "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", 1, "--attenuation", 0.02, "--views", VIEWS, "--seed", 2, "-o",
       folder / "s.h5")
    with h5py.File(folder / "s.h5") as file:
        lines = -np.log(file["exchange/data"][:])
    random = np.random.default_rng(5)
    beam = 20000 * (1 + 0.05 * random.standard_normal((ROWS, COLUMNS)).clip(-2, 2)) * np.linspace(0.8, 1, COLUMNS)
    data = {"lines": lines, "beam": beam,
            "views": random.poisson(beam * np.exp(-lines)) + DARK, "flats": random.poisson(beam, (6, ROWS, COLUMNS)) + DARK,
            "darks": random.poisson(DARK, (4, ROWS, COLUMNS))}
    said, good = run(folder, data)
    assert "warning" not in said
    return data, good


def run(folder, data, code=None, dtype="u2", verb=("fbp",), **other):
    data = {**data, **other}
    path = write_scan(folder / "t.h5", data["views"].astype(dtype), ANGLES, data["flats"].astype("u2"), data["darks"].astype("u2"), pixel=1)
    done = qb(*verb, path, "--center", "middle", "-o", folder / "v.npy")
    if code:
        assert f"[{code}]" in done.stderr, done.stderr
        assert f"[{code}]" in qb("info", path).stdout
    return done.stderr, np.load(folder / "v.npy")


def off(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("turn, says", [
    (lambda f: f[:, ::-1], "flipped top to bottom"), (lambda f: f[:, :, ::-1], "flipped left to right"),
    (lambda f: f[:, ::-1, ::-1], "flipped both ways"), (lambda f: np.roll(f, 3, 2), "moved by 0 rows and -3 columns"),
    (lambda f: np.roll(f, (-2, 1), (1, 2)), "moved by 2 rows and -1 columns")])
def test_flats_of_another_place(scan, tmp_path, turn, says):
    said, volume = run(tmp_path, scan[0], "flats-elsewhere", flats=turn(scan[0]["flats"]))
    assert says in said and off(volume, scan[1]) > 0.05


@pytest.mark.parametrize("half, says", [(slice(45, 90), "the later half"), (slice(0, 45), "the first half")])
def test_flats_of_another_place_in_half_of_the_views(scan, tmp_path, half, says):
    views = scan[0]["views"].astype(float)
    views[half] = (views[half] - DARK) / scan[0]["beam"] * np.roll(scan[0]["beam"], 5, 1) + DARK
    said, _ = run(tmp_path, scan[0], "flats-elsewhere", views=views)
    assert f"those of {says} of the views when moved by 0 rows and 5 columns" in said


def test_flats_with_the_object(scan, tmp_path):
    flats = scan[0]["flats"].copy()
    flats[3:] = (flats[3:] - DARK) * np.exp(-scan[0]["lines"][20]) + DARK
    run(tmp_path, scan[0], "flats-differ", flats=flats)
    flats[3:] = (scan[0]["flats"][3:] - DARK) * 0.8 + DARK  # a beam that fades alike everywhere
    assert "flats-differ" not in run(tmp_path, scan[0], flats=flats)[0]


def test_flats_in_the_other_byte_order(scan, tmp_path):
    path = write_scan(tmp_path / "t.h5", scan[0]["views"].astype("u2"), ANGLES, scan[0]["flats"].astype("u2").byteswap(),
                      scan[0]["darks"].astype("u2"), pixel=1)
    fails(3, "fbp", path, "-o", tmp_path / "v.npy", says=("flats are noise as stored", "byteswap"))


@pytest.mark.parametrize("where", [[0, 30, 60], [40, 41, 42]])
@pytest.mark.parametrize("kind", ["counts", "transmission", "line_integral"])
def test_flats_among_the_views(scan, tmp_path, where, kind):
    views = scan[0]["views"].astype(float)
    views[where] = scan[0]["flats"][:len(where)]
    if kind == "counts":
        said, volume = run(tmp_path, scan[0], "views-open", views=views)
    else:
        values = (views - DARK) / scan[0]["beam"]
        np.save(tmp_path / "t.npy", (values if kind == "transmission" else -np.log(values)).astype("f4"))
        said = qb("fbp", tmp_path / "t.npy", "--angles", "0:180", "--quantity", kind, "--pixel-size", 1, "--center", "middle", "-o",
                  tmp_path / "v.npy").stderr
        volume = np.load(tmp_path / "v.npy")
        assert "[views-open]" in said
    which = ", ".join(map(str, where)) if where[0] == 0 else "40-42"
    assert f"views {which} (3 of {VIEWS}) show open beam" in said
    assert volume.mean() == pytest.approx(scan[1].mean(), rel=0.01)


def test_views_that_repeat(scan, tmp_path):
    views = scan[0]["views"].copy()
    views[60:] = views[59]
    said, _ = run(tmp_path, scan[0], "views-repeated", views=views)
    assert f"views 60-89 (30 of {VIEWS}) repeat the view before them" in said


@pytest.mark.parametrize("kind", ["transmission", "line_integral"])
def test_views_scaled_one_by_one_or_together(scan, tmp_path, kind):
    lines = (scan[0]["lines"] if kind == "line_integral" else np.exp(-scan[0]["lines"])) + 0.01 * np.random.default_rng(1).random(
        scan[0]["lines"].shape)
    low, high = lines.min((1, 2), keepdims=True), lines.max((1, 2), keepdims=True)
    both = {"views": (lines - low) / (high - low), "scan": (lines - lines.min()) / (lines.max() - lines.min()), "none": lines}
    for name, values in both.items():
        np.save(tmp_path / f"{name}.npy", values.astype("f4"))
        said = qb("fbp", tmp_path / f"{name}.npy", "--angles", "0:180", "--quantity", kind, "--center", "middle", "-o",
                  tmp_path / "v.npy").stderr
        assert [code for code in ("views", "scan") if f"[{code}-scaled]" in said] == [name] * (name != "none")


@pytest.mark.parametrize("kind", ["transmission", "line_integral"])
def test_a_scan_without_noise_that_was_scaled(scan, tmp_path, kind):
    lines = scan[0]["lines"] if kind == "line_integral" else np.exp(-scan[0]["lines"])
    cut = (np.exp(-scan[0]["lines"]) + 0.01 * np.random.default_rng(1).standard_normal(lines.shape)).clip(0, 1)
    cut[3, 4, 5] = 0
    for values, scaled in ((lines - lines.min()) / (lines.max() - lines.min()), True), (lines, False), (cut, False):
        if values is cut and kind == "line_integral":
            continue
        np.save(tmp_path / "t.npy", values.astype("f4"))
        assert ("[scan-scaled]" in qb("info", tmp_path / "t.npy", "--angles", "0:180", "--quantity", kind).stdout) == scaled


def test_views_of_two_gains_by_turns(scan, tmp_path):
    views = scan[0]["views"].astype(float)
    views[1::2] = (views[1::2] - DARK) * 0.8 + DARK
    said, _ = run(tmp_path, scan[0], "view-gains", views=views)
    assert "by turns 1.25 times as bright" in said


def test_other_numbers_of_exchanged_flats_and_darks(scan, tmp_path):
    """Given by options, 6 flats called darks and 4 darks called flats: the right values, and nothing is read beyond an array."""
    views = write_scan(tmp_path / "t.h5", scan[0]["views"].astype("u2"), ANGLES, pixel=1)
    np.save(tmp_path / "flats.npy", scan[0]["flats"].astype("u2"))
    np.save(tmp_path / "darks.npy", scan[0]["darks"].astype("u2"))
    said = qb("fbp", views, "--center", "middle", "--flats", tmp_path / "darks.npy", "--darks", tmp_path / "flats.npy", "-o", tmp_path / "v.npy").stderr
    assert "[fields-exchanged]" in said
    assert (np.load(tmp_path / "v.npy") == scan[1]).all()


# ---- a part of the detector that is dead in the views alone ----

QUADRANT = (slice(None), slice(0, 8), slice(0, 48))


@pytest.mark.parametrize("how", ["zero", "dark", "frozen"])
def test_a_quadrant_dead_in_the_views(scan, tmp_path, how):
    views = scan[0]["views"].copy()
    views[QUADRANT] = {"zero": 0, "dark": np.random.default_rng(3).poisson(DARK, (VIEWS, 8, 48)), "frozen": 5000}[how]
    said, volume = run(tmp_path, scan[0], "dead-part", views=views)
    assert "columns 0-47 of rows 0-7 are dead or covered in all views" in said and "row-ends" not in said and "darks-twice" not in said
    assert (volume[8:] == scan[1][8:]).all()  # the slices that do not see it


@pytest.mark.parametrize("kind, value", [("line_integral", 0), ("line_integral", 5), ("transmission", 0), ("transmission", 1)])
def test_a_quadrant_of_one_value(scan, tmp_path, kind, value):
    values = np.exp(-scan[0]["lines"]) + 0.005 * np.random.default_rng(4).standard_normal(scan[0]["lines"].shape)
    values = values if kind == "transmission" else -np.log(values)
    values[QUADRANT] = value
    np.save(tmp_path / "t.npy", values.astype("f4"))
    found = qb_json("info", tmp_path / "t.npy", "--angles", "0:180", "--quantity", kind)["findings"]
    assert [f["code"] for f in found] == ["dead-part"] and found[0]["count"] == 8 * 48


def test_iterations_do_without_a_dead_quadrant(tmp_path):
    """Over a full turn the other side of the detector sees what the dead one does not."""
    common = ("--detector", "64,8", "--pixel-size", 1, "--views", 180, "--angles", "0:360", "--photons", 50000, "--seed", 1)
    qb("simulate", "disc", *common, "-o", tmp_path / "s.h5", "--truth", tmp_path / "t.npy")
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        views = file["exchange/data"]
        views[:, :4, :32] = 0
    said = qb("sirt", tmp_path / "s.h5", "--center", "middle", "--iterations", 60, "-o", tmp_path / "v.npy").stderr
    assert "[dead-part]" in said
    volume, truth = np.load(tmp_path / "v.npy"), np.load(tmp_path / "t.npy")
    inside = np.hypot(*np.meshgrid(*2 * (np.arange(64) - 31.5,))) < 15
    assert volume[1][inside].mean() == pytest.approx(truth[1][inside].mean(), rel=0.01)


def test_opaque_objects_are_no_dead_part(tmp_path):
    """A rod of lead that wobbles by two pixels on the axis, and a base plate whose ends see air: no beam in any view."""
    x = np.arange(96) - 47.5
    lines = np.stack([20 * (np.abs(x - 2 * np.cos(a)) < 12) for a in np.radians(ANGLES)])[:, None].repeat(8, 1).astype(float)
    lines[:, 6:] = np.where(np.abs(x) < 40, 30, 0)
    counts = np.random.default_rng(2).poisson(1000 * np.exp(-lines))
    path = write_scan(tmp_path / "t.h5", counts.astype("u2"), ANGLES, np.full((2, 8, 96), 1000, "u2"), np.zeros((2, 8, 96), "u2"), pixel=1)
    assert "dead-part" not in qb("info", path).stdout


def test_air_without_noise_is_no_dead_part(tmp_path):
    qb("simulate", "spheres", "-o", tmp_path / "s.h5", "--views", 60, "--detector", "96,16", "--pixel-size", 0.1, "--geometry", "cone", "--sod", 100, "--sdd", 200)
    for part in ("0:30", "50:96"):
        assert "dead-part" not in qb("info", tmp_path / "s.h5", "--crop", part).stdout


def test_dense_objects_are_no_dead_part(tmp_path):
    """Half of a dense disc, at whose middle the detector ends: rays there let nothing through."""
    x = np.arange(96)
    lines = 2 * np.sqrt(np.maximum(70.0 ** 2 - x ** 2, 0)) * 0.1
    counts = np.random.default_rng(2).poisson(20000 * np.exp(-lines) + DARK, (VIEWS, 8, 96))
    path = write_scan(tmp_path / "t.h5", counts.astype("u2"), 2 * ANGLES, np.full((2, 8, 96), 20000 + DARK, "u2"),
                      np.random.default_rng(3).poisson(DARK, (4, 8, 96)).astype("u2"), pixel=1)
    assert "dead-part" not in qb("info", path).stdout


def test_line_integrals_called_transmissions(scan, tmp_path):
    np.save(tmp_path / "t.npy", (scan[0]["lines"] + 0.005 * np.random.default_rng(1).standard_normal(scan[0]["lines"].shape)).astype("f4"))
    said = qb("info", tmp_path / "t.npy", "--angles", "0:180", "--quantity", "transmission").stdout
    assert "look like line integrals" in said and "[other-quantity]" in said and "dead-part" not in said


# ---- darks in another byte order ----


@pytest.mark.parametrize("more, factor, noise", [(0, 1, True), (900, 1, True), (0, 3, True), (0, 1, False)])
@pytest.mark.parametrize("dtype", ["u2", "i4"])
def test_darks_in_the_other_byte_order(scan, tmp_path, more, factor, dtype, noise):
    darks = scan[0]["darks"] if noise else np.full_like(scan[0]["darks"], DARK)
    both = [((scan[0][of] + more) * factor).clip(0, 65535).astype("u2") for of in ("views", "flats")]
    darks = ((darks + more) * factor).astype(dtype)
    path = write_scan(tmp_path / "t.h5", both[0], ANGLES, both[1], darks.byteswap(), pixel=1)
    fails(3, "fbp", path, "-o", tmp_path / "v.npy", says=(f"{np.dtype(dtype).name} values of its darks", "byteswap"))
    said = qb("fbp", write_scan(path, both[0], ANGLES, both[1], darks, pixel=1), "--center", "middle", "-o", tmp_path / "v.npy").stderr
    assert "byte order" not in said and off(np.load(tmp_path / "v.npy"), scan[1]) < 0.05


def test_scans_of_high_bytes_alone(scan, tmp_path):
    """Numbers of 8 bits that were multiplied by 256: narrow low bytes say nothing."""
    views, flats, darks = [(scan[0][of] // 128).clip(0, 255) * 256 for of in ("views", "flats", "darks")]
    path = write_scan(tmp_path / "t.h5", views.astype("u2"), ANGLES, flats.astype("u2"), (darks + 256).astype("u2"), pixel=1)
    assert "byte order" not in qb("fbp", path, "--center", "middle", "-o", tmp_path / "v.npy").stderr
