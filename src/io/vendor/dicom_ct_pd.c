/* SPDX-License-Identifier: MIT */
/* Projections of clinical scanners as DICOM-CT-PD (Chen et al., Med. Phys. 2015). The public data of Mayo's low-dose
 * collection are in this format. Each file holds one view of line integrals, with the positions of source and detector
 * in private tags.
 *
 * In the frame of the format, the focal centre of a view is at radius * (-sin phi, cos phi) and at height z. The source
 * is shifted from it by the flying focal spot. The detector is curved about a line through the focal centre, and its
 * central element is opposite to it. Columns run along (cos phi, sin phi), rows along z. If the image is as high as the
 * detector has columns, the numbers are stored column by column. Heights are counted from the middle of the scan, which
 * is the centre of the default volume. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "geometry/circle.h"
#include "io/formats.h"
#include "io/vendor/dicom.h"
#include "quickbeam/geometry.h"

typedef struct view {
    /* rows, columns: of the detector; high, wide: of the stored image */
    double number, rows, columns, high, wide, bits, sign;
    double pitch[2], phi, z, rho, distance, central[2];
    double shift_phi, shift_z, shift_rho;
    double slope, intercept;
    bool flat;
    uint64_t at;
} view;

#define AT(field) offsetof(view, field)
static const struct {
    uint32_t tag;
    size_t at;
    int count;
    bool needed;
    double initial, low, high;
} numbers[] = {
    {0x00200013, AT(number), 1, false, 0, -1e9, 1e9},
    {0x00280010, AT(high), 1, true, 0, 1, 65535},
    {0x00280011, AT(wide), 1, true, 0, 1, 65535},
    {0x00280100, AT(bits), 1, true, 0, 16, 16},
    {0x00280103, AT(sign), 1, false, 0, 0, 1},
    {0x00281052, AT(intercept), 1, false, 0, -1e9, 1e9},
    {0x00281053, AT(slope), 1, false, 1, -1e9, 1e9},
    {0x70291002, AT(pitch), 1, true, 0, 1e-3, 1e3},
    {0x70291006, AT(pitch) + sizeof(double), 1, true, 0, 1e-3, 1e3},
    {0x70291010, AT(rows), 1, true, 0, 1, 65535},
    {0x70291011, AT(columns), 1, true, 0, 1, 65535},
    {0x70311001, AT(phi), 1, true, 0, -1e6, 1e6},
    {0x70311002, AT(z), 1, true, 0, -1e6, 1e6},
    {0x70311003, AT(rho), 1, true, 0, 1, 1e6},
    {0x70311031, AT(distance), 1, true, 0, 1, 1e6},
    {0x70311033, AT(central), 2, true, 0, -1e6, 1e6},
    {0x7033100b, AT(shift_phi), 1, false, 0, -1, 1},
    {0x7033100c, AT(shift_z), 1, false, 0, -100, 100},
    {0x7033100d, AT(shift_rho), 1, false, 0, -100, 100},
};

static qb_status read_numbers(const qb__dicom *d, view *v) {
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double *to = (double *)(void *)((char *)v + numbers[i].at);
        const unsigned group = numbers[i].tag >> 16, element = numbers[i].tag & 0xffff;
        for (int k = 0; k < numbers[i].count; k++) to[k] = numbers[i].initial;
        const int have = qb__dicom_numbers(d, numbers[i].tag, numbers[i].count, to);
        if (have == 0 && !numbers[i].needed) continue;
        if (have < numbers[i].count)
            return qb__fail(QB_UNSUPPORTED, "%s lacks (%04x,%04x): it is not a projection of DICOM-CT-PD", d->path,
                            group, element);
        for (int k = 0; k < numbers[i].count; k++)
            if (!(to[k] >= numbers[i].low && to[k] <= numbers[i].high))
                return qb__fail(QB_BAD_INPUT, "%s: (%04x,%04x) is %g, which should be from %g to %g", d->path, group,
                                element, to[k], numbers[i].low, numbers[i].high);
    }
    return QB_OK;
}

static bool row_by_row(const view *v) { return v->high == v->rows && v->wide == v->columns && v->high != v->wide; }

