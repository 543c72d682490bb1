# SPDX-License-Identifier: MIT
"""Arrays in and out: a cylinder of 0.02/mm comes back at that value, by every call, without copies, and with the command's bits."""
import ctypes
import logging
import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import quickbeam_ct as qb

VIEWS, ROWS, N, PIXEL = 60, 3, 64, 0.5
ANGLES = np.pi * np.arange(VIEWS) / VIEWS
S = PIXEL * (np.arange(N) - (N - 1) / 2)
LINES = np.broadcast_to(0.04 * np.sqrt(np.maximum(0, 100 - S**2)), (VIEWS, ROWS, N)).astype(np.float32)
INSIDE = (slice(None), slice(28, 36), slice(28, 36))
ROOM = np.zeros(ROWS * N * N + 10, np.float32)
QUICK = {"sirt": {"iterations": 40}, "cgls": {"iterations": 10}, "tv": {"gap": 1e-2}, "mbir": {}}


def test_fbp_gives_the_attenuation():
    volume = qb.fbp(LINES, ANGLES, PIXEL, center=31.5)
    assert type(volume) is np.ndarray and volume.dtype == np.float32 and volume.shape == (ROWS, N, N)
    assert volume[INSIDE] == pytest.approx(0.02, abs=2e-4) and abs(volume[:, 2, 2]).max() < 2e-3
    assert qb.fbp(LINES[:, 0], list(ANGLES), PIXEL, center=31.5).shape == (N, N)
    assert qb.fbp(LINES, ANGLES, PIXEL, size=(40, 32), center=31.5).shape == (ROWS, 32, 40)


@pytest.mark.parametrize("verb", QUICK)
def test_solvers_take_angles_or_a_geometry(verb):
    solve = getattr(qb, verb)
    volume = solve(LINES, ANGLES, PIXEL, center=31.5, **QUICK[verb])
    assert volume[INSIDE] == pytest.approx(0.02, abs=5e-4)
    if verb != "mbir":
        rays = qb.Geometry.parallel(ANGLES, ROWS, N, PIXEL, 31.5)
        np.testing.assert_array_equal(solve(LINES, geometry=rays, **QUICK[verb]), volume)
    with pytest.raises(qb.Error, match="no angles"):
        solve(LINES)


def test_a_cone_there_and_back():
    rays = qb.Geometry.cone(2 * ANGLES, 24, 48, PIXEL, 100, 150)
    x, y = np.meshgrid(np.arange(32) - 15.5, np.arange(32) - 15.5)
    ball = np.broadcast_to(np.where(x**2 + y**2 < 100, 0.02, 0), (16, 32, 32)).astype(np.float32)
    lines = qb.project(ball, rays)
    assert lines.shape == rays.shape == (VIEWS, 24, 48)
    assert lines[:, 12, 24] == pytest.approx(0.02 * 20 * PIXEL * 100 / 150, rel=0.03)
    volume = qb.fdk(lines, rays, out=np.empty((16, 32, 32), np.float32))
    assert volume[8, 14:18, 14:18] == pytest.approx(0.02, abs=5e-4)
    assert "cone" in repr(rays) and rays.beam == "cone"


def test_geometries_are_kept_in_files(tmp_path):
    rays = qb.Geometry.cone(ANGLES, 4, 16, (0.5, 0.25), 100, 150, offset=(1.5, 0))
    rays.save(tmp_path / "rays.json")
    again = qb.Geometry.from_file(tmp_path / "rays.json")
    again.save(tmp_path / "again.json")
    assert again.shape == rays.shape and (tmp_path / "again.json").read_text() == (tmp_path / "rays.json").read_text()
    with pytest.raises(FileNotFoundError):
        qb.Geometry.from_file(tmp_path / "none.json")


def test_the_axis_is_found():
    s = PIXEL * (np.arange(N) - 30.25)
    x = s - 3 * np.cos(ANGLES)[:, None]
    lines = np.repeat(0.04 * np.sqrt(np.maximum(0, 64 - x**2))[:, None], 5, 1).astype(np.float32)
    found = qb.center(lines, ANGLES)
    assert found.column == pytest.approx(30.25, abs=0.2) and 0 < found.confidence <= 1 and len(found.methods) >= 2


