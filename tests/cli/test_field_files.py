# SPDX-License-Identifier: MIT
"""Where flats, darks and views may lie: each layout gives the same true line integrals, or is refused with the remedy."""
import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, write_scan

VIEWS, ROWS, COLUMNS = 20, 3, 16
ANGLES = np.arange(VIEWS) * 9.0
RNG = np.random.default_rng(7)
TRUE = RNG.random((VIEWS, ROWS, COLUMNS)) + 0.2
FLAT = 20000 + 10000 * RNG.random((ROWS, COLUMNS))
DARK = 50 + 50 * RNG.random((ROWS, COLUMNS))
COUNTS = (np.exp(-TRUE) * (FLAT - DARK) + DARK).astype("f4")
FLATS = np.stack([FLAT - 20, FLAT, FLAT + 20]).astype("f4")  # their mean and their median are FLAT
DARKS = np.stack([DARK - 5, DARK + 5]).astype("f4")


def integrals(folder, *args):
    qb("convert", *args, "-o", "l.npy", cwd=folder)
    return np.load(folder / "l.npy")


def right(folder, *args):
    assert np.abs(integrals(folder, *args) - TRUE).max() < 2e-5


@pytest.fixture
def folder(tmp_path):
    """The views alone in s.h5."""
    write_scan(tmp_path / "s.h5", COUNTS, ANGLES, pixel=1)
    return tmp_path


def nxtomo(path, keys, frames, entry="entry", angles=None, group=True, mode="w"):
    with h5py.File(path, mode) as f:
        f[f"{entry}/definition"] = "NXtomo"
        f[f"{entry}/instrument/detector/data"] = frames
        f[f"{entry}/instrument/detector/image_key"] = keys
        if angles is not None:
            f[f"{entry}/sample/rotation_angle"] = angles
            f[f"{entry}/sample/rotation_angle"].attrs["units"] = "degree"


def test_a_dataset_of_another_file(folder):
    with h5py.File(folder / "f.h5", "w") as f:
        f["calib/open"] = FLATS
        f["calib/closed"] = DARKS
        f["calib/mean"] = FLAT.astype("f4")
    right(folder, "s.h5", "--flats", "f.h5:/calib/open", "--darks", "f.h5:/calib/closed")
    right(folder, "s.h5", "--flats", "f.h5:/calib/mean", "--darks", "f.h5:/calib/closed")
    told = qb_json("info", "s.h5", "--flats", "f.h5:/calib/open", "--flats", "f.h5:/calib/mean", "--darks", "f.h5:/calib/closed", cwd=folder)
    assert (told["flats"], told["darks"]) == (4, 2)
    fails(3, "info", "s.h5", "--flats", "f.h5:/calib/none", says=["--flats", "/calib/none is not there"], cwd=folder)
    fails(3, "info", "s.h5", "--flats", "f.h5", says=["f.h5 holds 3 arrays", "f.h5:/calib"], cwd=folder)
    fails(3, "info", "s.h5", "--flats", "g.h5:/calib/open", says=["g.h5:/calib/open"], cwd=folder)
    np.save(folder / "f.npy", FLATS)
    fails(2, "info", "s.h5", "--flats", "f.npy:/calib", says=["not HDF5"], cwd=folder)


def test_nxtomo_of_fields_by_its_keys(folder):
    nxtomo(folder / "flats.nx", [1] * 3, FLATS)
    nxtomo(folder / "darks.nx", [2] * 2, DARKS)
    nxtomo(folder / "both.nx", [2, 1, 1, 2, 1], np.stack([DARKS[0], FLATS[0], FLATS[1], DARKS[1], FLATS[2]]))
    nxtomo(folder / "views.nx", [0] * VIEWS, COUNTS)
    right(folder, "s.h5", "--flats", "flats.nx", "--darks", "darks.nx")
    right(folder, "s.h5", "--flats", "both.nx", "--darks", "both.nx")
    right(folder, "s.h5", "--flats", "both.nx:/entry", "--darks", "both.nx:/entry/instrument/detector/data")
    fails(3, "info", "s.h5", "--darks", "flats.nx", says=["none of its 3 frames is a dark", "image_key 2"], cwd=folder)
    fails(3, "info", "s.h5", "--flats", "views.nx", says=["none of its 20 frames is a flat"], cwd=folder)
    fails(3, "fbp", "flats.nx", "-o", "v.npy", says=["none of its 3 frames is a projection"], cwd=folder)


