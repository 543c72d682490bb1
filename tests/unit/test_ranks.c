/* SPDX-License-Identifier: MIT */
/* What ranks agree on and tell each other, and how slices are shared among them. */
#include "ranks_here.h"

#include "geometry/partition.h"

/* ---- agreement ---- */

static qb_status one_disk_is_full(qb__comm *comm, void *context) {
    (void)context;
    if (comm->rank == 1) return qb__fail(QB_NO_SPACE, "disk 7 is full");
    if (comm->rank == 2) { /* this rank learns of the failure while it computes, and gives up */
        while (!qb__comm_warned(comm)) usleep(1000);
        return qb__fail(QB_CANCELLED, "another rank has failed");
    }
    int number = 5;
    return qb__comm_bcast(comm, QB_OK, 0, &number, sizeof number);
}

static void the_one_that_failed_speaks(void **state) {
    (void)state;
    char words[1024];
    assert_status(together(4, one_disk_is_full, NULL, words), QB_NO_SPACE);
    assert_string_equal(words, "rank 1 of 4, on here: disk 7 is full");
}

static qb_status take(void *context, int from, const void *data, size_t bytes) {
    char *at = context;
    snprintf(at + strlen(at), 64, "%d:%.*s ", from, (int)bytes, (const char *)data);
    return QB_OK;
}

static qb_status give_and_take(qb__comm *comm, void *context) {
    (void)context;
    char texts[256] = "";
    uint64_t numbers[2] = {(uint64_t)comm->rank, 1};
    qb_status status;
    QB__TRY(qb__comm_sum(comm, QB_OK, numbers, 2));
    if (numbers[0] != 10 || numbers[1] != 5) return qb__fail(QB_INTERNAL, "sums");
    QB__TRY(qb__comm_collect(comm, QB_OK, "abcdef", (size_t)comm->rank, take, texts));
    if (comm->rank == 0 && strcmp(texts, "1:a 2:ab 3:abc 4:abcd ") != 0) return qb__fail(QB_INTERNAL, "%s", texts);
    if (comm->rank > 0 && *texts) return qb__fail(QB_INTERNAL, "only rank 0 takes");
out:
    return status;
}

/* Rank r sends c = r + 2 d numbers with the value d to rank d. The ranks of a column and of a row meet too. */
static qb_status meet(qb__comm *comm, void *context) {
    const int *shape = context;
    const qb__comm_grid *grid, *again;
    unsigned char out[MOST][64], in[MOST][64];
    qb__comm_part to[MOST], from[MOST];
    qb_status status;
    QB__TRY(qb__comm_arrange(comm, QB_OK, shape[0], shape[1], &grid));
    QB__TRY(qb__comm_arrange(comm, QB_OK, shape[0], shape[1], &again));
    if (again != grid) return qb__fail(QB_INTERNAL, "another grid of the same shape");
    qb__comm *const parts[] = {comm, grid->in_column, grid->in_row};
    for (int p = 0; p < 3; p++) {
        qb__comm *part = parts[p];
        const int r = part->rank;
        for (int i = 0; i < part->count; i++) {
            memset(out[i], i, sizeof out[i]);
            to[i] = (qb__comm_part){out[i], (size_t)(r + 2 * i)};
            from[i] = (qb__comm_part){in[i], (size_t)(i + 2 * r)};
        }
        QB__TRY(qb__comm_exchange(part, QB_OK, to, from));
        for (int i = 0; i < part->count; i++)
            for (int k = 0; k < i + 2 * r; k++)
                if (in[i][k] != r) return qb__fail(QB_INTERNAL, "rank %d has %d of rank %d", r, in[i][k], i);
    }
    if (grid->in_column->count != shape[0] || grid->in_row->count != shape[1] || grid->in_column->rank != grid->row ||
        grid->in_row->rank != grid->column || comm->rank != grid->column * shape[0] + grid->row)
        return qb__fail(QB_INTERNAL, "rank %d is in another place", comm->rank);
out:
    return status;
}

static void rows_and_columns_meet(void **state) {
    (void)state;
    char words[1024];
    for (int rows = 1; rows <= MOST; rows++)
        for (int columns = 1; rows * columns <= MOST; columns++) {
            int shape[] = {rows, columns};
            assert_ok(together(rows * columns, meet, shape, words));
        }
    int shape[] = {2, 2};
    assert_status(together(3, meet, shape, words), QB_BAD_ARGUMENT);
    assert_non_null(strstr(words, "2 x 2 ranks is for 4 processes, and there are 3"));
}

/* One rank fails. The failure passes through its column and then through the rows to all. All report it in the words of
 * the rank that failed. */
