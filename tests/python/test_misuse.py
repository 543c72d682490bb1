# SPDX-License-Identifier: MIT
"""What cannot be is an exception with its number and a remedy, never a crash; a fork is refused in words; Ctrl-C is heard."""
import logging
import os
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import quickbeam_ct as qb

VIEWS, ROWS, N = 60, 3, 64
ANGLES = np.pi * np.arange(VIEWS) / VIEWS
LINES = np.ones((VIEWS, ROWS, N), np.float32)
RAYS = qb.Geometry.cone(2 * ANGLES, ROWS, N, 0.5, 100, 150)
A = qb.operator(RAYS, (4, 8, 8), 0.5)
X = np.ones(A.domain, np.float32)
SAME = np.zeros((4, 8, 8), np.float32)


class Shown:
    """An array that another library shows."""

    def __init__(self, name="__array_interface__", shape=LINES.shape, **given):
        self.shape = shape
        setattr(self, name, {"version": 3, "shape": shape, "typestr": "<f4", "data": (0, False), "strides": None, **given})


def cuda(shape=LINES.shape):
    return Shown("__cuda_array_interface__", shape, data=(4096, False))


def sixes():
    return np.lib.stride_tricks.as_strided(np.zeros(LINES.nbytes * 2, np.uint8).view(np.float32), LINES.shape, (ROWS * N * 6, N * 6, 6))


def fbp(lines=LINES, angles=ANGLES, pixel=0.5, **given):
    return qb.fbp(lines, angles, pixel, **{"center": 31.5, **given})


