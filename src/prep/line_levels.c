/* SPDX-License-Identifier: MIT */
/* Levels of a line that tell its quantity. */
#include "prep/line_levels.h"

#include <math.h>
#include <string.h>

#include "base/select.h"

enum { BLOCK = 16, LEAST_BLOCKS = 2, NEAR = 2 };

/* ---- one line ---- */

static void find_levels(const float *line, size_t columns, float *scratch, qb__line_levels *out) {
    size_t blocks = 0, steps = 0;
    out->low = INFINITY, out->high = -INFINITY;
    for (size_t at = 0; at + BLOCK <= columns; at += BLOCK) {
        size_t count = 0;
        for (size_t i = at; i < at + BLOCK; i++)
            if (isfinite(line[i])) scratch[count++] = line[i];
        if (2 * count < BLOCK) continue;
        const double level = qb__float_median(scratch, count);
        out->low = fmin(out->low, level);
        out->high = fmax(out->high, level);
        blocks++;
    }
    for (size_t i = 1; i + 1 < columns; i++) { /* slopes are not noise */
        const float second = line[i - 1] - 2 * line[i] + line[i + 1];
        if (isfinite(second)) scratch[steps++] = fabsf(second);
    }
    out->looked = blocks >= LEAST_BLOCKS && steps > 0;
    if (out->looked) out->noise = 1.2533 * qb__float_median(scratch, steps) / (0.6745 * sqrt(6) * sqrt(BLOCK));
}

/* How much brighter the darkest of `wide` pixels from i on is than the line through their neighbours, in units in which
 * photon noise is constant over the row; *by: the same as a line integral, 0 if the neighbours themselves differ as
 * much, as at an edge. */
static double stands_out(const float *line, size_t i, size_t wide, bool photons, double *by) {
    const size_t last = i + wide - 1;
    double near = 0.5 * ((double)line[i - 1] + (double)line[last + 1]),
           next = 0.5 * ((double)line[i - 2] + (double)line[last + 2]);
    const double slope = fabs((double)line[last + 1] - (double)line[i - 1]), middle = near < next ? near : next,
                 step = middle - (wide == 1 ? (double)line[i] : fmax((double)line[i], (double)line[last]));
    *by = step > 1.5 * slope ? step : 0;
    return isfinite(near + next) && isfinite(step) ? step * (photons ? exp(-middle / 2) : 1) : 0;
}

/* Find single bright pixels: one or two in a row are no object, whose edge would also change the neighbours. */
static void find_spikes(const float *line, size_t columns, bool photons, float *scratch, qb__line_levels *out) {
    const double FAR = 12, least = photons ? 0.1 : 0.1 * fmax(out->high, 0);
    double by;
    size_t count = 0;
    for (size_t i = NEAR; i + NEAR < columns; i++) {
        const double far = stands_out(line, i, 1, photons, &by);
        if (far != 0) scratch[count++] = (float)fabs(far);
    }
    const double sigma = count ? qb__float_median(scratch, count) / 0.6745 : 0;
    for (size_t wide = 1; wide <= 2; wide++) {
        for (size_t i = NEAR; i + wide - 1 + NEAR < columns; i++) {
            const double far = stands_out(line, i, wide, photons, &by);
            if (!(by > least) || !(far > FAR * sigma)) continue; /* false for NaN */
            qb__spikes *spikes = &out->spikes[wide - 1];
            if (spikes->count < QB__LEVELS_SPIKES) spikes->column[spikes->count] = (uint32_t)i;
            spikes->count++;
        }
    }
}

/* True if many pixels of the line have no counts: a photon among them is no zinger. */
static bool is_starved(const float *line, size_t columns) {
    const float NOTHING = 13.8f; /* of a transmission of 1e-6, to which lower ones are raised */
    size_t count = 0;
    for (size_t i = 0; i < columns; i++) count += line[i] > NOTHING;
    return 10 * count > columns;
}

