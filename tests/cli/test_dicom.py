# SPDX-License-Identifier: MIT
"""DICOM-CT-PD: line integrals of balls, computed here from the format's own frame, are reconstructed where the balls are."""
import json
import struct

import numpy as np
import pytest

from qbtest import fails, qb, qb_json

COLUMNS, ROWS, PITCH, RHO, DISTANCE, CENTRAL = 96, 24, (2.0, 2.5), 500.0, 1000.0, (48.75, 12.25)
BALLS = [((20, -10, 3), 8, 0.02), ((-15, 18, -4), 5, 0.03)]  # no mirror image of themselves
LONG = {b"OB", b"OW", b"SQ", b"UN", b"UT"}


def element(tag, kind, value, typed=True):
    value += b" " * (len(value) % 2)
    head = struct.pack("<HH", tag >> 16, tag & 0xFFFF)
    if not typed:
        return head + struct.pack("<I", len(value)) + value
    return head + kind + (struct.pack("<HI", 0, len(value)) if kind in LONG else struct.pack("<H", len(value))) + value


def nested(tag, typed):
    """A sequence of unknown length with an item of unknown length, as scanners write them."""
    inner = element(0x00080100, b"SH", b"X", typed)
    head = struct.pack("<HH", tag >> 16, tag & 0xFFFF) + (b"SQ\0\0" if typed else b"") + b"\xff" * 4
    return head + struct.pack("<HHI", 0xFFFE, 0xE000, 0xFFFFFFFF) + inner + struct.pack("<HHIHHI", 0xFFFE, 0xE00D, 0, 0xFFFE, 0xE0DD, 0)


def dicom(number, stored, slope, intercept, phi, z, shift, typed=True, upright=False, shape=b"CYLINDRICAL", drop=(), **more):
    real = lambda *values: struct.pack(f"<{len(values)}f", *values)
    word = lambda value: struct.pack("<H", value)
    image = stored if upright else stored.T
    meta = element(0x00020010, b"UI", more.get("syntax", b"1.2.840.10008.1.2.1\0" if typed else b"1.2.840.10008.1.2\0"))
    elements = {0x00080016: (b"UI", b"1.2.840.10008.5.1.4.1.1.66"), 0x00200013: (b"IS", str(number).encode()), 0x00280002: (b"US", word(1)), 0x00280004: (b"CS", b"MONOCHROME2"), 0x00280010: (b"US", word(image.shape[0])),
                0x00280011: (b"US", word(image.shape[1])), 0x00280100: (b"US", word(more.get("bits", 16))), 0x00280101: (b"US", word(16)), 0x00280102: (b"US", word(15)), 0x00280103: (b"US", word(0)),
                0x00281052: (b"DS", f"{intercept:.9g}".encode()), 0x00281053: (b"DS", f"{slope:.9g}".encode()), 0x70291002: (b"FL", real(PITCH[0])), 0x70291006: (b"FL", real(PITCH[1])),
                0x7029100B: (b"CS", shape), 0x70291010: (b"US", word(ROWS)), 0x70291011: (b"US", word(COLUMNS)), 0x70311001: (b"FL", real(phi)), 0x70311002: (b"FL", real(z)),
                0x70311003: (b"FL", real(RHO)), 0x70311031: (b"FL", real(DISTANCE)), 0x70311033: (b"FL", real(*CENTRAL)),
                0x7033100B: (b"FL", real(shift[0])), 0x7033100C: (b"FL", real(shift[1])), 0x7033100D: (b"FL", real(shift[2]))}
    body = b"".join(element(tag, *value, typed) for tag, value in sorted(elements.items()) if tag < 0x00200000) + nested(0x00081140, typed)
    body += b"".join(element(tag, *value, typed) for tag, value in sorted(elements.items()) if tag >= 0x00200000 and tag not in drop)
    return bytes(128) + b"DICM" + element(0x00020000, b"UL", struct.pack("<I", len(meta))) + meta + body + element(0x7FE00010, b"OW", image.astype("<u2").tobytes(), typed)


def pixels(phi, z, flat):
    """Where the elements of the detector are, and its focal centre."""
    across, away = np.array([np.cos(phi), np.sin(phi), 0]), np.array([np.sin(phi), -np.cos(phi), 0])
    centre = np.array([-RHO * np.sin(phi), RHO * np.cos(phi), z])
    along = (np.arange(COLUMNS) + 1 - CENTRAL[0]) * PITCH[0]
    bent = DISTANCE * away + along[:, None] * across if flat else DISTANCE * (np.cos(along / DISTANCE)[:, None] * away + np.sin(along / DISTANCE)[:, None] * across)
    up = (np.arange(ROWS) + 1 - CENTRAL[1]) * PITCH[1]
    return centre + bent[None] + up[:, None, None] * np.array([0, 0, 1])


