# SPDX-License-Identifier: MIT
"""Frames that cannot be right: views without beam, without numbers, of one value; found by every verb, left out, and the
others take their weight. The truth is the attenuation of a disc, 0.02/mm."""
import json

import h5py
import numpy as np
import pytest
from qbtest import qb

TRUTH, VIEWS = 0.02, 180
SPREAD = list(range(5, VIEWS, 10))
WORDS = ", ".join(map(str, SPREAD))
CONE = ("--sod", 500, "--sdd", 800)


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """counts.h5, transmission.h5 (parallel) and cone.h5 (transmission), all of one disc."""
    folder = tmp_path_factory.mktemp("frames")
    qb("simulate", "disc", "--size", 48, "--views", VIEWS, "--photons", 1e6, "--seed", 1, "-o", folder / "counts.h5")
    qb("simulate", "disc", "--size", 48, "--views", VIEWS, "-o", folder / "transmission.h5")
    qb("simulate", "disc", "--geometry", "cone", *CONE, "--pixel-size", 1, "--detector", "80,32", "--views", VIEWS, "-o",
       folder / "cone.h5")
    return folder


def spoil(scans, name, folder, change, views=SPREAD):
    """A copy of a scan in which change(data, view) was done to some views."""
    path = folder / f"{name}.h5"
    path.write_bytes((scans / f"{name}.h5").read_bytes())
    with h5py.File(path, "r+") as file:
        for view in views:
            change(file["exchange/data"], view)
    return path


def dark(data, view):
    data[view] = np.random.default_rng(view).poisson(100, data[view].shape)


def lost(data, view):
    data[view] = np.nan


def hole(data, view):
    data[view] = 0


def saturated(data, view):
    data[view] = 65535


