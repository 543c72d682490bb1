#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One small slice after the other from NumPy through qb.fbp(): seconds of a call, which is mostly what surrounds the kernel.

  PYTHONPATH=python QUICKBEAM_LIBRARY=build/libquickbeam.so bench/slices_from_python.py [--size 256 --views 180 --threads 2]

A JSON of the best and the median time of a call, and of the processor's time that a call takes on all threads: that one says most on
a computer which others use, too."""
import argparse
import json
import statistics
import time
import warnings

import numpy as np
import quickbeam_ct as qb


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=256, help="columns")
    parser.add_argument("--views", type=int, default=180)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=300)
    options = parser.parse_args()
    warnings.simplefilter("error", qb.QuickbeamWarning)
    n, middle = options.size, 0.5 * (options.size - 1)
    angles = np.linspace(0, np.pi, options.views, endpoint=False)
    s = np.arange(n) - middle
    row = 2 * 0.02 * np.sqrt(np.maximum(0, (0.4 * n)**2 - s**2))
    lines = np.tile(row.astype(np.float32), (options.views, 1, 1))
    wall, busy = [], 0
    for i in range(options.repeat + 20):
        if i == 20:
            busy = time.process_time()
        began = time.perf_counter()
        volume = qb.fbp(lines, angles, 1.0, center=middle, threads=options.threads)
        wall.append(time.perf_counter() - began)
    busy, wall = (time.process_time() - busy) / options.repeat, wall[20:]
    assert abs(volume[0, n // 2, n // 2] - 0.02) < 1e-3
    print(json.dumps({"version": qb.version(), "size": n, "views": options.views, "threads": options.threads,
                      "best_ms": 1e3 * min(wall), "median_ms": 1e3 * statistics.median(wall), "processor_ms": 1e3 * busy}))


if __name__ == "__main__":
    main()
