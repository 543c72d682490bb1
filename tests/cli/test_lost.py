# SPDX-License-Identifier: MIT
"""Values that were not measured (NaN) weigh nothing in sirt, cgls and mbir and are interpolated by fbp and fdk; rows that no
view has measured are slices of NaN. The truth is the attenuation of a disc, 0.02/mm."""
import json

import h5py
import numpy as np
import pytest
from qbtest import devices, instead, qb

TRUTH, VIEWS = 0.02, 120
CONE = ("--sod", 500, "--sdd", 800)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lost")
    qb("simulate", "disc", "--size", 48, "--views", VIEWS, "-o", folder / "s.h5")
    qb("simulate", "disc", "--geometry", "cone", *CONE, "--pixel-size", 1.4, "--detector", "80,32", "--views", VIEWS, "-o", folder / "c.h5")
    return folder


def spoil(source, folder, change):
    path = folder / source.name
    path.write_bytes(source.read_bytes())
    with h5py.File(path, "r+") as file:
        data = file["exchange/data"][:]
        change(data)
        file["exchange/data"][...] = data
    return path


HOW = {"fbp": (), "fdk": CONE, "sirt": ("-g", "parallel", "--iterations", 80), "cgls": ("-g", "parallel", "--iterations", 25),
       "mbir": (), "cone sirt": (*CONE, "--iterations", 60), "cone cgls": (*CONE, "--iterations", 25)}


def image_of(verb, scan, out, *more):
    done = qb(verb.split()[-1], scan, *instead(HOW[verb], *more), "-o", out, "--json")
    image_of.report, image_of.said = json.loads(done.stdout), done.stderr
    return np.load(out)


