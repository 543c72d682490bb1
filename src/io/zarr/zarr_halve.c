/* SPDX-License-Identifier: MIT */
/* Half the resolution: means of 2 x 2 x 2 numbers. Floats are added in a fixed order, so that the bits are always the
 * same. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "io/zarr/zarr.h"
#include "quickbeam/io.h"

/* The existing numbers of a block: columns 2 i and 2 i + 1 of rows 2 r and 2 r + 1 of both images. */
typedef struct block {
    const char *line[4];
    size_t lines, columns;
} block;

static block lines_of(const void *a, const void *b, size_t rows, size_t row_bytes, size_t columns, size_t row) {
    block k = {.columns = columns};
    const void *const images[] = {a, b};
    for (int i = 0; i < 2; i++)
        for (size_t r = 2 * row; images[i] && r < qb__smaller(2 * row + 2, rows); r++)
            k.line[k.lines++] = (const char *)images[i] + r * row_bytes;
    return k;
}

/* Complete blocks of eight first, which are most of them: the same sums in the same order, without conditions. */
static size_t whole_blocks(const block *k) { return k->lines == 4 ? k->columns / 2 : 0; }

#define WHOLE(name, type)                                                                                              \
    static void name(const block *k, void *to) {                                                                       \
        type *out = to;                                                                                                \
        const type *const p = (const void *)k->line[0], *const q = (const void *)k->line[1],                           \
                          *const r = (const void *)k->line[2], *const s = (const void *)k->line[3];                    \
        const size_t whole = whole_blocks(k);                                                                          \
        for (size_t i = 0; i < whole; i++) {                                                                           \
            const int64_t sum = (int64_t)p[2 * i] + p[2 * i + 1] + q[2 * i] + q[2 * i + 1] + r[2 * i] + r[2 * i + 1] + \
                                s[2 * i] + s[2 * i + 1];                                                               \
            out[i] = (type)((sum + 4) >> 3);                                                                           \
        }                                                                                                              \
        for (size_t i = whole; 2 * i < k->columns; i++) {                                                              \
            int64_t sum = 0, n = 0;                                                                                    \
            for (size_t l = 0; l < k->lines; l++)                                                                      \
                for (size_t c = 2 * i; c < 2 * i + 2 && c < k->columns; c++, n++)                                      \
                    sum += ((const type *)k->line[l])[c];                                                              \
            const int64_t up = sum + n / 2, low = up % n < 0; /* rounds halves up */                                   \
            out[i] = (type)(up / n - low);                                                                             \
        }                                                                                                              \
    }
WHOLE(mean_u8, uint8_t)
WHOLE(mean_i8, int8_t)
WHOLE(mean_u16, uint16_t)
WHOLE(mean_i16, int16_t)
WHOLE(mean_u32, uint32_t)
WHOLE(mean_i32, int32_t)

#define REAL(name, type)                                                                                               \
    static void name(const block *k, void *to) {                                                                       \
        type *out = to;                                                                                                \
        const type *const p = (const void *)k->line[0], *const q = (const void *)k->line[1],                           \
                          *const r = (const void *)k->line[2], *const s = (const void *)k->line[3];                    \
        const size_t whole = whole_blocks(k);                                                                          \
        for (size_t i = 0; i < whole; i++) {                                                                           \
            const double sum = (double)p[2 * i] + (double)p[2 * i + 1] + (double)q[2 * i] + (double)q[2 * i + 1] +     \
                               (double)r[2 * i] + (double)r[2 * i + 1] + (double)s[2 * i] + (double)s[2 * i + 1];      \
            out[i] = (type)(sum * 0.125);                                                                              \
        }                                                                                                              \
        for (size_t i = 0; 2 * i < k->columns; i++) {                                                                  \
            if (i < whole && !isnan(out[i])) continue;                                                                 \
            double sum = 0, n = 0;                                                                                     \
            for (size_t l = 0; l < k->lines; l++) {                                                                    \
                for (size_t c = 2 * i; c < 2 * i + 2 && c < k->columns; c++) {                                         \
                    const double value = (double)((const type *)k->line[l])[c];                                        \
                    if (!isnan(value)) sum += value, n++;                                                              \
                }                                                                                                      \
            }                                                                                                          \
            out[i] = (type)(n > 0 ? sum / n : (double)NAN);                                                            \
        }                                                                                                              \
    }
REAL(mean_f32, float)
REAL(mean_f64, double)

static void mean_f16(const block *k, void *to) {
    uint16_t *out = to;
    for (size_t i = 0; 2 * i < k->columns; i++) {
        float sum = 0, n = 0, value;
        for (size_t l = 0; l < k->lines; l++) {
            for (size_t c = 2 * i; c < 2 * i + 2 && c < k->columns; c++) {
                qb_convert_to_float((const uint16_t *)(const void *)k->line[l] + c, QB_F16, 1, &value);
                if (!isnan(value)) sum += value, n++;
            }
        }
        value = n > 0 ? sum / n : NAN;
        qb_convert_from_float(&value, 1, QB_F16, 0, 1, &out[i]);
    }
}

void qb__zarr_halve(qb_dtype dtype, const void *a, const void *b, size_t rows, size_t columns, size_t first, size_t end,
                    void *out) {
    static const struct {
        qb_dtype dtype;
        void (*mean)(const block *k, void *to);
    } kinds[] = {{QB_U8, mean_u8},   {QB_I8, mean_i8},   {QB_U16, mean_u16}, {QB_I16, mean_i16}, {QB_U32, mean_u32},
                 {QB_I32, mean_i32}, {QB_F16, mean_f16}, {QB_F32, mean_f32}, {QB_F64, mean_f64}};
    const size_t size = qb_dtype_size(dtype);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].dtype != dtype) continue;
        for (size_t row = first; row < end; row++) {
            const block k = lines_of(a, b, rows, columns * size, columns, row);
            kinds[i].mean(&k, (char *)out + (row - first) * qb__ceil_div(columns, 2) * size);
        }
    }
}
