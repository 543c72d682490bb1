# SPDX-License-Identifier: MIT
"""One job by several processes, `mpirun -n N qb fbp ...`: the same bits as one process makes, one report, one message,
and nothing that looks finished where a rank fails."""
import ctypes.util
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, PATIENCE, QB, QUICK, RANKS_ENV, few, qb, qb_json, slow, write_scan

pytestmark = pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
LAUNCH = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n"]


def ranks(n, *args, code=0, env=None, before=(), timeout=PATIENCE, cwd=None):
    """Run qb as n processes and insist on the exit code; one needs no launcher."""
    launch = [*LAUNCH, str(n)] if n > 1 else []
    done = subprocess.run([*launch, *before, QB, *map(str, args)], capture_output=True, text=True,
                          timeout=timeout, env={**RANKS_ENV, **(env or {})}, cwd=cwd)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}"
    return done


def said(done):
    """What qb itself said on stderr, without the launcher's own paragraphs."""
    return [line for line in done.stderr.split("\n") if line.startswith(("qb", "warning"))]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """37 rows: no number of ranks here divides them."""
    path = tmp_path_factory.mktemp("ranks") / "scan.h5"
    qb("simulate", "shepp-logan", "-o", path, "--views", 48, "--detector", "40,37", "--photons", 3000, "--rings", 0.02,
       "--quiet")
    return path


def numbers(path):
    with h5py.File(path) as f:
        return f["/exchange/data"][...]


def provenance(path):
    with h5py.File(path) as f:
        return json.loads(f["/process/quickbeam/provenance"][()])


WAYS = ["--center 19.3",
        "--rings sort --air 0:3,2:30 --center auto",
        "--slices 3:31:2 --center middle --dtype uint16",
        "--tilt 1.5 --center 19 --circle --hu 0.02 --pixel-size 0.1 --dtype float16"]


@pytest.mark.parametrize("way", few(*WAYS[:2], others=WAYS[2:]))
def test_the_same_bits_as_one_process(scan, tmp_path, way):
    alone, way = tmp_path / "alone.h5", way.split()
    qb("fbp", scan, "-o", alone, *way, "--quiet")
    for n in [3] if QUICK or way[0] != "--center" else [6]:
        out = tmp_path / f"by-{n}.h5"
        done = ranks(n, "fbp", scan, "-o", out, *way, "--json")
        report = json.loads(done.stdout)
        assert (numbers(out) == numbers(alone)).all(), (n, way)
        with h5py.File(alone) as a, h5py.File(out) as b:
            assert dict(a["/exchange/data"].attrs) == dict(b["/exchange/data"].attrs)
        mine, others = provenance(out), provenance(alone)
        assert mine["content"] == others["content"] and mine["plan"]["kernel"] == others["plan"]["kernel"]
        assert report["ranks"] == n and report["grid"] == [n, 1] and len(report["other_ranks"]) == n - 1
        shares = [report, *report["other_ranks"]]
        assert sum(share["slices"] for share in shares) == len(numbers(out))
        assert mine["run"]["report"]["ranks"] == n
        alone_report = others["run"]["report"]
        assert report["preparation"] == alone_report["preparation"]
        assert report.get("clamped_values") == alone_report.get("clamped_values")


def test_shares_in_slabs(tmp_path):
    """Shares that do not begin where a kernel's groups of slices do, each in several slabs."""
    scan, alone, out = tmp_path / "scan.h5", tmp_path / "alone.h5", tmp_path / "out.h5"
    qb("simulate", "foam", "-o", scan, "--views", 12, "--detector", "64,260", "-q")
    how = ("--center", 31.5, "--size", 360, "--threads", 1, "--device", "cpu")
    how += ("--kernel", qb_json("plan", "fbp", scan, "-o", alone, *how)["kernel"]) # no other one where there is little room
    qb("fbp", scan, "-o", alone, *how, "-q")
    refusal = ranks(3, "plan", "fbp", scan, "-o", out, *how, "--max-ram", "2M", code=2).stderr
    least = float(re.search(r"needs? ([\d.]+) MiB", refusal).group(1))
    ranks(3, "fbp", scan, "-o", out, *how, "--max-ram", f"{int(least) + 3}M")
    assert provenance(out)["plan"]["chunks"] > 1 and (numbers(out) == numbers(alone)).all()