def test_nxtomo_of_entry1(folder):
    """As of Diamond and ANSTO: the entry is entry1, what it holds is linked into data, and `default` names that."""
    frames = np.concatenate([DARKS, FLATS, COUNTS])
    nxtomo(folder / "a.nxs", [2, 2, 1, 1, 1] + [0] * VIEWS, frames, "entry1", np.r_[[0] * 5, ANGLES])
    with h5py.File(folder / "a.nxs", "a") as f:
        f.attrs["default"], f["entry1"].attrs["default"] = "entry1", "data"
        for name in ("data", "image_key"):
            f[f"entry1/data/{name}"] = h5py.SoftLink(f"/entry1/instrument/detector/{name}")
        f["entry1/data/rotation_angle"] = h5py.SoftLink("/entry1/sample/rotation_angle")
        f["entry1/instrument/source/probe"] = "neutron"
        f["entry1/control/data"] = np.ones(len(frames))
    right(folder, "a.nxs")


def test_four_dimensions(folder):
    """As SICS writes them at ANSTO, with a dimension of one frame, which is left out; two frames are refused with the sizes."""
    with h5py.File(folder / "a.hdf", "w") as f:
        f["entry1/data/hmm"] = np.stack([COUNTS, COUNTS], axis=1)
    fails(3, "info", "a.hdf", says=["a.hdf: /entry1/data/hmm has 4 dimensions", f"{VIEWS} x 2 x {ROWS} x {COLUMNS}", "data.reshape(views, rows, columns)"], cwd=folder)
    frames = np.concatenate([DARKS, FLATS, COUNTS])
    keys = [2] * len(DARKS) + [1] * len(FLATS) + [0] * VIEWS
    for shape in (len(frames), 1, ROWS, COLUMNS), (1, len(frames), ROWS, COLUMNS, 1):
        nxtomo(folder / "a.nxs", keys, frames.reshape(shape), "entry1", np.r_[np.zeros(len(keys) - VIEWS), ANGLES])
        right(folder, "a.nxs")
        assert f"dimensions of 1 are left out: {' x '.join(map(str, shape))} is read as {len(frames)} x {ROWS} x {COLUMNS}" in qb("info", "a.nxs", cwd=folder).stdout
        with h5py.File(folder / "a.nxs", "r+") as f:  # chunks, compressed, big-endian: read by the library
            del f["entry1/instrument/detector/data"]
            f.create_dataset("entry1/instrument/detector/data", data=frames.reshape(shape).astype(">f4"), compression="gzip")
        right(folder, "a.nxs")


def test_nxtomo_of_three_detectors(folder):
    """NXtomo 1: views, flats and darks are data of detectors of their own."""
    with h5py.File(folder / "a.nxs", "w") as f:
        f["entry/definition"] = "NXtomo"
        for name, data in (("sample", COUNTS), ("bright_field", FLATS), ("dark_field", DARKS)):
            f[f"entry/instrument/{name}/data"] = data
            f[f"entry/instrument/{name}/sequence_number"] = np.arange(len(data))
        f["entry/instrument/sample/x_pixel_size"] = 2.0
        f["entry/instrument/sample/x_pixel_size"].attrs["units"] = "um"
        f["entry/sample/rotation_angle"] = ANGLES
        f["entry/sample/rotation_angle"].attrs["units"] = "degrees"
        f["entry/data/data"] = h5py.SoftLink("/entry/instrument/sample/data")
    right(folder, "a.nxs")
    told = qb_json("info", "a.nxs", cwd=folder)
    assert (told["flats"], told["darks"]) == (3, 2) and told["pixel_size_mm"] == pytest.approx(0.002)


def hyperspy(path, data, *axes):
    with h5py.File(path, "w") as f:
        f.attrs["file_format"], f.attrs["file_format_version"] = "HyperSpy", "3.3"
        f["Experiments/__unnamed__/data"] = data
        for i, (name, units, scale, offset) in enumerate(axes):
            f.create_group(f"Experiments/__unnamed__/axis-{i}").attrs.update(name=name, units=units, scale=scale, offset=offset, size=data.shape[i], navigate=i == 0)


