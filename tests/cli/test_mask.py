# SPDX-License-Identifier: MIT
"""--mask FILE: what a masked pixel says has no effect on any method, and what is left gives the attenuation of a disc, 0.02/mm."""
import h5py
import numpy as np
import pytest
from PIL import Image

from qbtest import devices, fails, qb, qb_json, write_scan

N, ROWS, VIEWS, BEAM, DARK = 64, 4, 90, 40000, 100
ANGLES = np.arange(VIEWS) * 180 / VIEWS
WAYS = {"fbp": [], "sirt": ["-g", "parallel", "--iterations", 80], "cgls": ["-g", "parallel", "--iterations", 12],
        "tv": ["-g", "parallel", "--iterations", 100], "mbir": ["--equits", 10],
        "fdk": ["--sod", 5000, "--sdd", 5001, "--angles", f"0:360:{VIEWS}"]}
KINDS = {"counts": [], "no flats": ["--air", "0:3,0:4"], "transmission": [], "line_integral": []}


def mask_of(path):
    """Two columns of a faulty chip, a pixel, and the end of a row."""
    mask = np.zeros((ROWS, N), "f4")
    mask[:, 20:22], mask[2, 40], mask[1, 62:] = 1, np.nan, -3
    np.save(path, mask)
    return mask != 0


def scan_of(path, kind, wrong, seed):
    """A disc of 0.02/mm; pixels of `wrong` say anything, another thing in each view."""
    s = np.arange(N) - (N - 1) / 2
    passed = np.broadcast_to(np.exp(-0.04 * np.sqrt(np.maximum(20.0 ** 2 - s ** 2, 0))), (VIEWS, ROWS, N)).copy()
    noise = np.random.default_rng(1)
    passed *= 1 + noise.normal(0, 1e-3, passed.shape)
    anything = np.random.default_rng(seed)
    passed[:, wrong] = anything.uniform(0.01, 1.5, (VIEWS, wrong.sum()))
    if kind == "transmission":
        return write_scan(path, passed.astype("f4"), ANGLES, pixel=1, quantity=kind)
    if kind == "line_integral":
        return write_scan(path, -np.log(passed).astype("f4"), ANGLES, pixel=1, quantity=kind)
    dark = DARK if kind == "counts" else 0
    counts = np.round(dark + BEAM * passed).astype("u2")
    if kind == "no flats":
        return write_scan(path, counts, ANGLES, pixel=1)
    flats, darks = np.full((3, ROWS, N), BEAM + dark, "u2"), np.full((3, ROWS, N), dark, "u2")
    return write_scan(path, counts, ANGLES, flats, darks, pixel=1)


def inside(volume):
    x = np.arange(volume.shape[-1]) - (volume.shape[-1] - 1) / 2
    return volume[:, x[:, None] ** 2 + x ** 2 < 10 ** 2].mean(axis=1)


def warnings(done):
    codes = {line.rsplit("[", 1)[1][:-1] for line in done.stderr.splitlines() if line.startswith("warning: ")}
    return codes - {"no-darks", "air-for-flats"}  # of scans without fields


def cases():
    return [(verb, kind) for verb in WAYS for kind in KINDS if verb in ("fbp", "sirt") or kind == "counts"]


@pytest.mark.parametrize("verb, kind", cases())
def test_masked_pixels_have_no_effect(tmp_path, verb, kind):
    wrong = mask_of(tmp_path / "mask.npy")
    volumes = []
    for seed in 1, 2:
        scan = scan_of(tmp_path / "s.h5", kind, wrong, seed)
        out = tmp_path / f"v{seed}.npy"
        done = qb(verb, scan, *WAYS[verb], *KINDS[kind], *(["--center", 31.5] if verb == "fbp" else []), "--mask", tmp_path / "mask.npy", "-o", out)
        assert "--mask: 11 of 256 pixels count as not measured" in done.stderr
        assert not warnings(done) - {"detector-narrow", "truncated"}
        volumes.append(np.load(out))
    assert np.array_equal(*volumes)  # NaN and all
    assert inside(volumes[0]) == pytest.approx(0.02, rel=0.03)
    plain = tmp_path / "p.npy"
    qb(verb, scan, *WAYS[verb], *KINDS[kind], *(["--center", 31.5] if verb == "fbp" else []), "-o", plain)
    assert np.linalg.norm(np.load(plain) - volumes[0]) > 0.1 * np.linalg.norm(volumes[0])


