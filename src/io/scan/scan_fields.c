/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/inputs.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/flat_series.h"
#include "io/formats.h"
#include "io/scan/frame_list.h"
#include "io/scan/scan.h"
#include "io/scan/frame_look.h"
#include "quickbeam/io.h"

bool qb__darks_none(const char *darks) { return darks && strcmp(darks, "none") == 0; }

/* One kind of field: flats or darks. */
typedef struct kind {
    const char *option, *path;
    bool dark;
    const char *shape;  /* the scan's --shape; NULL = none */
    bool read_unsigned; /* --unsigned */
} kind;

/* Open one item of the list. If it is another scan, its own fields are used; raw data take rows, columns and type from
 * the scan; otherwise all images are used. */
static qb_status open_item(const kind *k, char *item, qb__frames *frames) {
    const qb__format *format;
    if (strcmp(item, "none") == 0 && access(item, F_OK) != 0)
        return qb__fail(QB_BAD_ARGUMENT, k->dark ? "none means no file: leave out none, or the others"
                                                 : "none: counts need flats; give their file, or --air without it");
    const char *dataset = qb__split_dataset(item);
    QB__OR_RETURN(qb__format_to_read(item, &format));
    const bool hdf5 = strcmp(format->name, "HDF5") == 0;
    if (dataset && !hdf5)
        return qb__fail(QB_BAD_ARGUMENT, "%s is %s, not HDF5: it has no %s", item, format->name, dataset);
    if (hdf5) return qb__hdf5_fields(item, dataset, k->dark, frames);
    const qb_status status = k->shape && format->open == qb__raw_open
                                 ? qb__raw_open_like(item, k->shape, &frames->source)
                                 : format->open(item, NULL, &frames->source);
    if (status == QB_OK) frames->count = frames->source->shape[0];
    return status;
}

/* Open all items of the list, and join them. */
static qb_status open_given(const kind *k, const qb_env *env, qb__frames *frames, size_t **counts, size_t *parts) {
    char *list = qb__strdup(k->path), *rest = NULL;
    qb__frames *part = NULL;
    size_t n = 0, most = 1;
    qb_status status = list ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for its name");
    for (const char *c = k->path; *c; c++) most += *c == '\n';
    if (status == QB_OK) status = qb__alloc(most, sizeof *part, &part);
    for (char *item = status == QB_OK ? strtok_r(list, "\n", &rest) : NULL; item && status == QB_OK;
         item = strtok_r(NULL, "\n", &rest)) {
        status = open_item(k, item, &part[n]);
        if (status != QB_OK) break;
        if (k->read_unsigned) qb__source_read_unsigned(part[n].source);
        if (*part[n].source->files) qb__info(env, "--%s %s: %s", k->option, item, part[n].source->files);
        n++;
    }
    if (status == QB_OK && !n) status = qb__fail(QB_BAD_ARGUMENT, "an empty list");
    if (status == QB_OK) status = qb__alloc(n, sizeof **counts, counts);
    for (*parts = 0; status == QB_OK && *parts < n; ++*parts) (*counts)[*parts] = part[*parts].count;
    if (status == QB_OK) status = qb__frames_join(part, n, frames);
    for (size_t i = 0; i < n; i++) qb__frames_release(&part[i]);
    QB__FREE(part, list);
    return status == QB_OK ? QB_OK : qb__fail_in(status, "--%s", k->option);
}

/* ---- flats or darks, and which of them are taken ---- */

typedef struct series {
    kind kind;
    const char *list; /* --exclude-flats or --exclude-darks */
    qb__frames given; /* frames from other files */
    qb__inputs files;
    const qb__frames *all; /* &given, or the scan's own frames; NULL: there are none */
    bool lines;            /* the detector has a single row: each line of an image is a field */
    bool *bad;             /* [all->count] */
    qb__frame *frames;
    size_t *index; /* numbers of the taken frames in the source */
    size_t taken;
    qb__field_found found;
    float least;  /* smallest of all values and 0; for signed integers */
    size_t *part; /* [parts] frames of each file, pattern or folder that was given */
    size_t parts;
    const char *transpose; /* order of the axes of the views; NULL: not transposed */
} series;

static void close_series(series *s) {
    QB__FREE(s->bad, s->frames, s->index, s->part);
    qb__inputs_release(&s->files);
    qb__frames_release(&s->given);
}

