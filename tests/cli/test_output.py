# SPDX-License-Identifier: MIT
"""What is written: every format and type, units and provenance; the grid; sweeps; configuration files."""
import json
import re
import shlex
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

from qbtest import (SHEPP_LOGAN, fails, image, leftovers, provenance_h5, qb, qb_json, read_h5, read_mha, read_png, read_stack, smallest_cap,
                    read_tiff, scaled, sinogram, write_scan)

N, ROWS, VIEWS, CENTER, PIXEL = 64, 6, 90, 33.25, 0.5
GRID = ["--center", CENTER]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """Rows of growing value, so that a slice knows its row."""
    angles = np.arange(VIEWS) * (180 / VIEWS)
    p = sinogram(scaled(SHEPP_LOGAN, N / 2 * PIXEL * 0.9), angles, N, CENTER, PIXEL)
    rows = 0.01 * (1 + np.arange(ROWS))[None, :, None] * p[:, None, :]
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    return write_scan(path, rows.astype(np.float32), angles, pixel=PIXEL, quantity="line_integral")


@pytest.fixture(scope="module")
def volume(scan, tmp_path_factory):
    path = tmp_path_factory.mktemp("volume") / "volume.h5"
    qb("fbp", scan, "-o", path, *GRID)
    return read_h5(path)


def test_hdf5_says_what_it_is(scan, volume, tmp_path):
    qb("fbp", scan, "-o", tmp_path / "v.h5", *GRID)
    with h5py.File(tmp_path / "v.h5") as f:
        data = f["/exchange/data"]
        assert data.shape == (ROWS, N, N) and data.dtype == np.float32
        text = {k: v.decode() if isinstance(v, bytes) else v for k, v in data.attrs.items()}
    assert text["units"] == "1/mm" and text["quantity"] == "attenuation" and text["axes"] == "z:y:x"
    assert [text[f"voxel_size_{a}"] for a in "xyz"] == [PIXEL] * 3


def test_provenance_repeats_the_run(scan, tmp_path):
    out = tmp_path / "v.h5"
    qb("fbp", scan, "-o", out, *GRID, "--filter", "hann:0.9")
    told = provenance_h5(out)
    assert told["program"] == "quickbeam" and told["version"] and told["input"] == str(scan)
    plan = told["plan"]
    assert plan["options"]["filter"] == "hann:0.9" and plan["options"]["pad"] == "edge"
    assert plan["kernel"].startswith("bp_parallel_linear.") and plan["accuracy"] in ("high", "normal")
    assert plan["units"] == "1/mm" and told["run"]["report"]["wall_seconds"] > 0
    before = read_h5(out)
    out.unlink()
    command = shlex.split(told["command"])
    assert command[0] == "qb"
    qb(*command[1:])
    again = provenance_h5(out)
    assert (read_h5(out) == before).all()
    for record in (told, again):
        record.pop("run")
    assert told == again


def hashes_content(record):
    """Whether this build hashes what it reads; then the record tells of all of it."""
    built_in = "hashes of inputs: built in" in qb("--version").stdout
    assert ("content" in record) == built_in
    return built_in