static qb_status read_view(const char *path, view *v) {
    qb__dicom d;
    char shape[17];
    qb_status status;
    QB__TRY(qb__dicom_open(path, &d));
    QB__TRY(read_numbers(&d, v));
    v->at = d.pixels;
    v->flat = qb__dicom_text(&d, 0x7029100b, shape, sizeof shape) && strcmp(shape, "FLAT") == 0;
    if (*shape && !v->flat && strcmp(shape, "CYLINDRICAL") != 0) {
        qb__printable(shape);
        status =
            qb__fail(QB_UNSUPPORTED, "%s: its detector is %s; only CYLINDRICAL and FLAT ones are read", path, shape);
    } else if (!row_by_row(v) && !(v->high == v->columns && v->wide == v->rows)) {
        status = qb__fail(QB_BAD_INPUT, "%s: its image has %g x %g pixels, and its detector has %g rows of %g", path,
                          v->high, v->wide, v->rows, v->columns);
    } else if ((double)d.pixel_bytes < 2 * v->high * v->wide) {
        status = qb__fail(QB_BAD_INPUT, "%s: %llu bytes are too few for an image of %g x %g", path,
                          (unsigned long long)d.pixel_bytes, v->high, v->wide);
    }
out:
    qb__dicom_close(&d);
    return status;
}

/* ---- images ---- */

typedef struct pd {
    qb__source base;
    qb__notes files;
    view *views; /* [shape[0]] */
} pd;

typedef struct sweep {
    const pd *p;
    const qb__region *region;
    float *out;
} sweep;

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const size_t image = s->region->first + number * s->region->step, row0 = s->region->row0, row1 = s->region->row1;
    const view *v = &s->p->views[image];
    const size_t rows = s->p->base.shape[1], columns = s->p->base.shape[2];
    const size_t down = row_by_row(v) ? columns : 1, across = row_by_row(v) ? 1 : rows;
    uint16_t *stored;
    float *out = s->out + number * (row1 - row0) * columns;
    qb_status status = qb__alloc(rows * columns, sizeof *stored, &stored);
    if (status == QB_OK)
        status = qb__pread_values(s->p->files.text[image], v->at, rows * columns * sizeof *stored, sizeof *stored,
                                  __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__, stored);
    for (size_t r = row0; r < row1 && status == QB_OK; r++)
        for (size_t c = 0; c < columns; c++) {
            const uint16_t bits = stored[r * down + c * across];
            *out++ = (float)(v->slope * (v->sign > 0 ? (double)(int16_t)bits : (double)bits) + v->intercept);
        }
    qb__free(stored);
    return status;
}

static qb_status read_pd(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const pd *)source, region, out};
    return qb__share(source->threads, region->count, read_image, &s);
}

static void release_pd(qb__source *source) {
    pd *p = (pd *)source;
    qb__notes_release(&p->files);
    qb__free(p->views);
}

/* A view and its file's name. */
typedef struct named_view {
    view v;
    char *name;
} named_view;

static int compare_views(const void *a, const void *b) {
    const double x = ((const named_view *)a)->v.number, y = ((const named_view *)b)->v.number;
    return x < y ? -1 : x > y;
}

/* Into the order of their numbers: archives name files at random. Without numbers, the order of names stays. */
static qb_status sort_views(pd *p) {
    const size_t count = p->files.count;
    named_view *all;
    bool rises = true, differ = true;
    for (size_t i = 1; i < count; i++) rises = rises && p->views[i].number >= p->views[i - 1].number;
    for (size_t i = 0; i < count; i++) rises = rises || p->views[i].number == 0;
    if (rises) return QB_OK;
    QB__OR_RETURN(qb__alloc(count, sizeof *all, &all));
    for (size_t i = 0; i < count; i++) all[i] = (named_view){p->views[i], p->files.text[i]};
    qsort(all, count, sizeof *all, compare_views);
    for (size_t i = 1; i < count; i++) differ = differ && all[i].v.number > all[i - 1].v.number;
    for (size_t i = 0; i < count && differ; i++) p->views[i] = all[i].v, p->files.text[i] = all[i].name;
    qb__free(all);
    if (differ) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s holds several views of one number, in another order than their names: give the files of one "
                    "scan",
                    p->base.path);
}

