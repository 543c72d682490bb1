/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/hdf5/external.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/geometry/unit_words.h"
#include "io/plain/mha.h"
#include "io/text.h"
#include "quickbeam/geometry.h"

/* MetaImage: lines of "Key = value", the last of them ElementDataFile, then the data. */
enum { HEADER_MOST = 65536 };

const qb__mha_type qb__mha_types[QB__MHA_TYPES] = {
    {"MET_UCHAR", QB_U8}, {"MET_CHAR", QB_I8}, {"MET_USHORT", QB_U16}, {"MET_SHORT", QB_I16},
    {"MET_UINT", QB_U32}, {"MET_INT", QB_I32}, {"MET_FLOAT", QB_F32},  {"MET_DOUBLE", QB_F64},
};

typedef struct header {
    const char *path;
    qb__plain layout;
    double unit;      /* of lengths, in mm; NAN: unknown */
    char unknown[24]; /* that unit */
    double spacing[3], first[3], turn[9], scale[2];
    char quantity[24], units[24];
    char file[512];
    cJSON *provenance; /* provenance in the header, if the caller asks for it */
    size_t dims, skip;
    qb_beam beam;
    double slope, intercept; /* a value is slope * stored + intercept */
    bool skip_back, skips, typed, shaped, packed;
    bool asked;          /* the caller wants the provenance */
    qb_status failed;    /* why there is none */
    const char *refused; /* reason why the file cannot be read; NULL: none */
} header;

static bool is_true(const char *value) { return toupper((unsigned char)*value) == 'T'; }

static void set_dims(header *h, const char *value) { h->dims = strtoul(value, NULL, 10); }

/* MetaImage counts x first. */
static void set_size(header *h, const char *value) {
    char *end;
    for (size_t i = 0; i < 3; i++) {
        h->layout.shape[2 - i] = 1;
        if (i >= h->dims) continue;
        h->layout.shape[2 - i] = strtoull(value, &end, 10);
        if (end == value) return;
        value = end;
    }
    h->shaped = h->dims >= 1 && h->dims <= 3;
}

static void set_spacing(header *h, const char *value) { qb__read_numbers(value, 0, 3, h->spacing, NULL); }

/* MetaIO's unit of lengths; "?" says nothing. */
static void set_length_unit(header *h, const char *value) {
    if (*value && *value != '?') h->unit = qb__length_unit(value) > 0 ? qb__length_unit(value) : NAN;
    if (isnan(h->unit)) snprintf(h->unknown, sizeof h->unknown, "%.23s", value);
}

/* The file states the position of the first voxel. */
static void set_first(header *h, const char *value) { qb__read_numbers(value, 0, 3, h->first, NULL); }

static void set_turn(header *h, const char *value) { qb__read_numbers(value, 0, 9, h->turn, NULL); }

static void set_scale(header *h, const char *value) { qb__read_numbers(value, 0, 2, h->scale, NULL); }

static void set_type(header *h, const char *value) {
    for (size_t i = 0; i < QB__MHA_TYPES; i++) {
        if (strcmp(value, qb__mha_types[i].name) != 0) continue;
        h->layout.dtype = qb__mha_types[i].dtype;
        h->typed = true;
    }
}

static void set_order(header *h, const char *value) { h->layout.swap = is_true(value); }

static void set_packed(header *h, const char *value) { h->packed = is_true(value); }

static void set_channels(header *h, const char *value) {
    if (strtoul(value, NULL, 10) != 1) h->refused = "it has more than one value per voxel";
}

static void set_text(header *h, const char *value) {
    if (!is_true(value)) h->refused = "its data are text, not binary";
}

static void set_skip(header *h, const char *value) {
    h->skips = true;
    h->skip_back = *value == '-';
    h->skip = h->skip_back ? 0 : strtoull(value, NULL, 10);
}

static void set_slope(header *h, const char *value) { qb__read_numbers(value, 0, 1, &h->slope, NULL); }

static void set_intercept(header *h, const char *value) { qb__read_numbers(value, 0, 1, &h->intercept, NULL); }

static void set_quantity(header *h, const char *value) { snprintf(h->quantity, sizeof h->quantity, "%.23s", value); }

static void set_beam(header *h, const char *value) { h->beam = qb__beam_named(value); }

static void set_units(header *h, const char *value) { snprintf(h->units, sizeof h->units, "%.23s", value); }

static void set_provenance(header *h, const char *value) {
    if (h->asked && !h->provenance && *value == '{') h->failed = qb__provenance_parse(value, &h->provenance);
}

static void set_file(header *h, const char *value) { snprintf(h->file, sizeof h->file, "%.511s", value); }

static const struct {
    const char *key;
    void (*set)(header *h, const char *value);
} keys[] = {
    {"NDims", set_dims},
    {"DimSize", set_size},
    {"ElementSpacing", set_spacing},
    {"DistanceUnits", set_length_unit},
    {"Offset", set_first},
    {"Origin", set_first},
    {"Position", set_first},
    {"TransformMatrix", set_turn},
    {"Rotation", set_turn},
    {"Orientation", set_turn},
    {"ElementType", set_type},
    {"BinaryDataByteOrderMSB", set_order},
    {"ElementByteOrderMSB", set_order},
    {"CompressedData", set_packed},
    {"ElementNumberOfChannels", set_channels},
    {"BinaryData", set_text},
    {"HeaderSize", set_skip},
    {"ElementToIntensityFunctionSlope", set_slope},
    {"ElementToIntensityFunctionOffset", set_intercept},
    {"QuickbeamQuantity", set_quantity},
    {"QuickbeamUnits", set_units},
    {"QuickbeamBeam", set_beam},
    {"QuickbeamScale", set_scale},
    {"QuickbeamProvenance", set_provenance},
    {"ElementDataFile", set_file},
};

