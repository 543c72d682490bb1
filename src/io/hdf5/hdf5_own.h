/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/hdf5/hdf5_packed.h"
#include "io/hdf5/hdf5_parts.h"

/* State of an HDF5 writer: at most one of these members. */
typedef struct qb__h5_own {
    qb__h5_parts *parts;
    qb__h5_packed *packed;
} qb__h5_own;

static inline qb__h5_parts *qb__h5_parts_of(const qb_writer *writer) {
    const qb__h5_own *own = writer->own;
    return own ? own->parts : NULL;
}

static inline qb__h5_packed *qb__h5_packed_of(const qb_writer *writer) {
    const qb__h5_own *own = writer->own;
    return own ? own->packed : NULL;
}