def middle(path):
    volume = np.load(path)
    z, y, x = (n // 2 for n in volume.shape)
    return volume[z, y - 3:y + 3, x - 3:x + 3].mean()


FAULTS = {"dark": ("counts", dark, "views-blank"), "saturated": ("counts", saturated, "views-saturated"),
          "hole": ("transmission", hole, "views-constant"), "lost": ("transmission", lost, "views-not-numbers"),
          "cone": ("cone", lost, "views-not-numbers")}


def reconstruct(verb, scan, out, *more):
    cone = scan.name == "cone.h5"
    options = {"fbp": ("--slices", "23:25"), "fdk": (), "sirt": ("--iterations", 60), "cgls": ("--iterations", 12), "mbir": ("--slices", "23:25")}[verb]
    geometry = CONE if cone else () if verb == "fbp" else ("-g", "parallel")
    return qb(verb, scan, *geometry, *options, *more, "-o", out, "--json")


@pytest.mark.parametrize("fault, verb", [("dark", "fbp"), ("saturated", "fbp"), ("hole", "fbp"), ("lost", "fbp"), ("cone", "fdk"),
                                         ("cone", "sirt"), ("lost", "cgls"), ("lost", "mbir")])
def test_bad_views_are_left_out(scans, tmp_path, fault, verb):
    name, change, code = FAULTS[fault]
    done = reconstruct(verb, spoil(scans, name, tmp_path, change), tmp_path / "v.npy")
    assert f"views {WORDS} (18 of 180)" in done.stderr and f"[{code}]" in done.stderr
    [finding] = json.loads(done.stdout)["findings"]
    assert finding == {"code": code, "what": "views", "which": WORDS, "count": 18, "of": VIEWS, "done": "left out"}
    assert middle(tmp_path / "v.npy") == pytest.approx(TRUTH, rel=0.01)


def test_all_verbs_say_the_same(scans, tmp_path):
    scan = spoil(scans, "counts", tmp_path, dark)
    finding = {"code": "views-blank", "what": "views", "which": WORDS, "count": 18, "of": VIEWS, "done": "left out"}
    info = json.loads(qb("info", scan, "--json").stdout)
    assert info["findings"] == [finding] and info["views"] == 162 and info["stored_views"] == VIEWS
    for verb in (["center", scan, "--method", "registration"], ["convert", scan, "-o", tmp_path / "c.h5"],
                 ["fbp", scan, "--center", 23.5, "--dry-run", "-o", tmp_path / "d.npy"]):
        done = qb(*verb, "--json")
        assert json.loads(done.stdout)["findings"] == [finding], verb
        assert "[views-blank]" in done.stderr, verb
    with h5py.File(tmp_path / "c.h5") as file:
        assert file["exchange/data"].shape[0] == 162
        assert json.loads(qb("info", tmp_path / "c.h5", "--json").stdout)["findings"] == []


def test_a_good_scan_has_no_findings(scans):
    for name in ("counts", "transmission", "cone"):
        info = json.loads(qb("info", scans / f"{name}.h5", "--json").stdout)
        assert info["findings"] == [] and info["views"] == VIEWS and info["problems"] == []


def test_keep_all_views(scans, tmp_path):
    scan = spoil(scans, "transmission", tmp_path, hole)
    info = json.loads(qb("info", scan, "--keep-all-views", "--json").stdout)
    assert info["views"] == VIEWS and info["findings"][0]["done"] == "kept"


def test_no_view_is_left(scans, tmp_path):
    scan = spoil(scans, "counts", tmp_path, dark, range(VIEWS))
    done = qb("fbp", scan, "-o", tmp_path / "v.npy", code=3)
    assert "none of its 180 views can be used" in done.stderr and "no beam" in done.stderr
    assert "[scan-unusable]" in qb("info", scan).stdout
    assert not (tmp_path / "v.npy").exists()


def test_an_object_that_turns_its_long_side(tmp_path):
    """Views that grow darker one after the other are no views without beam."""
    angles = np.linspace(0, np.pi, VIEWS, endpoint=False)
    path = np.minimum(20 * np.abs(np.cos(angles)) ** 4, 12)[:, None, None] * np.ones((1, 4, 40))
    noise = np.random.default_rng(1).normal(0, 1e-4, path.shape)
    with h5py.File(tmp_path / "plate.h5", "w") as file:
        file["exchange/data"] = (np.exp(-path) + noise).astype("f4")
        file["exchange/data"].attrs["quantity"] = "transmission"
        file["exchange/theta"] = np.degrees(angles)
    assert json.loads(qb("info", tmp_path / "plate.h5", "--json").stdout)["findings"] == []


# ---- views of one value ----

WIDE = {"spheres": ("--detector", "64,8"), "ball": ("--detector", "64,8"), "foam": ("--detector", "256,8", "--size", "24,24,8", "--pixel-size", 1)}


@pytest.fixture(scope="module", params=WIDE)
def wide(request, tmp_path_factory):
    """Noise-free transmissions of which most are air."""
    folder = tmp_path_factory.mktemp("wide")
    qb("simulate", request.param, *WIDE[request.param], "--views", 60, "-o", folder / "s.h5")
    with h5py.File(folder / "s.h5") as file:
        return file["exchange/data"][:]


def look(folder, values, quantity):
    np.save(folder / "s.npy", values)
    info = json.loads(qb("info", folder / "s.npy", "--angles", "0:180", "--quantity", quantity, "--json").stdout)
    return {finding["code"]: finding["which"] for finding in info["findings"]}


def test_views_of_much_air(tmp_path, wide):
    """No sample of a view may meet a small object, or none is in it: its one value is that of air."""
    empty = wide.copy()
    empty[20:26] = 1
    counts = np.round(50000 * empty).astype(np.uint16)
    assert [look(tmp_path, values, quantity) for values, quantity in
            ((wide, "transmission"), (-np.log(wide), "line_integral"), (counts, "counts"))] == 3 * [{}]
    if (wide < 0.99).mean() < 0.4:
        assert look(tmp_path, empty, "transmission") == {}


def test_an_object_that_leaves(tmp_path):
    """A disc of radius 8 that turns 60 columns off the axis, of a detector of 64 columns: many views see air alone."""
    axis = 60 * np.cos(np.linspace(0, 2 * np.pi, 120, endpoint=False))
    lines = 2 * TRUTH * np.sqrt(np.maximum(8.0 ** 2 - (np.arange(64) - 31.5 - axis[:, None]) ** 2, 0))
    lines = np.repeat(lines[:, None], 8, axis=1).astype(np.float32)
    assert 20 < np.sum(lines.max(axis=(1, 2)) == 0) < 100
    assert look(tmp_path, lines, "line_integral") == {} and look(tmp_path, np.exp(-lines), "transmission") == {}


def test_holes_among_views_of_much_air(tmp_path, wide):
    wide = wide.copy()
    wide[[7, 8, 30]] = 0
    assert look(tmp_path, wide, "transmission") in ({"views-constant": "7, 8, 30"}, {"views-blank": "7, 8, 30"})


def test_holes_among_line_integrals(tmp_path):
    """Nothing of a disc, small or large, is left in three views."""
    for radius in 20, 6:
        lines = 2 * TRUTH * np.sqrt(np.maximum(radius ** 2 - (np.arange(64) - 31.5) ** 2, 0))
        lines = np.broadcast_to(lines, (60, 8, 64)).astype(np.float32).copy()
        lines[[7, 8, 30]] = 0
        assert look(tmp_path, lines, "line_integral") == {"views-constant": "7, 8, 30"}


# ---- --exclude ----

def test_excluded_views(scans, tmp_path):
    scan = spoil(scans, "transmission", tmp_path, lambda data, view: data.__setitem__(view, np.roll(data[view], 21, axis=1)), [3, *range(40, 48, 2)])
    info = json.loads(qb("info", scan, "--exclude", "40:48:2,3", "--json").stdout)
    assert info["views"] == VIEWS - 5 and info["stored_views"] == VIEWS
    qb("fbp", scan, "--exclude", "40:48:2,3", "--slices", "24", "-o", tmp_path / "v.npy")
    assert middle(tmp_path / "v.npy") == pytest.approx(TRUTH, rel=0.01)
    qb("fbp", scan, "--slices", "24", "-o", tmp_path / "w.npy")
    assert abs(middle(tmp_path / "w.npy") / TRUTH - 1) > 0.01


def test_excluded_views_of_a_geometry_file(scans, tmp_path):
    """--exclude and a geometry with a view for each stored one; the same volume as without these views at all."""
    qb("simulate", "disc", "--geometry", "cone", *CONE, "--pixel-size", 1, "--detector", "80,32", "--views", VIEWS,
       "--geometry-out", tmp_path / "g.json", "-o", tmp_path / "s.h5")
    drop = "7,20:26:2,100:103"
    left = [v for v in range(VIEWS) if v not in (7, 20, 22, 24, 100, 101, 102)]
    with h5py.File(tmp_path / "s.h5") as file, h5py.File(tmp_path / "less.h5", "w") as less:
        less["exchange/data"] = file["exchange/data"][left]
        less["exchange/data"].attrs["quantity"] = "transmission"
        less["exchange/theta"] = file["exchange/theta"][:][left]
    qb("fdk", tmp_path / "s.h5", "-g", tmp_path / "g.json", "--exclude", drop, "-o", tmp_path / "a.npy")
    qb("fdk", tmp_path / "less.h5", *CONE, "--pixel-size", 1, "-o", tmp_path / "b.npy")
    assert np.load(tmp_path / "a.npy") == pytest.approx(np.load(tmp_path / "b.npy"), abs=2e-6)


@pytest.mark.parametrize("wrong, words", [("0:500", "--exclude 0:500 does not lie in 0:180"), ("3,,4", "--exclude takes numbers"),
                                          ("a", "--exclude a is not"), ("0:180", "leaves none of 180 views"), ("3,", "takes numbers")])
def test_what_cannot_be_excluded(scans, tmp_path, wrong, words):
    assert words in qb("fbp", scans / "transmission.h5", "--exclude", wrong, "-o", tmp_path / "v.npy", code=2).stderr


def test_sinogram_order(scans, tmp_path):
    """Rows over all views: the same views are found, and excluded."""
    with h5py.File(scans / "transmission.h5") as file:
        data, theta = file["exchange/data"][:, 20:28], file["exchange/theta"][:]
    data[SPREAD] = np.nan
    with h5py.File(tmp_path / "turned.h5", "w") as file:
        file["exchange/data"] = data.transpose(1, 0, 2)
        file["exchange/theta"] = theta
    pixel = json.loads(qb("info", scans / "transmission.h5", "--json").stdout)["pixel_size_mm"]
    options = ("--as", "sinogram", "--quantity", "transmission", "--pixel-size", pixel)
    info = json.loads(qb("info", tmp_path / "turned.h5", *options, "--json").stdout)
    assert info["findings"][0]["which"] == WORDS
    qb("fbp", tmp_path / "turned.h5", *options, "--slices", "4", "-o", tmp_path / "v.npy")
    assert middle(tmp_path / "v.npy") == pytest.approx(TRUTH, rel=0.01)


@pytest.mark.parametrize("chunks", [(1, 48, 48), (16, 8, 48), (7, 48, 48)])
def test_packed_chunks(scans, tmp_path, chunks):
    scan = spoil(scans, "counts", tmp_path, dark)
    with h5py.File(scan, "r+") as file:
        data = file["exchange/data"][:]
        del file["exchange/data"]
        file.create_dataset("exchange/data", data=data, chunks=chunks, compression="gzip")
    assert json.loads(qb("info", scan, "--json").stdout)["findings"][0]["which"] == WORDS


def test_chunks_that_were_never_written(scans, tmp_path):
    scan = tmp_path / "s.h5"
    scan.write_bytes((scans / "transmission.h5").read_bytes())
    with h5py.File(scan, "r+") as file:
        data = file["exchange/data"][:]
        del file["exchange/data"]
        made = file.create_dataset("exchange/data", data.shape, "f4", chunks=(1, 48, 48))
        made.attrs["quantity"] = "transmission"
        for view in set(range(VIEWS)) - set(SPREAD):
            made[view] = data[view]
    assert json.loads(qb("info", scan, "--json").stdout)["findings"][0]["which"] == WORDS
    qb("fbp", scan, "--slices", "24", "-o", tmp_path / "v.npy")
    assert middle(tmp_path / "v.npy") == pytest.approx(TRUTH, rel=0.01)


@pytest.mark.parametrize("verb, name, change", [("fbp", "counts", dark), ("fbp", "transmission", lost), ("fdk", "cone", lost),
                                                ("sirt", "cone", lost)])
def test_a_run_of_bad_views(scans, tmp_path, verb, name, change):
    """A tenth of the views in one run: the gap is weighted for."""
    done = reconstruct(verb, spoil(scans, name, tmp_path, change, range(60, 78)), tmp_path / "v.npy")
    assert "views 60-77 (18 of 180)" in done.stderr
    assert middle(tmp_path / "v.npy") == pytest.approx(TRUTH, rel=0.01)