CASES = {
    # shapes, types, memory
    "no memory": (lambda: fbp(Shown()), "there is no array"),
    "not aligned": (lambda: fbp(Shown(data=(LINES.ctypes.data + 1, False))), "not aligned"),
    "no dimensions": (lambda: fbp(np.float32(1)), "0 dimensions: give 2 or 3"),
    "one dimension": (lambda: fbp(LINES[0, 0]), "60 angles for 64 views"),
    "no views": (lambda: fbp(LINES[:0], ANGLES[:0]), "shape[0] is 0"),
    "objects": (lambda: fbp(LINES.astype(object)), "an array of |O"),
    "truths": (lambda: fbp(LINES > 0), "an array of |b1"),
    "records": (lambda: fbp(np.zeros(LINES.shape, [("a", "f4")])), "an array of |V4"),
    "int64": (lambda: fbp(LINES.astype(np.int64)), "an array of <i8"),
    "nothing": (lambda: fbp(None), "NoneType: give an array"),
    "a number": (lambda: fbp(3), "int: give an array"),
    "odd strides": (lambda: fbp(sixes()), "no whole numbers of elements"),
    "out is a list": (lambda: fbp(out=[1]), "list: give an array"),
    "out is short": (lambda: fbp(out=np.empty((2, 64, 64), np.float32)), "3 x 64 x 64"),
    "flats of another detector": (lambda: fbp(flats=np.ones((2, 5, N), np.float32)), "flats are 5 x 64"),
    "voxels without a size": (lambda: qb.operator(A._handle._made_of[0], X.shape, 0), "a voxel of 0 mm"),
    "operator of float64": (lambda: A @ X.astype(float), "float64: convert it to float32"),
    "operator of a list": (lambda: A @ [1, 2], "list: give an array"),
    "operator into float64": (lambda: A.apply(X, np.empty(A.range)), "float64: convert it to float32"),
    "operator into what is read": (lambda: A.apply(X, np.broadcast_to(np.float32(0), A.range)), "read-only"),
    "operator in place": (lambda: qb.operator(qb.Geometry.parallel(ANGLES[:4], 8, 8, 0.5), SAME.shape, 0.5).apply(SAME, SAME), "overlaps"),
    "a masked array": (lambda: fbp(np.ma.masked_array(LINES, LINES > 0)), f"{(LINES > 0).sum()} of its values are masked"),
    "an operator of a masked array": (lambda: A @ np.ma.masked_equal(X, 1), "x.filled(value)"),
    "writing a masked array": (lambda: qb.write("a.npy", np.ma.masked_equal(X, 1)), "are masked"),
    "no such type": (lambda: fbp(dtype="foo"), "none of float32|float16|uint16|uint8"),
    "a type that is not written": (lambda: fbp(dtype=np.float64), "float64"),
    # devices
    "cuda": (lambda: fbp(cuda()), "cuda:0"),
    "cuda for the result": (lambda: fbp(out=cuda((3, 64, 64))), "cuda:0"),
    "mixed devices": (lambda: A.apply(X, cuda(A.range)), "cuda:0"),
    "unknown device": (lambda: fbp(device="tpu"), "tpu is no device: auto, cpu"),
    "device by number": (lambda: fbp(device=3), "give a text"),
    # numbers
    "NaN": (lambda: fbp(LINES * np.nan), "60 of them hold only NaN"),
    "NaN by mbir": (lambda: qb.mbir(LINES * np.nan, ANGLES, 0.5, center=31.5), "60 of them hold only NaN"),
    "NaN angles": (lambda: fbp(angles=ANGLES * np.nan), "angles that are no numbers"),
    "angles of None": (lambda: fbp(angles=[None] * VIEWS), "list of numbers"),
    "one angle": (lambda: fbp(angles=1.0), "list of numbers"),
    "a negative pixel": (lambda: fbp(pixel=-0.5), "must lie in 0..1e+06"),
    "a pixel in words": (lambda: fbp(pixel="wide"), "wide"),
    "size 0": (lambda: fbp(size=0), "from 1 to 65536"),
    "size below 0": (lambda: fbp(size=(-3, 4)), "size=-3"),
    "size in words": (lambda: fbp(size="big"), "whole number"),
    "slices beyond": (lambda: fbp(slices="9:12"), "0:3"),
    "threads in words": (lambda: fbp(threads="two"), "whole number"),
    "threads below 0": (lambda: fbp(threads=-3), "threads=-3"),
    "too little memory": (lambda: fbp(max_ram=10), "too small"),
    "too many threads": (lambda: fbp(threads=1 << 32), "from 0 to 2147483647"),
    "a slice without an end": (lambda: fbp(slices=slice(1, None)), "give its end"),
    "a huge angle": (lambda: fbp(angles=[10**400] * VIEWS), "list of numbers"),
    "progress": (lambda: fbp(progress=3), "give a function"),
    # geometries
    "an empty geometry": (lambda: qb.operator(qb.Geometry()), "geometry is empty"),
    "projecting along nothing": (lambda: qb.project(X, qb.Geometry()), "geometry is empty"),
    "fdk along nothing": (lambda: qb.fdk(LINES, qb.Geometry()), "geometry is empty"),
    "vectors of nothing": (lambda: qb.Geometry().vectors, "geometry is empty"),
    "a picture of nothing": (lambda: qb.Geometry()._repr_html_(), "0 views"),
    "no geometry": (lambda: qb.operator(None), "NoneType: give a Geometry"),
    "a path for one": (lambda: qb.project(X, "rays.json"), "from_file reads a path"),
    "rows below 0": (lambda: qb.Geometry.cone(ANGLES, -1, N, 0.5, 100, 150), "rows=-1"),
    "half a row": (lambda: qb.Geometry.cone(ANGLES, 3.5, N, 0.5, 100, 150), "whole number"),
    "too many rows": (lambda: qb.Geometry.parallel(ANGLES, 1 << 40, N), "from 1 to"),
    "vectors of None": (lambda: qb.Geometry.from_vectors(None, 3, 4), "[view][4][3]"),
    "singular matrices": (lambda: qb.Geometry.from_matrices(np.zeros((4, 3, 4)), 3, 4, 0.5), "singular"),
    "a volume too large": (lambda: qb.operator(RAYS, (1 << 30,) * 3, 0.5), "too large"),
    "a volume below 0": (lambda: qb.operator(RAYS, (-1, 8, 8), 0.5), "shape=-1"),
    "a flat volume": (lambda: qb.operator(RAYS, (8, 8), 0.5), "three numbers"),
    "a voxel of NaN": (lambda: qb.operator(RAYS, (4, 8, 8), np.nan), "voxel of nan"),
    "two voxel sizes": (lambda: qb.operator(RAYS, (4, 8, 8), (0.5, 0.5)), "voxel has 2 numbers"),
    "one view": (lambda: A[5], "slice of neighbours"),
    "a pixel of a parallel beam in words": (lambda: qb.Geometry.parallel(ANGLES, 3, N, "wide"), "pixel='wide': give a number"),
    "two pixels of a parallel beam": (lambda: qb.Geometry.parallel(ANGLES, 3, N, (0.5, 0.5)), "pixel has 2 numbers: give one"),
    "an axis in words": (lambda: qb.Geometry.parallel(ANGLES, 3, N, center="auto"), "center='auto': give a number"),
    "no sod": (lambda: qb.Geometry.cone(ANGLES, 3, N, 0.5, None, 150), "sod=None: give a number"),
    "one offset of a cone": (lambda: qb.Geometry.cone(ANGLES, 3, N, 0.5, 100, 150, 1.0), "give two numbers, (u, v)"),
    "three offsets of a cone": (lambda: qb.Geometry.cone(ANGLES, 3, N, 0.5, 100, 150, (1, 2, 3)), "offset has 3 numbers"),
    "an offset of a fan": (lambda: qb.Geometry.fan(ANGLES, N, 0.5, 100, 150, None), "offset=None: give a number"),
    "vectors in words": (lambda: qb.Geometry.from_vectors([[["a", "b", "c"]] * 4], 3, N), "3 of them"),
    "matrices in words": (lambda: qb.Geometry.from_matrices([[["a"] * 4] * 3], 3, N, 0.5), "4 of them"),
    "rows of a file in words": (lambda: qb.Geometry.from_file("a.json", rows="x"), "whole number"),
    "a number for a geometry": (lambda: qb.fdk(LINES, 3), "geometry is a int: give a Geometry"),
    "a dict for a geometry": (lambda: qb.sirt(LINES, geometry={"sod": 100}), "geometry is a dict"),
    "a kernel by number": (lambda: qb.operator(RAYS, kernel=3), "kernel=3: give a text"),
    "one number of voxels": (lambda: qb.operator(RAYS, 8), "shape 8: give three numbers"),
    "a huge voxel": (lambda: qb.operator(RAYS, voxel=10**400), "give a number"),
    "writing a voxel below 0": (lambda: qb.write("a.tif", X, voxel=-1), "positive or 0"),
    "writing a voxel of NaN": (lambda: qb.write("a.npy", X, voxel=np.nan), "positive or 0"),
    # files and names
    "a zero byte": (lambda: qb.fbp("a\0b"), "zero byte"),
    "a view of a scan": (lambda: qb.Scan(LINES, ANGLES).read(views=3), "slice of neighbours"),
    "no phantom": (lambda: qb.simulate(None, "a.h5"), "phantom=None"),
    "options of nothing": (lambda: qb.options("nope"), "'nope'"),
    "an array of one dimension": (lambda: qb.write("a.npy", np.zeros(3, np.float32)), "give 2 or 3"),
    "no projections": (lambda: qb.prepare(None), "NoneType: give an array"),
}