def test_devices_do_the_same(tmp_path):
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    wrong = mask_of(tmp_path / "mask.npy")
    for kind in "no flats", "line_integral":
        scan = scan_of(tmp_path / "s.h5", kind, wrong, 1)
        for device in "cpu", "opencl":
            done = qb_json("fbp", scan, *KINDS[kind], "--center", 31.5, "--mask", tmp_path / "mask.npy", "--device", device, "-o", tmp_path / f"{device}.npy")
            assert done["preparation"]["dead"] == 11 * VIEWS and done["preparation"]["not_finite"] == 0
        a, b = np.load(tmp_path / "cpu.npy"), np.load(tmp_path / "opencl.npy")
        assert np.linalg.norm(a - b) < 1e-3 * np.linalg.norm(a)


def test_info_counts_and_draws_it(tmp_path):
    """Of each kind: masked, stuck at one value, dead in the flats."""
    rng = np.random.default_rng(3)
    views = rng.poisson(20000, (VIEWS, ROWS, N)) + DARK
    views[:, 1, 30], views[:, 3, 33] = 30000, DARK
    flats, darks = rng.poisson(20000, (10, ROWS, N)) + DARK, np.full((5, ROWS, N), DARK)
    flats[:, 3, 33] = DARK
    scan = write_scan(tmp_path / "s.h5", views.astype("u2"), ANGLES, flats.astype("u2"), darks.astype("u2"), pixel=1)
    wrong = mask_of(tmp_path / "mask.npy")
    how = ["--mask", tmp_path / "mask.npy"]
    said = qb("info", scan, *how, "--mask-out", tmp_path / "m.png").stdout
    assert "not measured  13 of 256 pixels: 11 masked, 1 stuck at one value, 1 dead in the flats" in said
    grey = np.asarray(Image.open(tmp_path / "m.png"))
    assert grey.shape == (ROWS, N) and np.array_equal(grey > 0, wrong | (grey > 100)) and (grey > 100).sum() == 2
    report = qb_json("info", scan, *how, "--mask-out", tmp_path / "m.npy")
    assert report["not_measured"] == {"masked": 11, "stuck": 1, "dead": 1, "pixels": 256}
    again = np.load(tmp_path / "m.npy").reshape(ROWS, N)
    assert (again[1, 30], again[3, 33]) == (2, 3) and np.array_equal(again == 1, wrong)
    assert qb_json("info", scan, "--mask", tmp_path / "m.npy")["not_measured"]["masked"] == 13
    plan = qb_json("plan", "fbp", scan, *how, "-o", tmp_path / "v.h5")
    assert plan["masked_pixels"] == 11
    qb("fbp", scan, *how, "--center", 31.5, "-o", tmp_path / "v.h5")
    with h5py.File(tmp_path / "v.h5") as file:
        text = file["/process/quickbeam/provenance"][()].decode()
    assert '"masked_pixels"' in text and "mask.npy" in text


def test_masks_that_cannot_be(tmp_path):
    scan = scan_of(tmp_path / "s.h5", "counts", np.zeros((ROWS, N), bool), 1)
    for shape, words in [((5, N), "5 x 64 pixels, the detector 4 x 64"), ((3, ROWS, N), "3 images of 4 x 64: give one of 4 x 64")]:
        np.save(tmp_path / "m.npy", np.zeros(shape, "u1"))
        fails(3, "fbp", scan, "--mask", tmp_path / "m.npy", "-o", tmp_path / "v.npy", says=[words])
    np.save(tmp_path / "m.npy", np.ones((ROWS, N), "u1"))
    fails(3, "info", scan, "--mask", tmp_path / "m.npy", says=["all 256 pixels are masked"])
    lines = write_scan(tmp_path / "i.h5", np.ones((VIEWS, ROWS, N), "i2"), ANGLES, pixel=1, quantity="line_integral")
    fails(3, "info", lines, "--mask", tmp_path / "m.npy", says=["no number for what was not measured"])
    fails(2, "info", scan, "--mask-out", scan, says=["overwrite"])
    fails(2, "info", "-g", "parallel", "--mask-out", tmp_path / "x.png", says=["--mask-out is about a scan"])


