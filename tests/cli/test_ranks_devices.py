# SPDX-License-Identifier: MIT
"""One job by several processes, each with a device of its own: what one process makes on one device."""
import json
import os
from pathlib import Path

import numpy as np
import pytest

from qbtest import few, NO_RANKS, opencl, QB, qb, SANITIZED, Shim, slow  # noqa: F401 (opencl is a fixture)
from test_ranks import numbers, only, provenance, ranks, said

pytestmark = pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks") / "scan.h5"
    qb("simulate", "shepp-logan", "-o", path, "--views", 48, "--detector", "40,37", "--photons", 3000, "--rings", 0.02, "-q")
    return path


@pytest.fixture(scope="module")
def cone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cone")
    qb("simulate", "foam", "-o", folder / "scan.h5", "--geometry", "cone", "--views", 48, "--detector", "40,33", "--sod", 400,
       "--sdd", 700, "--pixel-size", 0.8, "--geometry-out", folder / "g.json", "--photons", 20000, "-q")
    return folder / "scan.h5", "-g", folder / "g.json"


PARALLEL = ["fbp --center 19.3 --dtype uint16 --range 0,0.05",
            "fbp --tilt 1.5 --center auto --rings sort --slices 3:31",
            "mbir --center 19 --equits 3 --neighbours 1,0.7071,0",
            "mbir --center 19 --equits 3"] # slices that share a prior


@pytest.mark.parametrize("way", few(PARALLEL[0], *PARALLEL[2:], others=PARALLEL[1:2]))
def test_slices(opencl, scan, tmp_path, way):
    verb, *how = way.split()
    shim = Shim(tmp_path)
    qb(verb, scan, *how, "-o", tmp_path / "alone.h5", "--device", "opencl", "-q", env=shim.env)
    done = ranks(3, verb, scan, *how, "-o", tmp_path / "out.h5", "--device", "opencl", "--json", env=shim.env)
    report = json.loads(done.stdout)
    assert (numbers(tmp_path / "out.h5") == numbers(tmp_path / "alone.h5")).all()
    mine, other = provenance(tmp_path / "out.h5"), provenance(tmp_path / "alone.h5")
    assert mine["content"] == other["content"] and mine["plan"]["kernel"] == other["plan"]["kernel"]
    assert [share["device"] for share in [report, *report["other_ranks"]]] == ["opencl:0"] * 3


def test_weights_of_slices_with_a_prior_between_them(opencl, scan, tmp_path):
    """How far a step goes follows from the mean weight of slices side by side, which are others in a part of them: not the same bits."""
    shim, volumes = Shim(tmp_path), {}
    for name, n, more in ("alone", 1, ()), ("out", 2, ()), ("seed", 1, ("--seed", 5)):
        ranks(n, "mbir", scan, "-o", tmp_path / f"{name}.h5", "--center", 19, "--weights", "transmission", "--device", "opencl", "-q", *more, env=shim.env)
        volumes[name] = numbers(tmp_path / f"{name}.h5").astype(float)
    off, seed = (np.linalg.norm(volumes[name] - volumes["alone"]) for name in ("out", "seed"))
    assert off < seed / 5


@pytest.mark.parametrize("kernel,grid", few(("circular.half", "1x2"), ("matrix.alu", "3x1"),
                                            others=[("circular.half", "2x2")]))
def test_a_cone_beam(opencl, cone, tmp_path, kernel, grid):
    """Rows of a grid make the same bits; columns, of which each has a part of every range of views that the kernel packs
    together, sums of theirs."""
    shim = Shim(tmp_path)
    rows, columns = map(int, grid.split("x"))
    how = ["--device", "opencl", "--kernel", f"bp_cone_{kernel}"]
    for more in [[], ["--dtype", "uint8", "--range", "0,0.05"]][:columns]:
        qb("fdk", *cone, *how, *more, "-o", tmp_path / "alone.h5", "-q", env=shim.env)
        done = ranks(rows * columns, "fdk", *cone, *how, *more, "--grid", grid, "-o", tmp_path / "out.h5", "--json", env=shim.env)
        assert json.loads(done.stdout)["grid"] == [rows, columns]
        content = provenance(tmp_path / "out.h5")["content"] # rows that two slabs need are read twice, and told once
        assert "projections" in content and content == provenance(tmp_path / "alone.h5")["content"]
        got, want = (numbers(tmp_path / name).astype(float) for name in ("out.h5", "alone.h5"))
        if columns == 1:
            assert (got == want).all()
        elif more: # a value at the edge of a step falls to either side
            assert np.abs(got - want).max() <= 1 and (got != want).mean() < 0.01
        else:
            assert 0 < np.linalg.norm(got - want) < 1e-6 * np.linalg.norm(want)