void qb__line_levels_of(const float *line, size_t columns, qb_quantity quantity, float *scratch, qb__line_levels *out) {
    const bool photons = quantity != QB_LINE_INTEGRAL;
    *out = (qb__line_levels){.values = (uint32_t)columns, .whole = true};
    for (size_t i = 0; i < columns; i++) {
        if (!isfinite(line[i])) continue;
        out->sum += (double)line[i], out->size += fabs((double)line[i]);
        out->negative += line[i] < 0, out->measured++;
        out->top = fmaxf(out->top, line[i]);
    }
    find_levels(line, columns, scratch, out);
    for (size_t i = 0; i < columns && out->whole; i++) out->whole = !isfinite(line[i]) || line[i] == rintf(line[i]);
    if (out->looked && !(photons && is_starved(line, columns))) find_spikes(line, columns, photons, scratch, out);
}

/* ---- clipped counts ---- */

/* True if the flat is brighter than `top`, or close to it but not equal. Much darker flats do not belong to the
 * scan. */
static bool is_off(float top, float flat) {
    return flat > 1.0001f * top || (flat < 0.9999f * top && flat > 0.97f * top);
}

void qb__line_levels_cut(const float *counts, const float *flat, size_t columns, float most, qb__line_levels *out) {
    const float ROUNDING = 2;
    float before = 0;
    out->top = out->next = -INFINITY;
    for (size_t i = 0; i < columns; i++) {
        if (!isfinite(counts[i]) || counts[i] >= most || (flat && !isfinite(flat[i]))) continue;
        if (counts[i] > out->top) {
            out->next = out->top, out->at_next = out->at_top;
            out->top = counts[i], out->at_top = 0;
        } else if (counts[i] < out->top && counts[i] > out->next) {
            out->next = counts[i], out->at_next = 0;
        }
        out->at_top += counts[i] == out->top;
        out->at_next += counts[i] == out->next;
    }
    for (size_t i = 0, last = 0; i < columns; i++) {
        if (counts[i] != out->top) continue;
        out->off += flat && is_off(out->top, flat[i]);
        out->gaps += counts[last] == out->top && i - last > 1 && i - last <= 3;
        last = i;
    }
    for (size_t i = 1; i + 1 < columns; i++) {
        float second = counts[i - 1] - 2 * counts[i] + counts[i + 1];
        if (!isfinite(second) || !(fmaxf(fmaxf(counts[i - 1], counts[i]), counts[i + 1]) < out->top) ||
            fabsf(second) <= ROUNDING)
            second = 0;
        out->curved_pairs += second != 0 && before != 0;
        out->turns += second * before < 0;
        before = second;
    }
}

void qb__line_levels_below(const float *counts, const float *dark, const float *line, size_t columns, float noise,
                           qb__line_levels *out) {
    const float FAR = 8;
    for (size_t i = 0; i < columns; i++) {
        const float margin = fmaxf(0.1f * dark[i], FAR * (noise > 0 ? noise : sqrtf(fmaxf(dark[i], 0))));
        out->below += margin > 0 && !isnan(line[i]) && counts[i] < dark[i] - margin; /* false for NaN */
    }
}

/* Find a plateau: with noise, few values equal the maximum, and more the next lower one. Without noise, air has one
 * value too: that of the flats. */