def test_hyperspy(folder):
    """A tilt series has its angles, a volume its voxels."""
    hyperspy(folder / "t.hspy", TRUE, ("tilt", "degrees", 9.0, 0.0), ("y", "µm", 3.0, 0.0), ("x", "µm", 3.0, 0.0))
    told = qb_json("info", "t.hspy", cwd=folder)
    assert told["kind"] == "scan" and told["pixel_size_mm"] == pytest.approx(0.003)
    qb("convert", "t.hspy", "--quantity", "line_integral", "-o", "l.h5", cwd=folder)
    with h5py.File(folder / "l.h5") as f:
        assert np.allclose(f["exchange/theta"], ANGLES) and np.allclose(f["exchange/data"], TRUE)
    hyperspy(folder / "v.hspy", TRUE, ("z", "nm", 500.0, 0.0), ("y", "nm", 400.0, 7.0), ("x", "nm", 300.0, 0.0))
    told = qb_json("info", "v.hspy", cwd=folder)
    assert told["kind"] == "volume" and told["voxel_mm"] == pytest.approx([3e-4, 4e-4, 5e-4])


def test_nxtomoproc(folder):
    with h5py.File(folder / "v.nxs", "w") as f:
        f["entry/definition"], f["entry/reconstruction/program"], f["entry/data/data"] = "NXtomoproc", "another", TRUE
        for name, count, step in (("x", VIEWS, 0.5), ("y", ROWS, 0.4), ("z", COLUMNS, 0.3)):
            f[f"entry/data/{name}"] = 1 + step * np.arange(count)
            f[f"entry/data/{name}"].attrs["units"] = "mm"
    told = qb_json("info", "v.nxs", cwd=folder)
    assert told["kind"] == "volume" and told["voxel_mm"] == pytest.approx([0.3, 0.4, 0.5])
    qb("convert", "v.nxs", "-o", "v.npy", cwd=folder)
    assert np.array_equal(np.load(folder / "v.npy"), TRUE)


def test_fields_of_other_scans(folder):
    """Never the projections of a scan, unless they are named."""
    write_scan(folder / "f.h5", COUNTS, ANGLES, flats=FLATS)
    write_scan(folder / "d.h5", DARKS)  # a stack of images
    right(folder, "s.h5", "--flats", "f.h5", "--darks", "d.h5")
    right(folder, "s.h5", "--flats", "f.h5:/exchange/data_white", "--darks", "d.h5:/exchange")
    fails(3, "info", "s.h5", "--flats", "f.h5", "--darks", "f.h5", says=["scan without data_dark", "f.h5:/exchange/data"], cwd=folder)
    assert qb_json("info", "s.h5", "--flats", "f.h5:/exchange/data", cwd=folder)["flats"] == VIEWS