def test_provenance_is_the_same_from_another_folder(scan, tmp_path, monkeypatch):
    """Whole names, what a configuration said, and what tells the contents: whoever runs the command gets it again."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    (here / "s.h5").write_bytes(scan.read_bytes())
    (here / "a.cfg").write_text("filter = hann:0.7\npad = mirror\n")
    np.savetxt(here / "a.txt", np.linspace(0, 180, VIEWS, endpoint=False))
    monkeypatch.chdir(here)
    qb("fbp", "s.h5", "-o", "v.h5", *GRID, "--angles", "a.txt", "--config", "a.cfg", "--threads", 1)
    told = provenance_h5("v.h5")
    (here / "v.h5").unlink(), (here / "a.cfg").unlink()
    monkeypatch.chdir(there)
    qb(*shlex.split(told["command"])[1:])
    again = provenance_h5(here / "v.h5")
    assert told.pop("run")["date"] and again.pop("run")["date"]
    assert told == again
    files = {Path(f["path"]): f for f in told["inputs"]}
    assert set(files) == {here / "s.h5", here / "a.txt"} and told["input"] == str(here / "s.h5")
    assert all(f["bytes"] == path.stat().st_size for path, f in files.items())
    assert "hann:0.7" in told["command"] and "config" not in told["command"]
    if not hashes_content(told):
        pytest.skip("this build has no xxhash")
    assert files[here / "a.txt"]["xxh3"]
    # Other ways through the same numbers; another number.
    for more in (["--threads", 2], ["--max-ram", "30M"]):
        qb("fbp", here / "s.h5", "-o", "w.h5", *GRID, "--angles", here / "a.txt", *more)
        assert provenance_h5("w.h5")["content"] == told["content"], more
    with h5py.File(here / "s.h5", "r+") as f:
        f["/exchange/data"][3, 2, 1] += 1
    qb("fbp", here / "s.h5", "-o", "w.h5", *GRID, "--angles", here / "a.txt")
    changed = provenance_h5("w.h5")["content"]
    assert changed.pop("projections") != told["content"].pop("projections") and changed == told["content"]


def test_provenance_tells_the_bytes_of_every_small_input(scan, tmp_path, monkeypatch):
    """Flats, darks, angles in HDF5 and a filter, as files; not the scan, of which `content` tells."""
    monkeypatch.chdir(tmp_path)
    numbers = np.linspace(0.001, 179.9, VIEWS)
    np.savetxt("both.txt", numbers)
    np.save("f.npy", np.full((2, ROWS, N), 60000, np.uint16))
    np.save("d.npy", np.zeros((2, ROWS, N), np.uint16))
    with h5py.File("a.h5", "w") as f:
        f["t"] = numbers
        f["t"].attrs["units"] = "deg"

    def hashes(*angles):
        qb("fbp", scan, "-o", "v.h5", *GRID, "--flats", "f.npy", "--darks", "d.npy", "--filter", "both.txt", "--angles", *angles)
        return {Path(f["path"]).name: f.get("xxh3") for f in provenance_h5("v.h5")["inputs"]}

    before = hashes("a.h5:/t")
    if not hashes_content(provenance_h5("v.h5")):
        pytest.skip("this build has no xxhash")
    assert set(before) == {scan.name, "f.npy", "d.npy", "both.txt", "a.h5"} and not before.pop(scan.name)
    assert all(before.values()) and len(set(before.values())) == 4
    Path("other.txt").write_bytes(Path("both.txt").read_bytes())
    assert hashes("other.txt")["other.txt"] == before["both.txt"]  # hashed in one piece, and in several
    np.save("f.npy", np.full((2, ROWS, N), 60001, np.uint16))
    after = hashes("a.h5:/t")
    assert after.pop("f.npy") != before.pop("f.npy") and {**after, scan.name: None} == {**before, scan.name: None}


def test_content_of_what_is_no_scan(tmp_path, monkeypatch):
    """The volume of a projection and the weights of a ray, by their numbers: the same from any container and by any
    way through it, others when a number is another."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    volume, lines = rng.random((24, 20, 20)).astype(np.float32), rng.random((12, 4, 20)).astype(np.float32)
    np.save("v.npy", volume), np.save("l.npy", lines), np.save("w.npy", 1 + lines)
    with h5py.File("v.h5", "w") as f:
        f.create_dataset("/exchange/data", data=volume, chunks=(5, 7, 9), compression="gzip")

    def told(verb, *args):
        qb(verb, *args, "-o", "o.h5", "-q")
        return provenance_h5("o.h5")

    def projected(path, *more):
        return told("project", path, "-g", "parallel", "--voxel", 1, "--views", 70, *more)["content"]

    def weighted(path):
        return told("mbir", "l.npy", "--angles", "0:180", "--center", 9.5, "--pixel-size", 1, "--equits", 1, "--weights", path)

    before = told("project", "v.npy", "-g", "parallel", "--voxel", 1, "--views", 70)
    if not hashes_content(before):
        pytest.skip("this build has no xxhash")
    assert list(before["content"]) == ["volume"] and before["inputs"][0]["bytes"] == volume.nbytes + 128
    least = smallest_cap("project", "v.h5", "-g", "parallel", "--voxel", 1, "--views", 70, "-o", "o.h5")
    for way in ("v.h5",), ("v.h5", "--max-ram", least), ("v.npy", "--threads", 1):
        assert projected(*way) == before["content"], way
    volume[23, 19, 19] += 1
    np.save("v.npy", volume)
    assert projected("v.npy") != before["content"]
    first = weighted("w.npy")
    lines[11, 3, 19] += 1
    np.save("w.npy", 1 + lines)
    second = weighted("w.npy")
    assert {Path(f["path"]).name for f in first["inputs"]} == {"l.npy", "w.npy"} and first["inputs"] == second["inputs"]
    assert first["content"].pop("weights") != second["content"].pop("weights") and first["content"] == second["content"]


