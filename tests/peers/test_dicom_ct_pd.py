# SPDX-License-Identifier: MIT
"""DICOM-CT-PD that pydicom has written, with types and without: the line integrals that pydicom reads."""
import numpy as np
import pydicom
import pytest

import test_dicom as ours  # of tests/cli
from qbtest import qb


@pytest.mark.parametrize("syntax", [pydicom.uid.ExplicitVRLittleEndian, pydicom.uid.ImplicitVRLittleEndian])
def test_we_read_pydicoms(tmp_path, syntax):
    ours.scan(tmp_path / "a", views=5)
    (tmp_path / "b").mkdir()
    want = []
    for path in sorted((tmp_path / "a").iterdir()):
        data = pydicom.dcmread(path)
        assert data[0x7031, 0x1003].value == ours.RHO and list(data[0x7031, 0x1033].value) == list(ours.CENTRAL)
        want.append((data.pixel_array * float(data.RescaleSlope) + float(data.RescaleIntercept)).T)
        data.file_meta.TransferSyntaxUID = syntax
        data.save_as(tmp_path / "b" / path.name, implicit_vr=syntax.is_implicit_VR, little_endian=True, enforce_file_format=False)
    for folder in "a", "b":
        qb("convert", folder, "-o", "s.npy", cwd=tmp_path)
        np.testing.assert_allclose(np.load(tmp_path / "s.npy"), want, atol=1e-6)
