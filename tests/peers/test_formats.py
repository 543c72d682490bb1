# SPDX-License-Identifier: MIT
"""Files that other programs write are read, number for number, and they read ours: fabio (EDF), mrcfile (MRC), pynrrd (NRRD), ITK
(compressed MetaImage and NRRD), olefile (compound files of Zeiss)."""
import json

import fabio
import itk
import mrcfile
import nrrd
import numpy as np
import olefile
import pytest
import tifffile

from compound import compound
from qbtest import qb, qb_json

TYPES = ["uint8", "int16", "uint16", "int32", "float32", "float64"]
SHAPE = 4, 5, 6


@pytest.fixture(params=TYPES)
def values(request, tmp_path):
    made = (100 * np.random.default_rng(7).random(SHAPE)).astype(request.param)
    np.save(tmp_path / "want.npy", made)
    return made


def same(folder, *names):
    for name in names:
        assert qb_json("compare", name, "want.npy", cwd=folder)["rmse"] == 0, name


def test_edf(values, tmp_path):
    (tmp_path / "views").mkdir()
    for i, image in enumerate(values):
        fabio.edfimage.EdfImage(data=image).write(tmp_path / f"views/v_{i:04d}.edf")
    several = fabio.edfimage.EdfImage(data=values[0])
    for image in values[1:]:
        several.append_frame(data=image)
    several.write(tmp_path / "several.edf")
    same(tmp_path, "views", "views/v_%04d.edf", "views/*.edf", "several.edf")