static qb_status check_shape(const qb_scan *scan, series *s) {
    const qb_scan_info *info = &scan->info;
    const size_t *n = s->all->source->shape;
    s->lines = info->rows == 1 && n[1] > 1;
    if ((n[2] != info->columns || (n[1] != info->rows && !s->lines)) && s->transpose)
        return qb__fail(QB_BAD_INPUT,
                        "--transpose %s makes views of %zu x %zu pixels, and %s are %zu x %zu: give another order",
                        s->transpose, info->rows, info->columns, s->kind.option, n[1], n[2]);
    if (n[2] != info->columns || (n[1] != info->rows && !s->lines))
        return qb__fail(QB_BAD_INPUT, "%s: %s are %zu x %zu, views are %zu x %zu: %s", s->all->source->path,
                        s->kind.option, n[1], n[2], info->rows, info->columns,
                        n[1] == info->columns && n[2] == info->rows ? "rows and columns are exchanged in one of both"
                                                                    : "give those of the same detector and binning");
    return QB_OK;
}

static qb_status open_series(qb_scan *scan, series *s, const qb_env *env) {
    qb__frames *frames = s->kind.dark ? &scan->parts.darks : &scan->parts.flats;
    qb_status status = QB_OK;
    if (s->kind.dark && qb__darks_none(s->kind.path))
        return s->list ? qb__fail(QB_BAD_ARGUMENT, "--exclude-darks %s and --darks none are both given: leave one out",
                                  s->list)
                       : QB_OK;
    if (s->kind.path) {
        qb__inputs_begin(&s->files);
        status = open_given(&s->kind, env, &s->given, &s->part, &s->parts);
        qb__inputs_end(&s->files);
        if (status != QB_OK) return status;
        frames = &s->given;
    }
    if ((!frames->source || !frames->count) && s->list)
        return qb__fail(QB_BAD_ARGUMENT, "--exclude-%s %s: %s has no %s", s->kind.option, s->list, scan->info.path,
                        s->kind.option);
    if (!frames->source || !frames->count) return QB_OK;
    s->all = frames;
    if (s->kind.path)
        QB__TRY(qb__scan_change_fields(scan, &s->given.source, s->kind.option, false,
                                       scan->info.whole_rows == 1 && s->given.source->shape[1] > 1));
    QB__TRY(check_shape(scan, s));
    QB__TRY(qb__alloc(frames->count, sizeof *s->bad, &s->bad));
    QB__TRY(qb__alloc(frames->count, sizeof *s->frames, &s->frames));
    QB__TRY(qb__alloc(frames->count, sizeof *s->index, &s->index));
    QB__TRY(qb__frame_list_parse(s->list, s->kind.dark ? "--exclude-darks" : "--exclude-flats", frames->count, s->bad));
out:
    return status;
}

/* ---- looking ---- */

static qb_status read_row(void *self, size_t first, size_t end, size_t row, void *out) {
    const qb__region region = {first, end - first, 1, row, row + 1};
    return qb__frames_read(self, &region, out);
}

static qb_status read_view_row(void *self, size_t first, size_t end, size_t row, void *out) {
    return qb_scan_read(self, first, end, row, row + 1, out);
}

static qb__frame_series all_views(qb_scan *scan) {
    return (qb__frame_series){.self = scan,
                              .read = read_view_row,
                              .dtype = scan->info.dtype,
                              .count = scan->info.views,
                              .rows = scan->info.rows,
                              .columns = scan->info.columns,
                              .lines = 1,
                              .stride = 1};
}