def test_who_carries_sums(cone, tmp_path):
    """From device to device where each rank has one, else through the hosts, and it is said; on a CUDA driver and an NCCL that are
    only played (what is summed is device.sums' to say), also where a rank's NCCL fails: none of them waits for it."""
    played = Path(QB).resolve().parent / "tests" / "device"
    if not (played / "libmock_nccl.so").exists():
        pytest.skip("there is no played CUDA driver")
    driver, carrier = str(played / "libmock_cuda.so"), str(played / "libmock_nccl.so")
    env = {"QB_LIBCUDA": driver, "QB_LIBNVRTC": driver, "QB_LIBCUFFT": "", "QB_LIBOPENCL": "", "QB_CACHE_DIR": "", "MOCK_CUDA_FREE": "1000000000",
           "TMPDIR": str(tmp_path)}
    how = ["fdk", *cone, "--device", "cuda", "--grid", "1x2", "--threads", 1, "--json"]
    def told(devices, library, **more):
        done = ranks(2, *how, "-o", tmp_path / "out.h5", env={**env, "MOCK_CUDA_DEVICES": devices, "QB_LIBNCCL": library, **more})
        report = json.loads(done.stdout)
        assert "reduce" in [term["name"] for term in report["terms"]]
        return [share["sums_by"] for share in [report, *report["other_ranks"]]]
    assert told("2", carrier) == ["NCCL 2.27.3"] * 2
    assert told("2", "") == ["the hosts' memory: left out by QB_LIBNCCL=\"\""] * 2
    assert all("two have the same one" in words for words in told("1", carrier))
    assert all("NCCL cannot connect the devices" in words for words in told("2", carrier, MOCK_NCCL_FAIL="init:1"))
    done = ranks(2, *how, "-o", tmp_path / "none.h5", code=1, env={**env, "MOCK_CUDA_DEVICES": "2", "QB_LIBNCCL": carrier, "MOCK_NCCL_FAIL": "send:1"})
    assert any("rank 1 of 2" in line and "NCCL cannot send what is to be summed" in line for line in said(done))
    assert not (tmp_path / "none.h5").exists()


def test_who_carries_volumes(tmp_path):
    """Ranks of least squares pass them on from device to device, or through the hosts: the bits of one process."""
    played = Path(QB).resolve().parent / "tests" / "device"
    if not (played / "libemulated_cuda.so").exists():
        pytest.skip("there is no CUDA driver on the CPU")
    driver = str(played / "libemulated_cuda.so")
    env = {"QB_LIBCUDA": driver, "QB_LIBNVRTC": driver, "QB_LIBCUFFT": "", "QB_LIBOPENCL": "", "MOCK_CUDA_FREE": "1000000000", "MOCK_CUDA_DEVICES": "2",
           "TMPDIR": str(tmp_path)}
    where = ["--sod", 60, "--sdd", 100]
    qb("simulate", "foam", "-o", tmp_path / "s.h5", "--geometry", "cone", *where, "--pixel-size", 4, "--detector", "10,8", "--views", 64)
    how = ["cgls", tmp_path / "s.h5", *where, "--iterations", 2, "--device", "cuda", "--threads", 1]
    slices = ["mbir", tmp_path / "s.h5", *where, "--equits", 1, "--device", "cuda", "--threads", 1] # these exchange projections
    qb(*how, "-o", tmp_path / "one.npy", env={**os.environ, **env})
    want = (tmp_path / "one.npy").read_bytes()
    for library, words in (str(played / "libmock_nccl.so"), "by NCCL 2.27.3"), ("", "left out by QB_LIBNCCL"):
        done = ranks(2, *how, "-o", tmp_path / "two.npy", env={**env, "QB_LIBNCCL": library})
        assert "ranks exchange" in done.stderr and words in done.stderr
        assert (tmp_path / "two.npy").read_bytes() == want
        ranks(2, *slices, "-o", tmp_path / f"slices-{words[:2]}.npy", env={**env, "QB_LIBNCCL": library})
    by_devices, by_hosts = (np.load(path) for path in sorted(tmp_path.glob("slices-*.npy")))
    assert (by_devices == by_hosts).all() and by_hosts.any()
    done = ranks(2, *how, "-o", tmp_path / "none.npy", code=1, env={**env, "QB_LIBNCCL": str(played / "libmock_nccl.so"), "MOCK_NCCL_FAIL": "send:1"})
    assert any("NCCL cannot send" in line for line in said(done)) and not (tmp_path / "none.npy").exists()


