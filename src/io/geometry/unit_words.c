/* SPDX-License-Identifier: MIT */
#include "io/geometry/unit_words.h"

#include <math.h>
#include <string.h>
#include <strings.h>

typedef struct unit {
    const char *word;
    double factor;
} unit;

static const unit lengths[] = {
    {"mm", 1.0},         {"millimeter", 1.0},  {"millimeters", 1.0},  {"millimetre", 1.0},  {"millimetres", 1.0},
    {"m", 1e3},          {"meter", 1e3},       {"meters", 1e3},       {"metre", 1e3},       {"metres", 1e3},
    {"cm", 10.0},        {"centimeter", 10.0}, {"centimetre", 10.0},  {"um", 1e-3},         {"micron", 1e-3},
    {"microns", 1e-3},   {"micrometer", 1e-3}, {"micrometers", 1e-3}, {"micrometre", 1e-3}, {"micrometres", 1e-3},
    {"\xc2\xb5m", 1e-3}, {"\xce\xbcm", 1e-3},  {"nm", 1e-6},          {"nanometer", 1e-6},  {"nanometre", 1e-6},
    {"pm", 1e-9},        {"picometer", 1e-9},  {"angstrom", 1e-7},    {"inch", 25.4},       {"dm", 100},
};

#define DEGREE (3.14159265358979323846 / 180.0)
static const unit angles[] = {
    {"deg", DEGREE},
    {"degs", DEGREE},
    {"degree", DEGREE},
    {"degrees", DEGREE},
    {"\xc2\xb0", DEGREE}, /* the degree sign, in UTF-8 */
    {"\xc2\xba", DEGREE}, /* the ordinal indicator, which is often typed for it */
    {"\xb0", DEGREE},     /* the degree sign in Latin-1 */
    {"mdeg", 1e-3 * DEGREE},
    {"millidegree", 1e-3 * DEGREE},
    {"millidegrees", 1e-3 * DEGREE},
    {"rad", 1.0},
    {"rads", 1.0},
    {"radian", 1.0},
    {"radians", 1.0},
    {"mrad", 1e-3},
    {"milliradian", 1e-3},
    {"milliradians", 1e-3},
    {"urad", 1e-6},
    {"\xc2\xb5rad", 1e-6},
    {"\xce\xbcrad", 1e-6},
    {"microradian", 1e-6},
    {"microradians", 1e-6},
};

/* Characters around the name of a unit in files. */
static bool is_around(char c) { return c && strchr(" \t\r\n\"'[](){}<>", c) != NULL; }

static double find_unit(const unit *units, size_t count, const char *word) {
    while (is_around(*word)) word++;
    size_t n = strlen(word);
    while (n && (is_around(word[n - 1]) || word[n - 1] == '.')) n--;
    for (size_t i = 0; n && i < count; i++)
        if (strlen(units[i].word) == n && strncasecmp(units[i].word, word, n) == 0) return units[i].factor;
    return 0.0;
}

double qb__length_unit(const char *word) { return find_unit(lengths, sizeof lengths / sizeof *lengths, word); }

double qb__angle_unit(const char *word) { return find_unit(angles, sizeof angles / sizeof *angles, word); }

bool qb__angles_may_be_either(size_t count, double low, double high) {
    enum { FEW = 8 };
    const double TURN = 6.5;
    return count > FEW && high != low && fabs(high - low) < TURN;
}

bool qb__angles_like_degrees(const double *numbers, size_t count) {
    enum { FEW = 8 };
    if (count <= FEW) return false;
    double low = numbers[0], high = numbers[0];
    for (size_t i = 1; i < count; i++) {
        low = fmin(low, numbers[i]);
        high = fmax(high, numbers[i]);
    }
    /* The angle at the end of the turn may be included or not: the range is the turn, or one step less. */
    const double span = high - low, step = span / (double)(count - 1);
    for (int turn = 180; turn <= 360; turn += 180)
        if (fabs(span + 0.5 * step - turn) <= 0.5 * step + 0.002 * turn) return true;
    return false;
}
