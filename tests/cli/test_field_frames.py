# SPDX-License-Identifier: MIT
"""Flats and darks that cannot be what they are called are named and left out of the mean. The truth is the attenuation of a
disc, 0.02/mm, and what the undisturbed scan gives."""
import json

import h5py
import numpy as np
import pytest
from qbtest import qb, qb_json, write_scan

TRUTH = 0.02


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    qb("simulate", "disc", "--size", 48, "--views", 120, "--photons", 1e5, "--seed", 3, "-o", folder / "s.h5")
    return folder / "s.h5", middle(folder / "s.h5", folder)


def middle(scan, folder, *more):
    done = qb("fbp", scan, "--slices", "23:25", *more, "-o", folder / "v.npy", "--json")
    middle.said, middle.report = done.stderr, json.loads(done.stdout)
    return np.load(folder / "v.npy")[:, 21:27, 21:27].mean()


def spoil(good, folder, change):
    path = folder / "s.h5"
    path.write_bytes(good[0].read_bytes())
    with h5py.File(path, "r+") as file:
        fields = {name: file[f"exchange/{name}"][:] for name in ("data_white", "data_dark")}
        change(fields)
        for name, values in fields.items():
            file[f"exchange/{name}"][...] = values
    return path


def finding():
    [one] = middle.report["findings"]
    return one


def test_darks_with_beam(good, tmp_path):
    def change(f):
        f["data_dark"][[1, 3, 5, 7, 9]] = f["data_white"][:5]
    scan = spoil(good, tmp_path, change)
    assert middle(scan, tmp_path) == pytest.approx(TRUTH, rel=0.01)
    assert finding() == {"code": "odd-darks", "what": "darks", "which": "1, 3, 5, 7, 9", "count": 5, "of": 10, "done": "left out"}
    assert "darks 1, 3, 5, 7, 9 (5 of 10)" in middle.said and "[odd-darks]" in middle.said
    assert json.loads(qb("info", scan, "--json").stdout)["findings"] == middle.report["findings"]
    assert abs(middle(scan, tmp_path, "--keep-all-fields") / TRUTH - 1) > 0.02 and finding()["done"] == "kept"
    assert middle(scan, tmp_path, "--exclude-darks", "1:10:2") == pytest.approx(TRUTH, rel=0.01) and middle.report["findings"] == []


def test_a_flat_with_the_shutter_closed(good, tmp_path):
    def change(f):
        f["data_white"][4] = f["data_dark"][4]
    scan = spoil(good, tmp_path, change)
    assert middle(scan, tmp_path) == pytest.approx(TRUTH, rel=0.01)
    assert finding()["code"] == "odd-flats" and finding()["which"] == "4"
    assert middle(scan, tmp_path, "--exclude-flats", "4") == middle(scan, tmp_path)


def test_flats_and_darks_exchanged(good, tmp_path):
    def change(f):
        f["data_white"][:10], f["data_dark"][:] = f["data_dark"].copy(), f["data_white"][:10].copy()
        f["data_white"][10:] = f["data_white"][:10]
    scan = spoil(good, tmp_path, change)
    assert middle(scan, tmp_path) == pytest.approx(TRUTH, rel=0.01)
    assert finding()["code"] == "fields-exchanged" and "[fields-exchanged]" in qb("info", scan).stdout


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_zinger_in_one_of_few_flats(good, tmp_path, count):
    """The disc's value is right, and all that the zinger did is gone: no ring in the whole image."""
    path = tmp_path / "s.h5"
    images = []
    for zinger in False, True:
        path.write_bytes(good[0].read_bytes())
        with h5py.File(path, "r+") as file:
            flats = file["exchange/data_white"][:count]
            if zinger:
                flats[1, :, 30] = 65000
            del file["exchange/data_white"]
            file["exchange/data_white"] = flats
        assert middle(path, tmp_path) == pytest.approx(TRUTH, rel=0.01)
        assert middle.report["findings"] == []
        images.append(np.load(tmp_path / "v.npy"))
    assert np.abs(images[1] - images[0]).max() < 0.03 * TRUTH
    middle(path, tmp_path, "--keep-all-fields")
    assert np.abs(np.load(tmp_path / "v.npy") - images[0]).max() > 0.05 * TRUTH