@slow
def test_devices_with_less_room(opencl, cone, tmp_path):
    """The least of all is what ranks look for slabs and blocks with, and where one device has none for filtering no device filters:
    the plan, and the bits, of ranks that all have the least."""
    shim, plans, volumes = Shim(tmp_path), {}, {}
    words = ["fdk", cone[0], "--sod", 400, "--sdd", 700, "--pixel-size", 0.8, "--size", "40,40,70", "--voxel", 0.2, "--device", "opencl",
             "--kernel", "bp_cone_circular.half", "-q"]
    def run(name, room, which):
        has = ["sh", "-c", f'case $OMPI_COMM_WORLD_RANK in {which}) exec "$@" --max-vram {room};; *) exec "$@";; esac', "sh"]
        ranks(2, *words, "-o", tmp_path / f"{name}.h5", env=shim.env, before=has)
        plans[name] = provenance(tmp_path / f"{name}.h5")["plan"]
        volumes[name] = numbers(tmp_path / f"{name}.h5")
        return {what: plans[name][what] for what in ("slices_per_chunk", "chunks", "filtered_by")}
    ample = run("ample", "100M", "*")
    assert run("second", "200K", "1") == run("both", "200K", "*") != ample
    assert (volumes["second"] == volumes["ample"]).all()
    assert run("none", "40K", "1") == run("none_both", "40K", "*") and plans["none"]["filtered_by"] == "cpu"
    assert plans["none"]["filtered_by_why"] == "another rank's device leaves it to the CPU"
    assert (volumes["none"] == volumes["none_both"]).all() and not (volumes["none"] == volumes["ample"]).all()


@pytest.mark.parametrize("n,kernel,how", few((2, "circular.half", "--preview PNG"), (3, "circular.half", "--max-vram 600K --dtype uint8 --range 0,0.05"),
                                             others=[(2, "matrix.alu", "--outside nan"), (4, "circular.half", "--grid 2x2 --max-vram 600K"),
                                                     (2, "circular.half", "--detector-radius 700 --max-vram 600K")]))
def test_both_sides_of_the_mirror(opencl, cone, tmp_path, n, kernel, how):
    """Of an even number of slices each rank has some and those that mirror them, which its kernel may make together, of two runs of
    detector rows; so has each slab. What is written, seen and hashed is as of one device."""
    shim = Shim(tmp_path)
    words = ["fdk", cone[0], "--sod", 400, "--sdd", 700, "--pixel-size", 0.8, "--size", "40,40,70", "--voxel", 0.2, "--device", "opencl", "--kernel", f"bp_cone_{kernel}"]
    def run(name, count):
        more = how.replace("PNG", str(tmp_path / f"{name}.png")).split()
        done = ranks(count, *words, *(more if count > 1 else [word for word in more if "x2" not in word and word != "--grid"]),
                     "-o", tmp_path / f"{name}.h5", "--json", env=shim.env)
        return json.loads(done.stdout), provenance(tmp_path / f"{name}.h5"), numbers(tmp_path / f"{name}.h5")
    (_, alone, want), (report, mine, got) = run("alone", 1), run("out", n)
    shares = [report, *report["other_ranks"]]
    assert mine["plan"]["folded"] and [share["slices"] for share in shares] == {2: [36, 34], 3: [24, 24, 22], 4: [18, 17, 18, 17]}[n]
    assert [share["first_slice"] for share in shares] == {2: [17, 0], 3: [23, 11, 0], 4: [17, 0, 17, 0]}[n]  # and as many from the other end
    assert alone["plan"]["folded"] == (kernel == "circular.half")
    assert "projections" in mine["content"] and mine["plan"]["filtered_by"] == "opencl:0"
    if "2x2" in how:
        assert 0 < np.linalg.norm(got - want) < 1e-6 * np.linalg.norm(want)
    else:
        assert mine["content"] == alone["content"] and np.array_equal(got, want, equal_nan="nan" in how)
    if "--preview" in how:
        assert (tmp_path / "out.png").read_bytes() == (tmp_path / "alone.png").read_bytes()


