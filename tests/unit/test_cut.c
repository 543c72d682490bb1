/* SPDX-License-Identifier: MIT */
/* How a job is cut into slabs, blocks of views and slots. */
#include "check.h"
#include "geometry/partition.h"

typedef struct toy {
    size_t fixed, told_slabs, told_end;
} toy;

static qb__room toy_need(void *context, const qb__cut *cut) {
    const toy *t = context;
    return (qb__room){t->fixed + cut->slices * cut->slots * 100, cut->views * 10};
}

static void toy_slabs(void *context, qb__cut *cut, size_t *edge) {
    toy *t = context;
    if (cut->schedule > 1) { /* the first slabs become one */
        cut->slabs -= cut->schedule - 1;
        for (size_t i = 1; i <= cut->slabs; i++) edge[i] = edge[i + cut->schedule - 1];
        cut->slices = edge[1];
    }
    t->told_slabs = cut->slabs;
    t->told_end = edge[cut->slabs];
    for (size_t i = 0; i < cut->slabs; i++) {
        assert_true(edge[i] < edge[i + 1]);
        assert_true(edge[i + 1] - edge[i] <= cut->slices);
    }
}

static qb__cut_space toy_space(toy *t) {
    return (qb__cut_space){.slices = 200,
                           .views = 90,
                           .layers = {.thickness = 16},
                           .most = 64,
                           .thinner = qb__thinner_even,
                           .cap = {SIZE_MAX, SIZE_MAX},
                           .slabs = toy_slabs,
                           .need = toy_need,
                           .context = t};
}

static void even_cuts(void **state) {
    (void)state;
    toy t = {.fixed = 1000};
    qb__cut_space space = toy_space(&t);
    qb__cut cut;
    bool fits;
    assert_ok(qb__cut_search(&space, &cut, &fits));
    assert_true(fits);
    assert_int_equal(cut.slices, 64); /* 200 = 4 x 50, rounded up to whole vectors */
    assert_int_equal(cut.slabs, 4);
    assert_int_equal(cut.slots, 2);
    assert_int_equal(cut.views, 90);
    assert_int_equal(t.told_slabs, 4);
    assert_int_equal(t.told_end, 200);
    space.cap.host = 1000 + 64 * 100;
    assert_ok(qb__cut_search(&space, &cut, &fits));
    assert_true(fits && cut.slots == 1);
    for (size_t cap = 1000 + 1600; cap < 20000; cap += 100) {
        space.cap.host = cap;
        assert_ok(qb__cut_search(&space, &cut, &fits));
        assert_true(fits && cut.need.host <= cap && cut.slices * cut.slabs >= 200);
        assert_true((cut.slabs - 1) * cut.slices < 200);
    }
    space.cap.host = 1000 + 1599;
    assert_ok(qb__cut_search(&space, &cut, &fits));
    assert_true(!fits && cut.need.host == 1000 + 1600 && cut.slices == 16 && cut.slots == 1);
}

static size_t toy_views(const void *engine, const qb__cut *cut, size_t before) {
    (void)engine, (void)cut;
    return before == 0 ? 64 : before / 2;
}

/* There are two limits. Where the device is the one that is short, the views of a block become fewer. */
static void cuts_of_views(void **state) {
    (void)state;
    toy t = {.fixed = 0};
    qb__cut_space space = toy_space(&t);
    qb__cut cut;
    bool fits;
    space.views_after = toy_views;
    space.views_stream = true;
    space.cap.device = 10 * 16;
    assert_ok(qb__cut_search(&space, &cut, &fits));
    assert_true(fits && cut.views == 16 && cut.blocks == 6 && cut.slices == 64);
    space.cap.device = 9;
    assert_ok(qb__cut_search(&space, &cut, &fits));
    assert_true(!fits && cut.views == 1);
}

static double toy_seconds(void *context, const qb__cut *cut) {
    (void)context;
    return (double)cut->blocks + 100.0 / (double)cut->slices + (cut->slots == 2 ? 0 : 50);
}

