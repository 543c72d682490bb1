# SPDX-License-Identifier: MIT
"""Scans for programs that learn an image from its projections."""
import pickle

from ._library import BadArgument


def naf(path, projections, angles, pixel, sod, sdd, volume, voxel, *, offset=(0.0, 0.0), validation=None):
    """Write the pickle that NAF, SAX-NeRF and R2-Gaussian read.

    projections: line integrals [view][row][column] of a circular cone beam. angles: radians. pixel, sod, sdd, offset (u, v) of
    the detector: mm. volume: [z][y][x] in 1/mm, its truth or a reconstruction, with voxels of `voxel` mm about the origin.
    validation: (projections, angles) of further views; None: the same.
    Those programs learn values from 0 to 1 and measure in metres: the image is divided by its greatest value, projections by 1000
    times that; the pickle has it as "quickbeam_peak", in 1/mm. Their source starts on the x axis: angles are turned by 90 degrees,
    and rows are counted downwards."""
    import numpy
    volume, peak = numpy.asarray(volume, numpy.float32), float(numpy.max(volume))
    if not peak > 0:
        raise BadArgument("the volume has no value above 0, by which the image is scaled", 6)

    def views(lines, radians):
        lines, radians = numpy.asarray(lines, numpy.float32), numpy.asarray(radians, float)
        if lines.ndim != 3 or len(lines) != len(radians):
            raise BadArgument(f"projections of shape {lines.shape} for {len(radians)} angles: give [view][row][column]", 6)
        return {"angles": radians - numpy.pi / 2, "projections": lines[:, ::-1] / numpy.float32(1000 * peak)}

    train = views(projections, angles)
    val = train if validation is None else views(*validation)
    rows, columns = train["projections"].shape[1:]
    span = numpy.rad2deg(train["angles"])
    data = {
        "DSD": float(sdd), "DSO": float(sod), "nDetector": [columns, rows], "dDetector": [float(pixel)] * 2,
        "nVoxel": list(reversed(volume.shape)), "dVoxel": [float(voxel)] * 3, "offOrigin": [0, 0, 0],
        "offDetector": [float(offset[0]), -float(offset[1])], "accuracy": 0.5, "mode": "cone", "filter": None,
        "totalAngle": float(numpy.ptp(span) + (span[1] - span[0] if len(span) > 1 else 0)), "startAngle": float(span[0]),
        "randomAngle": False, "convert": False, "rescale_slope": 1.0, "rescale_intercept": 0.0, "normalize": True, "noise": 0,
        "numTrain": len(train["angles"]), "numVal": len(val["angles"]), "train": train, "val": val,
        "image": numpy.ascontiguousarray(volume.transpose(2, 1, 0) / numpy.float32(peak)), "quickbeam_peak": peak,
    }
    with open(path, "wb") as file:
        pickle.dump(data, file, pickle.HIGHEST_PROTOCOL)
