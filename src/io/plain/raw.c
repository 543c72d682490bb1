/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/writer.h"

static const char longer[] = "check --shape; add :OFFSET to it to skip a header, or :0 to read only the first views";

/* Parse VIEWS,ROWS,COLUMNS:DTYPE[:OFFSET]; "big" after the type, as in uint16big, means big-endian. */
static qb_status parse_shape(const char *text, qb__plain *layout) {
    const char *at = text;
    char *end, name[24];
    for (int i = 0; i < 3; i++) {
        errno = 0;
        layout->shape[i] = strtoull(at, &end, 10);
        if (end == at || *at == '-' || errno || *end != (i < 2 ? ',' : ':')) goto bad;
        at = end + 1;
    }
    size_t n = strcspn(at, ":");
    if (n >= sizeof name) goto bad;
    memcpy(name, at, n);
    name[n] = 0;
    if (n > 3 && strcmp(name + n - 3, "big") == 0) {
        layout->swap = true;
        name[n - 3] = 0;
    }
    if (!qb_dtype_parse(name, &layout->dtype)) goto bad;
    if (!at[n]) return QB_OK;
    errno = 0;
    layout->offset = strtoull(at + n + 1, &end, 10);
    layout->longer = NULL; /* an offset is given, so the file may be longer than the data */
    if (end != at + n + 1 && !*end && !errno && at[n + 1] != '-') return QB_OK;
bad:
    return qb__fail(QB_BAD_ARGUMENT, "--shape %s is not VIEWS,ROWS,COLUMNS:DTYPE[:OFFSET] like 720,512,512:uint16",
                    text);
}

qb_status qb__raw_open(const char *path, const char *how, qb__source **source) {
    return qb__raw_open_as(path, how, false, source);
}

qb_status qb__raw_open_as(const char *path, const char *how, bool sinogram, qb__source **source) {
    char noted[128] = "";
    qb__plain layout = {.format = "raw", .longer = how ? longer : "its .json is of another file"};
    *source = NULL;
    QB__OR_RETURN(how ? QB_OK : qb__sidecar_shape(path, noted, sizeof noted));
    if (!how && !*noted)
        return qb__fail(QB_BAD_INPUT, "%s is raw data: give --shape VIEWS,ROWS,COLUMNS:DTYPE[:OFFSET]", path);
    qb_status status = parse_shape(how ? how : noted, &layout);
    if (how && sinogram) { /* VIEWS and ROWS are names; sinograms are stored row by row */
        size_t views = layout.shape[0];
        layout.shape[0] = layout.shape[1];
        layout.shape[1] = views;
    }
    if (status == QB_OK && (qb__is_pattern(path) || qb__is_folder(path)))
        return qb__raw_series_open(path, &layout, source); /* such files have no JSON file with them */
    if (status == QB_OK) status = qb__plain_open(path, &layout, source);
    if (status == QB_OK) status = qb__sidecar_apply(path, *source);
    return qb__source_give(status, *source, source);
}

qb_status qb__raw_open_like(const char *path, const char *how, qb__source **source) {
    qb__plain layout = {.format = "raw", .longer = longer};
    qb__notes files = {0};
    char noted[128] = "";
    uint64_t bytes = 0;
    qb_status status;
    const bool many = qb__is_pattern(path) || qb__is_folder(path);
    *source = NULL;
    if (!many) QB__TRY(qb__sidecar_shape(path, noted, sizeof noted));
    if (*noted) return qb__raw_open(path, NULL, source);
    QB__TRY(parse_shape(how, &layout));
    QB__TRY(qb__list_images(path, " .raw .bin .dat .img ", &files));
    QB__TRY(qb__file_size(files.text[0], &bytes));
    size_t image = 0;
    if (!qb__mul(layout.shape[1], layout.shape[2], qb_dtype_size(layout.dtype), &image) || !image ||
        bytes < layout.offset + image)
        QB__TRY(qb__fail(QB_BAD_INPUT, "%s has %llu bytes: no image of %zu x %zu %s as --shape says", files.text[0],
                         (unsigned long long)bytes, layout.shape[1], layout.shape[2], qb_dtype_name(layout.dtype)));
    layout.shape[0] = (size_t)((bytes - layout.offset) / image) * files.count;
    status = many ? qb__raw_series_open(path, &layout, source) : qb__plain_open(path, &layout, source);
out:
    qb__notes_release(&files);
    return status;
}

const qb__writer_kind qb__raw_writer = {.finish = qb__write_sidecar, .resumes = true, .keeps_angles = true};
