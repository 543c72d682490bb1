# SPDX-License-Identifier: MIT
"""What scans of beamlines and of other programs hold, by their public bug reports: pillars in front of the beam, lists of angles
whose numbers wrapped, stacks of ImageJ with a calibration or channels, percent, fields in odd shapes. The truth is the same scan
without that."""
import h5py
import numpy as np
import pytest
from qbtest import fails, qb, qb_json, write_scan

tifffile = pytest.importorskip("tifffile")
VIEWS, ROWS, COLUMNS, DARK = 90, 8, 96, 100
ANGLES = np.arange(VIEWS) * 180 / VIEWS
HOW = ("--angles", "0:180", "--pixel-size", 1, "--center", "middle")


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """Counts of foam, flats and darks, and the volume that they give."""
    folder = tmp_path_factory.mktemp("beamline")
    qb("simulate", "foam", "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", 1, "--views", VIEWS, "--seed", 2, "-o", folder / "s.h5")
    with h5py.File(folder / "s.h5") as file:
        through = file["exchange/data"][:]
    random = np.random.default_rng(5)
    beam = 20000 * np.linspace(0.8, 1, COLUMNS) * np.ones((ROWS, 1))
    scan = {"views": random.poisson(beam * through) + DARK, "flats": random.poisson(beam, (6, ROWS, COLUMNS)) + DARK,
            "darks": random.poisson(DARK, (4, ROWS, COLUMNS))}
    scan = {name: values.astype("u2") for name, values in scan.items()}
    said, scan["volume"] = run(folder, scan)
    assert "warning" not in said
    return scan


def store(folder, scan, **other):
    """Each series as an array; returns the options that name them."""
    for name in ("views", "flats", "darks"):
        np.save(folder / f"{name}.npy", {**scan, **other}[name])
    return folder / "views.npy", *HOW, "--flats", folder / "flats.npy", "--darks", folder / "darks.npy"


def run(folder, scan, **other):
    said = qb("fbp", *store(folder, scan, **other), "-o", folder / "v.npy").stderr
    return said, np.load(folder / "v.npy")


def transmissions(scan):
    flat, dark = (scan[name].mean(0, dtype=float) for name in ("flats", "darks"))
    return ((scan["views"] - dark) / (flat - dark)).astype("f4")


# ---- something opaque in front of some views ----


@pytest.mark.parametrize("side, part", [("left", slice(0, 44)), ("right", slice(80, 96))])
@pytest.mark.parametrize("kind", ["counts", "transmission"])
def test_a_pillar_in_some_views(scan, tmp_path, side, part, kind):
    views = scan["views"].copy()
    views[30:46, :, part] = np.random.default_rng(3).poisson(DARK, views[30:46, :, part].shape)
    args = store(tmp_path, scan, views=views)
    if kind == "transmission":
        np.save(tmp_path / "views.npy", transmissions({**scan, "views": views}))
        args = *args[:-4], "--quantity", kind
    finding = [f for f in qb_json("info", *args[:3], *args[7:])["findings"] if f["code"] == "views-covered"]
    assert [(f["which"], f["count"]) for f in finding] == [("30-45", 16)]
    said = qb("fbp", *args, "-o", tmp_path / "v.npy").stderr
    assert "views 30-45 (16 of 90) have no beam" in said and f"from the {side}" in said
    assert "views-covered" not in qb("fbp", *args, "--exclude", "30:46", "-o", tmp_path / "v.npy").stderr


def test_a_dense_object_beyond_one_end_is_no_pillar(tmp_path):
    """In half acquisition the row ends within the object, through which next to no beam comes in some views."""
    qb("simulate", "foam", "--detector", "160,16", "--angles", "0:360", "--views", 684, "--center-offset", -56, "--size", "257,257,16", "--seed", 9165, "-o", "s.h5",
       cwd=tmp_path)
    assert "views-covered" not in qb("fbp", "s.h5", "--center", 23.5, "-o", "v.npy", cwd=tmp_path).stderr


@pytest.mark.parametrize("wide, photons", [(192, 1000), (240, 300)])
def test_a_disc_wider_than_the_detector_is_no_pillar(tmp_path, wide, photons):
    """A hundredth of the beam comes through it, so that the photons of single pixels decide what has none."""
    qb("simulate", "disc", "--detector", "128,8", "--size", f"{wide},{wide},8", "--views", 60, "--photons", photons, "-o", "s.h5", cwd=tmp_path)
    assert "views-covered" not in [f["code"] for f in qb_json("info", "s.h5", cwd=tmp_path)["findings"]]


def test_columns_that_no_view_sees_are_no_pillar(scan, tmp_path):
    """A round window in front of the detector, also of the flats."""
    window = np.arange(COLUMNS) < 12
    scan = {name: np.where(window, DARK, scan[name]).astype("u2") for name in ("views", "flats", "darks")}
    assert "views-covered" not in run(tmp_path, scan)[0]


# ---- angles ----


def test_angles_that_wrapped(tmp_path):
    """Stored in 8 bits: 254 is followed by 0. Angles of two turns are no such list."""
    scan = ("foam", "--detector", "96,8", "--pixel-size", 1, "--views", 180, "--photons", 20000, "--seed", 2)
    qb("simulate", *scan, "--angles", "0:360", "-o", tmp_path / "s.h5")
    for name, numbers in ("wrapped", (2 * np.arange(180)) % 256), ("right", 2 * np.arange(180)), ("turns", 2 * np.arange(180) - 200):
        (tmp_path / f"{name}.txt").write_text("\n".join(map(str, numbers % 360 if name == "turns" else numbers)))
        said = qb("fbp", tmp_path / "s.h5", "--angles", f"{tmp_path / name}.txt:deg", "--center", "middle", "-o", tmp_path / "v.npy").stderr
        assert ("from view 127 to the next the stated angle jumps from 254 to 0 degrees" in said) == (name == "wrapped"), said
        assert ("angle-jump" in said) == (name == "wrapped")


