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
def test_views_scaled_one_by_one(scan, tmp_path, kind):
    lines = (scan[0]["lines"] if kind == "line_integral" else np.exp(-scan[0]["lines"])) + 0.01 * np.random.default_rng(1).random(
        scan[0]["lines"].shape)
    low, high = lines.min((1, 2), keepdims=True), lines.max((1, 2), keepdims=True)
    for name, values in ("each", (lines - low) / (high - low)), ("all", (lines - lines.min()) / (lines.max() - lines.min())):
        np.save(tmp_path / f"{name}.npy", values.astype("f4"))
        said = qb("fbp", tmp_path / f"{name}.npy", "--angles", "0:180", "--quantity", kind, "--center", "middle", "-o",
                  tmp_path / "v.npy").stderr
        assert ("[views-scaled]" in said) == (name == "each")


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