@pytest.mark.parametrize("name", CASES)
def test_words_and_no_crash(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, words = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(qb.Error) as caught:
            call()
    assert words in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_what_has_been_freed():
    torch = pytest.importorskip("torch")
    lines = torch.ones(LINES.shape)
    lines.untyped_storage().resize_(0)
    with pytest.raises((qb.Error, RuntimeError, BufferError)):
        fbp(lines)
    scan = qb.Scan(LINES.copy(), ANGLES, 0.5)  # keeps its array
    assert qb.fbp(scan, center=31.5).shape == (ROWS, N, N)


def script(text, **given):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120, **given)


def test_a_fork_in_the_midst_of_a_call_is_refused_with_a_reason():
    """The child has none of the parent's threads, and locks that they held stay locked."""
    done = script("""
        import os, threading, time, numpy as np, quickbeam_ct as qb
        angles, begun, stop = np.pi * np.arange(60) / 60, threading.Event(), []
        def heard(*_):
            begun.set()
            if stop: raise KeyError("enough")
        def long():
            try: qb.sirt(np.ones((60, 16, 64), np.float32), angles, 0.5, center=31.5, iterations=100000, progress=heard)
            except KeyError: pass
        thread = threading.Thread(target=long)
        thread.start()
        begun.wait(60)
        child = os.fork()
        if child == 0:
            try: qb.fbp(np.ones((60, 2, 64), np.float32), angles, 0.5, center=31.5)
            except qb.Error as error: os._exit(7 if "fork" in str(error) else 8)
            os._exit(9)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stop.append(1)
        thread.join()
        print(status)
    """)
    assert done.stdout.strip() == "7", done.stderr