static void find_clip(const qb__line_levels *lines, size_t count, qb__levels_found *found) {
    enum { LEAST_TURNS = 64, LEAST = 8 };
    const double NOISE = 0.65, OFF = 0.02, GAPS = 0.04, STEEP = 4;
    double top = -INFINITY, next = -INFINITY, at_top = 0, at_next = 0, off = 0, gaps = 0, curved_pairs = 0, turns = 0,
           values = 0;
    for (size_t i = 0; i < count; i++) {
        values += lines[i].values;
        if (lines[i].at_top) top = fmax(top, (double)lines[i].top);
    }
    for (size_t i = 0; i < count; i++) {
        const qb__line_levels *l = &lines[i];
        if (!l->at_top) continue;
        next = fmax(next, (double)((double)l->top < top ? l->top : l->next));
        if ((double)l->top == top) at_top += l->at_top, off += l->off, gaps += l->gaps;
        curved_pairs += l->curved_pairs, turns += l->turns;
    }
    for (size_t i = 0; i < count; i++)
        at_next += ((double)lines[i].top == next ? lines[i].at_top : 0) +
                   ((double)lines[i].next == next ? lines[i].at_next : 0);
    if (at_top < LEAST || at_top < STEEP * at_next) return;
    if (off < OFF * at_top && gaps < GAPS * at_top && (curved_pairs < LEAST_TURNS || turns < NOISE * curved_pairs))
        return;
    found->clip = top;
    found->clipped = at_top / values;
}

/* ---- the sign ---- */

/* Find lines that are mostly negative. Noise in air is around 0. */
static void find_negative(const qb__line_levels *lines, size_t count, qb__levels_found *found) {
    double sum = 0, size = 0, negative = 0, measured = 0;
    for (size_t i = 0; i < count; i++) {
        sum += lines[i].sum, size += lines[i].size;
        negative += lines[i].negative, measured += lines[i].measured;
    }
    if (!(sum < -size / 2)) return;
    found->negative = negative / measured;
    found->mean = sum / measured;
}

/* The largest number if all are whole numbers, from 0 at the ends to many levels. */
static double grey_of(const qb__line_levels *lines, size_t count, double end) {
    const double LEVELS = 10, PART = 0.2, EMPTY = 0.05;
    double size = 0, measured = 0, top = 0;
    for (size_t i = 0; i < count; i++) {
        if (!lines[i].whole) return 0;
        size += lines[i].size, measured += lines[i].measured;
        top = fmax(top, (double)lines[i].top);
    }
    return top >= LEVELS && size > EMPTY * measured && end * measured < PART * size ? top : 0;
}

/* ---- all lines ---- */

static size_t views_of_column(const qb__line_levels *lines, size_t each, int kind, uint32_t column) {
    size_t count = 0;
    for (size_t v = 0; v < each; v++) {
        const qb__spikes *spikes = &lines[v].spikes[kind];
        for (uint32_t s = 0; s < qb__spikes_kept(spikes); s++) count += spikes->column[s] == column;
    }
    return count;
}

bool qb__line_levels_is_column(const qb__line_levels *group, size_t each, int kind, uint32_t column) {
    return views_of_column(group, each, kind, column) > 2;
}

/* Count columns that are bright in most views; each is counted in the first of these views. */
static void count_hot(const qb__line_levels *group, size_t each, int kind, qb__levels_found *found) {
    size_t looked = 0;
    for (size_t v = 0; v < each; v++) looked += group[v].looked;
    for (size_t v = 0; v < each; v++) {
        const qb__spikes *spikes = &group[v].spikes[kind];
        for (uint32_t s = 0; s < qb__spikes_kept(spikes); s++) {
            const uint32_t column = spikes->column[s];
            const size_t count = views_of_column(group, each, kind, column);
            if (count < 3 || 2 * count <= looked || views_of_column(group, v, kind, column)) continue;
            if (found->hot == 0) found->hot_row = group[v].row, found->hot_column = column;
            found->hot += (size_t)kind + 1;
        }
    }
}

/* Count the spikes of a line that are not in such columns. */
static size_t count_alone(const qb__line_levels *group, size_t each, size_t v, int kind, uint32_t *first) {
    const qb__spikes *spikes = &group[v].spikes[kind];
    size_t alone = 0;
    for (uint32_t s = 0; group[v].looked && s < qb__spikes_kept(spikes); s++) {
        if (qb__line_levels_is_column(group, each, kind, spikes->column[s])) continue;
        if (alone++ == 0) *first = spikes->column[s];
    }
    return alone ? alone + spikes->count - qb__spikes_kept(spikes) : 0;
}