def test_the_command_gives_the_same_bits(tmp_path):
    np.save(tmp_path / "lines.npy", LINES)
    subprocess.run([os.environ["QB"], "fbp", tmp_path / "lines.npy", "--angles", "0:180", "--pixel-size", str(PIXEL), "--center", "31.5",
                    "--filter", "hann", "-o", tmp_path / "volume.npy", "-q"], check=True)
    volume = qb.fbp(LINES, np.deg2rad(180 * np.arange(VIEWS) / VIEWS), PIXEL, center=31.5, filter="hann")
    np.testing.assert_array_equal(np.load(tmp_path / "volume.npy"), volume)


def test_strides_and_types_are_taken_in_place():
    plain = qb.fbp(LINES, ANGLES, PIXEL, center=31.5)
    turned = np.ascontiguousarray(LINES.transpose(2, 0, 1)).transpose(1, 2, 0)  # columns slowest
    assert turned.strides[2] != 4
    room = np.full((N, N, 2 * ROWS), 7, np.float32)
    out = room.transpose(2, 0, 1)[::2]
    assert qb.fbp(turned, ANGLES, PIXEL, center=31.5, out=out) is out
    np.testing.assert_array_equal(out, plain)
    assert (room[:, :, 1::2] == 7).all()
    np.testing.assert_array_equal(qb.fbp(LINES[:, ::-1], ANGLES, PIXEL, center=31.5), plain[::-1])
    np.testing.assert_allclose(qb.fbp(LINES.astype(np.float64), ANGLES, PIXEL, center=31.5), plain, atol=1e-6)
    half = qb.fbp(LINES, ANGLES, PIXEL, center=31.5, out=np.empty((ROWS, N, N), np.float16))
    np.testing.assert_allclose(half, plain, atol=3e-5)


