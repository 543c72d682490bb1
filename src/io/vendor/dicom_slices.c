/* SPDX-License-Identifier: MIT */
/* Slices of clinical scanners, and those of dicom_write.c: one file for each slice, in the order of their positions. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/vendor/dicom.h"

typedef struct slice {
    double rows, columns, samples, frames, bits, kept,
        sign; /* header: image size, channels, frames; bits of a pixel, bits in use, signed or not */
    double slope, intercept;
    double padding, limit; /* stored numbers from one to the other are no values; NAN: none */
    double place[3], axes[6], spacing[2], thick, along; /* in mm; along: position along the normal of the slices */
    size_t file;
    uint64_t at;
} slice;

#define AT(field) offsetof(slice, field)
static const struct {
    uint32_t tag;
    size_t at;
    int count;
    bool needed;
} numbers[] = {
    {0x00180050, AT(thick), 1, false},   {0x00200032, AT(place), 3, false},   {0x00200037, AT(axes), 6, false},
    {0x00280002, AT(samples), 1, false}, {0x00280008, AT(frames), 1, false},  {0x00280010, AT(rows), 1, true},
    {0x00280011, AT(columns), 1, true},  {0x00280030, AT(spacing), 2, false}, {0x00280100, AT(bits), 1, true},
    {0x00280101, AT(kept), 1, false},    {0x00280103, AT(sign), 1, false},    {0x00281052, AT(intercept), 1, false},
    {0x00281053, AT(slope), 1, false},   {0x00280120, AT(padding), 1, false}, {0x00280121, AT(limit), 1, false},
};

static qb_status read_numbers(const qb__dicom *d, slice *s) {
    double got[6];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const int have = qb__dicom_numbers(d, numbers[i].tag, numbers[i].count, got);
        bool good = have == numbers[i].count;
        for (int k = 0; good && k < have; k++) good = isfinite(got[k]);
        if (good)
            memcpy((char *)s + numbers[i].at, got, (size_t)have * sizeof *got);
        else if (numbers[i].needed)
            return qb__fail(QB_BAD_INPUT, "%s lacks (%04x,%04x), which images have", d->path, numbers[i].tag >> 16,
                            numbers[i].tag & 0xffff);
    }
    return QB_OK;
}

static qb_status check(const qb__dicom *d, const slice *s) {
    if (s->samples != 1 || s->frames != 1)
        return qb__fail(QB_UNSUPPORTED,
                        "%s has %g frames of %g values a pixel: save each slice as a file of its own, in grey levels",
                        d->path, s->frames, s->samples);
    if ((s->bits != 8 && s->bits != 16) || !(s->kept >= 1 && s->kept <= s->bits))
        return qb__fail(QB_UNSUPPORTED,
                        "%s: its numbers have %g bits, stored in %g; numbers stored in 8 or 16 bits are read", d->path,
                        s->kept, s->bits);
    if (!(s->rows >= 1 && s->rows <= 65535 && s->columns >= 1 && s->columns <= 65535))
        return qb__fail(QB_BAD_INPUT, "%s: an image of %g x %g", d->path, s->rows, s->columns);
    if ((double)d->pixel_bytes >= s->rows * s->columns * s->bits / 8) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: %llu bytes are too few for an image of %g x %g", d->path,
                    (unsigned long long)d->pixel_bytes, s->rows, s->columns);
}

/* Both ends of the padding are stored as words without a sign, or with that of the pixels. */
static void set_padding(slice *s) {
    double *const ends[] = {&s->padding, &s->limit};
    for (int i = 0; i < 2; i++)
        if (s->sign > 0 && *ends[i] > INT16_MAX) *ends[i] -= 65536;
    if (isnan(s->limit) || isnan(s->padding)) s->limit = s->padding;
    const double low = fmin(s->padding, s->limit), high = fmax(s->padding, s->limit);
    s->padding = low, s->limit = high;
}

/* The value of each number if the file does not state it. */
static const slice usual = {
    .samples = 1, .frames = 1, .slope = 1, .padding = NAN, .limit = NAN, .axes = {1, 0, 0, 0, 1, 0}};