@pytest.mark.parametrize("name", few("out.raw", "tiffs/", others=["out.mha", "pages.tif", "im_%03d.tif"]))
def test_every_format_takes_what_all_write(scan, tmp_path, name):
    """With a picture that shows slices of all ranks, each voxel where one process puts it."""
    shows, folders = {}, {}
    for n in 1, 3:
        folder = folders[n] = tmp_path / str(n)
        folder.mkdir()
        ranks(n, "fbp", scan, "-o", f"{folder}/{name}", "--center", 19, "--preview", folder / "show.png")
        shows[n] = (folder / "show.png").read_bytes()
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    one, three = folders[1] / name, folders[3] / name
    files = sorted(p.relative_to(folders[1]) for p in folders[1].rglob("*") if p.is_file() and p.suffix != ".json")
    assert files == sorted(p.relative_to(folders[3]) for p in folders[3].rglob("*") if p.is_file() and p.suffix != ".json")
    assert shows[1] == shows[3]
    if "%" not in name:
        assert qb_json("compare", one, three)["max_abs"] == 0
    else:
        for file in files[1:]: # the first tells of the run
            if file.suffix == ".tif" and "000" not in file.name:
                assert (folders[1] / file).read_bytes() == (folders[3] / file).read_bytes()


@slow
def test_parts_and_an_older_volume(scan, tmp_path):
    """Every rank writes to every part; a volume that was there before is replaced."""
    out, alone = tmp_path / "out.h5", tmp_path / "alone.h5"
    qb("fbp", scan, "-o", alone, "--center", 19, "--quiet")
    for center in 18, 19:
        ranks(4, "fbp", scan, "-o", out, "--center", center, "--parts", 3)
    assert sorted(p.name for p in (tmp_path / "out.h5.parts").iterdir()) == ["00.h5", "01.h5", "02.h5"]
    assert (numbers(out) == numbers(alone)).all()


@pytest.mark.parametrize("way", few("--dtype uint8 --range 0,0.05 --rings sort", others=["--size 40,40,7", "--slices 2:25:3"]))
def test_a_cone_beam(tmp_path, way):
    """Slices of one layer of the kernel, and those that mirror them below the middle, go to different ranks."""
    scan, circle = tmp_path / "cone.h5", tmp_path / "circle.json"
    qb("simulate", "foam", "-o", scan, "--geometry", "cone", "--views", 40, "--detector", "40,33", "--sod", 400, "--sdd",
       700, "--pixel-size", 0.8, "--geometry-out", circle, "--photons", 20000, "--quiet")
    out, alone, way = tmp_path / "out.h5", tmp_path / "alone.h5", [*way.split(), "--kernel", "bp_cone_circular.scalar"]
    qb("fdk", scan, "-g", circle, "-o", alone, *way, "--quiet")
    for n in [3] if QUICK else [6]:
        done = ranks(n, "fdk", scan, "-g", circle, "-o", out, *way, "--json")
        report = json.loads(done.stdout)
        assert done.stderr.count(f"--grid 1x{n} leaves both to each") == (0 if "--slices" in way else 1)
        assert report["grid"] == [n, 1] and (numbers(out) == numbers(alone)).all()
        assert report["preparation"] == provenance(alone)["run"]["report"]["preparation"]


