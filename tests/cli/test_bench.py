# SPDX-License-Identifier: MIT
"""qb bench: small problems; that the figures fit together and the errors are what the classes promise. The
RabbitCT scores are computed again here, from the files and a volume of our own."""
import json
import math
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

from qbtest import QB, ROOT, fails, opencl, qb, qb_json  # noqa: F401

VIEWS, COLUMNS, ROWS, SIZE = 24, 156, 120, 128
HU = np.array([50000.0, 0.0], np.float32)


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """The same data set in both layouts."""
    folder = tmp_path_factory.mktemp("rabbitct")
    what = ["--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--size", SIZE]
    qb("simulate", "rabbitct", "-o", folder / "original.rct", *what)
    qb("simulate", "rabbitct", "-o", str(folder / "newer") + "/", *what)
    return folder


def bench(file, *args, **how):
    return qb_json("bench", "rabbitct", file, "--size", SIZE, "--repeat", 1, *args, **how)


def check_speed(b, updates):
    assert b["gups"] == pytest.approx(updates / b["seconds_median"] / 2**30)
    assert b["giga_updates_per_second"] == pytest.approx(updates / b["seconds_median"] / 1e9)


@pytest.mark.parametrize("accuracy, rel_l2", [("high", 5e-5), ("normal", 1e-3)])
@pytest.mark.parametrize("name, layout", [("original.rct", "original"), ("newer/RabbitInput.rct", "newer")])
def test_both_layouts(sets, name, layout, accuracy, rel_l2):
    b = bench(sets / name, "--accuracy", accuracy)
    assert b["layout"] == layout and b["reference_present"] and b["voxels_compared"] == SIZE**3
    assert (b["size"], b["views"], b["columns"], b["rows"]) == (SIZE, VIEWS, COLUMNS, ROWS)
    assert b["rel_l2"] <= rel_l2
    assert b["rmse_hu"] < 0.2 and b["max_error_hu"] <= 2
    assert b["psnr_db"] == pytest.approx(20 * math.log10(4095 / b["rmse_hu"]))
    check_speed(b, SIZE**3 * VIEWS)


