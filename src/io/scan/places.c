/* SPDX-License-Identifier: MIT */
/* --distortion and --shifts: reads their files, and finds the positions of pixels. */
#include "io/scan/places.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

enum { MOST_TEXT = 16 << 20 };

/* ---- distortion ---- */

/* Read one line. Its last word is a number, and the text before says which one. */
static qb_status take_line(const char *path, char *line, size_t number, qb__distortion *d) {
    char *end, *last = strrchr(line, ' '), *tab = strrchr(line, '\t'), *equals = strrchr(line, '=');
    last = tab > last ? tab : last, last = equals > last ? equals : last;
    const char *text = last ? last + 1 : line;
    const double value = qb__strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return qb__fail(QB_BAD_INPUT,
                        "--distortion %s: line %zu, \"%.60s\", is no number: xcenter, ycenter, factor0, ... are wanted",
                        path, number + 1, line);
    if (number == 0)
        d->x = value;
    else if (number == 1)
        d->y = value;
    else if (number < 2 + sizeof d->factor / sizeof *d->factor)
        d->factor[d->factors++] = value;
    else
        return qb__fail(QB_BAD_INPUT, "--distortion %s: more than %zu factors", path,
                        sizeof d->factor / sizeof *d->factor);
    return QB_OK;
}

static double factor_at(const qb__distortion *d, double r) {
    double sum = 0;
    for (int i = d->factors; i-- > 0;) sum = sum * r + d->factor[i];
    return sum;
}

/* Refuse factors for which the distorted radius does not grow with the true radius, or that move points too far. */
static qb_status check(const char *path, size_t rows, size_t columns, const qb__distortion *d) {
    const double wide = (double)columns - 1, high = (double)rows - 1,
                 far = hypot(fmax(d->x, wide - d->x), fmax(d->y, high - d->y));
    enum { STEPS = 256 };
    double before = 0;
    if (d->factors == 0) return qb__fail(QB_BAD_INPUT, "--distortion %s: it has no factors", path);
    if (!(d->x >= 0 && d->x <= wide && d->y >= 0 && d->y <= high))
        return qb__fail(QB_BAD_INPUT,
                        "--distortion %s: its centre, column %g and row %g, lies outside the %zu x %zu pixels of this "
                        "detector; give the file of this one",
                        path, d->x, d->y, columns, rows);
    for (int i = 1; i <= STEPS; i++) {
        const double r = far * i / STEPS, found = r * factor_at(d, r);
        if (!(found > before))
            return qb__fail(QB_BAD_INPUT, "--distortion %s: %g pixels from the centre the image folds", path, r);
        before = found;
    }
    if (fabs(factor_at(d, far) - 1) < 0.5) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "--distortion %s moves the corner by %.3g of its %.4g pixels: is it of another detector?", path,
                    fabs(factor_at(d, far) - 1), far);
}

qb_status qb__distortion_load(const char *path, size_t rows, size_t columns, qb__distortion *d) {
    char *text = NULL, *rest = NULL;
    size_t number = 0;
    *d = (qb__distortion){0};
    if (!path || !*path) return QB_OK;
    qb_status status = qb__read_text(path, 1 << 16, &text);
    for (char *line = status == QB_OK ? strtok_r(text, "\r\n", &rest) : NULL; line && status == QB_OK;
         line = strtok_r(NULL, "\r\n", &rest)) {
        for (size_t n = strlen(line); n && (line[n - 1] == ' ' || line[n - 1] == '\t'); n--) line[n - 1] = 0;
        if (*line && *line != '#') status = take_line(path, line, number++, d);
    }
    qb__free(text);
    return status == QB_OK ? check(path, rows, columns, d) : status;
}

/* ---- places ---- */

qb__places qb__places_of(const qb_scan_info *info, const qb__image *image, const qb__distortion *distortion) {
    qb__places p = {.image = *image, .distortion = *distortion};
    const double binned = (double)info->bin[0] / (double)info->bin[1];
    p.middle[0] = 0.5 * ((double)info->whole_columns - 1);
    p.middle[1] = 0.5 * ((double)info->whole_rows - 1);
    p.aspect = info->pixel_size > 0 && info->pixel_v > 0 ? info->pixel_v / info->pixel_size * binned : 1;
    if (!p.image.bin_u) p.image.bin_u = p.image.bin_v = 1;
    p.map = image->bin_u ? qb__image_map_of(image) : (qb__image_map){{0, 1, 0}, {0, 0, 1}};
    return p;
}