static qb_status look(qb_scan *scan, const series *s, const qb_env *env) {
    enum { LINES = 4 };
    bool exchanged = false;
    const qb__source *source = s->all->source;
    const bool packed = source->chunk[0] * source->chunk[1] * source->chunk[2] > 1;
    const qb__frame_series frames = {.self = (void *)s->all,
                                     .read = read_row,
                                     .dtype = source->dtype,
                                     .count = s->all->count,
                                     .rows = source->shape[1],
                                     .columns = source->shape[2],
                                     .lines = packed ? 1 : qb__smaller(LINES, source->shape[1]),
                                     .stride = 1};
    qb_status status = qb__source_check_holes(source, s->all->index, 0, s->all->count, 1);
    if (status == QB_OK) status = qb__frames_look(&frames, env, s->frames);
    if (status == QB_OK && qb_dtype_size(frames.dtype) > 1) status = qb__bytes_exchanged(&frames, &exchanged);
    if (status == QB_OK && qb_dtype_size(frames.dtype) > 1 && s->kind.dark && !exchanged && scan->info.views) {
        const qb__frame_series views = all_views(scan);
        bool all = false; /* the views are swapped, too: scan_look.c refuses the scan */
        status = qb__bytes_exchanged(&views, &all);
        if (status == QB_OK && !all) status = qb__darks_exchanged(&frames, &views, &exchanged);
    }
    if (exchanged)
        qb__scan_refuse(scan,
                        "the %s values of its %s are noise as stored, and %s with their bytes exchanged: the byte "
                        "order is wrong; store them again (numpy: data.byteswap())",
                        qb_dtype_name(frames.dtype), s->kind.option, s->kind.dark ? "few counts" : "smooth");
    return status;
}

static void tell_bad(qb_scan *scan, const series *s, const bool *before, bool keep) {
    qb__finding finding = {.what = s->kind.option, .of = s->all->count, .done = keep ? "kept" : "left out"};
    bool *found;
    /* without memory there is no finding, and qb_scan_open reports that */
    if (qb__alloc(s->all->count, sizeof *found, &found) != QB_OK) return;
    for (size_t i = 0; i < s->all->count; i++) found[i] = s->bad[i] && !before[i];
    finding.count = qb__frame_list_words(found, s->all->count, finding.which, sizeof finding.which);
    qb__free(found);
    if (!finding.count) return;
    finding.code = s->kind.dark ? QB__CODE("odd-darks") : QB__CODE("odd-flats");
    qb__scan_find(scan, &finding, QB_PROBLEM_FRAMES, "%s %s (%zu of %zu) differ far from the others and are %s%s",
                  s->kind.option, finding.which, finding.count, finding.of,
                  keep ? "kept, by --keep-all-fields" : "left out; --keep-all-fields keeps them", finding.code);
}

/* Replace pointers of a copied series that refer to the frames of `from`. */
static void own_given(series *s, const series *from) {
    if (s->all == &from->given) s->all = &s->given;
}

static void exchange(qb_scan *scan, series *flats, series *darks, double flat, double dark, bool keep) {
    const qb__finding finding = {.code = QB__CODE("fields-exchanged"),
                                 .what = "flats",
                                 .which = "all",
                                 .count = flats->all->count,
                                 .of = flats->all->count,
                                 .done = keep ? "kept" : "exchanged"};
    qb__scan_find(
        scan, &finding, QB_PROBLEM_FRAMES, "flats are darker than darks (%.4g and %.4g) and are %s%s", flat, dark,
        keep ? "kept, by --keep-all-fields" : "taken as exchanged; --keep-all-fields takes them as they are called",
        finding.code);
    if (keep) return;
    const series was = *flats;
    *flats = *darks;
    *darks = was;
    own_given(flats, darks);
    own_given(darks, flats);
    const kind flat_kind = darks->kind;
    darks->kind = flats->kind;
    flats->kind = flat_kind;
}

/* Confirm that flats and darks are exchanged: as flats, the darks must be about as bright as the views, or brighter.
 * Otherwise both are something else. */
static qb_status confirm(qb_scan *scan, double flat, double dark, bool *exchanged) {
    const qb__frame_series views = all_views(scan);
    qb__frame view;
    const qb_status status = qb__frame_look_again(&views, views.count / 2, &view);
    *exchanged = status == QB_OK && (double)view.bright - flat < 2 * (dark - flat);
    return status;
}

/* Refuse the scan if fields are negative, because they cannot be compared then. */
static bool judge_signs(qb_scan *scan, const qb__field_series *seen, series *const *both) {
    float least;
    double dark = 0;
    for (size_t i = 0; i < seen[1].count; i++) dark += (double)seen[1].frames[i].median / (double)seen[1].count;
    if (seen[1].count && qb__counts_shifted(both[1]->all->source->dtype, dark)) return false;
    for (int i = 0; i < 2; i++) {
        const qb_dtype dtype = seen[i].count ? both[i]->all->source->dtype : QB_F32;
        if (qb__counts_wrapped(seen[i].frames, seen[i].count, dtype, &least) != QB__WRAPPED_MANY) continue;
        qb__scan_refuse_wrapped(scan, both[i]->kind.option, dtype, least);
        return true;
    }
    return false;
}