static void count_spikes(const qb__line_levels *group, size_t each, qb__levels_found *found) {
    for (size_t v = 0; v < each; v++) {
        uint32_t column = 0;
        const size_t pairs = count_alone(group, each, v, 1, &column), alone = count_alone(group, each, v, 0, &column);
        if (pairs + alone && found->spikes == 0)
            found->view = group[v].view, found->row = group[v].row, found->column = column;
        found->spikes += alone + 2 * pairs;
        found->spiked += pairs + alone > 0;
    }
}

typedef struct votes {
    size_t bright, ends, whole, inverted, near_one, large;
    double level, top, end;
} votes;

/* Vote for a profile of transmissions or counts: it is brighter at both ends than inside. */
static void vote(const qb__line_levels *l, const double end[2], votes *v) {
    const bool ends = isfinite(end[0]) && isfinite(end[1]);
    const double least = fmin(end[0], end[1]), most = fmax(end[0], end[1]);
    /* an end has fewer columns than a block, so its noise is larger */
    const bool air = ends && most < -0.05 && most < -12 * l->noise;
    if (air || (l->low < -0.05 && l->low < -6 * l->noise)) {
        v->bright++;
        v->level += air ? most : l->low;
        v->ends += air;
    }
    v->whole += l->whole;
    v->top += l->high;
    if (!ends) return;
    v->inverted += least > 0 && least > 0.8 * l->high && l->low < 0.9 * least;
    v->near_one += least > 0.9 && most < 1.1;
    v->large += least > 20;
    v->end += least;
}

void qb__line_levels_judge(const qb__line_levels *lines, const double (*end)[2], size_t groups, size_t each,
                           qb_quantity quantity, qb__levels_found *found) {
    const double DARK_ENDS = 3; /* -ln of 5 % */
    votes v = {0};
    double values = 0, beyond = 0, below = 0;
    *found = (qb__levels_found){0};
    for (size_t i = 0; i < groups * each; i++) {
        const qb__line_levels *l = &lines[i];
        if (beyond == 0 && l->beyond) found->odd_view = l->view, found->odd_row = l->row;
        values += l->values;
        if (l->at_top) found->brightest = fmax(found->brightest, (double)l->top);
        beyond += l->beyond;
        below += l->below;
        if (!l->looked) continue;
        found->lines++;
        vote(l, end[i], &v);
    }
    found->beyond = values > 0 ? beyond / values : 0;
    found->below = values > 0 ? below / values : 0;
    find_negative(lines, groups * each, found);
    if (quantity == QB_COUNTS) find_clip(lines, groups * each, found);
    if (found->lines == 0) return;
    const double all = (double)found->lines;
    for (size_t g = 0; g < groups; g++) {
        count_spikes(lines + g * each, each, found);
        for (int kind = 0; kind < 2; kind++) count_hot(lines + g * each, each, kind, found);
    }
    found->top = v.top / all;
    if (quantity != QB_LINE_INTEGRAL) {
        found->bright = (double)v.bright / all;
        found->level = v.bright ? exp(-v.level / (double)v.bright) : 1;
        found->air = 2 * v.ends > v.bright;
        found->lines_called = quantity == QB_TRANSMISSION && (double)v.inverted > 0.8 * all && v.end > DARK_ENDS * all;
        return;
    }
    const bool inverted = (double)v.inverted > 0.8 * all;
    found->grey = grey_of(lines, groups * each, v.end / all);
    if (found->grey > 0) return;
    if ((inverted && (double)v.large > 0.8 * all) || (v.whole == found->lines && found->top > 100))
        found->counts = found->top, found->counts_end = v.end / all;
    found->transmissions = inverted && (double)v.near_one > 0.8 * all;
}