/* The planner takes the fastest cut that fits, not the first one. */
static void cuts_by_time(void **state) {
    (void)state;
    toy t = {.fixed = 0};
    qb__cut_space space = toy_space(&t);
    qb__cut cut, best = {0};
    double least = 1e30;
    bool fits;
    space.views_after = toy_views;
    space.views_stream = true;
    space.layers.thickness = 1;
    space.most = 200;
    space.thinner = qb__thinner_layers;
    space.seconds = toy_seconds;
    space.cap.host = 9000;
    assert_ok(qb__cut_search(&space, &cut, &fits));
    assert_true(fits);
    for (size_t slices = 200; slices > 0; slices = qb__thinner_layers(&space, slices)) {
        for (unsigned k = 0; k < 14; k++) {
            size_t views = (size_t)64 >> (k / 2);
            qb__cut c = {.slices = slices, .views = views, .blocks = (90 + views - 1) / views, .slots = 1 + k % 2};
            const double takes = toy_seconds(NULL, &c);
            if (toy_need(&t, &c).host <= 9000 && takes < least) best = c, least = takes;
        }
    }
    assert_true(cut.slots == best.slots && cut.views == best.views && cut.slices == best.slices);
    assert_true(toy_seconds(NULL, &cut) == least);
}

static unsigned wanted;

/* Schedules 0, 1 and 3 follow each other. In schedule 3 the first slab is as thick as three slabs. */
static unsigned toy_schedule_after(const void *engine, const qb__cut *cut) {
    (void)engine;
    return cut->schedule == 0 ? 1 : cut->schedule == 1 ? 3 : 0;
}

static double toy_schedule_seconds(void *context, const qb__cut *cut) {
    (void)context;
    return cut->thickness == 16 && cut->schedule == wanted ? 1 : 2;
}

/* An engine may go through the slabs in several ways and may join some of them. */
static void schedules(void **state) {
    (void)state;
    size_t edge[202];
    for (unsigned lead = 1; lead <= 3; lead += 2) {
        toy t = {.fixed = 0};
        qb__cut_space space = toy_space(&t);
        qb__cut cut;
        bool fits;
        wanted = lead;
        space.schedule_after = toy_schedule_after;
        space.seconds = toy_schedule_seconds;
        assert_ok(qb__cut_search(&space, &cut, &fits));
        assert_true(fits && cut.schedule == lead && cut.thickness == 16);
        assert_true(cut.slices == lead * 16 && cut.slabs == 13 - (lead - 1) && t.told_slabs == cut.slabs &&
                    t.told_end == 200);
        qb__cut_edges(&space, edge, &cut);
        for (size_t i = 0; i < cut.slabs; i++) assert_int_equal(edge[i], i ? (lead - 1 + i) * 16 : 0);
        assert_int_equal(edge[cut.slabs], 200);
        const size_t thickness = cut.thickness;
        assert_true(qb__cut_less(&space, &cut) && cut.schedule == 0 && cut.thickness == thickness);
    }
}

/* After a wrong forecast the cut becomes smaller: first fewer slices, then one buffer, then fewer views, until nothing
 * is left to reduce. */
static void smaller_cuts(void **state) {
    (void)state;
    toy t = {.fixed = 0};
    qb__cut_space space = toy_space(&t);
    size_t edge[202];
    qb__cut cut;
    bool fits;
    space.views_after = toy_views;
    assert_ok(qb__cut_search(&space, &cut, &fits));
    static const size_t slices[] = {32, 16};
    for (int i = 0; i < 2; i++) {
        assert_true(qb__cut_less(&space, &cut));
        qb__cut_edges(&space, edge, &cut);
        assert_true(cut.slices == slices[i] && cut.slots == 2 && cut.slabs == (200 + slices[i] - 1) / slices[i]);
    }
    assert_true(qb__cut_less(&space, &cut) && cut.slots == 1 && cut.slices == 16);
    for (size_t views = 64; views > 1;) {
        assert_true(qb__cut_less(&space, &cut));
        views = (views + 1) / 2;
        assert_true(cut.views == views && cut.blocks == (90 + views - 1) / views);
    }
    assert_false(qb__cut_less(&space, &cut));
    space.thinner = qb__thinner_never; /* slices that depend on each other are not separated */
    assert_ok(qb__cut_search(&space, &cut, &fits));
    const size_t all = cut.slices;
    while (qb__cut_less(&space, &cut)) assert_true(cut.slices == all && cut.thickness >= all);
    assert_true(cut.slots == 1 && cut.views == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_cuts), cmocka_unit_test(cuts_of_views), cmocka_unit_test(cuts_by_time),
        cmocka_unit_test(schedules), cmocka_unit_test(smaller_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