/* Leave out frames that cannot be what they are stated to be. */
static qb_status judge(qb_scan *scan, series *flats, series *darks, bool keep, const qb_env *env) {
    series *const both[] = {flats, darks};
    qb__field_series seen[2] = {{0}, {0}};
    bool *before[2] = {NULL, NULL};
    qb_status status = QB_OK;
    for (int i = 0; i < 2; i++) {
        if (!both[i]->all || both[i]->lines) continue;
        QB__TRY(look(scan, both[i], env));
        seen[i] = (qb__field_series){both[i]->frames, both[i]->all->count, both[i]->bad};
    }
    if (*scan->refused || judge_signs(scan, seen, both)) goto out;
    double flat, dark;
    bool exchanged = qb__fields_exchanged(&seen[0], &seen[1], &flat, &dark);
    if (exchanged) QB__TRY(confirm(scan, flat, dark, &exchanged));
    if (exchanged) {
        exchange(scan, flats, darks, flat, dark, keep);
        for (int i = 0; i < 2; i++) seen[i] = (qb__field_series){both[i]->frames, both[i]->all->count, both[i]->bad};
    }
    for (int i = 0; i < 2; i++) {
        if (!seen[i].count) continue;
        QB__TRY(qb__alloc(seen[i].count, sizeof *before[i], &before[i]));
        memcpy(before[i], seen[i].bad, seen[i].count * sizeof *before[i]);
    }
    qb__fields_judge(&seen[0], &seen[1]);
    for (int i = 0; i < 2; i++) {
        if (!seen[i].count) continue;
        tell_bad(scan, both[i], before[i], keep);
        if (keep) memcpy(seen[i].bad, before[i], seen[i].count * sizeof *before[i]);
    }
out:
    QB__FREE(before[0], before[1]);
    return status;
}

/* ---- the mean ---- */

/* Largest plausible size of a file of fields. A larger file mainly holds something else, for example a scan that was
 * given as its flats. */
static uint64_t most_bytes(const qb__frames *frames) {
    return 2 * frames->count * frames->source->shape[1] * qb__source_row_bytes(frames->source) + (1 << 20);
}

static qb_status list_taken(series *s) {
    s->taken = 0;
    for (size_t i = 0; s->all && i < s->all->count; i++)
        if (!s->bad[i]) s->index[s->taken++] = s->all->index ? s->all->index[i] : i;
    if (s->taken || !s->all) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--exclude-%s %s leaves none of %zu", s->kind.option, s->list, s->all->count);
}

static qb_status load(const qb_scan *scan, series *s, qb_field_average how, const qb_env *env, float **mean,
                      size_t *count) {
    if (!s->all) return QB_OK;
    QB__OR_RETURN(list_taken(s));
    *count = s->taken * (s->lines ? s->all->source->shape[1] : 1);
    QB__OR_RETURN(qb__source_check_holes(s->all->source, s->index, 0, s->taken, 1));
    QB__OR_RETURN(qb__alloc(scan->info.rows * scan->info.columns, sizeof **mean, mean));
    const qb__frames taken = {.source = s->all->source, .index = s->index, .count = s->taken};
    QB__OR_RETURN(qb__frames_mean(&taken, s->lines, how, env, *mean, &s->found, &s->least));
    if (s->found.left_out)
        qb__info(
            env,
            "%zu pixels of the %s have one value far from those of the other frames, which is left out of the mean",
            s->found.left_out, s->kind.option);
    if (s->found.missing)
        qb__info(env, "%zu pixels of the %s have missing values (NaN) in some frames: their mean is that of the others",
                 s->found.missing, s->kind.option);
    return qb__inputs_hash(&s->files, most_bytes(s->all));
}

static void tell_saturated(qb_scan *scan, const series *flats) {
    const size_t pixels = scan->info.rows * scan->info.columns, many = flats->found.saturated;
    if (many && scan->info.quantity == QB_COUNTS && !*scan->refused)
        qb__note_of(&scan->parts.notes, QB_PROBLEM_FIELDS,
                    "%zu of %zu flat pixels stand at %.0f, the most that the type holds: they are dead" QB__CODE(
                        "flats-saturated"),
                    many, pixels, qb__dtype_most(flats->all->source->dtype));
}