@pytest.mark.parametrize("n,grid", few((4, "2x2"), others=[(6, "2x3")]))
def test_a_grid(tmp_path, n, grid):
    """Columns of ranks share the views: the volume is a sum of theirs, in the order of the columns, and each writes a part
    of each slab. Also of a turned detector, the views of which are resampled for all of a column at once."""
    scan, circle = tmp_path / "cone.h5", tmp_path / "circle.json"
    qb("simulate", "foam", "-o", scan, "--geometry", "cone", "--views", 41, "--detector", "40,33", "--sod", 400, "--sdd",
       700, "--pixel-size", 0.8, "--geometry-out", circle, "--photons", 20000, "--quiet")
    out, alone, picture = tmp_path / "out.h5", tmp_path / "alone.h5", tmp_path / "all.png"
    how = ["--size", "40,40,50", "--circle", "--resample", "always", "--kernel", "bp_cone_circular.scalar"]
    qb("fdk", scan, "-g", circle, "-o", alone, *how, "--quiet", "--preview", tmp_path / "alone.png")
    report = json.loads(ranks(n, "fdk", scan, "-g", circle, "-o", out, *how, "--grid", grid, "--parts", 2, "--preview", picture,
                              "--json").stdout)
    shares = [report, *report["other_ranks"]]
    assert report["grid"] == [int(k) for k in grid.split("x")] and report["ranks"] == n
    assert sum(share["slices"] for share in shares) == 50 and min(share["slices"] for share in shares) > 0
    for share in shares:
        took = {term["name"]: term["seconds"] for term in share["terms"]}
        assert list(took) == [stage["name"] for stage in share["stages"]] and "reduce" in took
        assert share["overlap"] == pytest.approx(sum(took.values()) / share["wall_seconds"])
        assert all(term["forecast_seconds"] > 0 for term in share["terms"])
    difference = numbers(out).astype(float) - numbers(alone)
    assert 0 < np.linalg.norm(difference) < 1e-6 * np.linalg.norm(numbers(alone).astype(float))
    mine, others = provenance(out), provenance(alone)
    assert mine["content"] == others["content"] and picture.stat().st_size > 1000
    assert mine["run"]["report"]["preparation"] == others["run"]["report"]["preparation"]


def test_sums_of_long_runs(tmp_path):
    """What a column sums is sent and added a piece at a time, in the slab's own place: several slabs of several such pieces,
    and runs that are not equally long."""
    scan, alone, out = tmp_path / "cone.h5", tmp_path / "alone.h5", tmp_path / "out.h5"
    qb("simulate", "ball", "-o", scan, "--geometry", "cone", "--views", 24, "--detector", "48,48", "--sod", 400, "--sdd", 700,
       "--pixel-size", 0.8, "--quiet")
    how = ["fdk", scan, "--sod", 400, "--sdd", 700, "--size", "96,96,310", "--voxel", 0.1, "--quiet", "--kernel", "bp_cone_circular.scalar"]
    qb(*how, "-o", alone)
    report = json.loads(ranks(3, *how, "-o", out, "--grid", "1x3", "--threads", 1, "--json").stdout)
    plan = provenance(out)["plan"]
    assert report["grid"] == [1, 3] and plan["chunks"] > 1 and plan["slices_per_chunk"] // 3 * 96 ** 2 * 4 > 2 ** 20
    one, all_of = numbers(alone).astype(float), numbers(out)
    assert 0 < np.linalg.norm(one - all_of) < 1e-6 * np.linalg.norm(one)


@pytest.mark.parametrize("n,verb,grid,passes", few((4, "fdk", "2x2", "--rings sort --air 0:3,2:30 --shifts moves.txt"), others=[
    (3, "fbp", None, "--rings sort --center 19 --shifts moves.txt"),
    (3, "fdk", "3x1", "--air 0:3,2:30"), (2, "fdk", "1x2", "--rings auto"), (3, "fbp", None, "--rings sort --tilt 1.5 --center 19"),
    (2, "sirt", None, "--rings sort --air 0:3,2:30 --iterations 1")]))