def test_the_library_gets_the_arrays_own_addresses():
    from quickbeam_ct._arrays import tensor_of
    for array in (LINES, LINES.transpose(2, 0, 1), LINES[::-2, 1:], LINES.astype(np.float16)):
        tensor, _ = tensor_of(array, "array")
        assert tensor.data == array.ctypes.data and list(tensor.shape[:3]) == list(array.shape)
        strides = list(tensor.strides[:3])
        assert strides == [step // array.itemsize for step in array.strides] or (array.flags.c_contiguous and not any(strides))
    torch = pytest.importorskip("torch")
    for array in (torch.from_numpy(LINES.copy()), torch.zeros(4, 5, 6).permute(2, 0, 1)):
        tensor, _ = tensor_of(array, "array")
        assert tensor.data == array.data_ptr() and tuple(tensor.shape[:3]) == tuple(array.shape)


def test_dense_arrays_are_not_copied():
    """The most memory that a process takes while it computes, and what Python's allocator sees, stay below the smallest array."""
    script = """
import tracemalloc, warnings
import numpy as np, quickbeam_ct as qb
warnings.simplefilter("ignore")
def resident(name):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(name))
def growth(call, least):
    call(0)
    open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here
    before = resident("VmRSS")
    tracemalloc.start()
    call(resident("RssAnon") + (60 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20, peak
    assert resident("VmHWM") - before < least, (resident("VmHWM") - before, least)
angles = np.pi * np.arange(200) / 200
lines, out = np.ones((200, 400, 256), np.float32), np.zeros((400, 256, 256), np.float32)
growth(lambda cap: qb.fbp(lines, angles, 1.0, center=127.5, out=out, max_ram=cap, threads=1), lines.nbytes)
again = np.lib.stride_tricks.as_strided(out, lines.shape)
growth(lambda cap: qb.prepare(lines, angles, quantity="line_integral", out=again, max_ram=cap), lines.nbytes)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_arrays_of_other_libraries_pass_by_dlpack():
    class Other:
        """Only what DLPack asks for."""

        def __init__(self, array):
            self.array, self.shape = array, array.shape

        def __dlpack__(self, stream=None):
            return self.array.__dlpack__()

    out = np.empty((ROWS, N, N), np.float32)
    qb.fbp(Other(LINES.copy()), ANGLES, PIXEL, center=31.5, out=Other(out))
    np.testing.assert_array_equal(out, qb.fbp(LINES, ANGLES, PIXEL, center=31.5))


def test_torch_gives_torch():
    torch = pytest.importorskip("torch")
    volume = qb.fbp(torch.from_numpy(LINES.copy()), torch.from_numpy(ANGLES), PIXEL, center=31.5)
    assert isinstance(volume, torch.Tensor)
    np.testing.assert_array_equal(volume.numpy(), qb.fbp(LINES, ANGLES, PIXEL, center=31.5))


def test_options_are_the_library_s():
    names = {row["name"]: row for row in qb.options("fbp")}
    assert names["pad"]["choices"].split("|")[0] == names["pad"]["default"] == "edge"
    assert names["checkpoint"]["default"] == "300" and names["filter"]["help"]
    defaults = {n: r["default"] for n, r in names.items() if r["default"]}
    np.testing.assert_array_equal(qb.fbp(LINES, ANGLES, PIXEL, **{**defaults, "center": 31.5}),
                                  qb.fbp(LINES, ANGLES, PIXEL, center=31.5))
    signed = qb.mbir(LINES - 0.01, ANGLES, PIXEL, center=31.5, positivity=False)
    assert signed.min() < 0 <= qb.mbir(LINES - 0.01, ANGLES, PIXEL, center=31.5).min()


@pytest.mark.parametrize("call, words", [
    (lambda: qb.fbp(LINES, ANGLES[:-1], PIXEL), "59 angles for 60 views"),
    (lambda: qb.fbp(LINES, ANGLES, PIXEL, pad="none"), "edge|zero|mirror"),
    (lambda: qb.fbp(LINES, ANGLES, PIXEL, center="31.5\0"), "zero byte"),
    (lambda: qb.fbp(LINES.tolist(), ANGLES, PIXEL), "give an array"),
    (lambda: qb.fbp(LINES.astype(">f4"), ANGLES, PIXEL), "byte order"),
    (lambda: qb.fbp(LINES.astype(complex), ANGLES, PIXEL), "float32"),
    (lambda: qb.fbp(LINES[None, None], ANGLES, PIXEL), "5 dimensions"),
    (lambda: qb.fbp(ROOM[:LINES.size].reshape(LINES.shape), ANGLES, PIXEL, out=ROOM[-ROWS * N * N:].reshape(ROWS, N, N)), "overlaps"),
    (lambda: qb.fbp(LINES, ANGLES, PIXEL, out=np.broadcast_to(ROOM[0], (ROWS, N, N))), "out is read-only"),
    (lambda: qb.fbp(LINES, ANGLES, PIXEL, out=np.empty((ROWS, N, N), np.int32)), "int32"),
    (lambda: qb.fbp(LINES, ANGLES, PIXEL, device="cuda:99"), ""),
    (lambda: qb.fdk(LINES, qb.Geometry.cone(ANGLES, ROWS, N + 1, PIXEL, 100, 150)), "65"),
    (lambda: qb.fbp(np.full_like(LINES, np.nan), ANGLES, PIXEL), ""),
])
def test_bad_input_is_an_exception_with_words(call, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(qb.Error) as caught:
            call()
    assert words in str(caught.value) and str(caught.value)


def test_an_unknown_keyword_names_the_known_ones():
    with pytest.raises(TypeError, match="no option centre.*center"):
        qb.fbp(LINES, ANGLES, PIXEL, centre=31.5)
    with pytest.raises(TypeError, match=r"operator\(\) has no option treads.*threads"):
        qb.operator(qb.Geometry.parallel(ANGLES, 2, 64), treads=1)


def test_warnings_log_and_progress_are_heard(caplog):
    cut = LINES[..., 16:48].copy()  # wider than the detector
    seen = []
    with caplog.at_level(logging.INFO, "quickbeam"), pytest.warns(qb.QuickbeamWarning, match=r"\[[a-z-]+\]"):
        qb.fbp(cut, ANGLES, PIXEL, center=15.5, progress=lambda what, done, total: seen.append((done, total)))
    assert caplog.records and seen and all(0 <= done <= total for done, total in seen)


def test_a_progress_that_raises_ends_the_call():
    def progress(what, done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        qb.sirt(LINES, ANGLES, PIXEL, center=31.5, iterations=5000, progress=progress)


def test_ctrl_c_ends_a_call_within_a_second():
    script = f"""
import _thread, sys, threading, time
import numpy as np, quickbeam_ct as qb
threading.Timer(1, _thread.interrupt_main).start()
began = time.time()
try:
    qb.sirt(np.ones((180, 32, 256), np.float32), np.arange(180) / 57.3, 1, center=127.5, iterations=100000)
except KeyboardInterrupt:
    sys.exit(0 if time.time() - began < 60 else 4)
sys.exit(3)
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=120).returncode == 0