def with_pixel_mask(path, mask, at="/entry/instrument/detector/pixel_mask", **how):
    """Noisy counts of an NXtomo, with what the detector says of its pixels."""
    rng = np.random.default_rng(3)
    frames = np.concatenate([np.full((2, ROWS, N), DARK), np.full((2, ROWS, N), 20000), rng.poisson(20000, (VIEWS, ROWS, N))]).astype("u2")
    with h5py.File(path, "w") as file:
        file["/entry/definition"] = "NXtomo"
        file["/entry/instrument/detector/data"] = frames
        file["/entry/instrument/detector/image_key"] = np.r_[[2] * 2, [1] * 2, [0] * VIEWS]
        file["/entry/sample/rotation_angle"] = np.r_[[0.0] * 4, ANGLES]
        file[at] = mask
        for name, value in how.items():
            file[f"/entry/instrument/detector/{name}"] = value
    return path


def not_measured(scan, tmp_path, *options):
    told = qb("info", scan, "--mask-out", tmp_path / "m.npy", *options)
    return np.load(tmp_path / "m.npy").reshape(ROWS, N) == 1, told.stderr + told.stdout


def test_pixel_mask_of_nexus(tmp_path):
    """Any bit but the last, of a pixel between two chips; also mirrored, for each view, and cropped."""
    mask = np.zeros((ROWS, N), "u4")
    mask[0, 3], mask[1, 60], mask[2, 7], mask[3, 9] = 1, 16, 1 << 31, (1 << 31) + 2
    wrong = (mask & 0x7FFFFFFF) != 0
    scan = with_pixel_mask(tmp_path / "s.nxs", mask)
    found, said = not_measured(scan, tmp_path)
    assert (found == wrong).all() and "/entry/instrument/detector/pixel_mask: 3 of 256 pixels count as not measured" in said and "3 of 256 pixels: 3 masked" in said
    assert not not_measured(scan, tmp_path, "--mask", "none")[0].any()
    other = mask_of(tmp_path / "other.npy")
    assert (not_measured(scan, tmp_path, "--mask", tmp_path / "other.npy")[0] == (wrong | other)).all()
    assert (not_measured(with_pixel_mask(tmp_path / "f.nxs", mask, x_flipped=True, y_flipped=False), tmp_path)[0] == wrong[:, ::-1]).all()
    views = np.zeros((VIEWS, ROWS, N), "u1")
    views[5, 1, 2], views[7, 3, 4] = 1, 2
    assert (not_measured(with_pixel_mask(tmp_path / "v.nxs", views), tmp_path)[0] == views.any(axis=0)).all()
    qb("info", scan, "--crop", "2:32,0:2", "--mask-out", tmp_path / "c.npy")
    assert (np.load(tmp_path / "c.npy").reshape(2, 30) == wrong[:2, 2:32]).all()


def test_pixel_masks_that_are_no_image(tmp_path):
    """A dimension of 1 is left out, a number of 0 is no mask; the others are said."""
    mask = np.zeros((ROWS, N), "u4")
    mask[1, 2] = 2
    assert (not_measured(with_pixel_mask(tmp_path / "a.nxs", mask[None, None]), tmp_path)[0] == (mask > 0)).all()
    for bad, words in (mask.ravel(), f"a list of {ROWS * N}"), (np.zeros((2, 2, ROWS, N), "u4"), f"2 x 2 x {ROWS} x {N}"), (np.uint32(1), "a number"), (np.uint32(0), None):
        found, said = not_measured(with_pixel_mask(tmp_path / "b.nxs", bad), tmp_path)
        assert not found.any() and (f"pixel_mask is no image, but {words}: it is not used; give --mask" in said if words else "pixel_mask is" not in said), said
        assert said.count("is no image") < 2


