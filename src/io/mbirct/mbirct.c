/* SPDX-License-Identifier: MIT */
/* Files of sv-mbirct and svmbir: parameters as text, `Name: value` per line, and a file of raw little-endian float32
 * for each slice, BASE_sliceNNNN.EXTENSION:
 *   BASE.sinoparams  2Dsinodata, 2Dweightdata, 2Dprojection [view][channel], and a list of angles in radians
 *   BASE.imgparams   2Dimgdata [y][x] */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/mbirct/mbirct.h"
#include "io/plain/source.h"

enum { DIGITS_MOST = 4 };

typedef struct kind {
    const char *extension, *parameters; /* extension of the data file; extension of the file with the shape */
    bool of_rays;
} kind;

static const kind kinds[] = {
    {".sinoparams", ".sinoparams", true},   {".2Dsinodata", ".sinoparams", true},
    {".2Dweightdata", ".sinoparams", true}, {".2Dprojection", ".sinoparams", true},
    {".imgparams", ".imgparams", false},    {".2Dimgdata", ".imgparams", false},
};

typedef struct mbirct {
    qb__source base;
    char stem[QB__MBIRCT_NAME]; /* BASE */
    const char *extension;
    size_t first; /* FirstSliceNumber */
    int digits;
    bool of_rays;
} mbirct;

bool qb__mbirct_is_images(const char *path) {
    const size_t n = strlen(path), end = strlen(".2Dimgdata");
    return n > end && qb__mbirct_is(path + n - end, ".2Dimgdata");
}

/* ---- slices ---- */

static bool name_slice(const mbirct *m, size_t slice, int digits, char *name) {
    const int n = qb__print(name, QB__MBIRCT_NAME, "%s_slice%0*zu%s", m->stem, digits, m->first + slice, m->extension);
    return n > 0 && n < QB__MBIRCT_NAME;
}

/* Number of digits in the first file's name. */
static qb_status find_first(mbirct *m) {
    char name[QB__MBIRCT_NAME];
    for (m->digits = DIGITS_MOST; m->digits > 0; m->digits--)
        if (name_slice(m, 0, m->digits, name) && access(name, F_OK) == 0) return QB_OK;
    if (!name_slice(m, 0, DIGITS_MOST, name)) return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", m->stem);
    return qb__fail(QB_NOT_FOUND, "%s does not exist, nor a name with fewer digits: put the data into the folder of %s",
                    name, m->base.path);
}

static qb_status check_files(const mbirct *m, const size_t lines) {
    const size_t slices = m->of_rays ? m->base.shape[1] : m->base.shape[0], columns = m->base.shape[2];
    char name[QB__MBIRCT_NAME];
    uint64_t bytes;
    size_t values;
    if (!qb__mul(lines, columns, sizeof(float), &values))
        return qb__fail(QB_BAD_INPUT, "%s: slices of %zu x %zu are too large", m->base.path, lines, columns);
    for (size_t i = 0; i < slices; i++) {
        if (!name_slice(m, i, m->digits, name))
            return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", m->stem);
        qb_status status = qb__file_size(name, &bytes);
        if (status == QB_OK && bytes != values)
            status =
                qb__fail(QB_BAD_INPUT, "%s has %llu bytes, but the %zu x %zu float32 numbers that %s states are %zu",
                         name, (unsigned long long)bytes, lines, columns, m->base.path, values);
        if (status == QB_NOT_FOUND)
            status = qb__fail(QB_BAD_INPUT, "%s does not exist, but %s states %zu slices from number %zu on", name,
                              m->base.path, slices, m->first);
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

/* A file of a region: an image, or a row of all views. */
typedef struct sweep {
    const mbirct *m;
    const qb__region *region;
    char *out;
} sweep;

static qb_status read_lines(const sweep *s, int fd, const char *name, size_t slice) {
    const qb__region *r = s->region;
    const size_t row = s->m->base.shape[2] * sizeof(float), height = r->row1 - r->row0;
    qb_status status = QB_OK;
    if (!s->m->of_rays) return qb__pread_all(fd, name, s->out + slice * height * row, height * row, r->row0 * row);
    for (size_t v = 0; v < r->count && status == QB_OK; v++)
        status = qb__pread_all(fd, name, s->out + (v * height + slice) * row, row, (r->first + v * r->step) * row);
    return status;
}

static qb_status read_slice(void *context, size_t slice, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb__region *r = s->region;
    char name[QB__MBIRCT_NAME];
    name_slice(s->m, s->m->of_rays ? r->row0 + slice : r->first + slice * r->step, s->m->digits, name);
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", name);
    const qb_status status = read_lines(s, fd, name, slice);
    close(fd);
    return status;
}

static qb_status read_slices(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const mbirct *)source, region, out};
    return qb__share(source->threads, s.m->of_rays ? region->row1 - region->row0 : region->count, read_slice, &s);
}