def test_the_scores_can_tell(sets, tmp_path):
    """A reference that is 3 HU off everywhere, and one whose single voxel is."""
    own = np.fromfile(sets / "newer" / "Reference128.vol", "<u2").astype(int)
    true = bench(sets / "original.rct")["rmse_hu"]
    (own + 3).astype("<u2").tofile(tmp_path / "off.vol")
    b = bench(sets / "original.rct", "--reference", tmp_path / "off.vol")
    assert b["rmse_hu"] == pytest.approx(3, abs=true) and b["max_error_hu"] in (3, 4)
    own[own.size // 2] += 700
    own.astype("<u2").tofile(tmp_path / "one.vol")
    b = bench(sets / "original.rct", "--reference", tmp_path / "one.vol")
    assert b["max_error_hu"] == pytest.approx(700, abs=1)
    assert b["rmse_hu"] ** 2 == pytest.approx(true**2 + 700**2 / SIZE**3, rel=1e-2)


def test_without_a_reference(sets, tmp_path):
    whole = (sets / "newer" / "RabbitInput.rct").read_bytes()
    (tmp_path / "alone.rct").write_bytes(whole)
    b = bench(tmp_path / "alone.rct")
    assert not b["reference_present"] and b["voxels_compared"] == 4096 and b["rmse_hu"] < 0.2
    assert qb_json("bench", "rabbitct", sets / "original.rct", "--repeat", 1)["size"] == 256


def test_threads_and_kernels(sets):
    one, two = bench(sets / "original.rct", "--threads", 1), bench(sets / "original.rct", "--threads", 2)
    assert (one["threads"], two["threads"]) == (1, 2)
    assert one["rmse_hu"] == two["rmse_hu"] and one["rel_l2"] == two["rel_l2"]
    scalar = bench(sets / "original.rct", "--kernel", "bp_cone_matrix.scalar")
    assert scalar["kernel"] == "bp_cone_matrix.scalar"


def test_wrong_requests(sets, tmp_path):
    file = sets / "original.rct"
    fails(2, "bench", "rabbitct", says=["needs a data set"])
    fails(2, "bench", "rabbitct", file, "--size", "300", says=["300", "128, 256, 512 or 1024"])
    fails(2, "bench", "rabbitct", file, "--size", "128,128,128", says=["one number"])
    fails(2, "bench", "rabbitct", file, "--kernel", "bp_cone_circular.scalar", says=["bp_cone_circular.scalar"])
    fails(3, "bench", "rabbitct", tmp_path / "none.rct", says=["none.rct"])
    fails(3, "bench", "rabbitct", file, "--size", "128", "--reference", file, says=["bytes", str(2 * SIZE**3)])
    fails(1, "bench", "rabbitct", file, "--size", "1024", "--max-ram", "1G", says=["1024^3", "1.1 are allowed"])
    fails(2, "bench", "fbp", file, says=["takes no file"])
    fails(2, "bench", "fbp", "--reference", file, says=["fbp takes no --reference, which is for rabbitct"])
    for what, option, value in (("rabbitct", "views", 3), ("rabbitct", "detector", "99,99"), ("io", "accuracy", "fast"), ("mpi", "views", 7),
                                ("filter", "kernel", "x"), ("fdk", "interp", "nearest")):  # of no effect: refused
        fails(2, "bench", what, *([file] if what == "rabbitct" else []), f"--{option}", value, says=[f"{what} takes no --{option}, which is for"])
    fails(2, "bench", "fbp", "--geometry", "cone", says=["fdk"])
    fails(2, "simulate", "rabbitct", "-o", tmp_path / "a.h5", says=[".rct"])
    fails(2, "simulate", "rabbitct", "-o", tmp_path / "a.rct", "--photons", "100", says=["--photons"])
    fails(2, "simulate", "rabbitct", "-o", tmp_path / "a.rct", "--size", "200", says=["200"])
    assert not list(tmp_path.iterdir())


def patched(sets, path, at, value):
    data = bytearray((sets / "original.rct").read_bytes())
    data[at:at + len(value)] = value
    path.write_bytes(data)
    return path


VIEW = 96 + 4 * COLUMNS * ROWS


def test_files_that_lie(sets, tmp_path):
    bad = tmp_path / "bad.rct"
    whole = (sets / "original.rct").read_bytes()
    bad.write_bytes(whole[:24 + 3 * VIEW + 50])
    fails(3, "bench", "rabbitct", bad, says=["cut short in view 3", str(24 + VIEWS * VIEW)])
    bad.write_bytes(whole[:-1])
    fails(3, "bench", "rabbitct", bad, says=["references", str(2 * SIZE**3 - 1)])
    for at, value, words in [(4, struct.pack("<I", 0), "0 columns"), (8, struct.pack("<I", 70000), "70000 rows"),
                             (12, struct.pack("<I", 2**32 - 1), "4294967295 views"),
                             (16, struct.pack("<f", -1), "HU scale is -1"),
                             (24 + 2 * VIEW, struct.pack("<d", math.nan), "view 2")]:
        fails(3, "bench", "rabbitct", patched(sets, bad, at, value), says=[words])
    # the source moved into the cube, view 5: w = 1 + (x cos + ...)/785 -> w's constant 0
    fails(3, "bench", "rabbitct", patched(sets, bad, 24 + 5 * VIEW + 8 * 11, struct.pack("<d", 0.0)),
          says=["view 5", "w = -"])


def test_nothing_is_seen(sets, tmp_path):
    """Every view looks past the cube: no volume of zeros, but a refusal."""
    data = bytearray((sets / "original.rct").read_bytes())
    for v in range(VIEWS):
        at = 24 + v * VIEW + 8 * 9
        data[at:at + 8] = struct.pack("<d", 1e6)
    (tmp_path / "past.rct").write_bytes(data)
    fails(3, "bench", "rabbitct", tmp_path / "past.rct", says=[f"none of the {VIEWS} views"])


@pytest.mark.parametrize("accuracy, rel_l2", [("high", 5e-5), ("normal", 1e-3)])
def test_backproject_cone(accuracy, rel_l2):
    b = qb_json("bench", "backproject", "--geometry", "cone", "--size", "96,80,64", "--views", "40",
                "--detector", "100,72", "--accuracy", accuracy, "--repeat", "3")
    rows = [b, *b["also"]]
    assert [r["kernel"].split(".")[0] for r in rows] == ["bp_cone_circular", "bp_cone_matrix"]
    for r in rows:
        assert 0 < r["rel_l2"] <= rel_l2
        check_speed(r, 96 * 80 * 64 * 40)
    one = qb_json("bench", "backproject", "--geometry", "cone", "--size", "64", "--views", "16",
                  "--kernel", "bp_cone_matrix.scalar", "--repeat", "1")
    assert one["kernel"] == "bp_cone_matrix.scalar" and "also" not in one
    fails(2, "bench", "backproject", "--geometry", "cone", "--kernel", "nothing", says=["nothing"])


@pytest.mark.parametrize("more", [[], ["--accuracy", "normal"], ["--interp", "nearest"]])
@pytest.mark.parametrize("size", ["100,90,16", "96,96,1"])
def test_backproject_parallel(size, more):
    b = qb_json("bench", "backproject", "--size", size, "--views", "40", "--repeat", "1", *more)
    assert b["giga_updates_per_second"] > 0 and 0 < b["rel_l2"] < 1e-3


def test_fdk(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    b = qb_json("bench", "fdk", "--size", "64", "--views", "48", "--repeat", "2")
    assert set(b["stage_seconds_alone"]) >= {"read", "filter", "back-project", "write"}
    assert b["bound_seconds"] >= max(b["stage_seconds_alone"].values())
    assert b["bound_seconds"] >= b["cpu_seconds"] / b["last_run"]["threads"]
    assert b["wall_over_bound_median"] > 0.9
    assert b["giga_updates_per_second"] == pytest.approx(64**3 * 48 / b["seconds_median"] / 1e9)
    assert not list(tmp_path.iterdir())


def beside(peer, folder, *args):
    """The script that runs a peer, whose modules are those of `folder`."""
    return subprocess.run([sys.executable, ROOT / "bench" / f"beside_{peer}.py", "--qb", QB, *map(str, args)], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1"))


@pytest.mark.parametrize("peer, args, code, says", [
    ("mbirjax", ["--slices", "0"], 2, "--slices 0: at least 1"), ("mbirjax", ["--columns", "much"], 2, "--columns"),
    ("mbirjax", ["--device", "abacus"], 2, "abacus"), ("mbirjax", ["--qb", "/nowhere/qb"], 2, "/nowhere/qb: there is no such command"),
    ("mbirjax", [], 1, "mbirjax cannot be imported (ImportError: none here)"),
    ("astra", ["--views", "7"], 2, "--views 7: at least 8"), ("astra", ["--device", "abacus"], 2, "abacus"),
    ("astra", ["--qb", "/nowhere/qb"], 2, "/nowhere/qb: there is no such command"), ("astra", [], 1, "ImportError: none here"),
    ("preparation", ["--seeds", "0"], 2, "--seeds 0: at least 1"), ("preparation", ["--qb", "/nowhere/qb"], 2, "/nowhere/qb: there is no such command"),
    ("preparation", [], 1, "algotom or nabu cannot be imported (ImportError: none here)")])
def test_what_a_comparison_with_a_peer_lacks_is_said(tmp_path, peer, args, code, says):
    (tmp_path / f"{'algotom' if peer == 'preparation' else peer}.py").write_text("raise ImportError('none here')\n")
    done = beside(peer, tmp_path, *args)
    assert (done.returncode, done.stdout) == (code, "") and says in done.stderr and "Traceback" not in done.stderr


ASTRA = """
__version__ = '9'
def create_vol_geom(*n): return n
def create_proj_geom(kind, u, v, rows, columns, angles, source, detector):
    assert (kind, u, v, rows, columns, len(angles), source, detector) == ('cone', 1.5, 1.5, 32, 32, 16, 64, 32)
    return rows, len(angles), columns
def create_projector(kind, beam, volume): return beam, volume
"""
DIRECT = """
import time
def direct_FP3D(projector, volume, lines): run(projector, volume, lines, lines, 0.05)
def direct_BP3D(projector, volume, lines): run(projector, volume, lines, volume, 0.02)
def run(projector, volume, lines, target, seconds):
    assert (lines.shape, volume.shape) == projector
    time.sleep(seconds)
    target.numbers[:] = 1
"""
TORCH = """
import numpy
class array:
    def __init__(self, numbers): self.numbers, self.shape = numbers, numbers.shape
    def abs(self): return self.numbers
def rand(shape, device): return array(numpy.random.rand(*shape))
def zeros(shape, device): return array(numpy.zeros(shape))
def zeros_like(other): return array(numpy.zeros(other.shape))
class cuda:
    def is_available(): return True
    def synchronize(): pass
    def get_device_name(i): return 'played'
"""


def test_astra_and_qb_take_turns(tmp_path, opencl):
    (tmp_path / "astra").mkdir()
    (tmp_path / "astra" / "__init__.py").write_text(ASTRA)
    (tmp_path / "astra" / "experimental.py").write_text(DIRECT)
    (tmp_path / "torch.py").write_text(TORCH)
    done = beside("astra", tmp_path, "--size", 32, "--views", 16, "--turns", 2, "--device", "opencl", "--json", tmp_path / "j")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads((tmp_path / "j").read_text())
    assert told["astra"]["version"] == "9" and told["qb"]["kernel"] == "project_joseph.alu"
    assert 0.05 <= told["astra"]["forward"] < 0.5 and 0.02 <= told["astra"]["adjoint"] < told["astra"]["forward"]
    for part in ("forward", "adjoint"):
        for who in ("qb", "astra"):
            assert told[who][part] == min(turn[who][part] for turn in told["turns"]) > 0
        assert told["times_as_fast"][part] == told["astra"][part] / told["qb"][part]


PEER = """
import numpy
class ParallelBeamModel:
    \"\"\"Each iteration goes half of the way to 0.02 in the middle.\"\"\"
    def __init__(self, shape, angles):
        self.shape = shape
    def set_params(self, recon_shape, **rest):
        self.full = numpy.zeros(recon_shape, 'float32')
        self.full[:, : recon_shape[1] // 2] = 0.02
    def recon(self, lines, weights, init_recon, max_iterations, first_iteration, stop_threshold_change_pct, **rest):
        image, changes = numpy.zeros_like(self.full) if init_recon is None else init_recon, []
        assert image.flags.c_contiguous and (init_recon is None) == (first_iteration == 0)
        for i in range(first_iteration, max_iterations):
            step = (self.full - image) / 2
            image = image + step
            changes.append(float(100 * step.sum() / image.sum()))
            if changes[-1] < stop_threshold_change_pct:
                break
        return image, {'recon_params': {'num_iterations': len(changes), 'stop_threshold_change_pct': changes}}
"""


@pytest.mark.parametrize("converged, ends", [(40, 13), (11, 11)])
def test_the_converged_image_of_mbirjax_is_come_to_by_and_by(tmp_path, converged, ends):
    (tmp_path / "mbirjax.py").write_text(PEER)
    (tmp_path / "jax.py").write_text("def default_backend(): return 'cpu'\n")
    for name in ("mbirjax", "jax"):
        (tmp_path / f"{name}-1.dist-info").mkdir()
        (tmp_path / f"{name}-1.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    done = beside("mbirjax", tmp_path, "--columns", 32, "--views", 20, "--slices", 2, "--iterations", 5, "--converged", converged,
                  "--json", tmp_path / "j")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads((tmp_path / "j").read_text())
    peer = told["mbirjax"]
    assert (peer["iterations"], peer["converged_iterations"]) == (5, ends)  # 0.5 ** 13 is 0.012 % and the first below 0.02 %
    assert peer["converged_change_percent"] == pytest.approx(100 * 0.5**ends / (1 - 0.5**ends), rel=1e-2)
    # Of half of the image 0.5 ** 5 of water is missing after 5, and next to nothing in the end.
    assert peer["to_own_converged_hu"] == pytest.approx(1000 * (0.5**5 - 0.5**ends) * 0.5**0.5, rel=1e-3)
    assert told["qb"]["converged_rmse_phantom_hu"] > 0 and told["converged_apart_hu"] > 0
    assert f"mbirjax: {min(ends, 11)} iterations" in done.stderr