def test_mrc(values, tmp_path):
    if values.dtype.name not in ("int16", "uint16", "float32"):
        pytest.skip("no mode of MRC")
    with mrcfile.new(tmp_path / "a.mrc") as file:
        file.set_data(values)
        file.voxel_size = (10, 20, 30)
        file.set_extended_header(np.zeros(64, "V1"))
    same(tmp_path, "a.mrc")
    assert qb_json("info", "a.mrc", cwd=tmp_path)["voxel_mm"] == pytest.approx([1e-6, 2e-6, 3e-6])


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint16"])
def test_mrcfile_reads_ours(tmp_path, dtype):
    qb("simulate", "foam", "-o", "s.npy", "--views", 6, "--detector", "30,21", "--pixel-size", 0.25, cwd=tmp_path)
    fbp = ["fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 14.5, "--dtype", dtype, "--offset", "1,2,0"]
    for name in "v.mrc", "v.npy":
        qb(*fbp, "-o", name, cwd=tmp_path)
    assert mrcfile.validate(tmp_path / "v.mrc")
    with mrcfile.open(tmp_path / "v.mrc") as file:
        np.testing.assert_array_equal(file.data, np.load(tmp_path / "v.npy"))
        assert file.is_volume() and file.data.dtype == dtype
        np.testing.assert_allclose(file.voxel_size.tolist(), [0.25e7] * 3, rtol=1e-6)
        np.testing.assert_allclose(file.header.origin.tolist(), [(1 - 14.5 * 0.25) * 1e7, (2 - 14.5 * 0.25) * 1e7, -2.5e7], rtol=1e-6)
    (tmp_path / "v.mrc.json").unlink()
    qb("convert", "v.mrc", "--volume", "-o", "w.npy", cwd=tmp_path)
    assert json.loads((tmp_path / "w.npy.json").read_text())["offset_mm"] == pytest.approx([1, 2, 0], abs=1e-6)


def test_nrrd(values, tmp_path):
    theirs = values.transpose(2, 1, 0)
    nrrd.write(str(tmp_path / "a.nrrd"), theirs, {"encoding": "gzip", "spacings": [0.1, 0.2, 0.3]})
    nrrd.write(str(tmp_path / "b.nhdr"), theirs, {"encoding": "raw", "space directions": np.diag([0.1, 0.2, 0.3]), "space": "left-posterior-superior",
                                                  "space origin": [1, 2, 3], "space units": ["mm"] * 3})
    image = itk.image_from_array(values)
    image.SetSpacing((0.1, 0.2, 0.3))
    for name in ("c.mha", "d.mhd", "e.nrrd"):
        itk.imwrite(image, str(tmp_path / name), compression=True)
    same(tmp_path, "a.nrrd", "b.nhdr", "c.mha", "d.mhd", "e.nrrd")


def test_they_read_ours(tmp_path):
    qb("simulate", "foam", "--detector", "32,8", "--views", 40, "-o", "s.npy", "--pixel-size", 0.25, cwd=tmp_path)
    for name in ("v.nrrd", "v.npy"):
        qb("fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 15.5, "-o", name, cwd=tmp_path)
    want = np.load(tmp_path / "v.npy")
    data, header = nrrd.read(str(tmp_path / "v.nrrd"))
    np.testing.assert_array_equal(data.transpose(2, 1, 0), want)
    np.testing.assert_allclose(header["space directions"], 0.25 * np.eye(3))
    image = itk.imread(str(tmp_path / "v.nrrd"))
    np.testing.assert_array_equal(itk.array_from_image(image), want)
    np.testing.assert_allclose(image.GetSpacing(), 0.25)
    np.testing.assert_allclose(image.GetOrigin()[0], -0.25 * 15.5)


def test_tiff_with_sizes(tmp_path):
    """tifffile, which reads as ImageJ and Bio-Formats do, finds millimetres in ours; what it writes for ImageJ and OME states them to us."""
    qb("simulate", "foam", "--detector", "32,8", "--views", 40, "-o", "s.npy", "--pixel-size", 0.25, cwd=tmp_path)
    for name in ("v.tif", "w_%03d.tif"):
        qb("fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 15.5, "-o", name, cwd=tmp_path)
    for name, shape in (("v.tif", (8, 32, 32)), ("w_000.tif", (32, 32))):
        with tifffile.TiffFile(tmp_path / name) as file:
            said, (number, over) = file.imagej_metadata, file.pages[0].tags["XResolution"].value
            assert file.is_imagej and file.series[0].shape == shape
            assert said["unit"] == "mm" and said["spacing"] == 0.25 and number / over == 4
    values = tifffile.imread(tmp_path / "v.tif")
    tifffile.imwrite(tmp_path / "ij.tif", values, imagej=True, resolution=(1 / 2.5, 1 / 5), metadata={"unit": "um", "spacing": 7.5})
    tifffile.imwrite(tmp_path / "o.ome.tif", values, metadata={"axes": "ZYX", "PhysicalSizeX": 2.5, "PhysicalSizeXUnit": "µm", "PhysicalSizeY": 0.005, "PhysicalSizeYUnit": "mm", "PhysicalSizeZ": 7.5})
    for name in ("ij.tif", "o.ome.tif"):
        assert qb_json("info", name, cwd=tmp_path)["voxel_mm"] == pytest.approx([0.0025, 0.005, 0.0075])
        assert qb_json("compare", name, "v.tif", cwd=tmp_path)["rmse"] == 0


@pytest.mark.parametrize("version, scatter", [(3, False), (3, True), (4, True)])
def test_compound(tmp_path, version, scatter):
    """olefile finds the same images in a file of ours, and calls it whole."""
    images = np.random.default_rng(7).integers(0, 65536, (103, 40, 60)).astype("<u2")
    streams = {"ImageInfo/" + name: np.uint32(value).tobytes() for name, value in
               {"ImageWidth": 60, "ImageHeight": 40, "DataType": 5, "NoOfImages": 103, "XrayGeometry": 0}.items()}
    streams.update({f"ImageData{i // 100 + 1}/Image{i + 1}": image.tobytes() for i, image in enumerate(images)})
    (tmp_path / "a.txrm").write_bytes(compound(streams, version, scatter))
    with olefile.OleFileIO(tmp_path / "a.txrm", raise_defects=olefile.DEFECT_UNSURE) as file:
        read = [np.frombuffer(file.openstream(f"ImageData{i // 100 + 1}/Image{i + 1}").read(), "<u2") for i in range(103)]
    np.save(tmp_path / "want.npy", np.reshape(read, images.shape))
    assert np.array_equal(np.reshape(read, images.shape), images)
    same(tmp_path, "a.txrm")