/* ---- opening ---- */

/* Length of the name before "_slice": BASE_slice0001 belongs to BASE, and any of the files stands for all. */
static size_t before_slice(const char *path, size_t length) {
    size_t end = length;
    while (end > 0 && isdigit((unsigned char)path[end - 1])) end--;
    const size_t word = strlen("_slice");
    return end > word && qb__mbirct_is(path + end - word, "_slice") ? end - word : length;
}

static const kind *kind_of(const char *path, size_t *stem) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(path), end = strlen(kinds[i].extension);
        if (n <= end || strlen(path + n - end) != end || !qb__mbirct_is(path + n - end, kinds[i].extension)) continue;
        *stem = n - end;
        if (strcmp(kinds[i].extension, kinds[i].parameters) != 0) *stem = before_slice(path, *stem);
        return &kinds[i];
    }
    return NULL;
}

static qb_status set_shape(mbirct *m, const char *path, const char *text, size_t *lines) {
    size_t slices = 0, columns = 0;
    double first = 0, pixel = 0, high = 0;
    QB__OR_RETURN(qb__mbirct_count(path, text, m->of_rays ? "NChannels" : "Nx", &columns));
    QB__OR_RETURN(qb__mbirct_count(path, text, m->of_rays ? "NViews" : "Ny", lines));
    QB__OR_RETURN(qb__mbirct_count(path, text, m->of_rays ? "NSlices" : "Nz", &slices));
    QB__OR_RETURN(qb__mbirct_number(path, text, m->of_rays ? "DeltaChannel" : "Deltaxy", 1e-12, 1e12, &pixel));
    QB__OR_RETURN(qb__mbirct_number(path, text, m->of_rays ? "DeltaSlice" : "DeltaZ", 1e-12, 1e12, &high));
    if (qb__mbirct_find(text, "FirstSliceNumber"))
        QB__OR_RETURN(qb__mbirct_number(path, text, "FirstSliceNumber", 0, 1e9, &first));
    m->first = (size_t)first;
    m->base.shape[0] = m->of_rays ? *lines : slices;
    m->base.shape[1] = m->of_rays ? slices : *lines;
    m->base.shape[2] = columns;
    m->base.voxel[0] = m->base.voxel[1] = pixel;
    m->base.voxel[2] = high;
    if (m->of_rays) m->base.voxel[1] = high;
    return QB_OK;
}