def test_passes_over_the_scan(tmp_path, n, verb, grid, passes):
    """Whoever has which rows and views: dead flats are counted once, stripes are the same, and the hash is of all projections."""
    name, circle = tmp_path / "s.h5", tmp_path / "circle.json"
    np.savetxt(tmp_path / "moves.txt", np.random.default_rng(1).uniform(-2, 2, (40, 2)))
    cone = verb != "fbp"
    qb("simulate", "foam", "-o", name, *(["--geometry", "cone", "--sod", 400, "--sdd", 700, "--geometry-out", circle] if cone else []), "--views", 40,
       "--detector", "40,33", "--pixel-size", 0.8, "--photons", 20000, "--rings", 0.02, "--quiet")
    with h5py.File(name, "a") as f:
        for row, column in (3, 5), (16, 7), (17, 9):  # two where shares of rows meet
            f["/exchange/data_white"][:, row, column] = 0
    how = [verb, name, *(["-g", circle] if cone else []), *passes.split()]
    qb(*how, "-o", tmp_path / "alone.h5", "--quiet", cwd=tmp_path)
    ranks(n, *how, "-o", tmp_path / "all.h5", *(["--grid", grid] if grid else []), "--quiet", cwd=tmp_path)
    mine, others = provenance(tmp_path / "all.h5"), provenance(tmp_path / "alone.h5")
    assert "projections" in others["content"] and mine["content"] == others["content"]
    assert mine["warnings"] == others["warnings"] and any("3 of 1320 flat pixels are dead" in w for w in mine["warnings"])
    for step in ("rings", "air"):
        assert mine["run"]["report"]["preparation"].get(step) == others["run"]["report"]["preparation"].get(step)
    if not grid or grid.endswith("x1"):
        assert (numbers(tmp_path / "all.h5") == numbers(tmp_path / "alone.h5")).all()


def test_an_object_wider_than_the_detector(scan, tmp_path):
    """Whoever has which rows, the same are looked at: one word, the same of all."""
    qb("simulate", "shepp-logan", "-o", tmp_path / "s.h5", "--views", 48, "--detector", "40,37", "--size", "64,64,37", "--quiet")
    for verb in (["fbp"], ["mbir", "--equits", 1]):
        for n in (1, 3):
            ranks(n, *verb, tmp_path / "s.h5", "-o", tmp_path / f"{n}.h5", "--center", "middle")
        alone, all_ = (provenance(tmp_path / f"{n}.h5") for n in (1, 3))
        assert alone["warnings"] == all_["warnings"] and any("do not end in air" in w for w in all_["warnings"])
        one, three = (p["run"]["report"]["wider_than_detector"] for p in (alone, all_))
        assert one == three


def test_model_based(scan, tmp_path):
    """Groups of slices that descend together stay together; the sigmas come from rows of all ranks."""
    out, alone = tmp_path / "out.h5", tmp_path / "alone.h5"
    how = ("--center", 19, "--equits", 4, "--neighbours", "1,0.7,0")
    qb("mbir", scan, "-o", alone, *how, "--quiet")
    report = json.loads(ranks(3, "mbir", scan, "-o", out, *how, "--json").stdout)
    assert (numbers(out) == numbers(alone)).all()
    before = provenance(alone)["run"]["report"]["convergence"]
    assert report["convergence"]["sigma_x"] == before["sigma_x"]
    shares = [report, *report["other_ranks"]]
    slabs = [slab for share in shares for slab in share.get("convergence", {}).get("slabs", [])]
    assert sum(slab["slices"] for slab in slabs) == 37 and slabs[-1]["first_slice"] + slabs[-1]["slices"] == 37


@pytest.mark.parametrize("n,how", few((2, "--slices 0:32"), (3, "--slices 3:35 --weights transmission --coarse 1 --threads 1"),
                                      others=[(3, "--slices 5:8"), (4, "--slices 0:27 --no-positivity --start 0.01")]))
