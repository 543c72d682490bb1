# SPDX-License-Identifier: MIT
"""Bad input and bad luck: the right exit code, a message with the file and the number, nothing left behind."""
import json
import os
import re
import resource
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest

from qbtest import PATIENCE, QB, fails, gently, leftovers, qb, qb_json, slow, write_scan


@pytest.fixture
def scan(tmp_path):
    """40 views of 4 x 32 counts, with flats and darks."""
    rng = np.random.default_rng(1)
    data = rng.integers(500, 1000, (40, 4, 32)).astype(np.uint16)
    flats = np.full((3, 4, 32), 1000, np.uint16)
    darks = np.full((2, 4, 32), 10, np.uint16)
    return write_scan(tmp_path / "scan.h5", data, np.arange(40) * 4.5, flats, darks, 0.1)


def edit(scan, name, value):
    with h5py.File(scan, "a") as f:
        if name in f:
            del f[name]
        if value is not None:
            f[name] = value


# ---- usage: 2 ----


def test_no_verb():
    assert "usage: qb VERB" in fails(2)


def test_unknown_verb():
    fails(2, "fpb", "scan.h5", says=["no verb fpb"])


def test_unknown_flag_suggests(scan):
    fails(2, "fbp", scan, "-o", "x.h5", "--filtre", "hann", says=["--filtre", "did you mean --filter?"])
    fails(2, "fbp", scan, "-o", "x.h5", "--g", "g.json", says=["--g", "did you mean --geometry?"])
    fails(2, "center", scan, "--methode", "auto", says=["did you mean --method?"])


def test_unknown_flag_of_another_verb(scan):
    """An option that the verb would ignore is unknown to it."""
    fails(2, "info", scan, "--filter", "hann", says=["--filter"])


@pytest.mark.parametrize("flag,value,says", [
    ("--filter", "han", "han"),
    ("--filter", "hann:0", "hann:0"),
    ("--filter", "hann:1.5", "1.5"),
    ("--pad", "wrap", "wrap"),
    ("--accuracy", "exact", "exact"),
    ("--threads", "-1", "-1"),
    ("--threads", "many", "many"),
    ("--max-ram", "lots", "lots"),
    ("--max-ram", "1K", "--max-ram"),
    ("--center", "32", "0..31"),
    ("--center", "-1", "0..31"),
    ("--center", "centre", "centre"),
    ("--center", "10:50:1", "10:50:1"),
    ("--center", "10:12:0", "10:12:0"),
    ("--center", "nan", "nan"),
    ("--slices", "2:9", "0:4"),
    ("--slices", "3:1", "3:1"),
    ("--slices", "x", "x"),
    ("--size", "0,5", "--size"),
    ("--size", "10.5", "10.5"),
    ("--voxel", "-1", "--voxel"),
    ("--voxel", "1,1.5,2", "give one number (MM), not a list: pixel"),
    ("--range", "1,0", "--range"),
    ("--kernel", "bp_parallel_magic", "bp_parallel_magic"),
    ("--transmission-floor", "2", "--transmission-floor"),
    ("--air", "5:3,0:4", "5:3"),
    ("--air", "0:40,0:4", "0:40"),
    ("--views", "0:50", "0:40"),
    ("--as", "pictures", "pictures"),
])
def test_bad_value(scan, tmp_path, flag, value, says):
    center = [] if flag == "--center" else ["--center", "15.5"]
    fails(2, "fbp", scan, "-o", tmp_path / "out.h5", *center, flag, value, says=[says])
    assert leftovers(tmp_path) == ["scan.h5"]


def test_flag_without_value(scan):
    fails(2, "fbp", scan, "-o", says=["--output needs a value"])


def test_output_missing(scan):
    fails(2, "fbp", scan, says=["-o"])


def test_output_missing_of_a_plan(scan):
    fails(2, "plan", "fbp", scan, "--center", 3, says=["where to", "-o OUTPUT"])


def test_too_many_arguments(scan):
    fails(2, "fbp", scan, "other.h5", "-o", "x.h5", says=["other.h5"])


def test_unknown_extension(scan, tmp_path):
    fails(2, "fbp", scan, "-o", tmp_path / "volume.xyz", "--center", "15.5", says=["volume.xyz"])
    assert leftovers(tmp_path) == ["scan.h5"]