def view(phi, z, shift, flat=False):
    """Line integrals of the balls, whose heights count from the table's z = -100."""
    turned, rho = phi + shift[0], RHO + shift[2]
    source = np.array([-rho * np.sin(turned), rho * np.cos(turned), z + shift[1]])
    ray = pixels(phi, z, flat) - source
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    total = np.zeros(ray.shape[:2])
    for place, radius, value in BALLS:
        to = np.array(place) + [0, 0, -100] - source
        total += 2 * value * np.sqrt(np.maximum(0, radius**2 - (to @ to - (ray @ to) ** 2)))
    return total


def scan(folder, turns=1, views=180, pitch=0.0, focal=False, flat=False, **how):
    folder.mkdir()
    lines = []
    for i in range(views):
        phi = 0.3 + 2 * np.pi * turns * i / views
        z = -100 + pitch * (i - (views - 1) / 2) / views * turns
        shift = (0.002 * (-1) ** i, 1.5 * (i % 2), 2.0 * (i % 2)) if focal else (0, 0, 0)
        line, slope, intercept = view(phi, z, shift, flat), 2e-5 * (1 + 0.1 * (i % 3)), -0.01 * (i % 2)
        lines.append(line)
        stored = np.round((line - intercept) / slope)
        (folder / f"1-{i + 1:04}.dcm").write_bytes(dicom(i + 1, stored, slope, intercept, phi, z, shift, shape=b"FLAT" if flat else b"CYLINDRICAL", **how))
    return np.array(lines)


def balls_are_there(volume, voxel, value_within):
    z, y, x = ((np.arange(n) - (n - 1) / 2) * voxel for n in volume.shape)
    at = np.stack(np.meshgrid(x, y, z, indexing="ij"), -1).transpose(2, 1, 0, 3)
    for place, radius, value in BALLS:
        near = np.linalg.norm(at - np.array(place), axis=-1) < radius + 4
        part = np.where(near & (volume > value / 3), volume, 0)
        assert np.allclose((at * part[..., None]).sum((0, 1, 2)) / part.sum(), place, atol=0.5 * voxel)
        assert volume[np.linalg.norm(at - np.array(place), axis=-1) < radius - 3].mean() == pytest.approx(value, rel=value_within)


@pytest.mark.parametrize("how", [{}, {"typed": False}, {"upright": True}, {"flat": True}])
def test_circle(tmp_path, how):
    lines = scan(tmp_path / "s", **how)
    if how == {"typed": False}:  # names of archives are not in the order of views
        for i, file in enumerate(sorted((tmp_path / "s").iterdir())):
            file.rename(tmp_path / "s" / f"x{i * 7 % 180:03}.dcm")
    qb("convert", "s", "-o", "s.npy", cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "s.npy"), lines, atol=2e-5)
    qb("fdk", "s", "--size", "96,96,24", "--voxel", 1, "-o", "v.npy", cwd=tmp_path)
    balls_are_there(np.load(tmp_path / "v.npy"), 1, 0.01)


def test_helix_with_flying_focal_spot(tmp_path):
    scan(tmp_path / "s", turns=3, views=270, pitch=12, focal=True)
    made = qb_json("sirt", "s", "--size", "48,48,24", "--voxel", 2, "--iterations", 60, "-o", "v.npy", cwd=tmp_path)
    balls_are_there(np.load(tmp_path / "v.npy"), 2, 0.08)
    assert not [w for w in made["warnings"] if "geometry" in w]


def test_refused(tmp_path):
    good = lambda i=1, **how: dicom(i, np.ones((ROWS, COLUMNS)), 1e-4, 0, 0.1 * i, 0, (0, 0, 0), **how)
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "a_1.dcm").write_bytes(good())
    for data, words in ((b"", "a_2.dcm"), (good(2)[:-1], "within its image"), (good(2)[:300], "no numbers of an image"), (bytes(999), "is not a DICOM file"),
                        (good(2, syntax=b"1.2.840.10008.1.2.4.70"), "1.2.840.10008.1.2.4.70"), (good(2, syntax=b"1.2.840.10008.1.2.2\0"), "big-endian"),
                        (good(2, drop=(0x70311001,)), "(7031,1001)"), (good(2, bits=12), "(0028,0100) is 12"), (good(2, shape=b"SPHERICAL"), "SPHERICAL"), (good(0), None), (good(-3), None), (good(1), None),
                        (good(2).replace(struct.pack("<HH", 0x7029, 0x1010) + b"US\2\0" + struct.pack("<H", ROWS), struct.pack("<HH", 0x7029, 0x1010) + b"US\2\0" + struct.pack("<H", 23)), "its detector has 23 rows"),
                        (good(2).replace(struct.pack("<f", RHO), struct.pack("<f", float("nan"))), "(7031,1003)"), (good(2).replace(struct.pack("<HHI", 0xFFFE, 0xE00D, 0), bytes(8)), "no numbers of an image")):
        (folder / "a_2.dcm").write_bytes(data)
        if words:
            fails(3, "info", folder, says=[words])
        else:
            qb("info", folder)
