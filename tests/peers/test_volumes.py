# SPDX-License-Identifier: MIT
"""nibabel opens our NIfTI, pydicom and GDCM (in ITK) our slices, ITK our compressed MHA at the right place; we read theirs and astropy's FITS."""
import fabio
import itk
import nibabel
import numpy as np
import pydicom
import pytest
import scipy.io
import tifffile
from astropy.io import fits

from qbtest import qb, qb_json

VALUES = np.arange(2 * 3 * 4).reshape(2, 3, 4)


def same(folder, path, values):
    np.save(folder / "want.npy", values)
    assert qb_json("compare", path, folder / "want.npy")["max_abs"] == 0


def test_nibabel_reads_ours(tmp_path):
    qb("simulate", "foam", "-o", "s.npy", "--views", 6, "--detector", "30,21", "--pixel-size", 0.25, cwd=tmp_path)
    for dtype in "float32", "uint16":
        fbp = ["fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 14.5, "--dtype", dtype, "--offset", "1,2,0"]
        qb(*fbp, "-o", "v.nii", cwd=tmp_path)
        qb(*fbp, "-o", "v.npy", cwd=tmp_path)
        image = nibabel.load(tmp_path / "v.nii")
        np.testing.assert_array_equal(np.asarray(image.dataobj.get_unscaled()).T, np.load(tmp_path / "v.npy"))
        first = [1 - 14.5 * 0.25, 2 - 14.5 * 0.25, -10 * 0.25]
        np.testing.assert_allclose(image.affine, [[0.25, 0, 0, first[0]], [0, 0.25, 0, first[1]], [0, 0, 0.25, first[2]], [0, 0, 0, 1]], atol=1e-6)
        assert image.header.get_xyzt_units()[0] == "mm"


def placed(image):
    return [*image.GetSpacing()], [*image.GetOrigin()], itk.array_from_matrix(image.GetDirection()).tolist()


def test_they_read_our_slices_and_compressed_mha(tmp_path):
    qb("simulate", "foam", "-o", "s.npy", "--views", 6, "--detector", "30,21", "--pixel-size", 0.25, cwd=tmp_path)
    fbp = ["fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 14.5, "--offset", "1,2,0"]
    at = [0.25] * 3, [1 - 14.5 * 0.25, 2 - 14.5 * 0.25, -10 * 0.25], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    for name, how in (("u", ["--dtype", "uint16"]), ("hu", ["--hu", "0.02"])):
        qb(*fbp, *how, "-o", f"{name}/s_%03d.dcm", cwd=tmp_path)
        qb(*fbp, *how, "-o", f"{name}.npy", cwd=tmp_path)
        want = np.load(tmp_path / f"{name}.npy").astype(float)
        files = sorted(map(str, (tmp_path / name).iterdir()))
        names = itk.GDCMSeriesFileNames.New()
        names.SetDirectory(str(tmp_path / name))
        assert len(names.GetSeriesUIDs()) == 1 and list(names.GetFileNames(names.GetSeriesUIDs()[0])) == files
        image = itk.imread(files, itk.D)
        data = [pydicom.dcmread(f) for f in files]
        if name == "u":
            want = want * float(data[0].RescaleSlope) + float(data[0].RescaleIntercept)
        np.testing.assert_allclose(itk.array_from_image(image), np.rint(want) if name == "hu" else want, atol=1e-9)
        np.testing.assert_allclose(np.array([pydicom.pixels.apply_rescale(d.pixel_array, d) for d in data]), itk.array_from_image(image), atol=1e-9)
        for got, expected in zip(placed(image), at):
            np.testing.assert_allclose(got, expected, atol=1e-9)
        assert {d.SOPClassUID.name for d in data} == {"CT Image Storage"} and {d.RescaleType for d in data} == {"HU" if name == "hu" else "US"}
        assert len({d.SOPInstanceUID for d in data}) == 21 and all(pydicom.uid.UID(d.SOPInstanceUID).is_valid for d in data)
    for name, codec in ("c.mha", "gzip"), ("c.mhd", "gzip"), ("d.mhd", "none"):
        qb(*fbp, "--dtype", "uint16", "--compress", codec, "-o", name, cwd=tmp_path)
        image = itk.imread(str(tmp_path / name))
        np.testing.assert_array_equal(itk.array_from_image(image), np.load(tmp_path / "u.npy"))
        for got, expected in zip(placed(image), at):
            np.testing.assert_allclose(got, expected, atol=1e-9)


@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_we_read_nibabels(tmp_path, kind, name):
    affine = np.diag([0.5, 0.25, 0.125, 1])
    for dtype in "uint8", "int16", "uint16", "int32", "float32", "float64":
        nibabel.save(kind(VALUES.T.astype(dtype), affine), tmp_path / name)
        same(tmp_path, tmp_path / name, VALUES.astype(dtype))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64"])
def test_we_read_astropys(tmp_path, dtype):
    fits.PrimaryHDU(VALUES.astype(dtype)).writeto(tmp_path / "a.fits")
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(VALUES.astype(dtype))]).writeto(tmp_path / "b.fits")
    same(tmp_path, tmp_path / "a.fits", VALUES.astype(dtype))
    same(tmp_path, tmp_path / "b.fits", VALUES.astype(dtype))