def test_dtype_that_the_format_lacks(scan, tmp_path):
    fails(2, "fbp", scan, "-o", tmp_path / "v.mha", "--dtype", "float16", "--center", "15.5", says=["float16", "v.mha"])
    assert leftovers(tmp_path) == ["scan.h5"]


def test_device_that_is_not_there(scan, tmp_path):
    """Never a silent fallback."""
    fails(1, "fbp", scan, "-o", tmp_path / "v.h5", "--device", "cuda", says=["cuda"])


def test_simulate_bad_usage(tmp_path):
    fails(2, "simulate", "teapot", "-o", tmp_path / "s.h5", says=["teapot"])
    fails(2, "simulate", "disc", says=["-o"])
    fails(2, "simulate", "disc", "-o", tmp_path / "s.h5", "--views", "-3", says=["--views"])
    assert leftovers(tmp_path) == []


# ---- input: 3 ----


def test_missing_file(tmp_path):
    for verb in (["info"], ["fbp", "-o", tmp_path / "v.h5"], ["center"]):
        fails(3, verb[0], tmp_path / "nothing.h5", *verb[1:], says=["nothing.h5"])
    fails(3, "compare", tmp_path / "a.h5", tmp_path / "b.h5", says=["a.h5"])


def test_a_folder_without_images(tmp_path):
    (tmp_path / "empty").mkdir()
    fails(3, "info", tmp_path / "empty", says=["empty"])


def test_text_that_calls_itself_hdf5(tmp_path):
    (tmp_path / "scan.h5").write_text("not HDF5 at all\n" * 100)
    fails(3, "info", tmp_path / "scan.h5", says=["scan.h5"])


@pytest.mark.parametrize("share", [0.001, 0.02, 0.1, 0.5, 0.9, 0.999])
def test_truncated_hdf5(scan, tmp_path, share):
    whole = scan.read_bytes()
    scan.write_bytes(whole[:int(len(whole) * share)])
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5", says=["scan.h5"])
    assert leftovers(tmp_path) == ["scan.h5"]