def test_numbers_of_tomoscan(folder):
    """As of the APS: a number for flats and one for darks that were not taken, and the steps of the angles."""
    with h5py.File(folder / "s.h5", "r+") as f:
        del f["exchange/theta"]
        f["process/acquisition/flat_fields/flat_field_value"], f["process/acquisition/dark_fields/dark_field_value"] = 30000, 50
        f["process/acquisition/rotation/rotation_start"], f["process/acquisition/rotation/rotation_step"] = ANGLES[0], ANGLES[1] - ANGLES[0]
        f["process/acquisition/rotation/num_angles"] = VIEWS
    told = qb_json("info", "s.h5", cwd=folder)
    assert (told["flats"], told["darks"], told["first_angle_deg"], told["last_angle_deg"]) == (1, 1, ANGLES[0], ANGLES[-1])
    assert any("30000 is taken for all pixels" in p for p in told["problems"])
    qb("convert", "s.h5", "-o", "l.npy", cwd=folder)
    assert np.allclose(np.load(folder / "l.npy"), -np.log((COUNTS - 50.0) / 29950), atol=1e-5)
    with h5py.File(folder / "s.h5") as f, h5py.File(folder / "t.h5", "w") as t:  # sinograms
        f.copy("process", t)
        t["exchange/data"] = COUNTS.transpose(1, 0, 2)
    told = qb_json("info", "t.h5", "--as", "sinogram", cwd=folder)
    assert (told["flats"], told["darks"], told["last_angle_deg"]) == (1, 1, ANGLES[-1])
    qb("convert", "t.h5", "--as", "sinogram", "-o", "m.npy", cwd=folder)
    assert np.array_equal(np.load(folder / "m.npy"), np.load(folder / "l.npy"))
    for value in "30000", [30000.0, 30000.0], np.array([b"30000 "]):  # as text, as a list
        with h5py.File(folder / "t.h5", "r+") as f:
            del f["process/acquisition/flat_fields/flat_field_value"]
            f["process/acquisition/flat_fields/flat_field_value"] = value
        assert qb_json("info", "t.h5", "--as", "sinogram", cwd=folder)["flats"] == 1
    for value, words in ([30000, 20000], "holds 2 numbers from 20000 to 30000, not one: it is not used"), ("many", "flat_field_value holds no number: it is not used"):
        with h5py.File(folder / "t.h5", "r+") as f:
            del f["process/acquisition/flat_fields/flat_field_value"]
            f["process/acquisition/flat_fields/flat_field_value"] = value
        assert any(words in p for p in qb_json("info", "t.h5", "--as", "sinogram", cwd=folder)["problems"])
    with h5py.File(folder / "s.h5", "r+") as f:
        f["process/acquisition/rotation/num_angles"][()] = VIEWS - 1
    assert any(f"num_angles {VIEWS - 1}, for {VIEWS} views: they are not used" in p for p in qb_json("info", "s.h5", cwd=folder)["problems"])
    with h5py.File(folder / "s.h5", "r+") as f:
        f["process/acquisition/dark_fields/dark_field_value"][()] = 0
    assert any("[no-darks]" in p for p in qb_json("info", "s.h5", cwd=folder)["problems"])


def test_reduced_fields_of_tomoscan(folder):
    """ENTRY/flats/INDEX, an image for each place in the scan."""
    for kind, frames in (("flats", FLATS), ("darks", DARKS)):
        with h5py.File(folder / f"scan_{kind}.hdf5", "w") as f:
            for i, frame in zip((0, 500, 1001), frames):
                f[f"entry0000/{kind}/{i}"] = frame
            f[f"entry0000/{kind}/machine_current"] = [0.2] * len(frames)
            f[f"entry0000/{kind}/exposure_time"] = [0.1] * len(frames)
    right(folder, "s.h5", "--flats", "scan_flats.hdf5", "--darks", "scan_darks.hdf5")
    right(folder, "s.h5", "--flats", "scan_flats.hdf5:/entry0000/flats", "--darks", "scan_darks.hdf5:/entry0000")
    assert qb_json("info", "s.h5", "--flats", "scan_flats.hdf5", "--darks", "scan_darks.hdf5:/entry0000/darks/500", cwd=folder)["darks"] == 1


def test_no_darks(folder):
    """None wanted: the scan's own do not count, and nothing is said. None there, as 0 frames: what a scan without any says."""
    write_scan(folder / "t.h5", COUNTS, ANGLES, flats=FLATS, darks=DARKS, pixel=1)
    want = -np.log(COUNTS / FLAT)
    assert np.abs(integrals(folder, "t.h5", "--darks", "none") - want).max() < 2e-5
    told = qb_json("info", "t.h5", "--darks", "none", cwd=folder)
    assert told["darks"] == 0 and not any("dark" in p for p in told["problems"])
    nxtomo(folder / "n.nx", [1] * 3 + [2] * 2 + [0] * VIEWS, np.concatenate([FLATS, DARKS, COUNTS]), angles=np.r_[[0] * 5, ANGLES])
    right(folder, "n.nx", "--pixel-size", 1)
    assert np.abs(integrals(folder, "n.nx", "--darks", "none") - want).max() < 2e-5
    with h5py.File(folder / "t.h5", "a") as f:
        del f["exchange/data_dark"]
        f["exchange/data_dark"] = np.zeros((0, ROWS, COLUMNS), "f4")
    assert np.abs(integrals(folder, "t.h5") - want).max() < 2e-5
    assert any("no dark fields" in p for p in qb_json("info", "t.h5", cwd=folder)["problems"])