def test_slices_with_a_prior_between_them(scan, tmp_path, n, how):
    """Each rank sees the slices beside its own. Groups of 16 of an even number, or fewer slices than 17, have the bits that one
    process makes; all ranks tell of the whole."""
    out, alone = tmp_path / "out.h5", tmp_path / "alone.h5"
    words = ("--center", 19, "--equits", 4, *how.split())
    qb("mbir", scan, "-o", alone, *words, "--quiet")
    report = json.loads(ranks(n, "mbir", scan, "-o", out, *words, "--json").stdout)
    assert (numbers(out) == numbers(alone)).all()
    want = provenance(alone)["run"]["report"]["convergence"]["slabs"][0]
    slabs = [share["convergence"]["slabs"] for share in [report, *report["other_ranks"]]]
    assert [len(some) for some in slabs] == [1] * n and sum(some[0]["slices"] for some in slabs) == want["slices"]
    for slab, in slabs:
        assert slab["stopped"] == want["stopped"] and len(slab["cost"]) == len(want["cost"])
        for what in "equits", "change", "cost":
            assert np.allclose(slab[what], want[what], rtol=0.1 if what == "equits" else 1e-9, atol=0)


@pytest.mark.parametrize("n,how", few((3, "--prox p.npy --start prox --reference p.npy"), (2, "--start p.npy --slices 0:32"),
                                      others=[(2, "--prox turned.npy --sigma-p 1e-5")]))
def test_given_images(scan, tmp_path, n, how):
    """Each rank loads its own slices of an image: the bits, hashes and warnings of one process. What does not fit is found from
    all of them."""
    words = ("--center", 19, "--equits", 3, *how.split())
    qb("fbp", scan, "-o", "p.npy", "--center", 19, *words[words.index("--slices"):][:2] if "--slices" in words else (), cwd=tmp_path)
    np.save(tmp_path / "turned.npy", np.load(tmp_path / "p.npy").transpose(0, 2, 1))
    told = {}
    for name, many in ("alone.h5", 1), ("out.h5", n):
        told[name] = said(ranks(many, "mbir", scan, "-o", name, *words, cwd=tmp_path))
    assert (numbers(tmp_path / "out.h5") == numbers(tmp_path / "alone.h5")).all()
    mine, other = (provenance(tmp_path / name) for name in told)
    assert mine["content"] == other["content"] and {"prox", "start"} & mine["content"].keys()
    for name in told:
        assert any("numpy.transpose(image, (0, 2, 1))" in line for line in told[name]) == ("turned.npy" in how)
    if n == 3:
        image = np.load(tmp_path / "p.npy")
        image[20, 3, 4] = np.nan  # a slice of the second
        np.save(tmp_path / "p.npy", image)
        done = ranks(n, "mbir", scan, "-o", tmp_path / "no.h5", *words, code=3, cwd=tmp_path)
        assert "voxel 20, 3, 4" in said(done)[0]


def test_an_odd_number_of_groups(scan, tmp_path):
    """One process takes the last of three groups by itself, ranks all even slices and then all odd ones: another order, which
    leads to the same image."""
    volumes = {}
    for name, n in ("alone", 1), ("out", 3):
        ranks(n, "mbir", scan, "-o", tmp_path / f"{name}.h5", "--center", 19, "--quiet", "--stop", 1e-5)
        volumes[name] = numbers(tmp_path / f"{name}.h5").astype(float)
    assert 0 < np.linalg.norm(volumes["out"] - volumes["alone"]) < 1e-5 * np.linalg.norm(volumes["alone"])
    done = ranks(3, "mbir", scan, "-o", tmp_path / "no.h5", "--center", 19, "--slices", "4:6", code=3)
    assert "fewer slices" in said(done)[0] and "--neighbours 1,0.7071,0" in said(done)[0]


ITERATIVE = [("cgls", 3, "parallel", "--iterations 12 --hu 0.02 --pixel-size 0.1"),
             ("sirt", 5, "cone", "--nonneg --dtype uint16 --range 0,0.05 --parts 2"),
             ("cgls", 2, "cone", "--nonneg --iterations 9")]


