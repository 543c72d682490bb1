# SPDX-License-Identifier: MIT
"""Measured scans (tests/data): the axis, and every slice against an independent reconstruction in double precision."""
import h5py
import numpy as np
import pytest

from qbtest import circle, data, fbp, leftovers, qb, qb_json, read_h5, read_stack, slope_correlation, turns

TOOTH = "tooth_dxchange/tooth.h5"
SAVU, SAVU_NX = "savu24737_tiff", "savu24737_nxtomo/24737_nxtomo_repacked.nxs"
NEUTRON = "neutron_sino/sinogram_360_neutron_image.tif"
K11 = "k11_nxs/k11-18014.nxs"
AIR = (0, 24)


def savu_args(folder):
    return [folder / "tiffs", "--flats", folder / "flat_00001.tiff", "--darks", folder / "dark_00001.tiff",
            "--angles", f"{folder / 'angles.txt'}:10:101"]


def neutron_args(path):
    return [path, "--as", "sinogram", "--angles", f"0:{360 + 360 / 458}:459", "--air", "0:30,0:1"]


def bridge(p, bad):
    """Bad values along the last axis from their good neighbours."""
    x = np.arange(p.shape[-1])
    out = p.reshape(-1, len(x)).copy()
    for row, wrong in zip(out, np.broadcast_to(bad, p.shape).reshape(out.shape)):
        if wrong.any():
            row[wrong] = np.interp(x[wrong], x[~wrong], row[~wrong])
    return out.reshape(p.shape)


def line_integrals(counts, flat, dark, air=None):
    gain = flat - dark
    dead = gain <= 0
    t = (counts - dark) / np.where(dead, 1, gain)
    if air:
        t /= np.where(dead, np.nan, t)[:, :, air[0]:air[1]].mean(axis=(1, 2), where=~dead[None, :, air[0]:air[1]])[:, None, None]
    return bridge(-np.log(np.maximum(t, 1e-6)), dead)


def matches(found, wanted, radius):
    """Unflipped, slope 1 within 2 %, correlation above 0.98."""
    inside = circle(wanted.shape[0], radius)
    score = [slope_correlation(turn[inside], wanted[inside]) for turn in turns(found)]
    assert np.argmax([c for _, c in score]) == 0, score
    slope, correlation = score[0]
    assert abs(slope - 1) < 0.02 and correlation > 0.98, score[0]


def center_of(args, low, high):
    told = qb_json("center", *args)
    assert low <= told["column"] <= high, told
    assert 0 <= told["confidence"] <= 1 and told["methods"]
    return told


# ---- the tooth ----


def test_tooth_axis():
    center_of([data(TOOTH)], 295.5, 296.5)


def test_tooth_slices(tmp_path):
    with h5py.File(data(TOOTH)) as f:
        g = {k: f["/exchange/" + k][()].astype(float) for k in ("data", "data_white", "data_dark", "theta")}
    p = line_integrals(g["data"], g["data_white"].mean(0), g["data_dark"].mean(0))
    qb("fbp", data(TOOTH), "-o", tmp_path / "v.h5", "--center", "296")
    found = read_h5(tmp_path / "v.h5")
    assert found.shape == (2, 640, 640)
    for z in range(2):
        matches(found[z], fbp(p[:, z], g["theta"], 296.0), 290)


def test_tooth_info():
    told = qb_json("info", data(TOOTH))
    assert (told["views"], told["rows"], told["columns"], told["flats"], told["darks"]) == (181, 2, 640, 10, 10)
    assert told["quantity"] == "counts" and told["highest_angle_deg"] == pytest.approx(179.0055, abs=1e-3)


def test_tooth_automatic(tmp_path):
    report = qb_json("fbp", data(TOOTH), "-o", tmp_path / "v.h5", "--center", "auto")
    assert 295.5 <= report["column"] <= 296.5


# ---- the capsule, in two containers ----


@pytest.mark.parametrize("form", ["tiff", "nxtomo"])
def test_savu_axis(form):
    args = savu_args(data(SAVU)) if form == "tiff" else [data(SAVU_NX)]
    center_of([*args, "--air", f"{AIR[0]}:{AIR[1]},0:135"], 85.5, 86.5)


@pytest.mark.parametrize("form", ["tiff", "nxtomo"])
def test_savu_slices(tmp_path, form):
    tifffile = pytest.importorskip("tifffile")
    folder = data(SAVU)
    views = read_stack(str(folder / "tiffs" / "*.tiff")).astype(float)
    flat, dark = (tifffile.imread(folder / f"{k}_00001.tiff").astype(float) for k in ("flat", "dark"))
    angles = np.loadtxt(folder / "angles.txt")[10:101]
    p = line_integrals(views, flat, dark, AIR)
    args = savu_args(folder) if form == "tiff" else [data(SAVU_NX)]
    qb("fbp", *args, "--air", f"{AIR[0]}:{AIR[1]},0:135", "--center", "86", "-o", tmp_path / "v.h5")
    found = read_h5(tmp_path / "v.h5")
    assert found.shape == (135, 160, 160)
    for z in (20, 67, 110):
        matches(found[z], fbp(p[:, z], angles, 86.0), 72)


