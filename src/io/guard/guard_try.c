/* SPDX-License-Identifier: MIT */
/* The work of the separate process that tries a file before it is read here (guard.c). */
#include "io/guard/guard.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/io.h"

#include "io/formats.h"
#include "io/guard/guard_reader.h"
#ifdef QB_HAVE_HDF5
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"
#endif

/* The first and the last image, one row of each, unless that unpacks a large chunk. */
static void read_little(const qb__frames *frames) {
    qb__source *source = frames->source;
    void *row;
    if (!source || !frames->count || source->cache > (size_t)16 << 20) return;
    if (qb__alloc(qb__source_row_bytes(source), 1, &row) != QB_OK) return;
    const qb__region ends[] = {{0, 1, 1, 0, 1}, {frames->count - 1, 1, 1, source->shape[1] - 1, source->shape[1]}};
    for (int i = 0; i < 2; i++) qb__frames_read(frames, &ends[i], row);
    qb__free(row);
}

/* FITS with compressed images: its headers, and a little of its images. */
static qb_status try_fits(const char *path) {
    qb__source *source;
    QB__OR_RETURN(qb__source_open(path, NULL, &source));
    read_little(&(qb__frames){.source = source, .count = source->shape[0]});
    qb__source_close(source);
    return QB_OK;
}

#ifdef QB_HAVE_HDF5
static qb_status try_hdf5(const char *path, const char *dataset) {
    const qb_scan_options options = {.dataset = (char *)dataset};
    qb__scan_parts parts = {0};
    qb__source *source = NULL;
    cJSON *object = NULL;
    double *numbers = NULL, unit;
    size_t count;
    qb__h5_tell_broken();
    const bool before = qb_external_allow(true); /* checked again when it is opened */
    qb_status status = qb__hdf5_scan(path, &options, &parts), more;
    read_little(&parts.data);
    read_little(&parts.flats);
    read_little(&parts.darks);
    qb__scan_parts_release(&parts);
    if (status != QB_OK && status != QB_NO_MEMORY) status = qb__hdf5_open(path, dataset, &source);
    qb__source_close(source);
    if (dataset && qb__hdf5_angles(path, dataset, 1 << 24, &numbers, &count, &unit) == QB_NO_MEMORY)
        status = QB_NO_MEMORY;
    qb__free(numbers);
    more = qb__hdf5_provenance(path, &object);
    qb_external_allow(before);
    cJSON_Delete(object);
    return more == QB_NO_MEMORY ? more : status;
}
#else
static qb_status try_hdf5(const char *path, const char *dataset) {
    (void)dataset;
    return qb__fail(QB_UNSUPPORTED, "%s: this build cannot read HDF5", path);
}
#endif

qb_status qb_tool_guard_try(const char *path, const char *dataset) {
    QB__NEED(path);
    return dataset && strcmp(dataset, QB__GUARD_PACKED_FITS) == 0 ? try_fits(path) : try_hdf5(path, dataset);
}
