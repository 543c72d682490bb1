# SPDX-License-Identifier: MIT
"""qb on a CUDA device that a processor plays whole (tests/device/emulate): what has no words in OpenCL, where no GPU is."""
import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from qbtest import QB, few, killed, machine, provenance_h5, qb, qb_json, read_h5, storage

DRIVER = Path(QB).resolve().parent / "tests" / "device" / "libemulated_cuda.so"
CIRCLE = ("--sod", 100, "--sdd", 150, "--pixel-size", 0.75)
pytestmark = pytest.mark.skipif(not DRIVER.exists() or not shutil.which("g++"), reason="there is no C++ compiler to emulate CUDA with")


@pytest.fixture(scope="module")
def cuda(tmp_path_factory):
    return {**os.environ, "QB_LIBCUDA": str(DRIVER), "QB_LIBNVRTC": str(DRIVER), "QB_LIBCUFFT": "", "QB_LIBOPENCL": "", "MOCK_CUDA_FREE": "4000000000",
            "QB_CACHE_DIR": str(tmp_path_factory.mktemp("kernels"))}


@pytest.mark.parametrize("kernel,most", [("float-local", 1e-5), ("half-local", 1e-3)])
@pytest.mark.parametrize("room", ["ample", "narrow"])
def test_boxes_take_turns(cuda, kernel, most, room):
    """A fine detector, of which boxes of all sizes are copied ahead, also of tiles that the grid does not fill: into places of their own, or into one that has room for the largest
    and no more, where who goes ahead must wait until a place has been read."""
    env = {**cuda, "QB_CACHE_DIR": "", **({"EMULATE_NARROW": "1"} if room == "narrow" else {})}
    told = qb_json("bench", "backproject", "--geometry", "cone", "--device", "cuda", "--kernel", f"bp_cone_circular.{kernel}", "--size", 36,
                   "--detector", "108,108", "--views", 32, "--repeat", 1, env=env)
    assert told["rel_l2"] < most


def test_projection_and_its_adjoint(cuda):
    told = qb_json("bench", "project", "--device", "cuda", "--size", 24, "--views", 10, "--detector", "30,20", "--repeat", 1, env=cuda)
    assert told["kernel"].startswith("project_joseph") and max(told[part]["rel_l2"] for part in ("forward", "adjoint")) < 1e-5


def distance(a, b):
    a, b = read_h5(a).astype(float), read_h5(b).astype(float)
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_half_precision_of_given_line_integrals(cuda, tmp_path):
    """By the kernel with local memory, which is what a GPU takes: in its class, and told of what is cut off."""
    qb("simulate", "foam", "-o", tmp_path / "scan.h5", "--views", 24, "--detector", "32,24", "--photons", 20000, "--geometry", "cone", *CIRCLE, "-q")
    qb("convert", tmp_path / "scan.h5", "-o", tmp_path / "l.npy", "-q")
    lines = np.load(tmp_path / "l.npy") * np.float32(1e-6)  # so that a spike below 100 is far beyond the others
    for faulty in (False, True):
        lines[3, 4, 5] = 90 if faulty else lines[3, 4, 5]
        np.save(tmp_path / "p.npy", lines)
        job = ["fdk", tmp_path / "p.npy", *CIRCLE, "--angles", "0:360"]
        report = qb_json(*job, "-o", tmp_path / "there.h5", "--device", "cuda", "--kernel", "bp_cone_circular.half-local", env=cuda)
        assert ("beyond_half_precision" in report) == faulty
        qb(*job, "-o", tmp_path / "here.h5", "--device", "cpu", "--accuracy", "high", "-q")
        assert (distance(tmp_path / "there.h5", tmp_path / "here.h5") < 1e-3) != faulty


METHODS = [("fdk", "cone", "", "--accuracy normal", 1e-3), ("cgls", "cone", "--iterations 3", "", 1e-4),
           ("mbir", "slices", "--snr-db 30 --equits 20", "", 1e-2), ("fbp", "slices", "", "--kernel bp_parallel_linear.alu", 1e-4),
           ("fdk", "cone", "--tilt 1,2,3", "", 1e-3)]


@pytest.mark.parametrize("verb,beam,how,there,most", few(*METHODS[:2], others=METHODS[2:]))
def test_the_cpus_values(cuda, tmp_path, verb, beam, how, there, most):
    """The whole way: up, prepared, filtered, reconstructed, down."""
    more = CIRCLE if beam == "cone" else ()
    qb("simulate", "foam", "-o", tmp_path / "scan.h5", "--views", 24, "--detector", "32,24" if beam == "cone" else "32,3", "--photons", 20000,
       *(("--geometry", "cone", *CIRCLE) if beam == "cone" else ()), "-q")
    for device, own in (("cpu", ""), ("cuda", there)):
        qb(verb, tmp_path / "scan.h5", "-o", tmp_path / f"{device}.h5", *more, *how.split(), *own.split(), "--device", device, "-q", env=cuda)
    assert provenance_h5(tmp_path / "cuda.h5")["plan"]["device"].startswith("cuda")
    assert distance(tmp_path / "cuda.h5", tmp_path / "cpu.h5") < most


KEPT = ["bp_cone_circular.half-local", "bp_cone_matrix.alu --tilt 1,2,3 --detector-radius 160", "bp_cone_circular.float"]
SLOWLY = {"device": "Mock 0", "kernel": "bp_cone_matrix.alu", "slices": 1, "columns": 32, "values": [0, 16, 16, 32, 4, 0, 0, 0, 0, 0, 0, 0],
          "giga_updates_per_second": 0.02}  # twice as long as reading: then the first slab is thicker