@pytest.mark.parametrize("compression", [None, "deflate"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_truncated_tiff(tmp_path, share, compression):
    tifffile = pytest.importorskip("tifffile")
    views = tmp_path / "views"
    views.mkdir()
    rng = np.random.default_rng(1)
    for i in range(8):
        tifffile.imwrite(views / f"v_{i:03}.tif", rng.integers(0, 999, (16, 32)).astype(np.uint16), compression=compression)
    broken = views / "v_005.tif"
    whole = broken.read_bytes()
    broken.write_bytes(whole[:int(len(whole) * share)])
    fails(3, "fbp", views, "--angles", "0:180", "--quantity", "transmission", "-o", tmp_path / "v.h5", "--center", "15.5",
          says=["v_005.tif"])
    assert leftovers(tmp_path) == ["views"]


def test_tiffs_of_different_sizes(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    views = tmp_path / "views"
    views.mkdir()
    for i in range(4):
        tifffile.imwrite(views / f"v_{i}.tif", np.ones((16, 32 if i != 2 else 30), np.uint16))
    message = fails(3, "fbp", views, "--angles", "0:180", "-o", tmp_path / "v.h5", says=["v_2.tif", "30", "32"])
    assert "16" in message


def test_no_angles(scan, tmp_path):
    edit(scan, "/exchange/theta", None)
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", says=["scan.h5", "--angles"])
    assert any("theta" in p or "angles" in p for p in qb_json("info", scan)["problems"])
    assert "angles" in qb_json("info", scan)["problem_kinds"]
    qb("fbp", scan, "-o", tmp_path / "v.h5", "--angles", "0:180", "--center", "15.5")


def test_angles_do_not_match_the_views(scan, tmp_path):
    edit(scan, "/exchange/theta", np.arange(37.0))
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5", says=["37", "40"])


def test_angles_file_does_not_match(scan, tmp_path):
    np.savetxt(tmp_path / "angles.txt", np.arange(45.0))
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--angles", tmp_path / "angles.txt", says=["45", "40"])
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--angles", "0:180:39", says=["39", "40"])
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--angles", tmp_path / "none.txt", says=["none.txt"])


def test_angles_that_are_no_numbers(scan, tmp_path):
    (tmp_path / "angles.txt").write_text("0\n1\nthree\n" + "4\n" * 37)
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--angles", tmp_path / "angles.txt", says=["angles.txt", "3"])
    edit(scan, "/exchange/theta", np.where(np.arange(40) == 7, np.nan, np.arange(40.0)))
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5", says=["theta"])


def test_flats_of_another_size(scan, tmp_path):
    edit(scan, "/exchange/data_white", np.ones((3, 4, 30), np.uint16))
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5", says=["4 x 30", "4 x 32"])


def test_all_flats_zero(scan, tmp_path):
    edit(scan, "/exchange/data_white", np.zeros((3, 4, 32), np.uint16))
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5", says=["scan.h5", "flat", "128"])
    assert leftovers(tmp_path) == ["scan.h5"]
    assert any("flat" in p for p in qb_json("info", scan)["problems"])
    assert "fields" in qb_json("info", scan)["problem_kinds"]


def test_some_flats_zero_is_survived(scan, tmp_path):
    flats = np.full((1, 4, 32), 1000, np.uint16)
    flats[0, 1, 5] = 0
    edit(scan, "/exchange/data_white", flats)
    report = qb_json("fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5")
    assert report["preparation"]["dead"] == 40
    assert any("(1,5)" in p or "(5,1)" in p for p in qb_json("info", scan)["problems"])
    assert "fields" in qb_json("info", scan)["problem_kinds"]


def test_nan_counts(tmp_path):
    data = np.full((40, 2, 32), 0.5, np.float32)
    data[3, 1, 4] = np.nan
    data[5, 0, 9:11] = np.inf
    scan = write_scan(tmp_path / "scan.h5", data, np.arange(40) * 4.5, pixel=0.1, quantity="transmission")
    done = qb("fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5", "--json")
    assert json.loads(done.stdout)["preparation"]["not_finite"] == 3
    assert "NaN" in done.stderr
    with h5py.File(tmp_path / "v.h5") as f:
        assert np.isfinite(f["/exchange/data"][()]).all()
    assert any("finite" in p or "NaN" in p for p in qb_json("info", scan)["problems"])
    assert "pixels" in qb_json("info", scan)["problem_kinds"]


def test_compare_different_shapes(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((4, 5, 6), np.float32))
    np.save(tmp_path / "b.npy", np.zeros((4, 5, 7), np.float32))
    fails(3, "compare", tmp_path / "a.npy", tmp_path / "b.npy", says=["4 x 5 x 6", "4 x 5 x 7"])


def test_compare_limits(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 5, 6), np.float32))
    np.save(tmp_path / "b.npy", np.full((4, 5, 6), 2, np.float32))
    qb("compare", tmp_path / "a.npy", tmp_path / "b.npy", "--max-rel-l2", "0.6")
    assert "0.5" in qb("compare", tmp_path / "a.npy", tmp_path / "b.npy", "--max-rel-l2", "0.4", code=1).stderr


@pytest.mark.parametrize("limit", ["--max-rel-l2", "--max-rmse"])
def test_compare_limit_of_nothing(tmp_path, limit):
    a = np.linspace(1, 2, 120, dtype="f4").reshape(4, 5, 6)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "same.npy", a)
    a[3, 4, 5] = np.nextafter(a[3, 4, 5], np.float32(3))  # the last bit of one number
    np.save(tmp_path / "near.npy", a)
    qb("compare", tmp_path / "a.npy", tmp_path / "same.npy", limit, "0")
    qb("compare", tmp_path / "a.npy", tmp_path / "near.npy")
    assert f"above {limit} 0" in qb("compare", tmp_path / "a.npy", tmp_path / "near.npy", limit, "0", code=1).stderr
    fails(2, "compare", tmp_path / "a.npy", tmp_path / "same.npy", limit, "0,1", says=["one number"])
    fails(2, "compare", tmp_path / "a.npy", tmp_path / "same.npy", limit, "-1", says=[limit])


# ---- output: 1 ----


def test_unwritable_output(scan, tmp_path):
    fails(1, "fbp", scan, "-o", "/proc/no/such/place/v.h5", "--center", "15.5", says=["/proc/no/such/place"])
    missing = tmp_path / "missing" / "v.h5"
    fails(1, "fbp", scan, "-o", missing, "--center", "15.5", says=["missing"])
    for name in ("v.npy", "v.tif", "v.mha", "v.raw"):
        fails(1, "fbp", scan, "-o", missing.with_name(name), "--center", "15.5", says=["missing"])
    assert leftovers(tmp_path) == ["scan.h5"]