def test_sinograms_with_flats_beside_them(folder):
    write_scan(folder / "o.h5", COUNTS.transpose(1, 0, 2), ANGLES, flats=FLATS, darks=DARKS, pixel=1)
    right(folder, "o.h5", "--as", "sinogram")
    fails(3, "fbp", "o.h5", "-o", "v.npy", says=["frames of 3 x 16", "--as sinogram"], cwd=folder)


@pytest.mark.parametrize("kind", ["npy", "tif", "h5", "mha"])
def test_one_image_is_asked_about(tmp_path, kind):
    """A sinogram in a file of its own."""
    image = TRUE[:, 0].astype("f4")
    if kind == "npy":
        np.save(tmp_path / "i.npy", image)
    elif kind == "tif":
        pytest.importorskip("tifffile").imwrite(tmp_path / "i.tif", image)
    elif kind == "h5":
        with h5py.File(tmp_path / "i.h5", "w") as f:
            f["sinogram"] = image
    else:
        (tmp_path / "i.mha").write_bytes(b"ObjectType = Image\nNDims = 2\nDimSize = 16 20\nElementType = MET_FLOAT\nElementDataFile = LOCAL\n" + image.tobytes())
    says = ["one image of 20 x 16", "--as sinogram", "--as projections"]
    for verb in ("fbp", "sirt", "mbir"):
        fails(3, verb, f"i.{kind}", "--angles", "0:180", "--quantity", "line_integral", "-o", "v.npy", says=says, cwd=tmp_path)
    assert any("[one-image]" in p for p in qb_json("info", f"i.{kind}", cwd=tmp_path)["problems"])
    got = integrals(tmp_path, f"i.{kind}", "--as", "sinogram", "--angles", "0:180", "--quantity", "line_integral")
    assert np.array_equal(got[:, 0], image)
    assert qb_json("info", f"i.{kind}", "--as", "projections", "--angles", "0:180", cwd=tmp_path)["views"] == 1


# ---- keys ----


def test_keys_as_a_column(folder):
    nxtomo(folder / "n.nx", np.array([1] * 3 + [2] * 2 + [0] * VIEWS)[:, None], np.concatenate([FLATS, DARKS, COUNTS]),
           angles=np.r_[[0] * 5, ANGLES][:, None])
    right(folder, "n.nx")


def test_keys_that_do_not_fit(folder):
    """Not "without image_key": there is one."""
    nxtomo(folder / "n.nx", [0] * (VIEWS + 3), COUNTS, angles=ANGLES)
    said = fails(3, "info", "n.nx", says=["23 numbers for 20 frames"], cwd=folder)
    assert "without" not in said


# ---- NeXus' default ----


def test_the_default_entry(folder):
    for i, entry in enumerate(("a_test", "z_scan")):
        nxtomo(folder / "n.nx", [1] * 3 + [2] * 2 + [0] * VIEWS, np.concatenate([FLATS, DARKS, COUNTS if i else COUNTS * 0 + 60]), entry,
               np.r_[[0] * 5, ANGLES], mode="a")
    assert any("2 NXtomo entries: /a_test is read" in p for p in qb_json("info", "n.nx", cwd=folder)["problems"])
    with h5py.File(folder / "n.nx", "a") as f:
        f.attrs["default"] = "z_scan"
    right(folder, "n.nx")
    assert not any("entries" in p for p in qb_json("info", "n.nx", cwd=folder)["problems"])
    right(folder, "n.nx", "--dataset", "/z_scan")


def test_another_array_of_the_detector(folder):
    """Its pixels are the scan's where it has the same rows and columns."""
    with h5py.File(folder / "s.h5", "a") as f:
        f["exchange/other"], f["exchange/part"] = COUNTS, COUNTS[:, :, 1:]
    assert qb_json("info", "s.h5", "--dataset", "/exchange/other", cwd=folder)["pixel_size_mm"] == 1
    assert "pixel_size_mm" not in qb_json("info", "s.h5", "--dataset", "/exchange/part", cwd=folder)
    nxtomo(folder / "n.nx", [0] * VIEWS, COUNTS, angles=ANGLES)
    with h5py.File(folder / "n.nx", "a") as f:
        f["entry/instrument/detector/x_pixel_size"] = 0.002
        f["entry/instrument/detector/x_pixel_size"].attrs["units"] = "m"
        f["entry/instrument/detector/other"] = COUNTS
    assert qb_json("info", "n.nx", "--dataset", "/entry/instrument/detector/other", cwd=folder)["pixel_size_mm"] == 2