def test_a_fork_between_calls_works():
    done = script("""
        import os, numpy as np, quickbeam_ct as qb
        angles, lines = np.pi * np.arange(60) / 60, np.random.default_rng(0).random((60, 2, 64), np.float32)
        A = qb.operator(qb.Geometry.parallel(angles, 2, 64, 0.5), (2, 64, 64), 0.5)
        want, y = qb.fbp(lines, angles, 0.5, center=31.5), A @ np.ones(A.domain, np.float32)
        child = os.fork()
        if child == 0:
            same = np.array_equal(want, qb.fbp(lines, angles, 0.5, center=31.5))
            try: said = np.array_equal(y, A @ np.ones(A.domain, np.float32))
            except qb.Error as error: said = "fork" in str(error)
            os._exit(7 if same and said else 8)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert done.stdout.strip() == "7", done.stderr


@pytest.mark.parametrize("call", [
    "qb.sirt(lines, angles, 1, center=127.5, iterations=100000, threads=1)",
    "qb.tv(lines, angles, 1, center=127.5, iterations=100000, gap=0, threads=1)",
    "qb.mbir(lines[::3], angles[::3], 1, center=127.5, equits=10000, stop=0, threads=1)",
    "qb.mbir(np.ones((720, 8, 512), np.float32), np.pi * np.arange(720) / 720, 1, center=255.5, equits=1, threads=1)",  # before its first equit
    "qb.mbir(lines[:, :, ::2], 2 * angles, 1, sod=1e7, sdd=1e7, size=1024, voxel=0.125, coarse=0, equits=1, threads=1)",  # in a fan's start
    "qb.fbp(np.broadcast_to(lines[:, :1], (180, 3000, 256)), angles, 1, center=127.5, threads=1)",
    "qb.simulate('foam', folder + '/a.h5', size=512, views=3000, threads=1)",
    "[A.T @ (A @ x) for _ in range(10000)]",
])
def test_ctrl_c_ends_every_long_call(call, tmp_path):
    """Within one second of processor time, as the machine may be busy with other things."""
    done = script(f"""
        import signal, sys, threading, time, _thread, warnings
        import numpy as np, quickbeam_ct as qb
        warnings.simplefilter("ignore")
        folder, spent = {str(tmp_path)!r}, []
        lines, angles = np.ones((180, 8, 256), np.float32), np.pi * np.arange(180) / 180
        A = qb.operator(qb.Geometry.parallel(angles, 32, 256), (32, 256, 256), 1.0, threads=1)
        x = np.ones(A.domain, np.float32)
        def interrupt():
            spent.append(time.process_time())
            _thread.interrupt_main()
        threading.Timer(1, interrupt).start()
        try:
            {call}
        except KeyboardInterrupt:
            spent.append(time.process_time())
            print(spent[1] - spent[0])
    """)
    assert done.stdout and float(done.stdout) < 1, done.stdout + done.stderr
    assert os.listdir(tmp_path) == []


def test_ctrl_c_that_comes_when_the_work_is_done(monkeypatch):
    """The lock of the call is taken already."""
    class Late:
        def __init__(self, lock):
            self.lock, self.heard = lock, False

        def acquire(self, timeout):
            taken = self.lock.acquire(timeout=timeout)
            if taken and not self.heard:
                self.heard = True
                raise KeyboardInterrupt
            return taken

    begin = qb._run._worker.begin
    monkeypatch.setattr(qb._run._worker, "begin", lambda work: Late(begin(work)))
    with pytest.raises(KeyboardInterrupt):
        fbp(progress=lambda *_: None)
    monkeypatch.undo()
    assert fbp().shape == (ROWS, N, N)


def test_ctrl_c_that_comes_in_a_callback_is_not_lost(caplog):
    """A short call works in the caller's thread, where Python looks for signals in callbacks, too."""
    class Press(logging.Handler):
        def emit(self, record):
            signal.raise_signal(signal.SIGINT)

    before, handler = signal.signal(signal.SIGINT, signal.default_int_handler), Press()  # in the background it is ignored
    logger = logging.getLogger("quickbeam")
    logger.addHandler(handler)
    try:
        with caplog.at_level(logging.DEBUG, "quickbeam"), pytest.raises(KeyboardInterrupt):
            fbp(size=(90, 90))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        logger.removeHandler(handler)
        signal.signal(signal.SIGINT, before)
    assert fbp().shape == (ROWS, N, N)


def test_progress_on_a_bar():
    class Bar:
        """What is used of tqdm."""
        desc, total, n, seen = None, None, 0, []

        def reset(self, total):
            self.n, self.total = 0, total

        def set_description(self, words, refresh):
            self.desc = words

        def update(self, more):
            self.n += more
            self.seen.append((self.desc, self.n, self.total))

    bar = Bar()
    fbp(progress=bar)
    assert bar.seen and all(0 <= n <= total for _, n, total in bar.seen) and bar.seen[-1][1] == bar.seen[-1][2]
    tqdm = pytest.importorskip("tqdm")
    with tqdm.tqdm(disable=False, file=open(os.devnull, "w")) as bar:
        fbp(progress=bar)
        assert bar.n == bar.total > 0


def test_nothing_is_printed(capfd):
    """Warnings are Python's, remarks the logger's: a call alone writes to neither stream."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fbp(size=(90, 90))
    assert capfd.readouterr() == ("", "")


def test_numpy_s_own_values_as_options():
    """Arrays, truths, types and slices stand for what they hold."""
    for given, same in (({"size": np.array([20, 24])}, {"size": (20, 24)}), ({"circle": np.True_}, {"circle": True}),
                        ({"offset": np.array([1.0, 2.0])}, {"offset": (1.0, 2.0)}), ({"slices": slice(1, 3)}, {"slices": "1:3"}),
                        ({"dtype": np.float16}, {"dtype": "float16"}), ({"dtype": np.dtype("f2")}, {"dtype": "float16"})):
        got, want = fbp(**given), fbp(**same)
        assert got.dtype == want.dtype and np.array_equal(got, want), given
    unmasked = np.ma.masked_array(LINES, mask=False)
    assert np.array_equal(fbp(unmasked), fbp())