def test_a_simulation_repeats_from_another_folder(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    monkeypatch.chdir(here)
    np.savetxt("a.txt", np.linspace(0, 360, 9, endpoint=False))
    qb("simulate", "disc", "--geometry", "cone", "--sod", 400, "--sdd", 600, "--views", 9, "--angles", "a.txt:1", "--detector", "16,8",
       "--geometry-out", "g.json", "-o", "c.h5")
    qb("simulate", "spheres", "-g", "g.json", "--photons", 1000, "--truth", "t.h5", "-o", "s.h5")
    names = {"c.h5": {here / "a.txt"}, "s.h5": {here / "g.json"}, "t.h5": {here / "g.json"}}
    told = {name: provenance_h5(name) for name in names}
    for name, record in told.items():
        assert {Path(f["path"]) for f in record["inputs"]} == names[name]
        assert "content" not in record and all(f["bytes"] == Path(f["path"]).stat().st_size for f in record["inputs"])
    monkeypatch.chdir(there)
    for name in ("c.h5", "s.h5"):
        (here / name).unlink()
        qb(*shlex.split(told[name]["command"])[1:])
    for name, record in told.items():
        again = provenance_h5(here / name)
        assert record.pop("run")["date"] and again.pop("run")["date"]
        assert again == record
    assert not list(there.iterdir())


@pytest.mark.parametrize("name,dtype", [(name, dtype) for name in ("v.h5", "v.mha", "v.npy", "v.raw", "v.tif", "v/", "v_%05d.tif")
                                        for dtype in ("float32", "float16", "uint16", "uint8")
                                        if (name, dtype) != ("v.mha", "float16")])  # MetaImage has none
def test_every_format_and_type(scan, volume, tmp_path, name, dtype):
    integer = dtype.startswith("uint")
    low, high = -0.01, 0.06
    done = qb("fbp", scan, "-o", f"{tmp_path}/{name}", *GRID, "--dtype", dtype, *(["--range", f"{low},{high}"] if integer else []))
    assert "error" not in done.stderr
    if name == "v.h5":
        found = read_h5(tmp_path / name)
    elif name == "v.mha":
        found, header = read_mha(tmp_path / name)
        assert [float(v) for v in header["ElementSpacing"].split()] == [PIXEL] * 3
        assert header["QuickbeamUnits"] == "1/mm"
    elif name == "v.npy":
        found = np.load(tmp_path / name)
    elif name == "v.raw":
        found = np.fromfile(tmp_path / name, dtype).reshape(volume.shape)
        told = json.loads((tmp_path / "v.raw.json").read_text())
        assert told["shape"] == [ROWS, N, N] and told["dtype"] == dtype and told["units"] == "1/mm"
    elif name == "v.tif":
        found = read_tiff(tmp_path / name)
    else:
        found = read_stack(tmp_path / "v" if name == "v/" else tmp_path / "v_*.tif")
    assert found.dtype == np.dtype(dtype) and found.shape == volume.shape
    if integer:
        top = np.iinfo(dtype).max
        wanted = np.clip(np.rint((volume.astype(float) - low) / (high - low) * top), 0, top)
        assert abs(found - wanted).max() <= 1 and (found == wanted).mean() > 0.999
    else:
        assert (found == volume.astype(dtype)).all()
    if dtype != "float16" or name != "v.raw":  # and our own reader agrees
        assert qb_json("compare", *[f"{tmp_path}/{name.replace('%05d', '*')}"] * 2)["max_abs"] == 0


def test_mha_says_nothing_that_does_not_hold(scan, tmp_path):
    """No scale of values that are none, no beam of a volume; data begin where they always did."""
    def header(*options):
        qb("fbp", scan, "-o", tmp_path / "v.mha", *GRID, *options)
        found, keys = read_mha(tmp_path / "v.mha")
        assert (tmp_path / "v.mha").stat().st_size == 16384 + found.nbytes
        return {k: v for k, v in keys.items() if k.startswith("Quickbeam")}

    usual = {"QuickbeamQuantity", "QuickbeamUnits", "QuickbeamProvenance"}
    assert set(header()) == usual
    integers = header("--dtype", "uint16", "--range", "-0.01,0.06")
    assert set(integers) == usual | {"QuickbeamScale"} and integers["QuickbeamScale"] == "-0.01 0.06"
    qb("simulate", "disc", "-o", tmp_path / "s.mha", "--views", "4", "--detector", "8")
    _, keys = read_mha(tmp_path / "s.mha")
    assert keys["QuickbeamBeam"] == "parallel" and "QuickbeamScale" not in keys


@pytest.mark.parametrize("name", ["v.mha", "v.npy", "v.raw", "v.tif", "v/"])
def test_every_format_carries_its_provenance(scan, tmp_path, name):
    qb("fbp", scan, "-o", f"{tmp_path}/{name}", *GRID)
    files = sorted(f for f in tmp_path.rglob("*") if f.is_file())
    text = b"".join(f.read_bytes() for f in files)
    for words in (b"bp_parallel_linear", b"1/mm", b"--center 33.25"):
        assert words in text, words


def test_integer_range_of_its_own(scan, volume, tmp_path):
    qb("fbp", scan, "-o", tmp_path / "v.h5", *GRID, "--dtype", "uint16")
    with h5py.File(tmp_path / "v.h5") as f:
        data = f["/exchange/data"]
        low, high = data.attrs["scale_low"], data.attrs["scale_high"]
        values = low + data[ROWS // 2] / 65535.0 * (high - low)
    inside = (volume[ROWS // 2] > low) & (volume[ROWS // 2] < high)
    assert inside.mean() > 0.999
    assert abs(values - volume[ROWS // 2])[inside].max() <= (high - low) / 65535


@pytest.mark.parametrize("text,rows", [("2:3", [2]), ("1:6:2", [1, 3, 5]), ("-2:", [4, 5]), (":3", [0, 1, 2])])
def test_slices(scan, volume, tmp_path, text, rows):
    qb("fbp", scan, "-o", tmp_path / "v.h5", *GRID, f"--slices={text}", "--accuracy", "high")
    found = read_h5(tmp_path / "v.h5")
    assert found.shape == (len(rows), N, N)
    assert abs(found - volume[rows]).max() < 2e-3 * abs(volume).max()
    qb("fbp", scan, "-o", f"{tmp_path}/s/", *GRID, f"--slices={text}")
    assert len(leftovers(tmp_path / "s")) == len(rows)
    if rows == [2]:
        assert "2" in leftovers(tmp_path / "s")[0]  # named by the detector row


def bilinear(slice_, x, y):
    """The slice at (x, y) mm."""
    from numpy import floor
    i, j = x / PIXEL + (N - 1) / 2, y / PIXEL + (N - 1) / 2
    i0, j0 = floor(i).astype(int), floor(j).astype(int)
    a, b = i - i0, j - j0
    return ((1 - b) * ((1 - a) * slice_[j0, i0] + a * slice_[j0, i0 + 1]) +
            b * ((1 - a) * slice_[j0 + 1, i0] + a * slice_[j0 + 1, i0 + 1]))


def test_size_voxel_and_offset(scan, volume, tmp_path):
    """A cut-out on a finer grid beside the axis shows the same object; z does not change."""
    qb("fbp", scan, "-o", tmp_path / "v.mha", *GRID, "--size", "30,20", "--voxel", "0.25", "--offset", "3,-2", "--filter", "hann:0.4")
    qb("fbp", scan, "-o", tmp_path / "w.h5", *GRID, "--filter", "hann:0.4")
    found, header = read_mha(tmp_path / "v.mha")
    whole = read_h5(tmp_path / "w.h5")
    assert found.shape == (ROWS, 20, 30)
    x = (np.arange(30) - 14.5) * 0.25 + 3
    y = (np.arange(20) - 9.5) * 0.25 - 2
    assert [float(v) for v in header["ElementSpacing"].split()] == [0.25, 0.25, 0.5]
    assert [float(v) for v in header["Offset"].split()][:2] == pytest.approx([x[0], y[0]])
    x, y = np.meshgrid(x, y)
    for z in range(ROWS):
        wanted = bilinear(whole[z], x, y)
        assert abs(found[z] - wanted).max() < 0.06 * abs(whole[z]).max()
        assert abs((found[z] - wanted).mean()) < 0.01 * abs(whole[z]).max()


def test_a_cut_out_on_the_same_grid_is_the_same(scan, volume, tmp_path):
    qb("fbp", scan, "-o", tmp_path / "v.h5", *GRID, "--size", "20,16", "--offset", "4,-6", "--accuracy", "high")
    found = read_h5(tmp_path / "v.h5")
    assert abs(found - volume[:, 24 - 12:40 - 12, 22 + 8:42 + 8]).max() < 2e-3 * abs(volume).max()


def test_hounsfield(scan, volume, tmp_path):
    qb("fbp", scan, "-o", tmp_path / "v.h5", *GRID, "--hu", "0.02")
    with h5py.File(tmp_path / "v.h5") as f:
        found, units = f["/exchange/data"][()], f["/exchange/data"].attrs["units"]
    assert (units.decode() if isinstance(units, bytes) else units) == "HU"
    assert np.allclose(found, 1000 * (volume.astype(float) - 0.02) / 0.02, atol=0.01 * 1000 * abs(volume).max())


def panels(picture, rows):
    """The parts of a preview that are no paper and no text, from the left and from the top: 8 pixels from the left,
    below a line of 22; side by side lie slices of the volume, magnified by a whole factor."""
    grow = 512 // (N + rows)
    one = picture[30:30 + N * grow, 8:8 + N * grow]
    right = 16 + max(N * grow, 12 * len(f"z {rows // 2} of {rows}, x right, y up"))
    two = picture[30:30 + N * grow, right:right + rows * grow]
    three = picture[30 + N * grow + 30:][:rows * grow, 8:8 + N * grow]
    return [p[grow // 2::grow, grow // 2::grow] for p in (one, two, three)]


@pytest.mark.parametrize("more", [[], ["--dtype", "uint8", "--range", "0,0.1"], ["--window", "0.01,0.03"]],
                         ids=["float32", "uint8", "window"])
def test_preview(tmp_path, more):
    rows, volume = 20, tmp_path / "v.npy"
    scan = ["fbp", tmp_path / "s.h5", "--center", "31.5"]
    qb("simulate", "shepp-logan", "--size", f"{N},{N},{rows}", "--views", "40", "-o", tmp_path / "s.h5", "--attenuation", "0.1")
    qb(*scan, "-o", volume)
    volume = np.load(volume)
    done = qb(*scan, "-o", tmp_path / "v.h5", *more, "--preview", tmp_path / "p.png")
    picture = read_png(tmp_path / "p.png").astype(float)
    cuts = [cut[::-1] for cut in (volume[rows // 2], volume[:, :, N // 2].T, volume[:, N // 2])]  # y and z up
    low, high = np.percentile(np.concatenate([c.ravel() for c in cuts]), [0.5, 99.5])
    if "--window" in more:
        low, high = 0.01, 0.03
    shown = re.search(r"p\.png: black (\S+), white (\S+) \((\S+)\)", done.stdout)
    assert [float(shown[i]) for i in (1, 2)] == pytest.approx([low, high], abs=0.02 * (high - low))
    assert shown[3] == ("--window" if "--window" in more else "auto")
    for found, cut in zip(panels(picture, rows), cuts):
        assert found.shape == cut.shape
        assert abs(found / 255 - np.clip((cut - low) / (high - low), 0, 1)).max() < 0.02
    text = picture[8:28, 8:8 + 12 * 27]
    assert (text < 80).sum() > 60 and (text == 255).mean() > 0.6
    assert (picture[-60:, -60:] == 255).all()


def test_preview_of_few_slices(scan, tmp_path):
    qb("fbp", scan, "-o", tmp_path / "v.h5", *GRID, "--preview", tmp_path / "p.png")
    side = 512 // N * N
    assert read_png(tmp_path / "p.png").shape == (30 + side + 30, 44 * 12)


def test_preview_of_a_large_volume_is_reduced(tmp_path):
    qb("simulate", "disc", "--size", "2200,2200,16", "--views", "2", "--detector", "2200,16", "-o", tmp_path / "s.h5")
    qb("fbp", tmp_path / "s.h5", "--center", "1099.5", "-o", tmp_path / "v.h5", "--preview", tmp_path / "p.png")
    assert max(struct.unpack(">II", (tmp_path / "p.png").read_bytes()[16:24])) <= 2048


def test_interpolations_agree(scan, volume, tmp_path):
    qb("fbp", scan, "-o", tmp_path / "n.h5", *GRID, "--interp", "nearest")
    found = read_h5(tmp_path / "n.h5")
    assert 1e-4 < np.sqrt(((found - volume) ** 2).mean()) / volume.std() < 0.3


# ---- compare ----


def test_compare_says_what_numpy_says(tmp_path):
    rng = np.random.default_rng(2)
    b = rng.normal(1, 2, (5, 40, 30)).astype(np.float32)
    a = (1.1 * b + 0.3 + rng.normal(0, 0.1, b.shape)).astype(np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    told = qb_json("compare", tmp_path / "a.npy", tmp_path / "b.npy")
    d, x, y = a.astype(float) - b, a.astype(float), b.astype(float)
    assert told["rmse"] == pytest.approx(np.sqrt((d ** 2).mean()), rel=1e-6)
    assert told["max_abs"] == pytest.approx(abs(d).max(), rel=1e-6)
    assert told["rel_l2"] == pytest.approx(np.sqrt((d ** 2).sum() / (y ** 2).sum()), rel=1e-6)
    assert told["psnr_db"] == pytest.approx(10 * np.log10((y.max() - y.min()) ** 2 / (d ** 2).mean()), rel=1e-6)
    slope = ((x - x.mean()) * (y - y.mean())).sum() / ((y - y.mean()) ** 2).sum()
    assert told["slope"] == pytest.approx(slope, rel=1e-6)
    assert told["correlation"] == pytest.approx(np.corrcoef(x.ravel(), y.ravel())[0, 1], rel=1e-6)


# ---- sweeps ----


def test_sweep_names_are_the_axes_that_were_used(scan, tmp_path):
    report = qb_json("fbp", scan, "-o", tmp_path / "sweep", "--center", "32:34:0.5", "--slices", "3:4", "--hu", "0.02")
    assert report["kind"] == "sweep"
    assert [float(row["value"]) for row in report["slices"]] == [32, 32.5, 33, 33.5, 34] and report["option"] == "center"
    names = leftovers(tmp_path / "sweep", "contact_sheet.png")
    assert [str(tmp_path / "sweep" / n) for n in names] == [row["file"] for row in report["slices"]] and names[1] == "center_00032.5.tif"
    for name, row in zip(names, report["slices"]):
        center = row["value"]
        qb("fbp", scan, "-o", tmp_path / "one.h5", "--center", center, "--slices", "3:4", "--hu", "0.02")
        assert (read_tiff(tmp_path / "sweep" / name)[0] == read_h5(tmp_path / "one.h5")[0]).all(), name


def test_sweep_makes_a_contact_sheet(scan, tmp_path):
    """All slices side by side, y up, in one window, each under its column."""
    out = tmp_path / "sweep"
    report = qb_json("fbp", scan, "-o", out, "--center", "30:34:1", "--size", "60,50")["contact_sheet"]
    assert report["file"] == f"{out}/contact_sheet.png" and report["window_from"] == "auto"
    slices = read_stack(out)
    assert slices.shape == (5, 50, 60)
    low, high = np.percentile(slices, [0.5, 99.5])
    assert report["window"] == pytest.approx([low, high], abs=0.02 * (high - low))
    picture, grow = read_png(out / "contact_sheet.png"), 4  # as wide as 16 letters
    wide, high_ = 60 * grow, 50 * grow
    assert picture.shape == (8 + 2 * (high_ + 22 + 8) + 22, 8 + 3 * (wide + 8))
    for i, one in enumerate(slices):
        x, y = 8 + i % 3 * (wide + 8), 8 + i // 3 * (high_ + 30)
        tile = picture[y + 22:y + 22 + high_, x:x + wide][grow // 2::grow, grow // 2::grow]
        grey = np.clip((one[::-1] - report["window"][0]) / (report["window"][1] - report["window"][0]), 0, 1)
        assert abs(tile / 255 - grey).max() < 0.01, i
        assert (picture[y:y + 22, x:x + 12 * 13] < 80).sum() > 60  # its label
    labels = [picture[8 + i // 3 * (high_ + 30):][:22, 8 + i % 3 * (wide + 8):][:, :12 * 13].tobytes() for i in range(5)]
    assert len(set(labels)) == 5
    asked = qb("fbp", scan, "-o", out, "--center", "30:34:1", "--size", "60,50", "--window", "0,0.05").stdout
    assert "contact_sheet.png: black 0, white 0.05 (--window)" in asked


def test_a_window_is_two_numbers(scan, tmp_path):
    for text in ("1", "2,1", "0,inf", "a,b", "1,2,3"):
        fails(2, "fbp", scan, "-o", tmp_path / "v.h5", *GRID, "--window", text, says=["LO,HI"])
    assert leftovers(tmp_path) == []


def test_a_window_without_a_picture_says_so(scan, tmp_path):
    """A configuration carries the window and not the picture's name: no refusal."""
    small = [*GRID, "--slices", "3:5"]
    words = "--window has no effect"
    for verb in ("fbp", "sirt"):
        told = qb(verb, scan, "-o", tmp_path / "v.h5", *(small if verb == "fbp" else [*GRID, "--iterations", 1]), "--window", "0,1").stderr
        assert told.count(words) == 1 and "--preview" in told
    assert words not in qb("fbp", scan, "-o", tmp_path / "v.h5", *small, "--window", "auto").stderr
    assert words not in qb("fbp", scan, "-o", tmp_path / "v.h5", *small, "--window", "0,1", "--preview", tmp_path / "v.png",
                           "--save-config", tmp_path / "c").stderr
    assert words in qb("fbp", scan, "-o", tmp_path / "w.h5", "--config", tmp_path / "c").stderr
    assert words not in qb("fbp", scan, "-o", tmp_path / "sweep", "--slices", "3:4", "--center", "31:32:1", "--window", "0,1").stderr


def test_sweep_takes_the_middle_slice(scan, volume, tmp_path):
    qb("fbp", scan, "-o", tmp_path / "sweep", "--center", f"{CENTER}:{CENTER}:1")
    found = read_stack(tmp_path / "sweep")[0]
    assert abs(found - volume[ROWS // 2]).max() < 2e-3 * abs(volume).max()


# ---- configuration files ----


def test_configuration_goes_round(scan, tmp_path):
    given = ["--center", "33.25", "--filter", "hamming:0.75", "--pad", "mirror", "--size", "50,40", "--slices", "1:4", "--hu", "0.02"]
    qb("fbp", scan, "-o", tmp_path / "a.h5", *given, "--save-config", tmp_path / "run.conf")
    qb("fbp", scan, "--config", tmp_path / "run.conf", "-o", tmp_path / "b.h5")
    assert (read_h5(tmp_path / "a.h5") == read_h5(tmp_path / "b.h5")).all()
    qb("fbp", scan, "-o", tmp_path / "c.h5", "--config", tmp_path / "run.conf", "--save-config", tmp_path / "again.conf", "--dry-run")
    kept = [line for line in (tmp_path / "run.conf").read_text().splitlines() if "dry-run" not in line]
    assert kept == [line for line in (tmp_path / "again.conf").read_text().splitlines() if "dry-run" not in line]


def test_flags_win_over_the_configuration(scan, tmp_path):
    (tmp_path / "run.conf").write_text("# mine\nfilter = hann   # soft\npad=zero\n\ncenter = 33.25\n")
    plan = qb_json("plan", "fbp", scan, "-o", "x.h5", "--filter", "ramp", "--config", tmp_path / "run.conf")
    assert plan["options"]["filter"] == "ramp" and plan["options"]["pad"] == "zero"


def test_bad_configurations(scan, tmp_path):
    conf = tmp_path / "run.conf"
    conf.write_text("pad = zero\nfiltre = hann\n")
    fails(2, "fbp", scan, "-o", "x.h5", "--config", conf, says=["run.conf line 2", "filtre"])
    conf.write_text("filter = hann\n\npad = wrap\n")
    fails(2, "fbp", scan, "-o", "x.h5", "--config", conf, says=["run.conf line 3", "wrap"])
    conf.write_text("pad = zero\n#" + "x" * 4092 + "\n")
    qb("plan", "fbp", scan, "-o", "x.h5", "--center", 33.25, "--config", conf)
    conf.write_text("pad = zero\n#" + "x" * 4094 + "\n")  # the rest of it would be another line
    fails(3, "fbp", scan, "-o", "x.h5", "--config", conf, says=["run.conf line 2", "4094 characters"])
    conf.write_text("pad\n")
    fails(2, "fbp", scan, "-o", "x.h5", "--config", conf, says=["run.conf line 1"])
    fails(3, "fbp", scan, "-o", "x.h5", "--config", tmp_path / "none.conf", says=["none.conf"])


def test_nothing_is_written(tmp_path):
    """-o /dev/null: all is computed and seen, nothing planned for the disk, and the device stays what it is."""
    sim, cone = tmp_path / "s.sim", tmp_path / "c.sim"
    qb("simulate", "spheres", "-o", sim, "--views", 30, "--detector", "32,8", "--pixel-size", 1)
    qb("simulate", "spheres", "-o", cone, "--geometry", "cone", "--sod", 200, "--sdd", 300, "--views", 30, "--detector", "32,8", "--pixel-size", 1)
    for words in (("fbp", sim, "--center", "stated"), ("mbir", sim, "--center", "stated", "--equits", 1), ("fdk", cone), ("fdk", cone, "--dtype", "float16"),
                  ("sirt", cone, "--iterations", 1)):
        plan = qb_json("plan", *words, "-o", "/dev/null")
        assert plan["output_bytes"] == 0 and plan["forecast_seconds"] > 0
        assert qb_json(*words, "-o", "/dev/null")["output"] == "/dev/null"
    for more in (("--resume",), ("--parts", 2)):
        fails(2, "fdk", cone, "-o", "/dev/null", *more, says=[more[0]])
    fails(2, "simulate", "disc", "-o", "/dev/null", "--views", 2, "--detector", 8, says=["is a device"])
    before = leftovers(tmp_path)
    qb("fdk", cone, "-o", "/dev/null", "--preview", tmp_path / "p.png")
    qb("fdk", cone, "-o", tmp_path / "v.npy", "--preview", tmp_path / "q.png")
    assert (tmp_path / "p.png").read_bytes() == (tmp_path / "q.png").read_bytes()
    assert leftovers(tmp_path) == sorted([*before, "p.png", "q.png", "v.npy", "v.npy.json"])
    assert Path("/dev/null").is_char_device()