def limit_file_size(size):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    return limit


@pytest.mark.parametrize("name", ["v.h5", "v.npy", "v.mha", "v.raw", "v.tif", "v/", "v_%03d.tif"])
@pytest.mark.parametrize("size", [1000, 40_000])
def test_file_too_large(scan, tmp_path, name, size):
    """As good as a full disk, and to be had without root: writing fails half-way."""
    wide = ["--size", "128"] if "/" not in name and "%" not in name else ["--size", "512"]
    fails(1, "fbp", scan, "-o", str(tmp_path / "x")[:-1] + name, "--center", "15.5", *wide, preexec_fn=limit_file_size(size))
    assert [f for f in leftovers(tmp_path) if not f.startswith("v") or list(tmp_path.glob("v*/*"))] == ["scan.h5"]
    assert not [f for f in tmp_path.rglob("v*") if f.is_file()]


def test_full_disk(scan, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True).returncode != 0:
        pytest.skip("no right to mount a small disk")
    try:
        for name in ("v.h5", "v.npy", "v.mha", "v_%03d.tif"):
            fails(1, "fbp", scan, "-o", disk / name, "--center", "15.5", "--size", "256", says=["v"])
            assert leftovers(disk) == []
        fails(1, "simulate", "disc", "-o", disk / "s.h5", "--views", "90", "--detector", "128,16", says=["s.h5"])
        assert leftovers(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)


# ---- --json, --dry-run, interruption ----


def test_json_is_one_object_also_on_failure(scan, tmp_path):
    out = tmp_path / "v.h5"
    for code, args in [(2, ["fbp", scan, "-o", out, "--center", "99"]), (3, ["fbp", tmp_path / "none.h5", "-o", out]),
                       (2, ["fbp", scan]), (2, ["fbp", scan, "--nonsense"]), (3, ["info", tmp_path / "none.h5"]),
                       (3, ["compare", "a.npy", "b.npy"]), (2, ["simulate", "teapot", "-o", tmp_path / "s.h5"]),
                       (2, ["bench", "nothing"]), (2, ["plan"])]:
        answer = qb_json(*args, code=code)
        assert answer["error"] and answer["status"], args
    done = subprocess.run([QB, "fbp", "--json", scan, "--nonsense"], capture_output=True, text=True)
    assert "nonsense" in json.loads(done.stdout)["error"]


def test_json_is_one_object_on_success(scan, tmp_path):
    a, b = tmp_path / "a.h5", tmp_path / "b.h5"
    assert qb_json("info", scan)["views"] == 40
    assert qb_json("fbp", scan, "-o", a, "--center", "15.5")["output"] == str(a)
    assert qb_json("plan", "fbp", scan, "-o", a, "--center", "15.5")["verb"] == "fbp"
    assert qb_json("compare", a, a)["rmse"] == 0
    assert qb_json("simulate", "foam", "-o", b, "--views", "90", "--detector", "64,2")
    assert "column" in qb_json("center", b)
    assert qb_json("devices")["devices"]
    assert qb_json("bench", "backproject", "--size", "64,64,16", "--views", "32", "--repeat", "1")["kernel"]


def test_quiet_says_nothing(scan, tmp_path):
    done = qb("fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5", "--quiet", "--json")
    assert done.stderr == ""


def test_quiet_leaves_the_answers(scan, tmp_path):
    """A run has its file to show, so -q prints nothing; what is asked for is printed all the same."""
    out, axis = ("-o", tmp_path / "v.h5"), ("--center", "15.5")
    assert "CPU s" in qb("fbp", scan, *out, *axis).stdout
    for command in (("fbp", scan, *out, *axis), ("fbp", scan, "-o", tmp_path / "sweep", "--center", "15:16:0.5"),
                    ("project", tmp_path / "v.h5", "-g", "parallel", "--angles", "0:180:8", "-o", tmp_path / "p.h5"),
                    ("fdk", scan, "--sod", 500, "--sdd", 600, "--pixel-size", 1, "--angles", "0:360", *out)):
        assert qb(*command, "-q").stdout == "", command
    turning = tmp_path / "turning.h5"
    qb("simulate", "foam", "-o", turning, "--views", "90", "--detector", "64,2")
    for question in (("plan", "fbp", scan, *out, *axis), ("info", scan), ("center", turning),
                     ("compare", tmp_path / "v.h5", tmp_path / "v.h5")):
        assert qb(*question, "-q").stdout != "", question


