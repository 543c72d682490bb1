# SPDX-License-Identifier: MIT
"""Reconstruction as a method of HTTomo, which hands in a block of projections [angle][row][column], angles and the axis' column.

HTTomo looks up what a method is in a folder of its own; put this there, as
httomo_backends/methods_database/packages/backends/quickbeam_ct/quickbeam_ct.yaml:

    algorithm:
      fbp:
        pattern: sinogram
        output_dims_change: True
        implementation: cpu
        memory_gpu: None
        save_result_default: True
        padding: False

In the list of a pipeline the method then is, with any options of quickbeam_ct.fbp:

    - method: fbp
      module_path: quickbeam_ct.algorithm
      parameters:
        center: ${{centering.side_outputs.centre_of_rotation}}
        filter: hann
"""
import numpy

from . import _calls


def fbp(data, angles, center, filter="ramp", **options):
    """Filtered back-projection of line integrals [angle][row][column] into [y][row][x], in 1/pixel. angles: radians. Row y = 0 is
    the highest, as TomoPy has it."""
    volume = _calls.fbp(numpy.asarray(data, numpy.float32), -numpy.asarray(angles, float), 1.0, center=float(center), filter=filter, **options)
    return numpy.ascontiguousarray(volume.swapaxes(0, 1))