/* Reads the heads of all files. */
static qb_status read_heads(pd *p) {
    const size_t count = p->files.count;
    QB__OR_RETURN(qb__alloc(count, sizeof *p->views, &p->views));
    for (size_t i = 0; i < count; i++) {
        QB__OR_RETURN(read_view(p->files.text[i], &p->views[i]));
        const view *a = &p->views[0], *v = &p->views[i];
        if (v->rows != a->rows || v->columns != a->columns || v->flat != a->flat || v->distance != a->distance)
            return qb__fail(QB_BAD_INPUT,
                            "%s is of a detector of %g rows of %g pixels at %g mm, the first file of one of %g rows of "
                            "%g at %g mm: give files of one scan",
                            p->files.text[i], v->rows, v->columns, v->distance, a->rows, a->columns, a->distance);
    }
    QB__OR_RETURN(sort_views(p));
    p->base.dtype = QB_F32;
    p->base.shape[0] = count, p->base.shape[1] = (size_t)p->views->rows, p->base.shape[2] = (size_t)p->views->columns;
    p->base.chunk[1] = p->base.shape[1];
    p->base.cache_each = 2 * p->base.shape[1] * p->base.shape[2];
    p->base.beam = QB_BEAM_CONE;
    snprintf(p->base.quantity, sizeof p->base.quantity, "line_integral");
    return QB_OK;
}

qb_status qb__ct_pd_open(const char *path, qb__source **source) {
    pd *p;
    *source = NULL;
    QB__OR_RETURN(qb__source_create(sizeof *p, "DICOM-CT-PD", path, &p));
    p->base.read = read_pd;
    p->base.release = release_pd;
    qb_status status = qb__source_files(&p->base, QB__DICOM_NAMES, &p->files);
    if (status == QB_OK) status = read_heads(p);
    return qb__source_give(status, &p->base, source);
}

/* ---- geometry ---- */

static void set_view(const view *v, double middle, qb_view *to) {
    const double across[3] = {cos(v->phi), sin(v->phi), 0}, away[3] = {sin(v->phi), -cos(v->phi), 0};
    const double phi = v->phi + v->shift_phi, rho = v->rho + v->shift_rho;
    to->source[0] = -rho * sin(phi), to->source[1] = rho * cos(phi), to->source[2] = v->z + v->shift_z - middle;
    for (int i = 0; i < 3; i++) {
        const double up = i == 2, central = (v->distance - v->rho) * away[i] + up * (v->z - middle);
        to->u[i] = v->pitch[0] * across[i], to->v[i] = v->pitch[1] * up;
        to->detector[i] = central - (v->central[0] - 1) * to->u[i] - (v->central[1] - 1) * to->v[i];
    }
}

static qb_status make_geometry(const pd *p, qb_geometry *g) {
    const size_t views = p->base.shape[0];
    QB__OR_RETURN(qb__alloc(views, sizeof *g->view, &g->view));
    g->beam = QB_BEAM_CONE;
    g->views = views, g->rows = p->base.shape[1], g->columns = p->base.shape[2];
    g->radius = p->views->flat ? 0 : p->views->distance;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < views; i++) low = fmin(low, p->views[i].z), high = fmax(high, p->views[i].z);
    for (size_t i = 0; i < views; i++) set_view(&p->views[i], 0.5 * (low + high), &g->view[i]);
    return QB_OK;
}

qb_status qb__ct_pd_geometry(const char *path, qb_geometry *geometry) {
    qb__source *source;
    qb_status status = qb__ct_pd_open(path, &source);
    if (status == QB_OK) status = make_geometry((const pd *)source, geometry);
    qb__source_close(source);
    return status;
}

qb_status qb__ct_pd_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    qb_geometry g = {0};
    qb_status status;
    (void)options;
    QB__TRY(qb__ct_pd_open(path, &parts->data.source));
    const pd *p = (const pd *)parts->data.source;
    parts->format = p->base.format;
    parts->data.count = p->base.shape[0];
    snprintf(parts->quantity, sizeof parts->quantity, "line_integral");
    QB__TRY(make_geometry(p, &g));
    QB__TRY(qb__alloc(g.views, sizeof(double), &parts->angles));
    qb__view_angles(&g, parts->angles);
    parts->angle_count = g.views;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%.150s", path);
    parts->pixel_size = p->views->pitch[0], parts->pixel_v = p->views->pitch[1];
    snprintf(parts->pixel_from, sizeof parts->pixel_from, "%.150s", path);
    parts->placed = qb__strdup(path);
    if (!parts->placed) status = qb__fail(QB_NO_MEMORY, "no memory for a folder's name");
out:
    qb_geometry_destroy(&g);
    return status;
}