def test_several_threads_at_once():
    want, got = qb.fbp(LINES, ANGLES, PIXEL, center=31.5), [None] * 4

    def work(i):
        got[i] = qb.fbp(LINES, ANGLES, PIXEL, center=31.5, threads=1)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for volume in got:
        np.testing.assert_array_equal(volume, want)


def test_two_threads_with_work_of_their_own():
    """Also without Python's global lock: values, options and errors are each thread's own."""
    data = [LINES, LINES[:, ::-1] * np.float32(0.5)]
    want = [qb.fbp(lines, ANGLES, PIXEL, center=31.5) for lines in data]
    A = qb.operator(qb.Geometry.parallel(ANGLES, ROWS, N, PIXEL), (ROWS, N, N), PIXEL)
    projected, wrong = A @ want[0], []

    def work(i):
        for _ in range(10):
            wrong.extend(["fbp"] * (not np.array_equal(qb.fbp(data[i], ANGLES, PIXEL, center=31.5, threads=1), want[i])))
            wrong.extend(["operator"] * (not np.array_equal(A @ want[0], projected)))
            try:
                qb.fbp(data[i], ANGLES[i + 1:], PIXEL)
            except qb.Error as error:
                wrong.extend([str(error)] * (f"{VIEWS - i - 1} angles" not in str(error)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    [t.start() for t in threads]
    work(0)  # the main thread works, too
    [t.join() for t in threads]
    assert not wrong


def test_structs_are_as_the_headers_have_them(tmp_path):
    """Sizes and offsets, by the C compiler."""
    from quickbeam_ct import _library as l
    pairs = [(l.Tensor, "qb_tensor"), (l.Env, "qb_env"), (l.GeometryStruct, "qb_geometry"), (l.Param, "qb_param"),
             (l.CenterResult, "qb_center_result"), (l.GridStruct, "qb_grid"), (l.View, "qb_view")]
    lines = []
    for struct, name in pairs:
        lines.append(f"_Static_assert(sizeof({name}) == {ctypes.sizeof(struct)}, \"{name}\");")
        lines += [f"_Static_assert(offsetof({name}, {field[0]}) == {getattr(struct, field[0]).offset}, \"{name}.{field[0]}\");"
                  for field in struct._fields_]
    source = tmp_path / "layout.c"
    source.write_text("#include <quickbeam/quickbeam.h>\n" + "\n".join(lines))
    include = os.path.join(os.path.dirname(__file__), "..", "..", "include")
    subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-I", include, source], check=True)


def test_import_is_quick():
    began = time.time()
    subprocess.run([sys.executable, "-c", "import quickbeam_ct, sys; assert 'numpy' not in sys.modules"], check=True)
    assert time.time() - began < 10  # of a busy machine; the import itself takes some 30 ms


def test_images_are_changed_as_they_are_read():
    """Bins of line integrals are means; the axis counts columns of the whole array."""
    options = {"flip": "v", "crop": "2:62", "bin": "2x1"}
    small = LINES[:, ::-1, 2:62].reshape(VIEWS, ROWS, 30, 2).mean(axis=3)
    scan = qb.Scan(LINES, ANGLES, PIXEL, **options)
    assert scan.shape == small.shape and scan.info["pixel_size"] == 2 * PIXEL
    np.testing.assert_allclose(scan.read(), small, rtol=1e-6)
    volume = qb.fbp(scan, center=31.5)
    np.testing.assert_array_equal(volume, qb.fbp(scan.read(), ANGLES, pixel_size=(2 * PIXEL, PIXEL), center=14.5))
    assert qb.center(scan).column == pytest.approx(31.5, abs=0.1)


def discs(views=90, rows=8, columns=64):
    """Line integrals of two discs with some noise, and the angles."""
    angles, x = np.pi * np.arange(views) / views, np.arange(columns) - (columns - 1) / 2
    lines = np.zeros((views, rows, columns))
    for radius, far, mu in (14, 6, 0.02), (5, 18, 0.05):
        away = x - far * np.cos(angles)[:, None, None]
        lines += 2 * mu * np.sqrt(np.maximum(radius ** 2 - away ** 2, 0))
    return (lines + 0.003 * np.random.default_rng(1).standard_normal(lines.shape)).astype(np.float32), angles


def faulty(lines, how):
    if how == "views-constant":
        lines[20] = 0
    elif how == "views-not-numbers":
        lines[20] = np.nan
    elif how == "dead-part":
        lines[:, 4:, 32:] = 0
    elif how == "scan-scaled":
        lines = (lines - lines.min()) / (lines.max() - lines.min())
    return lines


@pytest.mark.parametrize("how", ["views-constant", "views-not-numbers", "dead-part", "scan-scaled", "angle-turns"])
@pytest.mark.parametrize("call", ["fbp", "sirt", "prepare"])
def test_what_is_odd_of_arrays_is_warned_of(how, call):
    """As the command does. The good scan is not."""
    lines, angles = discs()
    given = {"pixel_size": 1.0, "center": 31.5} if call != "prepare" else {}
    more = {**given, "iterations": 2} if call == "sirt" else given
    with warnings.catch_warnings():
        warnings.simplefilter("error", qb.QuickbeamWarning)
        getattr(qb, call)(lines, angles, **more)
    odd = faulty(lines.copy(), how), np.degrees(angles) if how == "angle-turns" else angles
    with pytest.warns(qb.QuickbeamWarning, match=how):
        getattr(qb, call)(*odd, **more)


def test_start_and_prox_are_arrays():
    """Of the volume's shape; what does not fit the scan is named, a start far off is refused."""
    radians = np.arange(60) * 2 * np.pi / 60
    geometry = qb.Geometry.cone(radians, 8, 32, 1.0, 100, 200)
    truth = np.zeros((8, 32, 32), np.float32)
    truth[:, 6:20, 8:16] = 0.02
    lines = qb.project(truth, geometry, voxel=0.5)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        good = qb.mbir(lines, geometry=geometry, start=truth, equits=4)
        qb.mbir(lines, geometry=geometry, prox=truth, start="prox", equits=2)
        assert not [w for w in heard if "image-misfit" in str(w.message)]
        qb.mbir(lines, geometry=geometry, start=truth[:, :, ::-1], equits=1)
    assert np.linalg.norm(good - truth) < 0.2 * np.linalg.norm(truth)
    assert "--start fits the scan better mirrored along x [image-misfit]" in [str(w.message) for w in heard]
    with pytest.raises(qb.Error, match="--start is .* times too large"):
        qb.mbir(lines, geometry=geometry, start=1000 * truth, equits=1)
    with pytest.raises(qb.Error, match="8 x 31 x 32"):
        qb.mbir(lines, geometry=geometry, start=truth[:, 1:])
    with pytest.raises(qb.Error, match="weights is an array: give the path of a file"):
        qb.mbir(lines, geometry=geometry, weights=lines)


def test_degrees_for_radians_are_heard():
    degrees = np.arange(60) * 6.0
    for make in (lambda: qb.Geometry.cone(degrees, 8, 32, 1.0, 100, 200), lambda: qb.Geometry.parallel(degrees, 8, 32),
                 lambda: qb.fbp(np.zeros((60, 8, 32), np.float32), degrees, 1.0, center=15.5)):
        with pytest.warns(qb.QuickbeamWarning, match="angle-turns"):
            make()
    with warnings.catch_warnings():
        warnings.simplefilter("error", qb.QuickbeamWarning)
        qb.Geometry.cone(np.radians(degrees), 8, 32, 1.0, 100, 200)
        qb.Geometry.cone(np.linspace(0, 40, 90), 8, 32, 1.0, 100, 200)