@pytest.mark.parametrize("verb,n,beam,how", few(*ITERATIVE[:2], others=ITERATIVE[2:]))
def test_iterations(scan, tmp_path, verb, n, beam, how):
    """Views are shared, and one volume is made by all: the same bits, also where there are more ranks than views."""
    alone, out, args = tmp_path / "alone.h5", tmp_path / "out.h5", [scan, "--center", "auto", "--rings", "sort"]
    if beam == "cone":
        cone, circle = tmp_path / "cone.h5", tmp_path / "circle.json"
        qb("simulate", "foam", "-o", cone, "--geometry", "cone", "--views", 4, "--detector", "40,33", "--sod", 400, "--sdd", 700,
           "--pixel-size", 0.8, "--geometry-out", circle, "--photons", 20000, "--quiet")
        args = [cone, "-g", circle]
    qb(verb, *args, *how.split(), "-o", alone, "--quiet")
    report = json.loads(ranks(n, verb, *args, *how.split(), "-o", out, "--threads", 1, "--json").stdout)
    assert (numbers(out) == numbers(alone)).all()
    mine, other = provenance(out), provenance(alone)
    assert mine["content"] == other["content"]
    assert mine["run"]["report"].get("preparation") == other["run"]["report"].get("preparation")
    shares = [report, *report["other_ranks"]]
    assert report["grid"] == [1, n] and sum(share["slices"] for share in shares) == len(numbers(out))
    for what in "residual", "change":
        came = other["run"]["report"]["convergence"][what]
        assert all(share["convergence"][what] == pytest.approx(came, rel=1e-9) for share in shares)


def test_more_ranks_than_slices_and_ranges_of_integers(scan, tmp_path):
    out, alone = tmp_path / "out.npy", tmp_path / "alone.npy"
    for n, path in (1, alone), (4, out):
        ranks(n, "fbp", scan, "-o", path, "--center", 19, "--slices", "20:23", "--dtype", "uint8", "--rings", "wavelet")
    assert (np.load(out) == np.load(alone)).all()
    assert json.loads(Path(f"{out}.json").read_text())["scale"] == json.loads(Path(f"{alone}.json").read_text())["scale"]


def test_what_ranks_cannot_share_is_refused_once(scan, tmp_path):
    out = tmp_path / "out"
    for code, args, words in [(3, ("info", scan), "which only these verbs can share: fbp, fdk, sirt, cgls, tv, mbir, bench"),
                              (3, ("fbp", scan, "-o", out, "--center", "18:20:1"), "start it once"),
                              (3, ("sirt", scan, "-o", f"{out}.h5", "--center", 19, "--device", "cuda:all"), "give --device cuda"),
                              (2, ("fbp", scan, "-o", f"{out}.h5", "--center", 99), "lies outside"),
                              (2, ("fbp", scan, "-o", f"{out}.h5", "--centre", 9), "--centre")]:
        done = ranks(2, *args, code=code)
        assert len(said(done)) == 1 and words in said(done)[0], done.stderr
    done = ranks(2, "fbp", tmp_path / "none.h5", "-o", f"{out}.h5", "--json", code=3)
    assert json.loads(done.stdout)["status"] == "not found" and "none.h5" in said(done)[0]
    assert not list(tmp_path.iterdir())