/* Warn if flats differ in some parts: a beam that drifts changes all parts alike, or only little. */
static void tell_differing(qb_scan *scan, const series *flats) {
    const double most = flats->found.differ[1], least = flats->found.differ[0];
    if (scan->info.quantity != QB_COUNTS || *scan->refused) return;
    if (!(most > fmin(0.1 + 3 * least, 0.25 + 1.5 * least))) return;
    qb__note_of(
        &scan->parts.notes, QB_PROBLEM_FIELDS,
        "flats differ from one another by %.0f %% in parts of the image, and by %.0f %% elsewhere: an object is "
        "in some of them, or the beam moved; give --exclude-flats" QB__CODE("flats-differ"),
        100 * most, 100 * least);
}

static void tell_wrapped(qb_scan *scan, const series *s) {
    if (!s->all || scan->info.quantity != QB_COUNTS || *scan->refused) return;
    const qb_dtype dtype = s->all->source->dtype;
    if (scan->dark && qb__counts_shifted(dtype, (double)scan->dark[0])) return;
    if (qb__count_wrapped(dtype, s->least)) qb__scan_note_wrapped(scan, s->kind.option, dtype, s->least);
}

qb_status qb__scan_fields_load(qb_scan *scan, const qb_scan_options *options, const qb_env *env, float *dark_noise) {
    series flats = {.kind = {"flats", options->flats, false, options->shape, options->read_unsigned},
                    .list = options->exclude_flats,
                    .transpose = options->transpose};
    series darks = {.kind = {"darks", options->darks, true, options->shape, options->read_unsigned},
                    .list = options->exclude_darks,
                    .transpose = options->transpose};
    const bool keep = options->keep_all_fields;
    const qb_field_average how =
        keep && options->average_fields == QB_AVERAGE_ROBUST ? QB_AVERAGE_MEAN : options->average_fields;
    qb_status status;
    QB__TRY(open_series(scan, &flats, env));
    QB__TRY(open_series(scan, &darks, env));
    if (scan->info.quantity == QB_COUNTS) QB__TRY(judge(scan, &flats, &darks, keep, env));
    QB__TRY(load(scan, &darks, how, env, &scan->dark, &scan->info.darks));
    QB__TRY(list_taken(&flats));
    const qb__flats taken = {flats.all, flats.bad, flats.taken, flats.part, flats.parts, flats.lines, how};
    const qb__flats dark = {darks.all, darks.bad, darks.taken, darks.part, darks.parts, darks.lines, how};
    QB__TRY(qb__dark_series_load(scan, &dark, &taken, options, env));
    QB__TRY(load(scan, &flats, how, env, &scan->flat, &scan->info.flats));
    QB__TRY(qb__flat_series_load(scan, &taken, options, env, scan->flat, &scan->drift));
    for (int i = 0; i < 2; i++) {
        const series *given = i ? &darks : &flats;
        if (given->all && given->kind.path && !given->lines)
            QB__TRY(qb__scan_tell_views(scan, given->kind.option, given->all, given->bad));
    }
    tell_wrapped(scan, &flats);
    tell_wrapped(scan, &darks);
    tell_saturated(scan, &flats);
    tell_differing(scan, &flats);
out:
    *dark_noise = (float)darks.found.noise;
    close_series(&flats);
    close_series(&darks);
    return status;
}

qb_status qb_scan_fields(qb_scan *scan, size_t row0, size_t row1, float *flat, float *dark) {
    QB__NEED(scan);
    QB__NEED(flat);
    QB__NEED(dark);
    const qb_scan_info *info = &scan->info;
    if (row0 > row1 || row1 > info->rows)
        return qb__fail(QB_BAD_ARGUMENT, "%s: rows %zu:%zu of %zu", info->path, row0, row1, info->rows);
    size_t n = (row1 - row0) * info->columns, at = row0 * info->columns;
    if (!scan->flat) return qb__fail(QB_NOT_FOUND, "%s has no flat fields", info->path);
    memcpy(flat, scan->flat + at, n * sizeof *flat);
    if (scan->dark)
        memcpy(dark, scan->dark + at, n * sizeof *dark);
    else
        memset(dark, 0, n * sizeof *dark);
    return QB_OK;
}
