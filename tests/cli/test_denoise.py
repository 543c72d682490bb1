# SPDX-License-Identifier: MIT
"""--denoise and --clip: what a filter of each slice makes, by its definition; the same bits however the work is cut."""
import numpy as np
import pytest

from qbtest import fails, opencl, qb, read_h5, smallest_cap  # noqa: F401


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("denoise") / "foam.h5"
    qb("simulate", "foam", "--detector", "48,9", "--views", "90", "--photons", "3000", "--pixel-size", "1", "-o", path)
    return path


def fbp(scan, out, *more, verb="fbp"):
    qb(verb, scan, "-o", out, "--center", "23.5", *more)
    return read_h5(out)


def gaussian(image, sigma):
    reach = int(np.ceil(4 * sigma))
    weight = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    for axis in (1, 0):
        wide = np.pad(image, [(reach, reach) if a == axis else (0, 0) for a in (0, 1)], mode="symmetric")
        image = np.apply_along_axis(lambda line: np.convolve(line, weight / weight.sum(), "valid"), axis, wide)
    return image


def median(image, n):
    wide = np.pad(image, n // 2, mode="symmetric")
    return np.median(np.lib.stride_tricks.sliding_window_view(wide, (n, n)), axis=(2, 3))


@pytest.mark.parametrize("text, want", [("gaussian:0.8", lambda v: gaussian(v, 0.8)), ("gaussian:3", lambda v: gaussian(v, 3)),
                                        ("median:3", lambda v: median(v, 3)), ("median:5", lambda v: median(v, 5))])
def test_each_slice_is_filtered(scan, tmp_path, text, want):
    plain, done = fbp(scan, tmp_path / "a.h5"), fbp(scan, tmp_path / "b.h5", "--denoise", text)
    for a, b in zip(plain, done):
        np.testing.assert_allclose(b, want(a.astype(float)), atol=2e-6 * abs(a).max())
    assert done.std() < plain.std()


def test_clip(scan, tmp_path):
    plain = fbp(scan, tmp_path / "a.h5")
    assert (fbp(scan, tmp_path / "b.h5", "--clip", "0,0.015") == np.clip(plain, np.float32(0), np.float32(0.015))).all()
    hu = fbp(scan, tmp_path / "c.h5", "--clip", "-1000,200", "--hu", "0.02")
    assert hu.min() == -1000 and hu.max() == 200 and plain.min() < 0


def test_the_outside_stays(scan, tmp_path):
    """The filter does not pull the masked corners in."""
    plain, done = (fbp(scan, tmp_path / f"{i}.h5", "--outside", "nan", *more) for i, more in enumerate(([], ["--denoise", "gaussian:2"])))
    assert (np.isnan(plain) == np.isnan(done)).all() and np.isnan(plain).any()


@pytest.mark.parametrize("verb, more", [("fbp", []), ("sirt", ["--iterations", 5]), ("tv", ["--iterations", 5]), ("mbir", ["--equits", 2])])
def test_the_same_bits(scan, tmp_path, verb, more):
    """Whatever threads, memory and the type; integers are made of the filtered values."""
    how = [*more, "--denoise", "median:3", "--clip", "0,0.02"]
    want = fbp(scan, tmp_path / "a.h5", *how, "--threads", 1, verb=verb)
    assert (fbp(scan, tmp_path / "b.h5", *how, "--threads", 2, verb=verb) == want).all()
    if verb == "fbp":
        cap = smallest_cap("fbp", scan, "-o", tmp_path / "c.h5", "--center", "23.5", *how)
        assert (fbp(scan, tmp_path / "c.h5", *how, "--max-ram", cap, verb=verb) == want).all()
    whole = fbp(scan, tmp_path / "d.h5", *how, "--dtype", "uint16", "--range", "0,0.02", verb=verb)
    np.testing.assert_allclose(whole / 65535 * 0.02, want, atol=0.02 / 65535)


def test_a_device_too(opencl, scan, tmp_path):
    """Slices come down as floats, are filtered here and then become float16."""
    want = fbp(scan, tmp_path / "a.h5", "--denoise", "gaussian:1", "--device", "cpu")
    got = fbp(scan, tmp_path / "b.h5", "--denoise", "gaussian:1", "--device", opencl, "--dtype", "float16")
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, want, atol=2e-3 * abs(want).max())


@pytest.mark.parametrize("words, more", [("gaussian:SIGMA", ["--denoise", "gaussian:0"]), ("median:N", ["--denoise", "median:4"]), ("median:N", ["--denoise", "box:3"]),
                                         ("median:N", ["--denoise", "median:33"]), ("gaussian:SIGMA", ["--denoise", "gaussian:1x"]),
                                         ("LO < HI", ["--clip", "1,0"]), ("LO < HI", ["--clip", "1"])])
def test_refused(scan, tmp_path, words, more):
    assert words in fails(2, "fbp", scan, "-o", tmp_path / "v.h5", "--center", "23.5", *more)
    assert not list(tmp_path.iterdir())