@slow
def test_a_plan_of_several(scan, tmp_path):
    done = ranks(3, "plan", "fbp", scan, "-o", tmp_path / "out.h5", "--center", 19, "--json")
    plan = json.loads(done.stdout)
    slices = plan["slices_per_chunk"]  # the machine's rates decide; a rank has at most 13 of 37
    assert 1 <= slices <= 13 and plan["chunks"] == -(-13 // slices) and not list(tmp_path.iterdir())


def test_without_the_mpi_object(scan, tmp_path):
    """A build without MPI says so, once; without a launcher nothing of it is looked for."""
    nowhere = {"QB_LIBQUICKBEAM_MPI": str(tmp_path / "libnone.so")}
    done = ranks(2, "fbp", scan, "-o", tmp_path / "out.h5", code=3, env=nowhere)
    assert "libopenmpi-dev" in said(done)[0]
    qb("fbp", scan, "-o", tmp_path / "out.h5", "--center", 19, env={**os.environ, **nowhere})


@pytest.mark.skipif(not (Path(QB).parent / "tests/mpi").exists(), reason="MPI is not Open MPI")
def test_mpi_found_at_run_time(scan, tmp_path):
    """Without an object that is linked with MPI's library, one that fits what the system has is opened."""
    for file in (Path(QB).parent / "libquickbeam.so.0.2", *(Path(QB).parent / "tests/mpi").iterdir()):
        shutil.copy(file, tmp_path)
    there = {"LD_LIBRARY_PATH": str(tmp_path)}
    qb("fbp", scan, "-o", tmp_path / "one.npy", "--center", 19)
    ranks(2, "fbp", scan, "-o", tmp_path / "two.npy", "--center", 19, env=there)
    assert (tmp_path / "two.npy").read_bytes() == (tmp_path / "one.npy").read_bytes()
    for name, words in (("", "left out"), (str(tmp_path / "libnone.so"), "does not open")):
        done = ranks(2, "fbp", scan, "-o", tmp_path / "no.npy", code=3, env={**there, "QB_LIBMPI": name})
        assert words in said(done)[0]
    # MPICH's launcher, of which this system has no library: Open MPI's takes each process for the only one.
    if not any(ctypes.util.find_library(name) == f"lib{name}.so.12" for name in ("mpi", "mpich")):
        done = subprocess.run([QB, "fbp", scan, "-o", tmp_path / "no.npy"], capture_output=True, text=True, timeout=PATIENCE,
                              env={**RANKS_ENV, **there, "PMI_SIZE": "2", "PMI_RANK": "0"})
        assert done.returncode == 3 and "needs MPICH's libmpi.so.12 or libmpich.so.12, which is missing" in done.stderr, done.stderr


# ---- a rank that fails ----

ONLY = """sh -c 'if [ "$OMPI_COMM_WORLD_RANK" = {rank} ]; then {does}; fi; exec "$@"' sh"""


def only(rank, does):
    """What launches qb so that one rank does something before."""
    return shlex.split(ONLY.format(rank=rank, does=does))


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Compressed in chunks of 8 rows: each rank reads some of its own."""
    path = tmp_path_factory.mktemp("wide") / "scan.h5"
    rng = np.random.default_rng(7)
    write_scan(path, rng.integers(2000, 6000, (120, 64, 160), dtype=np.uint16), angles_deg=np.arange(120) * 1.5,
               flats=np.full((1, 64, 160), 6000, np.uint16), darks=np.zeros((1, 64, 160), np.uint16), pixel=0.1,
               chunks=(40, 8, 160), compression="gzip")
    return path


def spoil(path, row, view=0):
    """The compressed bytes of the chunk that has this row of a view are no such bytes any more."""
    with h5py.File(path) as f:
        chunk = f["/exchange/data"].id.get_chunk_info_by_coord((view // 40 * 40, row // 8 * 8, 0))
    with open(path, "r+b") as f:
        f.seek(chunk.byte_offset)
        f.write(b"\xff" * min(chunk.size, 4096))


FAULTS = [("grid", 1, "may not be that large"), ("unreadable", 3, "cannot be"), ("full", 1, "may not be that large"), ("memory", 2, "MiB is too small"),
          ("views", 3, "cannot be")]


def test_from_no_file_into_none(tmp_path):
    """Views that are computed as they are read, by each rank its own; slices that nobody writes."""
    scan = tmp_path / "s.sim"
    qb("simulate", "spheres", "-o", scan, "--geometry", "cone", "--sod", 200, "--sdd", 300, "--views", 31, "--detector", "32,24", "--pixel-size", 1)
    qb("fdk", scan, "-o", tmp_path / "one.npy")
    ranks(3, "fdk", scan, "-o", tmp_path / "three.npy")
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "three.npy").read_bytes()
    before = sorted(tmp_path.iterdir())
    report = json.loads(ranks(4, "fdk", scan, "-o", "/dev/null", "--grid", "2x2", "--json").stdout)
    assert report["output"] == "/dev/null" and report["ranks"] == 4
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("fault,code,words", few(FAULTS[0], FAULTS[4], others=FAULTS[1:4]))
def test_a_rank_that_fails_ends_all_with_one_message(wide, tmp_path, fault, code, words):
    scan, out = wide, tmp_path / "out.raw"
    before = ()
    if fault in ("unreadable", "views"): # only the last rank's
        scan = tmp_path / "scan.h5"
        shutil.copy(wide, scan)
        spoil(scan, 60, 100 if fault == "views" else 0)
    elif fault in ("full", "grid"): # the file is written into its whole length, rank 2 may reach a third of it
        before = only(2, "ulimit -f 2000")
    else:
        before = only(2, 'set -- "$@" --max-ram 1M')
    out.write_bytes(b"older")
    listed = sorted(tmp_path.iterdir())
    how = ("fbp", scan, "--center", 80, "--size", "400,400")
    if fault == "views": # others wait for its bricks, and for its sums
        how = ("cgls", scan, "--center", 80, "--size", "40,40,64")
    if fault == "grid": # others wait for its filtered views, and for its sums
        how = ("fdk", scan, "--sod", 100, "--sdd", 150, "--angles", "0:360", "--size", "120,120,64", "--grid", "2x2")
    done = ranks(4 if fault == "grid" else 3, *how, "-o", out, "--threads", 1, code=code, before=before)
    told = [line for line in said(done) if line.startswith("qb")]
    assert len(told) == 1 and words in told[0], done.stderr
    if fault not in ("unreadable", "views"): # what all ranks find when they open the scan is said of none
        assert f"rank 2 of {4 if fault == 'grid' else 3}, on " in told[0], done.stderr
    assert out.read_bytes() == b"older" and sorted(tmp_path.iterdir()) == listed


KILLS = int(os.environ.get("QB_KILLS", 1 if QUICK else 2)) # 30 take two minutes


def test_a_rank_that_is_killed_takes_all_along(wide, tmp_path):
    """At any moment: while MPI starts, while all compute, while the output gets its name. What is left is what was there
    before, or, where all had been done, the new; and nothing hidden after the next run."""
    out, fresh = tmp_path / "out.raw", tmp_path / "new.raw"
    args = ("--center", 80, "--size", "300,300", "--threads", 1)
    start = time.monotonic()
    ranks(3, "fbp", wide, "-o", fresh, *args)
    whole, rng = time.monotonic() - start, random.Random(os.environ.get("QB_SEED"))
    new = fresh.read_bytes()
    for turn in range(KILLS):
        out.write_bytes(b"older")
        victim, moment = rng.randrange(3), rng.uniform(0, 1.1) * whole
        note = tmp_path / "pid"
        note.unlink(missing_ok=True)
        job = subprocess.Popen([*LAUNCH, "3", *only(victim, f"echo $$ > {note}"), QB, "fbp", str(wide), "-o", str(out),
                                *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=RANKS_ENV)
        time.sleep(moment)
        try:
            os.kill(int(note.read_text()), signal.SIGKILL)
        except (OSError, ValueError):
            pass # not started yet, or over
        job.communicate(timeout=PATIENCE)
        left = out.read_bytes()
        assert left == new or (left == b"older" and job.returncode != 0), (victim, moment, job.returncode)
    ranks(2, "fbp", wide, "-o", out, *args)
    assert out.read_bytes() == new
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@slow
def test_an_interrupted_job_leaves_nothing(wide, tmp_path):
    """A job with much more to compute than to write, which the signal surely finds at it."""
    job = subprocess.Popen([*LAUNCH, "3", QB, "mbir", str(wide), "-o", str(tmp_path / "out.h5"), "--center", "80", "--size",
                            "300,300", "--equits", "200", "--stop", "0", "--threads", "1"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=RANKS_ENV)
    while "mbir:" not in job.stderr.readline():
        assert job.poll() is None
    job.terminate()
    job.communicate(timeout=PATIENCE)
    assert job.returncode != 0 and not list(tmp_path.iterdir())