static qb_status read_slice(const char *path, size_t file, slice *s, qb__source *about) {
    qb__dicom d;
    qb_status status;
    *s = usual;
    QB__TRY(qb__dicom_open(path, &d));
    QB__TRY(read_numbers(&d, s));
    if (s->kept == 0) s->kept = s->bits;
    QB__TRY(check(&d, s));
    set_padding(s);
    s->file = file;
    s->at = d.pixels;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        s->along += s->place[i] * (s->axes[j] * s->axes[3 + k] - s->axes[k] * s->axes[3 + j]);
    }
    if (about) {
        /* Values of CT are Hounsfield units, unless the file states something else. */
        char kind[17], modality[17];
        const bool stated = qb__dicom_text(&d, 0x00281054, kind, sizeof kind) && *kind;
        qb__dicom_text(&d, 0x00080060, modality, sizeof modality);
        const bool hounsfield = stated ? strcmp(kind, "HU") == 0 : strcmp(modality, "CT") == 0;
        snprintf(about->quantity, sizeof about->quantity, hounsfield ? "Hounsfield" : "volume");
        qb__dicom_text(&d, 0x00280004, kind, sizeof kind);
        if (strcmp(kind, "MONOCHROME1") == 0)
            snprintf(about->trouble, sizeof about->trouble,
                     "the slices state that 0 is white (MONOCHROME1): taken as stored" QB__CODE("image-convention"));
        snprintf(about->units, sizeof about->units, hounsfield ? "HU" : "");
    }
out:
    qb__dicom_close(&d);
    return status;
}

/* ---- images ---- */

typedef struct slices {
    qb__source base;
    qb__notes files;
    slice *slices; /* [shape[0]], in the order of their positions */
} slices;

typedef struct sweep {
    const slices *all;
    const qb__region *region;
    char *out;
} sweep;

/* The bits that belong to a number; the upper bits may hold other data. */
static int number_of(const slice *s, const unsigned char *p) {
    const int over = 16 - (int)s->kept;
    const uint16_t bits = (uint16_t)((s->bits == 8 ? *p : p[0] | p[1] << 8) << over);
    return s->sign > 0 ? (int16_t)bits >> over : bits >> over;
}

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *w = context;
    const qb__source *base = &w->all->base;
    const slice *s = &w->all->slices[w->region->first + number * w->region->step];
    const size_t columns = base->shape[2], count = (w->region->row1 - w->region->row0) * columns,
                 size = (size_t)s->bits / 8;
    unsigned char *stored;
    QB__OR_RETURN(qb__alloc(count, size, &stored));
    const qb_status status = qb__pread_values(w->all->files.text[s->file], s->at + w->region->row0 * columns * size,
                                              count * size, 1, false, stored);
    float *values = (float *)(void *)w->out + number * count;
    int16_t *integers = (int16_t *)(void *)w->out + number * count;
    for (size_t i = 0; i < count && status == QB_OK; i++) {
        const int value = number_of(s, stored + i * size);
        if (base->dtype == QB_F32)
            values[i] = value >= s->padding && value <= s->limit ? NAN : (float)(s->slope * value + s->intercept);
        else
            integers[i] = (int16_t)(uint16_t)value;
    }
    qb__free(stored);
    return status;
}

static qb_status read_slices(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const slices *)source, region, out};
    return qb__share(source->threads, region->count, read_image, &s);
}

static void release_slices(qb__source *source) {
    slices *all = (slices *)source;
    qb__notes_release(&all->files);
    qb__free(all->slices);
}

/* ---- the series ---- */

static int compare(const void *a, const void *b) {
    const slice *p = a, *q = b;
    if (p->along != q->along) return p->along < q->along ? -1 : 1;
    return p->file < q->file ? -1 : p->file > q->file;
}

static bool alike(const slice *a, const slice *b) {
    for (int i = 0; i < 6; i++)
        if (!(fabs(a->axes[i] - b->axes[i]) < 1e-3)) return false;
    return a->rows == b->rows && a->columns == b->columns && fabs(a->spacing[0] / b->spacing[0] - 1) < 1e-3;
}

/* Find the step in mm, which must be even; for one slice it is its thickness. */
static qb_status find_step(const slices *all, double *step) {
    const slice *s = all->slices;
    const size_t n = all->base.shape[0];
    *step = n > 1 ? (s[n - 1].along - s[0].along) / (double)(n - 1) : s->thick;
    for (size_t i = 1; i < n; i++) {
        const double gap = s[i].along - s[i - 1].along;
        if (gap <= 0 || !(fabs(gap - *step) <= 0.05 * *step))
            return qb__fail(QB_BAD_INPUT, "%s and %s are %.6g mm apart, slices on the average %.6g mm: is one missing?",
                            all->files.text[s[i - 1].file], all->files.text[s[i].file], gap, *step);
    }
    return QB_OK;
}