@pytest.fixture
def in_memory(tmp_path):
    """Of files in memory reading and writing share the time: then it is worth much to have read everything before the first slab is written."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.parametrize("how", few(*KEPT[:2], others=KEPT[2:]))
def test_rows_are_kept(cuda, tmp_path, in_memory, how):
    """What several slabs need is read once and stays on the device; the bits are those of one slab, also where the first slabs were there already."""
    folder, thicker = in_memory, "alu" in how
    files = {**storage(folder), "read_bytes_per_second": [3e5] * 5, "write_bytes_per_second": [3.6e6] * 5}
    (tmp_path / "tuning.json").write_text(json.dumps([files, machine(), SLOWLY]))
    env, scan = {**cuda, "QB_TUNING": str(tmp_path / "tuning.json")}, folder / "scan.h5"
    qb("simulate", "foam", "-o", scan, "--views", 16, "--detector", "24,48", "--photons", 20000, "--geometry", "cone", *CIRCLE, "-q")
    job = ["fdk", scan, *CIRCLE, "--size", "24,24,320", "--voxel", 0.1, "--device", "cuda", "--kernel", *how.split(), "-q"]
    qb(*job, "-o", folder / "whole.npy", env={**env, "QB_TUNING": ""})
    whole, first = np.load(folder / "whole.npy"), qb_json("plan", *job, "-o", folder / "x.npy", env=env)
    assert not thicker or first["rows_kept"] and first["slices_after_first"] < first["slices_per_chunk"]
    assert first["resampled"] == thicker
    kept, most = [], first["device_memory_bytes"]
    for room in 10 * most, most * 9 // 10, most * 8 // 10, most * 6 // 10, most * 4 // 10:
        cut = [*job, "--max-vram", room, "-o", folder / "cut.npy"]
        planned = qb_json("plan", *cut, env=env)
        if planned["rows_kept"]:
            (folder / "cut.npy").unlink(missing_ok=True)
            qb(*cut, env=env)
            assert planned["chunks"] > 1 and np.array_equal(np.load(folder / "cut.npy"), whole), planned
            kept.append(cut)
    (folder / "cut.npy").unlink()
    note = ["--checkpoint", "1e-9"]  # after every slab
    assert killed(*kept[-1], *note, at=5, env=env)
    assert qb_json(*kept[-1], *note, "--resume", env=env)["slabs_resumed"] > 0
    assert np.array_equal(np.load(folder / "cut.npy"), whole)


WATCHED = [("mbir", "slices", "--snr-db 30 --equits 2 --kernel icd_supervoxel.tiles"),
           *(("mbir", "slices", f"--snr-db 30 --equits 3 --neighbours 1,0.7,0 --kernel icd_supervoxel.{kind}") for kind in ("local", "global")),
           ("sirt", "cone", "--iterations 2"), ("fdk", "cone", "--accuracy normal"), ("fbp", "slices", "--kernel bp_parallel_linear.alu")]


@pytest.mark.parametrize("verb,beam,how", few(*WATCHED[:4], others=WATCHED[4:]))
def test_what_is_read_was_written(cuda, tmp_path, verb, beam, how):
    """No kernel and no copy reads device memory that nothing wrote before (EMULATE_WRITTEN), not even where what it reads counts for nothing."""
    more = CIRCLE if beam == "cone" else ()
    qb("simulate", "foam", "-o", tmp_path / "scan.h5", "--views", 12, "--detector", "20,8" if beam == "cone" else "20,2", "--photons", 20000,
       *(("--geometry", "cone", *CIRCLE) if beam == "cone" else ()), "-q")
    env = {**cuda, "EMULATE_WRITTEN": "1", "QB_CACHE_DIR": ""}  # kernels are compiled otherwise
    qb(verb, tmp_path / "scan.h5", "-o", tmp_path / "out.h5", *more, *how.split(), "--device", "cuda", "-q", env=env)
    assert provenance_h5(tmp_path / "out.h5")["plan"]["device"].startswith("cuda")


def test_a_driver_that_gives_what_the_plan_says(cuda, tmp_path):
    """Model-based reconstruction of a cone: with most vectors in the host's memory no byte more is taken, and no bit changes."""
    qb("simulate", "foam", "-o", "s.h5", "--views", 64, "--detector", "28,24", "--photons", 5000, "--geometry", "cone", *CIRCLE, "-q", cwd=tmp_path)
    job = ["mbir", "s.h5", *CIRCLE, "--device", "cuda", "--equits", 2, "--start", 0, "-o"]
    qb(*job, "whole.npy", "-q", env=cuda, cwd=tmp_path)
    whole = qb_json("plan", *job, "v.npy", env=cuda, cwd=tmp_path)["device_memory_bytes"]
    plan = qb_json("plan", *job, "v.npy", "--max-vram", int(0.85 * whole), env=cuda, cwd=tmp_path)
    narrow = {**cuda, "MOCK_CUDA_FREE": str(plan["device_memory_bytes"])}
    told = qb("mbir", *job[1:], "v.npy", "--max-vram", plan["device_memory_bytes"], env=narrow, cwd=tmp_path).stderr
    assert plan["volumes_spilled"] == 3 and "3 of its 5 volumes" in told and "smaller" not in told
    assert (np.load(tmp_path / "v.npy") == np.load(tmp_path / "whole.npy")).all()