static qb_status a_far_one_fails(qb__comm *comm, void *context) {
    (void)context;
    const qb__comm_grid *grid;
    qb_status status = qb__comm_arrange(comm, QB_OK, 2, 3, &grid);
    if (status != QB_OK) return status;
    const bool own = comm->rank == 5;
    status = qb__agree(grid->in_column, own ? qb__fail(QB_NO_SPACE, "disk 7 is full") : QB_OK);
    status = qb__agree(grid->in_row, own ? qb__fail(QB_NO_SPACE, "disk 7 is full") : status);
    return own ? qb__fail(QB_NO_SPACE, "disk 7 is full") : status;
}

static void failures_pass_from_part_to_part(void **state) {
    (void)state;
    char words[1024];
    assert_status(together(6, a_far_one_fails, NULL, words), QB_NO_SPACE);
    assert_string_equal(words, "rank 5 of 6, on here: disk 7 is full");
}

static void numbers_and_texts_come_together(void **state) {
    (void)state;
    char words[1024];
    assert_ok(together(5, give_and_take, NULL, words));
}

static void alone_nothing_is_exchanged(void **state) {
    (void)state;
    uint64_t number = 3, all = 0;
    assert_ok(qb__comm_sum(NULL, QB_OK, &number, 1));
    assert_ok(qb__comm_gather(NULL, QB_OK, &number, sizeof number, &all));
    assert_true(number == 3 && all == 3);
    assert_status(qb__agree(NULL, QB_IO), QB_IO);
    assert_ok(qb__comm_collect(NULL, QB_OK, "x", 1, take, NULL));
    const qb_env before = {.threads = 3}, now = {.struct_size = sizeof now, .ranks = (qb__comm *)&number};
    assert_null(qb__comm_of(&before));
    assert_ptr_equal(qb__comm_of(&now), &number);
}

/* ---- shares ---- */

static void shares_cover_all_slices_once(void **state) {
    (void)state;
    for (size_t slices = 1; slices < 40; slices++)
        for (size_t grain = 1; grain < 9; grain++)
            for (int ranks = 1; ranks < 12; ranks++) {
                size_t first, count, next = 0, most = 0;
                for (int i = 0; i < ranks; i++) {
                    qb__cut_rank(slices, grain, ranks, i, &first, &count);
                    assert_true(first == next && (first % grain == 0 || first == slices));
                    for (size_t s = first; s < first + count; s++)
                        assert_int_equal(qb__cut_owner(slices, grain, ranks, s), i);
                    next = first + count;
                    most = count > most ? count : most;
                }
                const size_t grains = (slices + grain - 1) / grain;
                assert_true(next == slices && most <= (grains + (size_t)ranks - 1) / (size_t)ranks * grain);
            }
}

/* The slabs of a share begin where layers of the whole volume begin. */
static void shares_keep_layers(void **state) {
    (void)state;
    size_t cut[80];
    for (int trial = 0; trial < 20000; trial++) {
        const size_t nz = 1 + (size_t)trial % 61, step = 2 + (size_t)trial / 61 % 7, above = (size_t)trial * 7 % nz;
        const qb__layers layers = {step, above, above + (trial & 1)};
        const size_t first = (size_t)trial * 13 % nz, count = 1 + (size_t)trial * 5 % (nz - first);
        const qb__layers own = qb__layers_from(&layers, first, count);
        const size_t n = qb__cut_slabs(&own, count, step, cut);
        assert_true(cut[0] == 0 && cut[n] == count);
        for (size_t i = 1; i < n; i++) {
            const size_t z = first + cut[i];
            assert_true(cut[i] > cut[i - 1] && cut[i] - cut[i - 1] <= step);
            assert_true(z >= above ? (z - above) % step == 0 : (layers.below - z) % step == 0);
        }
        /* With thinner slabs, the slices before the first layer are cut too. */
        const size_t thin = 1 + (size_t)trial % step, parts = qb__cut_slabs(&own, count, thin, cut);
        assert_true(cut[0] == 0 && cut[parts] == count);
        for (size_t i = 0; i < parts; i++) assert_true(cut[i] < cut[i + 1] && cut[i + 1] - cut[i] <= thin);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_one_that_failed_speaks),
                                       cmocka_unit_test(numbers_and_texts_come_together),
                                       cmocka_unit_test(alone_nothing_is_exchanged),
                                       cmocka_unit_test(rows_and_columns_meet),
                                       cmocka_unit_test(failures_pass_from_part_to_part),
                                       cmocka_unit_test(shares_cover_all_slices_once),
                                       cmocka_unit_test(shares_keep_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