def test_a_zinger_in_the_only_flat(good, tmp_path):
    """It is named, with its place. A pixel that answers more strongly in the views, too, is none."""
    def scan(flat, views=1):
        path = tmp_path / "s.h5"
        path.write_bytes(good[0].read_bytes())
        with h5py.File(path, "r+") as file:
            only = file["exchange/data_white"][:1] * 0.5
            only[0, 24, 30] *= flat
            data = file["exchange/data"][:] * 0.5
            data[:, 24, 30] *= views
            for name, values in ("data_white", only), ("data", data):
                del file[f"exchange/{name}"]
                file[f"exchange/{name}"] = values.astype("u2")
        return qb_json("info", path)["problems"], qb("fbp", path, "--slices", "23:25", "-o", tmp_path / "v.npy").stderr
    problems, said = scan(1.6)
    assert "1 pixel of the flats is bright" in said and "the first in row 24, column 30" in said and "[flat-zingers]" in " ".join(problems)
    for how in (1, 1), (1.6, 1.6):
        problems, said = scan(*how)
        assert "flat-zingers" not in said + " ".join(problems)


def test_flats_that_are_the_views(good, tmp_path):
    """By the same file or by a copy. Flats and views that share a dataset are none when each frame is one of both."""
    with h5py.File(good[0]) as file:
        data, angles, flats, darks = (file[f"exchange/{name}"][:] for name in ("data", "theta", "data_white", "data_dark"))
    views = write_scan(tmp_path / "views.h5", data, angles)
    np.save(tmp_path / "copy.npy", data)
    for option in "--flats", "--darks":
        for given in f"{views}:/exchange/data", tmp_path / "copy.npy":
            assert f"{option}: frame 0 is view 0 itself" in " ".join(qb_json("info", views, option, given)["problems"])
    both = write_scan(tmp_path / "both.h5", np.concatenate([flats[:5], data]), np.concatenate([np.zeros(5), angles]), darks=darks)
    how = ["--views", "5:", "--flats", f"{both}:/exchange/data", "--exclude-flats", "5:"]
    done = qb("fbp", both, *how, "--slices", "23:25", "-o", tmp_path / "v.npy")
    assert "fields-are-views" not in done.stderr


@pytest.mark.parametrize("kind", ["u2", "f4"])
@pytest.mark.parametrize("beam", [40, 300, 5000])
def test_dim_scans_have_no_odd_frames(tmp_path, kind, beam):
    """Few counts, in darks, too: noise is no drift of the beam and no odd dark."""
    rows, columns, views = 4, 64, 60
    s = np.arange(columns) - 31.5
    lines = np.broadcast_to(2 * 0.005 * np.sqrt(np.maximum(20 ** 2 - s ** 2, 0)), (views, rows, columns))
    for seed, dark, count in (1, 0.7, 10), (2, 3, 5), (3, 30, 10), (4, 30, 3):
        random = np.random.default_rng(seed)
        data = random.poisson(beam * np.exp(-lines) + dark), random.poisson(beam + dark, (5, rows, columns)), random.poisson(dark, (count, rows, columns))
        scan = write_scan(tmp_path / "s.h5", data[0].astype(kind), np.arange(views) * 3.0, data[1].astype(kind), data[2].astype(kind), pixel=1)
        assert qb_json("info", scan)["problems"] == []
    data[2][1] += beam // 4 + 20  # one that is odd is found all the same
    scan = write_scan(tmp_path / "s.h5", data[0].astype(kind), np.arange(views) * 3.0, data[1].astype(kind), data[2].astype(kind), pixel=1)
    assert [f["code"] for f in qb_json("info", scan)["findings"]] == ["odd-darks"]


def test_good_fields_keep_their_plain_mean(good, tmp_path):
    middle(good[0], tmp_path)
    robust = np.load(tmp_path / "v.npy")
    middle(good[0], tmp_path, "--keep-all-fields")
    assert (np.load(tmp_path / "v.npy") == robust).all()
    assert middle.report["findings"] == []


def test_a_beam_that_fades_is_no_fault(good, tmp_path):
    def change(f):
        f["data_white"][10:] = (f["data_white"][10:] * 0.55).astype(f["data_white"].dtype)
    middle(spoil(good, tmp_path, change), tmp_path)
    assert middle.report["findings"] == []


def test_saturated_flats_are_dead(good, tmp_path):
    """A few columns of all flats stand at 65535: they are bridged, and said."""
    def change(f):
        f["data_white"][:, :, 20:22] = 65535
    scan = spoil(good, tmp_path, change)
    assert middle(scan, tmp_path) == pytest.approx(TRUTH, rel=0.01)
    assert "96 of 2304 flat pixels stand at 65535" in middle.said and "[flats-saturated]" in middle.said