def test_unsigned_and_compressed_fits(tmp_path):
    fits.PrimaryHDU((VALUES + 40000).astype(np.uint16)).writeto(tmp_path / "a.fits")
    same(tmp_path, tmp_path / "a.fits", (VALUES + 40000).astype(np.float32))
    for kind in "RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1", "PLIO_1":
        values = np.arange(2 * 30 * 40).reshape(2, 30, 40)
        shape = (1, 16, 40) if kind == "HCOMPRESS_1" else (1, 1, 40)
        for dtype in "uint8", "int16", "int32", "uint16":
            if kind == "PLIO_1" and dtype == "uint16":
                continue
            fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU((values % 200).astype(dtype), compression_type=kind, tile_shape=shape)]).writeto(tmp_path / "c.fits", overwrite=True)
            same(tmp_path, tmp_path / "c.fits", (values % 200).astype(dtype))
    floats = np.random.default_rng(1).normal(size=(2, 30, 40)).astype("f4")
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(floats, compression_type="GZIP_2", quantize_level=0)]).writeto(tmp_path / "d.fits")
    same(tmp_path, tmp_path / "d.fits", floats)


@pytest.mark.parametrize("packed", [False, True])
def test_we_read_scipys_matlab(tmp_path, packed):
    for dtype in "u1 i1 u2 i2 u4 i4 f4 f8".split():
        scipy.io.savemat(tmp_path / "a.mat", {"p": VALUES.astype(dtype), "theta": np.arange(4.0), "s": "text", "c": {"x": 1}}, do_compression=packed)
        same(tmp_path, tmp_path / "a.mat", VALUES.T.astype(dtype))


def test_nibabel_and_tifffile_read_what_convert_writes(tmp_path):
    np.save(tmp_path / "a.npy", VALUES.astype("f4"))
    qb("convert", "a.npy", "--volume", "-o", "v.nii.gz", cwd=tmp_path)
    np.testing.assert_array_equal(nibabel.load(tmp_path / "v.nii.gz").get_fdata().T, VALUES)
    qb("convert", "a.npy", "--volume", "-o", "v.ome.tif", cwd=tmp_path)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "v.ome.tif"), VALUES)


def test_fabios_compressed_edf(tmp_path):
    for name in "a.edf.gz", "b.edf":
        file = fabio.edfimage.EdfImage(data=VALUES[0].astype("u2"))
        file.append_frame(data=VALUES[1].astype("u2"))
        file.write(str(tmp_path / name))
        same(tmp_path, tmp_path / name, VALUES.astype("u2"))
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(2):
        fabio.edfimage.EdfImage(data=VALUES[i].astype("f4")).write(str(folder / f"v_{i:04}.edf.gz"))
    same(tmp_path, folder, VALUES.astype("f4"))