static char *trim(char *text) {
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) text[--n] = 0;
    return text;
}

static void set_key(header *h, char *line) {
    char *equals = strchr(line, '=');
    if (!equals) return;
    *equals = 0;
    const char *key = trim(line), *value = trim(equals + 1);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i].key) == 0) keys[i].set(h, value);
}

/* Parse up to ElementDataFile; local data begin after it. */
static qb_status parse(header *h, char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && !*h->file) {
        char *line = text + at;
        char *end = memchr(line, '\n', bytes - at);
        if (!end) break;
        *end = 0;
        at = (size_t)(end + 1 - text);
        set_key(h, line);
    }
    h->layout.offset = at;
    if (!*h->file) return qb__fail(QB_BAD_INPUT, "%s: no ElementDataFile in its first %zu bytes", h->path, bytes);
    if (h->refused) return qb__fail(QB_UNSUPPORTED, "%s: %s", h->path, h->refused);
    if (!h->shaped)
        return qb__fail(QB_BAD_INPUT, "%s: NDims %zu and DimSize do not give up to three numbers", h->path, h->dims);
    if (!h->typed) return qb__fail(QB_UNSUPPORTED, "%s: its ElementType is not supported", h->path);
    return QB_OK;
}

static qb_status read_header(header *h) {
    uint64_t bytes;
    QB__OR_RETURN(qb__file_size(h->path, &bytes));
    size_t n = bytes < HEADER_MOST ? (size_t)bytes : HEADER_MOST;
    int fd = open(h->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", h->path);
    char *text;
    qb_status status = qb__alloc(n + 1, 1, &text);
    if (status == QB_OK) status = qb__pread_all(fd, h->path, text, n, 0);
    if (status == QB_OK) status = parse(h, text, n);
    qb__free(text);
    close(fd);
    return status;
}

/* Find where the data begin. HeaderSize -1 means that the data are the end of the file. */
static qb_status data_offset(header *h, const char *file, bool local) {
    if (!local) h->layout.offset = h->skip;
    if (h->packed && h->skip_back)
        return qb__fail(QB_UNSUPPORTED, "%s: HeaderSize -1 of compressed data is not supported", h->path);
    return h->skip_back ? qb__plain_at_end(file, &h->layout, "DimSize") : QB_OK;
}

/* Set the position. MetaImage states that of the first voxel, qb__source that of the middle. */
static void place(const header *h, qb__source *source) {
    const size_t *n = h->layout.shape;
    source->z_down = h->turn[8] < 0;
    for (int i = 0; i < 3; i++) {
        double d = h->spacing[i] * h->unit;
        if (!(isfinite(d) && d > 0)) d = 0;
        source->voxel[i] = d;
        const double first = i == 2 && source->z_down ? -h->first[i] * h->unit : h->first[i] * h->unit;
        if (isfinite(first)) source->offset[i] = first + 0.5 * ((double)n[2 - i] - 1) * (d > 0 ? d : 1);
    }
    for (size_t k = 0; k < 9; k++) {
        const double turn = k == 8 ? fabs(h->turn[k]) : h->turn[k];
        source->turned = source->turned || !(fabs(turn - (k % 4 == 0)) < 1e-6);
    }
}

qb_status qb__mha_open(const char *path, const char *how, qb__source **source) {
    (void)how;
    *source = NULL;
    header h = {.path = path, .layout.format = "MetaImage", .slope = 1, .unit = 1, .turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    qb_status status = read_header(&h);
    if (status != QB_OK) return status;
    bool local = strcasecmp(h.file, "LOCAL") == 0;
    char file[4096];
    const char *slash = strrchr(path, '/');
    if (!local && (strncmp(h.file, "LIST", 4) == 0 || strchr(h.file, '%')))
        return qb__fail(QB_UNSUPPORTED, "%s: its data are spread over several files", path);
    int n = slash && h.file[0] != '/' ? (int)(slash + 1 - path) : 0;
    snprintf(file, sizeof file, "%.*s%s", n, path, h.file);
    if (!local) status = qb__external_check(path, file);
    if (status != QB_OK) return status;
    h.layout.longer = "DimSize, or HeaderSize where a header is to be skipped, does not fit";
    h.layout.trailer = local || h.skips;
    status = data_offset(&h, local ? path : file, local);
    if (status == QB_OK) status = (h.packed ? qb__packed_open : qb__plain_open)(local ? path : file, &h.layout, source);
    if (status != QB_OK) return local ? status : qb__fail_in(status, "%s", path);
    if (strcmp(h.units, "1/pixel") != 0) place(&h, *source);
    qb__printable(h.unknown);
    if (*h.unknown)
        snprintf((*source)->trouble, sizeof(*source)->trouble,
                 "its DistanceUnits \"%s\" is no known length, so that sizes are not used: correct it to mm" QB__CODE(
                     "metadata-unusable"),
                 h.unknown);
    memcpy((*source)->scale, h.scale, sizeof h.scale);
    (*source)->beam = h.beam;
    memcpy((*source)->quantity, h.quantity, sizeof h.quantity);
    memcpy((*source)->units, h.units, sizeof h.units);
    return qb__source_scale(source, h.slope, h.intercept);
}

/* Read the provenance. A long one is in a separate file. */
qb_status qb__mha_provenance(const char *path, cJSON **object) {
    header h = {.path = path, .asked = true};
    qb_status status = read_header(&h);
    if (status == QB_OK) status = h.failed;
    *object = h.provenance;
    if (status == QB_OK) return h.provenance ? QB_OK : qb__sidecar_provenance(path, object);
    cJSON_Delete(h.provenance);
    *object = NULL;
    return status;
}