def test_converted_scans_keep_their_mask(tmp_path):
    """HDF5 marks the pixels; of other files it is said that they do not."""
    mask = np.zeros((ROWS, N), "u4")
    mask[1, 20:23] = 2
    scan = with_pixel_mask(tmp_path / "s.nxs", mask)
    said = qb("convert", scan, "-o", "l.h5", cwd=tmp_path).stderr
    assert "3 of 256 pixels were not measured: their values are interpolated, and marked in the pixel_mask of l.h5" in said
    assert (not_measured(tmp_path / "l.h5", tmp_path)[0] == (mask > 0)).all()
    qb("convert", scan, "-o", "c.h5", "--crop", "20:60,0:2", "--compress", "gzip", cwd=tmp_path)
    assert qb_json("info", tmp_path / "c.h5")["not_measured"] == {"masked": 3, "stuck": 0, "dead": 0, "pixels": 80}
    said = qb("convert", scan, "-o", "l.npy", cwd=tmp_path).stderr
    assert "interpolated; l.npy does not mark them: qb info SCAN --mask-out FILE does" in said
    with h5py.File(tmp_path / "l.h5") as file:
        assert np.array_equal(file["exchange/data"], np.load(tmp_path / "l.npy")) and file["exchange/pixel_mask"][1, 20] == 256


def test_largest_counts_of_nexus(tmp_path):
    """Larger counts are not measured; a number at the type's end says nothing, one below most counts is not used."""
    def wrote(limit):
        scan = with_pixel_mask(tmp_path / "s.nxs", np.zeros((ROWS, N), "u4"), saturation_value=limit)
        with h5py.File(scan, "r+") as file:
            file["/entry/instrument/detector/data"][10, 1, 7] = 26000
        return qb("convert", scan, "-o", tmp_path / "l.npy").stderr + qb("info", scan).stdout
    assert "saturat" not in wrote(65535) and np.load(tmp_path / "l.npy")[6, 1, 7] < -0.2
    said = wrote(25999)
    assert "counts above 25999, the saturation_value, count as saturated" in said and "1 of 23040 counts" in said
    assert abs(np.load(tmp_path / "l.npy")[6, 1, 7]) < 0.1  # as its neighbours
    assert "counts above 26000" in wrote(26000) and np.load(tmp_path / "l.npy")[6, 1, 7] < -0.2
    assert "saturation_value is 100, but most counts of the middle view are larger: it is not used" in wrote(100)


def test_pixel_masks_elsewhere(tmp_path):
    """Beside plain arrays, which it is not one of; of the nearest detector; and masks that cannot be used."""
    mask = np.zeros((ROWS, N), "u4")
    mask[1, 5] = 1
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["/entry/data/data"] = np.random.default_rng(1).poisson(2000, (VIEWS, ROWS, N)).astype("u2")
        file["/entry/instrument/detector/detectorSpecific/pixel_mask"] = mask
    assert (not_measured(tmp_path / "p.h5", tmp_path, "--angles", "0:180")[0] == (mask > 0)).all()
    assert (not_measured(with_pixel_mask(tmp_path / "o.h5", mask), tmp_path, "--mask", f"{tmp_path}/p.h5:/entry/instrument/detector/detectorSpecific/pixel_mask")[0] == (mask > 0)).all()
    scan = with_pixel_mask(tmp_path / "n.nxs", mask)
    with h5py.File(scan, "a") as file:
        file["/entry/other/pixel_mask"] = np.ones((ROWS, N), "u4")
    assert (not_measured(scan, tmp_path)[0] == (mask > 0)).all()
    for bad, words in ((np.zeros((ROWS, N - 1), "u4"), "a mask of 4 x 63 pixels, the detector has 4 x 64: it is not used"), (np.full((ROWS, N), b"x"), "cannot be used")):
        assert words in not_measured(with_pixel_mask(tmp_path / "w.nxs", bad), tmp_path)[1]
    fails(3, "info", with_pixel_mask(tmp_path / "a.nxs", mask + 1), says=["all 256 pixels are masked", "--mask none"])