def test_savu_info():
    told = qb_json("info", *savu_args(data(SAVU)))
    assert (told["views"], told["rows"], told["columns"]) == (91, 135, 160)
    problems = " ".join(told["problems"])
    assert "(0,0)" in problems  # the flat's dead pixel
    assert "180" in problems or "repeat" in problems  # both ends measured
    nx = qb_json("info", data(SAVU_NX))
    assert (nx["views"], nx["flats"], nx["darks"]) == (91, 2, 2)
    assert nx["lowest_angle_deg"] == pytest.approx(-88.2) and nx["highest_angle_deg"] == pytest.approx(91.8, abs=1e-3)


def test_savu_angles_of_another_length():
    args = savu_args(data(SAVU))
    args[-1] = data(SAVU) / "angles.txt"
    said = qb("fbp", *args, "-o", "x.h5", "--center", "86", code=3).stderr
    assert "111" in said and "91" in said


# ---- neutrons: one sinogram, no flats ----


def test_neutron_axis():
    center_of(neutron_args(data(NEUTRON)), 244.5, 245.5)


def test_neutron_slice(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    s = tifffile.imread(data(NEUTRON)).astype(float)
    p = -np.log(np.maximum(s / s[:, :30].mean(axis=1, keepdims=True), 1e-6))
    qb("fbp", *neutron_args(data(NEUTRON)), "--center", "245", "-o", tmp_path / "v.h5")
    found = read_h5(tmp_path / "v.h5")
    assert found.shape == (1, 503, 503)
    matches(found[0], fbp(p, np.arange(459) * 360 / 458, 245.0, 503), 235)


def ring_index(image):
    """Root mean square of what a median over 31 radii takes off the medians over the angle, as far as the circle goes."""
    rows, columns = image.shape
    y, x = np.mgrid[:rows, :columns]
    radius = np.rint(2 * np.hypot(x - (columns - 1) / 2, y - (rows - 1) / 2)).astype(int)
    order = np.argsort(radius, axis=None, kind="stable")
    starts = np.searchsorted(radius.ravel()[order], np.arange(12, min(rows, columns) - 3))
    profile = np.array([np.median(image.ravel()[order[a:b]]) for a, b in zip(starts[:-1], starts[1:])])
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(profile, 15, mode="edge"), 31)
    return np.sqrt(np.mean((profile - np.median(windows, axis=1)) ** 2))


def test_neutron_rings(tmp_path):
    """Columns that read zero, and one that is wrong in a fifth of the views: their rings go, 5 times at least."""
    indices = {}
    for method in ("keep", "sort", "all"):
        qb("fbp", *neutron_args(data(NEUTRON)), "--center", "245", "--rings", method, "-o", tmp_path / "v.h5")
        indices[method] = ring_index(read_h5(tmp_path / "v.h5")[0].astype(float))
    print(indices)
    assert indices["all"] < 0.2 * indices["keep"]


def test_neutron_info():
    told = qb_json("info", *neutron_args(data(NEUTRON))[:5])
    assert (told["views"], told["rows"], told["columns"]) == (459, 1, 503)
    problems = " ".join(told["problems"])
    assert "dead" in problems or "zero" in problems  # columns 314 and 346
    assert "repeat" in problems or "360" in problems


# ---- a container with links that lead nowhere ----


def test_k11_info():
    told = qb_json("info", data(K11))
    assert (told["views"] + told["flats"] + told["darks"] <= 3201) and (told["rows"], told["columns"]) == (22, 26)
    problems = " ".join(told["problems"])
    assert "[broken-links]" in problems


def test_k11_reconstructs(tmp_path):
    qb("fbp", data(K11), "-o", tmp_path / "v.npy", "--center", "12.5")
    assert np.load(tmp_path / "v.npy").shape == (22, 26, 26)


# ---- sweeps on a measured scan ----


def test_tooth_sweep(tmp_path):
    report = qb_json("fbp", data(TOOTH), "-o", tmp_path / "sweep", "--center", "294:298:0.5", "--slices", "0:1")
    names = [float(n.removeprefix("center_").removesuffix(".tif")) for n in leftovers(tmp_path / "sweep", "contact_sheet.png")]
    assert names == [float(row["value"]) for row in report["slices"]] == [294 + i / 2 for i in range(9)]