@pytest.fixture(scope="module")
def long_cone(tmp_path_factory):
    """Of more views than a kernel adds up at once, which ranks do not part."""
    path, circle = tmp_path_factory.mktemp("cone") / "scan.h5", ["--sod", 400, "--sdd", 700, "--pixel-size", 0.8]
    qb("simulate", "foam", "-o", path, "--geometry", "cone", "--views", 100, "--detector", "40,20", *circle, "--photons", 20000, "-q")
    return path, *circle


ITERATIVE = [("cgls", 3, "parallel", "--center auto --rings sort --iterations 12"),
             ("sirt", 2, "cone", "--nonneg --iterations 4 --dtype uint16 --range 0,0.05"),
             ("cgls", 5, "cone", "--nonneg --iterations 6 --tilt 1,2,3")]


@pytest.mark.parametrize("verb,n,beam,how", few(*ITERATIVE[:2], others=ITERATIVE[2:]))
def test_iterations(opencl, scan, long_cone, tmp_path, verb, n, beam, how):
    """Views are shared in whole blocks of 32, each rank with the volume on its device: the bits that one device makes, also
    where blocks are fewer than ranks (48 views by 3, 100 by 5)."""
    args = [verb, *([scan] if beam == "parallel" else long_cone), *how.split(), "--device", "opencl"]
    shim = Shim(tmp_path)
    qb(*args, "-o", tmp_path / "alone.h5", "-q", env=shim.env)
    report = json.loads(ranks(n, *args, "-o", tmp_path / "out.h5", "--threads", 1, "--json", env=shim.env).stdout)
    assert (numbers(tmp_path / "out.h5") == numbers(tmp_path / "alone.h5")).all()
    mine, other = provenance(tmp_path / "out.h5"), provenance(tmp_path / "alone.h5")
    assert mine["content"] == other["content"] and mine["plan"]["kernel"] == other["plan"]["kernel"] == "project_joseph.alu"
    shares = [report, *report["other_ranks"]]
    assert report["grid"] == [1, n] and [share["device"] for share in shares] == ["opencl:0"] * n
    for what in "residual", "change":
        came = other["run"]["report"]["convergence"][what]
        assert all(share["convergence"][what] == pytest.approx(came, rel=1e-9) for share in shares)


@slow
def test_iterations_where_a_device_is_lost_or_too_small(opencl, long_cone, tmp_path):
    """All end with the words of the one that it was; the others do not wait for it."""
    shim = Shim(tmp_path)
    args = ["cgls", *long_cone, "--iterations", 3, "--device", "opencl", "-o", tmp_path / "out.h5"]
    ranks(2, *args, "-q", env=shim.env)
    (tmp_path / "out.h5").unlink()
    commands = shim.counted()["commands"]
    for does, words in [(f"export SHIM_LOSE_AFTER={commands // 2}", "was lost"), ("export SHIM_BYTES=20000", "rank 1 of 2")]:
        done = ranks(2, *args, code=1, env=shim.env, before=only(1, does))
        assert len([line for line in said(done) if "rank 1 of 2, on " in line and words in line]) == 1, done.stderr
        assert not (tmp_path / "out.h5").exists()


def test_more_ranks_than_work(opencl, cone, tmp_path):
    """Of two slices a third row has none. Of 8 views a kernel that packs four quarters of the turn has two in each: three
    columns cannot share them, and no view is taken twice."""
    shim = Shim(tmp_path)
    how = ["--device", "opencl", "--kernel", "bp_cone_matrix.alu", "--size", "40,40,2"]
    qb("fdk", *cone, *how, "-o", tmp_path / "alone.h5", "-q", env=shim.env)
    ranks(3, "fdk", *cone, *how, "--grid", "3x1", "-o", tmp_path / "out.h5", "-q", env=shim.env)
    assert (numbers(tmp_path / "out.h5") == numbers(tmp_path / "alone.h5")).all()
    few_views = tmp_path / "few.h5", "-g", tmp_path / "few.json"
    qb("simulate", "foam", "-o", few_views[0], "--geometry", "cone", "--views", 8, "--detector", "40,33", "--sod", 400, "--sdd", 700,
       "--pixel-size", 0.8, "--geometry-out", few_views[2], "-q")
    how = ["--device", "opencl", "--kernel", "bp_cone_circular.half", "--grid", "1x3", "-o", tmp_path / "none.h5"]
    done = ranks(3, "fdk", *few_views, *how, code=2, env=shim.env)
    assert "2 views of each cannot be shared by 3 columns" in done.stderr and not (tmp_path / "none.h5").exists()