def test_the_default_signal(folder):
    with h5py.File(folder / "d.nxs", "w") as f:
        f["entry/raw"] = COUNTS * 0
        f["entry/processed/lines"] = TRUE.astype("f4")
        f["entry/processed/rotation_angle"] = ANGLES
    fails(3, "info", "d.nxs", says=["d.nxs holds 2 arrays"], cwd=folder)
    with h5py.File(folder / "d.nxs", "a") as f:
        f.attrs["default"] = "entry"
        f["entry"].attrs["default"] = "processed"
        f["entry/processed"].attrs["signal"] = "lines"
    right(folder, "d.nxs", "--quantity", "line_integral")


# ---- raw files of ESRF ----


def bliss(path, views=(COUNTS,), angles=(ANGLES,), titles=True, init=1):
    with h5py.File(path, "w") as f:
        number = 1
        stacks = [("dark images", DARKS, None), ("reference images", FLATS, None)]
        stacks += [(f"projections {i}", v, a) for i, (v, a) in enumerate(zip(views, angles))]
        for _ in range(init):
            f["1.1/title"] = "tomo:fullturn"
            number += 1
            for key, (title, stack, motor) in enumerate(stacks):
                g = f.create_group(f"{number}.1")
                g.attrs["NX_class"] = "NXentry"
                g["title"] = title if titles else "fscan of something"
                if not titles:
                    g["technique/image_key"] = 2 - min(key, 2)
                g["instrument/pcoedge/data"] = stack
                g["measurement/pcoedge"] = h5py.SoftLink(f"/{number}.1/instrument/pcoedge/data")
                if motor is not None:
                    g["measurement/hrsrot"] = motor
                    g["instrument/positioners/sx"] = np.zeros(len(motor))
                number += 1


@pytest.mark.parametrize("titles", [True, False])
def test_raw_files_of_bliss(folder, titles):
    bliss(folder / "b.h5", titles=titles)
    told = qb_json("info", "b.h5", cwd=folder)
    assert (told["format"], told["views"], told["flats"], told["darks"]) == ("ESRF raw HDF5", VIEWS, 3, 2)
    assert (told["first_angle_deg"], told["last_angle_deg"]) == (0, 171)
    right(folder, "b.h5")
    right(folder, "s.h5", "--flats", "b.h5", "--darks", "b.h5")


def test_views_in_many_groups(folder):
    """In the order of their numbers, not of their names: 10.1 comes behind 9.1."""
    bliss(folder / "b.h5", np.split(COUNTS, 10), np.split(ANGLES, 10))
    right(folder, "b.h5")
    assert np.allclose(integrals(folder, "b.h5", "--views", "5:19:3"), TRUE[5:19:3], atol=2e-5)


def test_two_sequences_are_asked_about(folder):
    bliss(folder / "b.h5")
    with h5py.File(folder / "b.h5", "a") as f:
        f["5.1/title"] = "tomo:fullturn"
        f["6.1/title"] = "projections"
        f["6.1/instrument/pcoedge/data"] = COUNTS
    fails(3, "info", "b.h5", says=["2 sequences", "--dataset"], cwd=folder)
    right(folder, "b.h5", "--dataset", "/4.1/instrument/pcoedge/data", "--angles", "0:180", "--flats", "b.h5:/3.1/instrument/pcoedge/data",
          "--darks", "b.h5:/2.1/instrument/pcoedge/data", "--quantity", "counts")


# ---- files that are still written ----


def test_a_file_that_is_still_open(folder):
    """For SWMR: read as far as it is."""
    with h5py.File(folder / "w.h5", "w", libver="latest") as f:
        for name, values in (("data", COUNTS), ("data_white", FLATS), ("data_dark", DARKS)):
            f.create_dataset(f"exchange/{name}", data=values, chunks=(1, ROWS, COLUMNS), maxshape=(None, ROWS, COLUMNS))
        f["exchange/theta"] = ANGLES
        f.swmr_mode = True
        right(folder, "w.h5")
    right(folder, "w.h5")