def middle(volume):
    """The mean over most of the disc: rings that lost columns leave undetermined are not what is asked."""
    z, y, x = (n // 2 for n in volume.shape)
    return volume[z - 1:z + 1, y - 12:y + 12, x - 12:x + 12].mean()


def columns(data):
    data[:, :, ::10] = np.nan


def block(data):
    """A tenth of the detector, another place in each view."""
    for view in range(len(data)):
        at = view * 7 % (data.shape[2] - 5)
        data[view, :, at:at + 5] = np.nan


@pytest.mark.parametrize("verb, change", [("fbp", columns), ("fdk", columns), ("sirt", columns), ("sirt", block), ("cgls", columns),
                                          ("cgls", block), ("mbir", columns), ("cone sirt", columns), ("cone cgls", block)])
def test_lost_values(good, tmp_path, verb, change):
    source = good / ("c.h5" if verb == "fdk" or verb.startswith("cone") else "s.h5")
    more = ("--slices", "23:25") if verb in ("fbp", "mbir") else ()
    volume = image_of(verb, spoil(source, tmp_path, change), tmp_path / "v.npy", *more)
    assert middle(volume) == pytest.approx(TRUTH, rel=0.01)
    weigh = verb.split()[-1] in ("sirt", "cgls", "mbir")
    assert ("count as not measured" if weigh else "interpolated") in image_of.said and "[not-finite]" in image_of.said


@pytest.mark.parametrize("verb", ["sirt", "cgls"])
@pytest.mark.parametrize("more", [(), ("--nonneg",)])
def test_lost_values_are_as_if_there_were_none(good, tmp_path, verb, more):
    """What a lost value says has no effect at all: nonsense in place of the object's shadow, marked as lost or as it is."""
    def nonsense(data):
        block(data)
        data[np.isnan(data)] = 1e-3
    lost = image_of(verb, spoil(good / "s.h5", tmp_path, block), tmp_path / "a.npy", *more)
    whole = image_of(verb, good / "s.h5", tmp_path / "b.npy", *more)
    wrong = image_of(verb, spoil(good / "s.h5", tmp_path, nonsense), tmp_path / "c.npy", *more)
    inner = slice(12, 36)
    error = [np.abs(v[24, inner, inner] - whole[24, inner, inner]).max() for v in (lost, wrong)]
    assert error[0] < 0.1 * TRUTH < error[1]


@pytest.mark.parametrize("verb", ["sirt", "cgls"])
def test_a_device_weighs_the_same(good, tmp_path, verb):
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    scan = spoil(good / "s.h5", tmp_path, block)
    images = [image_of(verb, scan, tmp_path / "v.npy", "--iterations", 4, "--device", device) for device in ("cpu", "opencl")]
    assert images[1] == pytest.approx(images[0], abs=1e-4 * TRUTH)  # from the 7th to the 10th iteration of cgls rounding grows


@pytest.mark.parametrize("verb", ["fbp", "sirt", "cgls"])
def test_rows_that_no_view_has_measured(good, tmp_path, verb):
    def rows(data):
        data[:, 10:13] = np.nan
    scan = spoil(good / "s.h5", tmp_path, rows)
    volume = image_of(verb, scan, tmp_path / "v.npy")
    assert np.isnan(volume[10:13]).all() and np.isfinite(volume[:10]).all() and np.isfinite(volume[13:]).all()
    assert middle(volume) == pytest.approx(TRUTH, rel=0.01)
    assert image_of.report["findings"] == [{"code": "rows-lost", "what": "rows", "which": "10-12", "count": 3, "of": 48,
                                            "done": "without value"}]
    assert "detector rows 10-12 (3 of 48) were never measured" in image_of.said
    assert "rows 10-12" in qb("info", scan).stdout
    some = image_of("fbp", scan, tmp_path / "v.npy", "--slices", "8:20:2")
    assert np.isnan(some[1:3]).all() and np.isfinite(some[[0, 3, 4, 5]]).all()


def test_a_row_lost_in_one_view_only(good, tmp_path):
    def row(data):
        data[60, 24] = np.nan
    assert image_of("fbp", spoil(good / "s.h5", tmp_path, row), tmp_path / "v.npy").shape == (48, 48, 48)
    assert image_of.report["findings"] == [] and np.isfinite(np.load(tmp_path / "v.npy")).all()


@pytest.mark.parametrize("verb", [["fdk"], ["sirt", "--iterations", 20], ["cgls", "--iterations", 10], ["tv", "--iterations", 200]])
def test_one_lost_row_of_a_cone(tmp_path, verb):
    """A slice that hardly any other row has seen is NaN, not 0. Its neighbours have their value."""
    place = ["--sod", 500, "--sdd", 800]
    qb("simulate", "disc", "-o", "s.h5", "--geometry", "cone", *place, "--pixel-size", 1, "--detector", "64,8", "--views", 120, cwd=tmp_path)
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        file["exchange/data"][:, 3] = np.nan
    done = qb(*verb, "s.h5", *place, "-o", "v.npy", cwd=tmp_path)
    volume = np.load(tmp_path / "v.npy")
    assert (np.isnan(volume).all((1, 2)) == (np.arange(8) == 3)).all() and "rows 3 (1 of 8)" in done.stderr and "[nan-slices]" in done.stderr
    assert volume[[2, 4], 24:40, 24:40].mean((1, 2)) == pytest.approx(0.02, rel=0.02)


def test_a_row_lost_in_one_view_is_no_other_order_of_axes(tmp_path):
    """Nothing of a disc about the axis changes from view to view, but for that row."""
    place = ["--sod", 500, "--sdd", 800]
    qb("simulate", "disc", "-o", "s.h5", "--geometry", "cone", *place, "--pixel-size", 1, "--detector", "64,8", "--views", 120, cwd=tmp_path)
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        file["exchange/data"][7, 3] = np.nan
    assert "[axes-order]" not in qb("fdk", "s.h5", *place, "-o", "v.npy", cwd=tmp_path).stderr


def test_a_cone_s_slices_that_nothing_measured(tmp_path):
    """A gap between two modules: slices within it are NaN, those far from it have their value, and the run says so."""
    place = ["--sod", 2000, "--sdd", 2400]
    qb("simulate", "disc", "-o", "s.h5", "--geometry", "cone", *place, "--pixel-size", 1.2, "--detector", "64,48", "--views", 120, cwd=tmp_path)
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        file["exchange/data"][:, 28:38] = np.nan
    for verb, more in (("fdk", []), ("fdk", ["--slices", "20:40:2"]), ("fdk", ["--dtype", "float16"])):
        done = qb(verb, "s.h5", *place, *more, "-o", "v.npy", cwd=tmp_path)
        volume = np.load(tmp_path / "v.npy").astype(float)
        nan = np.isnan(volume).all((1, 2))
        rows = np.arange(48)[20:40:2] if "--slices" in more else np.arange(48)
        assert nan[(rows >= 31) & (rows < 35)].all() and not nan[(rows < 28) | (rows >= 38)].any()
        assert (np.isnan(volume).any((1, 2)) == nan).all()
        assert "detector rows 28-37" in done.stderr and ("[nan-slices]" in done.stderr or "float16" in more)
    qb("fdk", "s.h5", *place, "-o", "v.npy", cwd=tmp_path)
    volume = np.load(tmp_path / "v.npy")
    assert volume[12, 24:40, 24:40].mean() == pytest.approx(0.02, rel=0.01)