def test_each_takes_the_next(opencl, scan, tmp_path):
    """And they begin again where there are more ranks than devices."""
    env = {**Shim(tmp_path).env, "POCL_DEVICES": "pthread pthread"}
    report = json.loads(ranks(3, "fbp", scan, "--center", 19, "-o", tmp_path / "out.h5", "--device", "opencl", "--json", env=env).stdout)
    devices = [share["device"] for share in [report, *report["other_ranks"]]]
    if devices[1] == devices[0]:
        pytest.skip("this OpenCL cannot play several devices")
    assert devices == ["opencl:0", "opencl:1", "opencl:0"]


def test_one_has_less_memory(opencl, cone, tmp_path):
    """All take its cut."""
    shim = Shim(tmp_path)
    how = ["--device", "opencl", "--kernel", "bp_cone_matrix.alu", "--grid", "2x1"]
    ranks(2, "fdk", *cone, *how, "-o", tmp_path / "whole.h5", "-q", env=shim.env)
    room = shim.counted()["peak_bytes"] * 2 // 3
    done = ranks(2, "fdk", *cone, *how, "-o", tmp_path / "cut.h5", env=shim.env, before=only(1, f"export SHIM_BYTES={room}"))
    assert "1 of 2 ranks had no room for" in done.stderr
    assert (numbers(tmp_path / "cut.h5") == numbers(tmp_path / "whole.h5")).all()


def test_what_they_cannot_share(opencl, scan, tmp_path):
    env = Shim(tmp_path).env
    for verb in "cgls", "fbp":
        done = ranks(2, verb, scan, "--center", 19, "--device", "opencl:all", "-o", tmp_path / "out.h5", code=3, env=env)
        assert len(said(done)) == 1 and "give --device opencl" in said(done)[0]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("out")]


@slow
@pytest.mark.skipif(SANITIZED, reason="their copies take longer than MPI's")
def test_what_containers_forbid(opencl, tmp_path):
    """Where MPI cannot copy from process to process, what passes gets on only while it is asked about: it does not take ten
    times as long for that."""
    scan, took = tmp_path / "cone.h5", {"cma": [], "none": []}
    circle = ["--sod", 1000, "--sdd", 1500, "--pixel-size", 6]
    qb("simulate", "ball", "-o", scan, "--geometry", "cone", *circle, "--views", 8, "--detector", "64,64", "-q")
    how = ["fdk", scan, *circle, "--size", "384,384,384", "--voxel", 1, "--device", opencl, "--accuracy", "normal", "--grid", "1x2", "-o", "/dev/null", "--json"]
    for _ in range(2):
        for copies, seconds in took.items():
            report = json.loads(ranks(2, *how, env={"OMPI_MCA_btl_vader_single_copy_mechanism": copies}).stdout)
            assert report["sums_by"].startswith("the hosts' memory")
            seconds.append(next(term["seconds"] for term in report["terms"] if term["name"] == "reduce"))
    assert min(took["none"]) < 4 * min(took["cma"]) + 0.1, took


def test_a_cone_by_subsets(opencl, tmp_path):
    """The ranks share the slices: they take the steps of one device and stop where it stops."""
    where = ["--sod", 60, "--sdd", 100]
    qb("simulate", "foam", "-o", tmp_path / "s.h5", "--geometry", "cone", *where, "--detector", "20,16", "--views", 128, "--pixel-size", 2, "-q")
    job = ["mbir", tmp_path / "s.h5", *where, "--device", "opencl", "--json", "-q", "-o"]
    alone = json.loads(qb(*job, tmp_path / "one.npy").stdout)["convergence"]
    shared = json.loads(ranks(3, *job, tmp_path / "two.npy").stdout)["convergence"]
    one, two = (np.load(tmp_path / name).astype(float) for name in ("one.npy", "two.npy"))
    assert alone["slabs"][0]["equits"] == shared["slabs"][0]["equits"] and alone["slabs"][0]["stopped"] == "tolerance"
    assert np.linalg.norm(one - two) < 1e-4 * np.linalg.norm(one)