def test_dry_run_writes_nothing(scan, tmp_path):
    before = sorted(tmp_path.iterdir())
    out = ["-o", tmp_path / "v.h5", "--preview", tmp_path / "p.png", "--center", "15.5"]
    plan = qb("plan", "fbp", scan, *out).stdout
    dry = qb("fbp", scan, *out, "--dry-run").stdout
    weight = re.compile(r"(memory +)[\d.]+")  # what the process itself weighs differs from run to run
    assert weight.sub(r"\1", plan) == weight.sub(r"\1", dry)
    for word in ("memory", "disk", "chunks", "kernel", "time"):
        assert word in plan
    qb("fbp", scan, "-o", tmp_path / "sweep", "--center", "10:20:1", "--dry-run")
    assert sorted(tmp_path.iterdir()) == before


def interrupt(args, folder, when):
    """SIGINT as soon as when() holds; again where this process was held up so long that it came after the end."""
    before = set(folder.rglob("*"))
    for _ in range(5):
        code, out, said = interrupt_once(args, folder, when)
        if code != 0:
            break
        for left in sorted(set(folder.rglob("*")) - before, reverse=True):
            left.rmdir() if left.is_dir() else left.unlink()
    return code, out, said


def interrupt_once(args, folder, when):
    run = subprocess.Popen([QB, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, preexec_fn=gently)
    end = time.monotonic() + PATIENCE
    while run.poll() is None and not when() and time.monotonic() < end:
        time.sleep(0.002)
    run.send_signal(signal.SIGINT)
    out, said = run.communicate(timeout=PATIENCE)
    return run.returncode, out, said


@pytest.mark.parametrize("out", ["v.h5", "v.tif", "v_%03d.tif", "v/"])
def test_interrupted(tmp_path, out):
    rng = np.random.default_rng(1)
    scan = write_scan(tmp_path / "scan.h5", rng.random((900, 64, 512)).astype(np.float32), np.arange(900) * 0.2,
                      quantity="line_integral")
    args = ["fbp", scan, "-o", str(tmp_path) + "/" + out, "--center", "255", "--threads", "1", "--max-ram", "200M", "--json"]
    code, stdout, said = interrupt(args, tmp_path, lambda: len(list(tmp_path.rglob("*"))) > 1)
    assert code == 130, said
    assert json.loads(stdout)["status"] == "interrupted"
    assert [f for f in tmp_path.rglob("*") if f.is_file()] == [scan]


def test_interrupted_simulation(tmp_path):
    args = ["simulate", "foam", "-o", tmp_path / "s.h5", "--views", "2000", "--detector", "512,64", "--threads", "1"]
    code, _, said = interrupt(args, tmp_path, lambda: any(tmp_path.iterdir()))
    assert code == 130, said
    assert leftovers(tmp_path) == []


def test_a_finished_file_is_kept_when_a_later_run_fails(scan, tmp_path):
    out = tmp_path / "v.h5"
    qb("fbp", scan, "-o", out, "--center", "15.5")
    before = out.read_bytes()
    fails(2, "fbp", scan, "-o", out, "--center", "99")
    qb("fbp", scan, "-o", out, "--center", "15.5", "--size", "256", code=1, preexec_fn=limit_file_size(60_000))
    assert out.read_bytes() == before


@pytest.mark.parametrize("args", [["--filter"], ["--flats"], ["--angles"], ["--config"]])
def test_pipes_are_not_waited_for(scan, tmp_path, args):
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run([QB, "fbp", scan, "-o", tmp_path / "v.h5", "--center", "15.5", *args, tmp_path / "pipe"],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (2, 3) and "pipe" in done.stderr
    fails(3, "compare", tmp_path / "pipe", scan, says=["pipe", "neither a file nor a folder"])
    fails(3, "info", tmp_path / "pipe", says=["pipe"])