def test_gaps_are_no_jump(tmp_path):
    """Views over 0 to 60 and 120 to 180 degrees: the object turned in between."""
    angles = np.r_[np.arange(0, 60, 2), np.arange(120, 180, 2)]
    (tmp_path / "a.txt").write_text("\n".join(map(str, angles)))
    qb("simulate", "foam", "--detector", "96,8", "--pixel-size", 1, "--views", len(angles), "--angles", f"{tmp_path / 'a.txt'}:deg",
       "--photons", 20000, "--seed", 2, "-o", tmp_path / "s.h5")
    assert "angle-jump" not in qb("info", tmp_path / "s.h5").stdout


# ---- TIFF ----

LINES = "ImageJ=1.54f\nimages={n}\nslices={n}\ncf=0\nc0=-32768.0\nc1=1.0\nvunit=Gray Value\n"


def test_signed_counts_of_imagej(scan, tmp_path):
    """ImageJ stores 16-bit signed numbers plus 32768, and says so in lines."""
    for name in ("views", "flats", "darks"):
        tifffile.imwrite(tmp_path / f"{name}.tif", (scan[name].astype(int) + 32768).clip(0, 65535).astype("u2"), photometric="minisblack",
                         description=LINES.format(n=len(scan[name])), metadata=None)
    said = qb("fbp", tmp_path / "views.tif", *HOW, "--flats", tmp_path / "flats.tif", "--darks", tmp_path / "darks.tif", "-o",
              tmp_path / "v.npy").stderr
    assert "values are 1 times the stored ones plus -32768" in said
    assert (np.load(tmp_path / "v.npy") == scan["volume"]).all()


@pytest.mark.parametrize("axes, shape, warns", [("ZCYX", (45, 2), True), ("TCYX", (45, 2), True), ("TZYX", (2, 45), False),
                                                ("CYX", (90,), False)])
def test_channels_of_imagej(scan, tmp_path, axes, shape, warns):
    tifffile.imwrite(tmp_path / "v.tif", transmissions(scan).reshape(*shape, ROWS, COLUMNS), imagej=True, metadata={"axes": axes})
    said = qb("info", tmp_path / "v.tif", "--angles", "0:180", "--quantity", "transmission").stdout
    assert ("the stack has 2 channels" in said and "[image-channels]" in said) == warns


def test_stacks_in_a_folder(scan, tmp_path):
    """Three files of thirty images each are ninety views."""
    (tmp_path / "f").mkdir()
    for i in range(3):
        tifffile.imwrite(tmp_path / "f" / f"p_{i}.tif", scan["views"][30 * i:30 * i + 30], photometric="minisblack")
    _, _, *options = store(tmp_path, scan)
    qb("fbp", tmp_path / "f", "--angles", *options, "-o", tmp_path / "v.npy")
    assert (np.load(tmp_path / "v.npy") == scan["volume"]).all()


# ---- quantities and fields ----


@pytest.mark.parametrize("how", [("--quantity", "transmission"), ()])
def test_percent(scan, tmp_path, how):
    np.save(tmp_path / "t.npy", 100 * transmissions(scan))
    fails(3, "fbp", tmp_path / "t.npy", *HOW, *how, "-o", tmp_path / "v.npy", says=("percent", "divide them by 100"))


def test_flats_of_another_scale(scan, tmp_path):
    args = store(tmp_path, scan, flats=(scan["flats"] / scan["flats"].mean()).astype("f4"), darks=scan["darks"] * 0)
    fails(3, "fbp", *args, "-o", tmp_path / "v.npy", says=("the flats are of another scale",))


def test_fields_of_two_dimensions(scan, tmp_path):
    """The mean of each series, and a single sinogram with its fields as lines."""
    said, volume = run(tmp_path, scan, flats=scan["flats"].mean(0), darks=scan["darks"].mean(0))
    np.testing.assert_allclose(volume, scan["volume"], rtol=0, atol=1e-6)
    assert "warning" not in said
    row = {name: scan[name][:, 4] for name in ("views", "flats", "darks")}
    qb("fbp", *store(tmp_path, row), "--as", "sinogram", "-o", tmp_path / "v.npy")
    np.testing.assert_allclose(np.load(tmp_path / "v.npy")[0], scan["volume"][4], rtol=0, atol=1e-6)


def test_angles_of_the_projections_alone(scan, tmp_path):
    """An NXtomo whose rotation_angle leaves out flats and darks."""
    with h5py.File(tmp_path / "n.nxs", "w") as file:
        entry = file.create_group("entry")
        entry.attrs["NX_class"], entry["definition"] = "NXentry", "NXtomo"
        entry["instrument/detector/data"] = np.concatenate([scan["darks"], scan["flats"], scan["views"]])
        entry["instrument/detector/image_key"] = np.repeat([2, 1, 0], [4, 6, VIEWS])
        entry["sample/rotation_angle"] = ANGLES
        entry["sample/rotation_angle"].attrs["units"] = "deg"
    qb("fbp", tmp_path / "n.nxs", "--pixel-size", 1, "--center", "middle", "-o", tmp_path / "v.npy")
    assert (np.load(tmp_path / "v.npy") == scan["volume"]).all()


def test_wrong_sizes_are_named(scan, tmp_path):
    path = write_scan(tmp_path / "t.h5", scan["views"][:, 2:6, 16:80], ANGLES, scan["flats"], scan["darks"], pixel=1)
    fails(3, "fbp", path, "-o", tmp_path / "v.npy", says=("8 x 96", "4 x 64"))