/* Apply the distortion. Positions are whole pixels of the rotated image; the factors are those of the stored image. */
static void distort(const qb__places *p, double *column, double *row) {
    const qb__distortion *d = &p->distortion;
    const ptrdiff_t *to_row = p->map.row, *to_column = p->map.column;
    const double y = (double)to_row[0] + (double)to_row[1] * *row + (double)to_row[2] * *column - d->y,
                 x = (double)to_column[0] + (double)to_column[1] * *row + (double)to_column[2] * *column - d->x,
                 factor = factor_at(d, sqrt(x * x + y * y)) - 1, dy = y * factor, dx = x * factor;
    *row += (double)to_row[1] * dy +
            /* the inverse of a rotation by quarter turns, or of a mirror, is its transpose */
            (double)to_column[1] * dx;
    *column += (double)to_row[2] * dy + (double)to_column[2] * dx;
}

/* Rotate about the middle, from columns towards rows. */
static void turn_by(const qb__places *p, const double way[2], double *column, double *row) {
    const double x = *column - p->middle[0], y = (*row - p->middle[1]) * p->aspect;
    *column = p->middle[0] + way[0] * x - way[1] * y;
    *row = p->middle[1] + (way[1] * x + way[0] * y) / p->aspect;
}

void qb__places_line(const qb__places *p, const double *shift, const double *turn, size_t row, size_t count,
                     double *column, double *at_row) {
    const qb__image *m = &p->image;
    const double bin_u = (double)m->bin_u, bin_v = (double)m->bin_v,
                 first_u = (double)m->first_column + 0.5 * (bin_u - 1),
                 first_v = (double)m->first_row + 0.5 * (bin_v - 1),
                 way[2] = {turn ? cos(*turn) : 1, turn ? sin(*turn) : 0};
    for (size_t c = 0; c < count; c++) {
        double u = first_u + bin_u * (double)c, v = first_v + bin_v * (double)row;
        if (turn) turn_by(p, way, &u, &v);
        if (shift) u += shift[0], v += shift[1];
        if (p->distortion.factors) distort(p, &u, &v);
        column[c] = (u - first_u) / bin_u;
        at_row[c] = (v - first_v) / bin_v;
    }
}

/* ---- shifts ---- */

/* U V or U V TURN, between blanks, commas or semicolons. */
static bool take_shift(const char *at, double shift[3]) {
    shift[2] = 0;
    for (int k = 0; k < 3; k++) {
        char *end;
        shift[k] = qb__strtod(at, &end);
        if (end == at || !isfinite(shift[k])) return false;
        at = end + strspn(end, " \t");
        if (!*at) return k > 0;
        at += strspn(at, " \t,;");
    }
    return false;
}

qb_status qb__shifts_load(const char *path, size_t views, double (*shifts)[3]) {
    char *text = NULL, *rest = NULL;
    size_t lines = 0;
    qb_status status = qb__read_text(path, MOST_TEXT, &text);
    for (char *line = status == QB_OK ? strtok_r(text, "\r\n", &rest) : NULL; line && status == QB_OK;
         line = strtok_r(NULL, "\r\n", &rest)) {
        const char *at = line + strspn(line, " \t");
        double shift[3];
        if (!*at || *at == '#') continue;
        if (!take_shift(at, shift))
            status = qb__fail(
                QB_BAD_INPUT,
                "--shifts %s: line \"%.60s\" is not U V, two numbers of pixels, or U V TURN, with degrees", path, line);
        if (status == QB_OK && lines < views) memcpy(shifts[lines], shift, sizeof shift);
        lines++;
    }
    qb__free(text);
    if (status == QB_OK && lines != views)
        status = qb__fail(QB_BAD_INPUT, "--shifts %s has %zu lines for the %zu views of the file: give U V of each",
                          path, lines, views);
    return status;
}
