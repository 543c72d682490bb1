/* SPDX-License-Identifier: MIT */
/* Rows are packed into groups of slices on every device of the machine. Every value must stand exactly where the layout
 * says, and nothing else may be written. */
#include "check.h"

#include "base/half.h"
#include "kernels/bp_parallel/bp_parallel_pack.h"
#include "on_devices.h"

enum { POISON = 0xa5, MARGIN = 512, SLICES_MOST = 80 };

/* One case: how many floats the strides add to a row, how many bytes precede the first row, and which block is
 * packed. */
typedef struct trial {
    size_t columns, views, view0, view1;
    unsigned slices;
    size_t row_pad, offset;
} trial;

static float *noise(size_t count) {
    float *values = test_malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = (float)(ldexp(qb__random_unit(&chance) - 0.5, (int)(i % 9)));
    return values;
}

static qb__memory *memory_of(size_t bytes) {
    qb__memory *memory;
    assert_ok(qb__memory_create(device, bytes, &memory));
    assert_ok(qb__memory_fill(queue, memory, 0, POISON, bytes));
    return memory;
}

/* The power of two that brings `largest` into [2^11, 2^12). */
static float scale_of(float largest) {
    float scale = 1;
    while (largest * scale >= 4096.0f) scale /= 2;
    while (largest * scale < 2048.0f) scale *= 2;
    return scale;
}

/* The bytes that the packed memory must hold after the block was packed. The pattern must remain elsewhere. */
static void expect(const trial *t, const qb__pack *pack, const float *rows, const float *largest, unsigned char *out) {
    const qb__bp_parallel_problem problem = {.views = t->views, .columns = t->columns};
    const size_t bytes = qb__pack_bytes(&problem, t->slices, pack->group, pack->half);
    const size_t element = pack->half ? 2 : 4, stride = t->columns + t->row_pad;
    const unsigned padded = (t->slices + pack->group - 1) / pack->group * pack->group;
    memset(out, POISON, bytes + MARGIN);
    for (unsigned s = 0; s < padded; s++) {
        const float scale = pack->half && s < t->slices ? scale_of(largest[s]) : 1.0f;
        const float undo = 1.0f / scale;
        for (size_t v = t->view0; v < t->view1; v++)
            for (size_t c = 0; c < t->columns; c++) {
                const size_t row = (v - t->view0) * t->slices + s;
                float value = s < t->slices ? rows[row * stride + c] * scale : 0.0f;
                unsigned char *at =
                    out +
                    (((s / pack->group * t->views + v) * t->columns + c) * pack->group + s % pack->group) * element;
                if (pack->half)
                    qb__float_to_half(&value, 1, (uint16_t *)(void *)at);
                else
                    memcpy(at, &value, sizeof value);
            }
        if (pack->half) memcpy(out + bytes - (padded - s) * sizeof undo, &undo, sizeof undo);
    }
}

static void largest_of(const trial *t, const float *rows, float *largest) {
    const size_t stride = t->columns + t->row_pad;
    for (unsigned s = 0; s < t->slices; s++) {
        largest[s] = 0;
        for (size_t v = 0; v < t->view1 - t->view0; v++)
            for (size_t c = 0; c < t->columns; c++)
                largest[s] = fmaxf(largest[s], fabsf(rows[(v * t->slices + s) * stride + c]));
    }
}

static void check(const trial *t, const qb__pack *pack) {
    const size_t stride = t->columns + t->row_pad;
    const size_t count = (t->view1 - t->view0) * t->slices * stride;
    float largest[SLICES_MOST], *rows = noise(count);
    const qb__bp_parallel_problem problem = {.views = t->views, .columns = t->columns, .largest = largest};
    const size_t bytes = qb__pack_bytes(&problem, t->slices, pack->group, pack->half) + MARGIN;
    unsigned char *want = test_malloc(bytes), *have = test_malloc(bytes);
    largest_of(t, rows, largest);
    expect(t, pack, rows, largest, want);
    qb__memory *from = memory_of(t->offset + count * sizeof *rows), *to = memory_of(bytes);
    assert_ok(qb__memory_upload(queue, from, t->offset, rows, count * sizeof *rows));
    assert_ok(qb__pack_run(pack, queue, &problem, from, t->offset, t->slices * stride, stride, t->view0, t->view1,
                           t->slices, to));
    assert_ok(qb__memory_download(queue, to, 0, have, bytes));
    assert_ok(qb__queue_finish(queue));
    for (size_t i = 0; i < bytes; i++)
        if (want[i] != have[i])
            fail_msg("%u slices a group, half %d: byte %zu of %zu is %02x, not %02x (%zu columns, "
                     "%zu views, %u slices, rows %zu apart)",
                     pack->group, pack->half, i, bytes, have[i], want[i], t->columns, t->views, t->slices, stride);
    qb__memory_destroy(from), qb__memory_destroy(to);
    test_free(rows), test_free(want), test_free(have);
}

/* Cases with whole vectors; with rows or offsets that are not; with fewer columns than an item has; with blocks of
 * views; with several launches for halves. */
static const trial trials[] = {
    {64, 9, 0, 9, 4, 0, 0},
    {64, 9, 2, 7, 9, 16, 64},
    {264, 40, 0, 40, 3, 0, 16},
    {264, 5, 1, 5, 2, 1, 0},
    {264, 5, 0, 4, 2, 8, 4},
    {37, 70, 3, 70, 5, 11, 0},
    {1, 3, 0, 3, 1, 0, 0},
    {8, 3, 0, 1, 1, 0, 0},
    {1032, 2, 0, 2, 8, 0, 0},
    {257, 33, 0, 33, 1, 3, 256},
    {40, 2, 0, 2, SLICES_MOST, 0, 0},
};

static void try_all(unsigned group, bool half) {
    qb__pack pack;
    assert_ok(qb__pack_create(device, group, half, &pack));
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) check(&trials[i], &pack);
    qb__pack_destroy(&pack);
}

static void layouts(void **state) {
    (void)state;
    for (unsigned group = 1; group <= 8; group *= 2)
        for (int half = 0; half < 2; half++) try_all(group, half);
}

static int group(const char *spec) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts)};
    return cmocka_run_group_tests_name(spec, tests, NULL, NULL);
}

/* The argument names the only device to test. */
int main(int argc, char **argv) { return on_devices(argc > 1 ? argv[1] : NULL, group); }