/* Open a kind of files. *text gets the parameters; the caller releases it. */
static qb_status open_kind(const char *path, mbirct **out, char *parameters, char **text) {
    size_t stem, lines = 0;
    const kind *k = kind_of(path, &stem);
    mbirct *m = NULL;
    qb_status status;
    *text = NULL;
    if (!k || stem + 20 > QB__MBIRCT_NAME)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s is not a file name of sv-mbirct", path);
    QB__TRY(qb__source_create(sizeof *m, "sv-mbirct", path, &m));
    snprintf(m->stem, sizeof m->stem, "%.*s", (int)stem, path);
    snprintf(parameters, QB__MBIRCT_NAME, "%.*s%s", (int)stem, path, k->parameters);
    m->of_rays = k->of_rays;
    m->extension = strcmp(k->extension, k->parameters) != 0 ? k->extension : k->of_rays ? ".2Dsinodata" : ".2Dimgdata";
    m->base.dtype = QB_F32;
    m->base.read = read_slices;
    snprintf(m->base.quantity, sizeof m->base.quantity, "%s", k->of_rays ? "line_integral" : "attenuation");
    if (!k->of_rays) snprintf(m->base.units, sizeof m->base.units, "1/mm");
    QB__TRY(qb__read_text(parameters, QB__MBIRCT_TEXT, text));
    QB__TRY(set_shape(m, parameters, *text, &lines));
    QB__TRY(find_first(m));
    QB__TRY(check_files(m, lines));
    if (!k->of_rays) QB__TRY(qb__sidecar_apply(parameters, &m->base));
    *out = m;
    return QB_OK;
out:
    if (m) qb__source_close(&m->base);
    qb__free(*text);
    *text = NULL;
    return status;
}

qb_status qb__mbirct_open(const char *path, const char *how, qb__source **source) {
    char parameters[QB__MBIRCT_NAME], *text;
    mbirct *m;
    (void)how;
    QB__OR_RETURN(open_kind(path, &m, parameters, &text));
    qb__free(text);
    *source = &m->base;
    return QB_OK;
}

/* ---- scans ---- */

static qb_status take_angles(const char *parameters, const char *text, qb__scan_parts *parts) {
    parts->angle_count = parts->data.source->shape[0];
    QB__OR_RETURN(qb__alloc(parts->angle_count, sizeof(double), &parts->angles));
    return qb__mbirct_angles(parameters, text, parts->angle_count, parts->angles, parts->angles_from,
                             sizeof parts->angles_from);
}

static void judge_slices(const mbirct *m, const char *parameters, qb__notes *notes) {
    const double *voxel = m->base.voxel;
    if (fabs(voxel[2] - voxel[0]) > 1e-6 * voxel[0])
        qb__note(notes,
                 "%s: slices are %g mm apart, channels %g mm: the channel spacing is used for both" QB__CODE(
                     "slice-spacing"),
                 parameters, voxel[2], voxel[0]);
}

static qb_status scan_of(mbirct *m, const char *parameters, const char *text, qb__scan_parts *parts) {
    qb__mbirct_beam beam;
    qb_status status;
    parts->data = (qb__frames){.source = &m->base, .count = m->base.shape[0]};
    QB__TRY(qb__mbirct_beam_of(parameters, text, &beam));
    parts->pixel_size = m->base.voxel[0];
    parts->pixel_v = m->base.voxel[1];
    parts->first_slice = m->first;
    snprintf(parts->pixel_from, sizeof parts->pixel_from, "%.150s", parameters);
    snprintf(parts->quantity, sizeof parts->quantity, "line_integral");
    if (beam.kind == QB__MBIRCT_PARALLEL) {
        parts->center = ((double)m->base.shape[2] - 1) / 2 + beam.offset;
        parts->center_holds = true;
        judge_slices(m, parameters, &parts->notes);
    } else {
        m->base.beam = QB_BEAM_CONE;
        parts->placed = qb__strdup(parameters);
        if (!parts->placed) status = qb__fail(QB_NO_MEMORY, "no memory for a file's name");
    }
    if (status == QB_OK) status = take_angles(parameters, text, parts);
out:
    return status;
}

qb_status qb__mbirct_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    char parameters[QB__MBIRCT_NAME], *text;
    size_t stem;
    mbirct *m;
    const kind *k = kind_of(path, &stem);
    if (k && !k->of_rays) return qb__sidecar_scan(path, options, parts); /* images can also be opened as a scan */
    QB__OR_RETURN(open_kind(path, &m, parameters, &text));
    const qb_status status = scan_of(m, parameters, text, parts);
    if (!parts->data.source) qb__source_close(&m->base);
    qb__free(text);
    return status;
}