static qb_status place(slices *all) {
    qb__source *base = &all->base;
    const slice *s = all->slices;
    double step;
    const qb_status status = find_step(all, &step);
    const double d[3] = {s->spacing[1], s->spacing[0], step};
    for (int i = 0; i < 3 && status == QB_OK; i++) {
        base->turned |= fabs(s->axes[i] - (i == 0)) > 1e-4 || fabs(s->axes[3 + i] - (i == 1)) > 1e-4;
        if (!(d[i] > 0)) continue;
        base->voxel[i] = d[i];
        base->offset[i] = s->place[i] + 0.5 * ((double)base->shape[2 - i] - 1) * d[i];
    }
    return status;
}

/* Choose the type: integers stay integers if they are the values, or if the file is ours and states what they stand
 * for. */
static void choose_type(slices *all, bool ours) {
    const slice *s = all->slices;
    bool same = s->bits == 16;
    for (size_t i = 0; i < all->base.shape[0]; i++)
        same = same && s[i].sign == s->sign && s[i].bits == s->bits && isnan(s[i].padding) &&
               (ours || (s[i].slope == 1 && s[i].intercept == 0));
    all->base.dtype = !same ? QB_F32 : s->sign > 0 ? QB_I16 : QB_U16;
}

/* Our note is in the first image of the volume; where z counts downwards, that is the slice with the largest z. Then
 * the order is reversed. */
static qb_status read_note(slices *all, cJSON **note) {
    const size_t count = all->base.shape[0];
    qb_status status = qb__dicom_note(all->files.text[all->slices[0].file], note);
    if (status != QB_OK || *note || count == 1) return status;
    status = qb__dicom_note(all->files.text[all->slices[count - 1].file], note);
    for (size_t i = 0; status == QB_OK && *note && i < count / 2; i++) {
        const slice one = all->slices[i];
        all->slices[i] = all->slices[count - 1 - i];
        all->slices[count - 1 - i] = one;
    }
    return status;
}

static void tell_padding(slices *all) {
    const slice *first = NULL;
    size_t padded = 0, others = 0;
    for (size_t i = 0; i < all->base.shape[0]; i++) {
        const slice *s = &all->slices[i];
        if (isnan(s->padding)) continue;
        if (!first) first = s;
        padded++;
        others += s->padding != first->padding || s->limit != first->limit;
    }
    if (!padded) return;
    char which[64] = "";
    if (padded < all->base.shape[0]) snprintf(which, sizeof which, " in %zu of %zu slices", padded, all->base.shape[0]);
    if (others)
        qb__source_tell(&all->base, "%zu slices state other numbers for these, which are applied to them", others);
    qb__source_tell(&all->base, "numbers from %g to %g count as missing%s", first->padding, first->limit, which);
}

static qb_status read_heads(slices *all) {
    qb__source *base = &all->base;
    cJSON *note = NULL;
    const size_t count = all->files.count;
    qb_status status;
    QB__TRY(qb__alloc(count, sizeof *all->slices, &all->slices));
    for (size_t i = 0; i < count; i++) {
        QB__TRY(read_slice(all->files.text[i], i, &all->slices[i], i ? NULL : base));
        if (i && !alike(&all->slices[i], &all->slices[0]))
            QB__TRY(qb__fail(QB_BAD_INPUT, "%s has another size or direction than %s: give one series by a pattern",
                             all->files.text[i], all->files.text[0]));
    }
    qsort(all->slices, count, sizeof *all->slices, compare);
    base->shape[0] = count, base->shape[1] = (size_t)all->slices->rows, base->shape[2] = (size_t)all->slices->columns;
    base->cache_each = 2 * base->shape[1] * base->shape[2];
    QB__TRY(place(all));
    QB__TRY(read_note(all, &note));
    choose_type(all, note != NULL);
    if (note) qb__sidecar_take(note, base);
    tell_padding(all);
    if (strcmp(base->units, "1/pixel") == 0) memset(base->voxel, 0, sizeof base->voxel);
out:
    cJSON_Delete(note);
    return status;
}

qb_status qb__dicom_slices_open(const char *path, qb__source **source) {
    slices *all;
    *source = NULL;
    QB__OR_RETURN(qb__source_create(sizeof *all, "DICOM", path, &all));
    all->base.read = read_slices;
    all->base.release = release_slices;
    qb_status status = qb__source_files(&all->base, QB__DICOM_NAMES, &all->files);
    if (status == QB_OK) status = read_heads(all);
    return qb__source_give(status, &all->base, source);
}

qb_status qb__dicom_slices_note(const qb__source *source, cJSON **note) {
    const slices *all = (const slices *)source;
    return qb__dicom_note(all->files.text[all->slices->file], note);
}
