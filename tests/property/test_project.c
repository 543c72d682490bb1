/* SPDX-License-Identifier: MIT */
/* Projection and its adjoint, for every geometry: <A x, y> = <x, A' y>; A compared to the oracle; bits that depend
 * neither on threads nor on blocks of views nor on slabs. */
#include "dice.h"

#include "cpu/features.h"
#include "device/device.h"
#include "ops/project.h"

static size_t between(size_t low, size_t high) { return low + (size_t)(uniform(0, 1) * (double)(high - low + 1)); }

static float *noise(size_t count) {
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) values[i] = (float)uniform(-1, 1);
    return values;
}

/* One scan for each trial; the trial's number gives its kind. */
typedef struct setup {
    const char *name;
    qb_geometry geometry;
    qb_grid grid;
} setup;

enum { KINDS = 15 };

static void disturb(qb_geometry *g, double turn, double shift) {
    for (size_t i = 0; i < g->views; i++) {
        for (int j = 0; j < 3; j++) {
            g->view[i].u[j] += uniform(-turn, turn);
            g->view[i].v[j] += uniform(-turn, turn);
            g->view[i].detector[j] += uniform(-shift, shift);
            if (g->beam == QB_BEAM_PARALLEL)
                g->view[i].source[j] += uniform(-turn, turn);
            else
                g->view[i].source[j] += uniform(-shift, shift);
        }
    }
}

/* All rays cross as many voxels along x as along y, up to the last digit of a sine, and fewer along z. */
static void climb_diagonally(setup *s) {
    for (int j = 0; j < 3; j++) s->grid.voxel[j] = 1, s->grid.offset[j] = 0;
    for (size_t i = 0; i < s->geometry.views; i++) {
        const double t = M_PI / 4 * (double)(2 * between(0, 3) + 1), climb = uniform(0.1, 0.6);
        const qb_view v = {{-sin(t) * cos(climb), cos(t) * cos(climb), sin(climb)},
                           {0, 0, 0},
                           {cos(t), sin(t), 0},
                           {sin(t) * sin(climb), -cos(t) * sin(climb), cos(climb)}};
        s->geometry.view[i] = v;
        for (int j = 0; j < 3; j++)
            s->geometry.view[i].detector[j] =
                -0.5 * (double)(s->geometry.columns - 1) * v.u[j] - 0.5 * (double)(s->geometry.rows - 1) * v.v[j];
    }
}

/* A wide cone. Either few voxels, some of them close to the source, so that rays along all axes meet in one voxel, with
 * a flat or a leaning detector. Or flat voxels, which rays cross mainly along z, with pixels that see at most dozens of
 * them, because devices know places between rows to 1e-7 of a row. */
static void come_near(setup *s, bool flat) {
    const size_t views = s->geometry.views, rows = s->geometry.rows, columns = s->geometry.columns;
    double angles[6], half = 0;
    for (int j = 0; j < 3; j++) s->grid.n[j] = between(1, flat ? 40 : 10), s->grid.offset[j] = 0;
    if (flat) s->grid.n[2] *= 5, s->grid.voxel[2] = uniform(0.1, 0.25);
    for (int j = 0; j < 2; j++) half = hypot(half, 0.5 * (double)s->grid.n[j] * s->grid.voxel[j]);
    const double sod = flat ? 3 * half : half + uniform(0.15, 1), sdd = sod * uniform(1.1, 3),
                 wide = 4 * half * sdd / sod;
    for (size_t i = 0; i < views; i++) angles[i] = uniform(-7, 7);
    qb_geometry_destroy(&s->geometry);
    const double tall = fmin(wide / (double)rows, 30 * s->grid.voxel[2] * sdd / sod);
    assert_int_equal(
        qb_geometry_cone(views, angles, rows, columns, wide / (double)columns, tall, sod, sdd, 0, 0, &s->geometry),
        QB_OK);
    if (!flat && between(0, 1)) disturb(&s->geometry, 0.02 * wide / (double)(rows + columns), 0.05);
}

static setup make(size_t kind) {
    static const char *const names[KINDS] = {"parallel",
                                             "parallel along the axes",
                                             "parallel, tilted",
                                             "cone",
                                             "cone, offset detector",
                                             "cone, any matrices",
                                             "short volume, partly seen",
                                             "one slice",
                                             "bent detector",
                                             "rays along z",
                                             "climbing at 45 degrees",
                                             "a source next to the volume",
                                             "flat voxels",
                                             "a few slices",
                                             "a fan of one row"};
    setup s = {.name = names[kind]};
    const size_t views = between(1, 6), rows = kind == 14 ? 1 : between(1, 40), columns = between(1, 70);
    double angles[6];
    for (size_t i = 0; i < views; i++) angles[i] = uniform(-7, 7);
    if (kind == 1)
        for (size_t i = 0; i < views; i++) angles[i] = 0.5 * M_PI * (double)between(0, 5);
    s.grid = (qb_grid){{between(1, 70), between(1, 70), between(1, 140)},
                       {uniform(0.4, 1.5), uniform(0.4, 1.5), uniform(0.4, 1.5)},
                       {uniform(-4, 4), uniform(-4, 4), uniform(-4, 4)}};
    if (kind == 1)
        for (int j = 0; j < 3; j++) s.grid.voxel[j] = 1, s.grid.offset[j] = 0;
    if (kind == 6) s.grid.n[2] = between(1, 5), s.grid.offset[0] = uniform(-30, 30);
    if (kind == 7) s.grid.n[2] = 1;
    if (kind == 13) s.grid.n[2] = between(2, 8);
    if (kind == 14) s.grid.n[2] = between(1, 3), s.grid.offset[2] = uniform(-0.5, 0.5);
    const bool cone = kind == 3 || kind == 4 || kind == 5 || kind == 6 || kind == 8 || kind == 14;
    const double pixel = uniform(0.5, 2.5);
    qb_status status =
        cone ? qb_geometry_cone(views, angles, rows, columns, pixel, pixel * uniform(0.5, 2), uniform(220, 400),
                                uniform(400, 900), kind == 4 ? uniform(-40, 40) : 0, kind == 4 ? uniform(-20, 20) : 0,
                                &s.geometry)
             : qb_geometry_parallel(views, angles, rows, columns, kind == 1 ? 1 : pixel,
                                    0.5 * (double)(columns - 1) + (kind == 1 ? 0 : uniform(-5, 5)), &s.geometry);
    assert_int_equal(status, QB_OK);
    if (kind == 2) disturb(&s.geometry, 0.5, 5);
    /* By at most 30 degrees: every corner stays in front of the source. */
    if (kind == 5) disturb(&s.geometry, 0.15 * pixel, 10);
    if (kind == 8) s.geometry.radius = uniform(200, 900);
    for (size_t i = 0; i < views && kind == 9; i++) {
        qb_view *v = &s.geometry.view[i];
        *v = (qb_view){{0, 0, 1}, {-20, -20, 0}, {pixel, 0, 0}, {0, pixel, 0}};
        if (i) v->source[0] = uniform(-1, 1), v->source[1] = uniform(-1, 1);
    }
    if (kind == 10) climb_diagonally(&s);
    if (kind == 11 || kind == 12) come_near(&s, kind == 12);
    return s;
}

static size_t voxels(const setup *s) { return s->grid.n[0] * s->grid.n[1] * s->grid.n[2]; }
static size_t pixels(const setup *s) { return s->geometry.views * s->geometry.rows * s->geometry.columns; }

static const char *device; /* NULL: the CPU */

static qb_projector *projector(const setup *s, const char *kernel, int threads) {
    qb_projector *p = NULL;
    const qb_env env = {.threads = threads, .device = device};
    qb_status status = qb_projector_create(&s->geometry, &s->grid, kernel, &env, &p);
    if (status != QB_OK && device && strstr(qb_detail(), "a curved detector")) return NULL;
    if (status == QB_BAD_INPUT && strstr(qb_detail(), "no view sees")) return NULL;
    /* With such a close source, a corner of a leaning detector may lie behind it. Such a geometry is refused,
     * rightly. */
    if (status == QB_BAD_INPUT && strcmp(s->name, "a source next to the volume") == 0 &&
        strstr(qb_detail(), "behind the source"))
        return NULL;
    if (status != QB_OK) fail_msg("%s: %s", s->name, qb_detail());
    if (!device && strcmp(s->name, "a few slices") == 0 && s->grid.n[2] <= 8) assert_non_null(p->flat);
    return p;
}

static double dot(const float *a, const float *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static void count_tap(void *context, size_t voxel, double weight) {
    (void)voxel, (void)weight;
    ++*(size_t *)context;
}

/* Weights are one minus a position in the volume, which is rounded relative to a voxel. Along a ray through the rim all
 * weights are small, and none has a small relative error. If only such rays see the volume, errors are compared to what
 * the same rays would give with half the usual weights: the sum, over their voxels, of the ray's length in a layer to
 * `power`. */
static double seen_at_all(const setup *s, int power) {
    const qb_geometry *g = &s->geometry;
    double sum = 0;
    for (size_t i = 0; i < pixels(s); i++) {
        const size_t row = i / g->columns % g->rows;
        const qb__fan fan = qb__fan_of(g, &s->grid, i / g->columns / g->rows, i % g->columns);
        size_t taps = 0;
        qb__joseph_reference(&fan, row, s->grid.n, count_tap, &taps);
        sum += (double)taps * pow(qb__fan_length(&fan, s->grid.voxel, (double)row), power);
    }
    return sum;
}

static void fail_of(const setup *s, const char *kernel, double left, double right, double scale) {
    const qb_geometry *g = &s->geometry;
    const qb_grid *v = &s->grid;
    fail_msg("%s, %s: %zu views of %zu x %zu, %zu x %zu x %zu voxels of %g, %g, %g mm: <Ax,y> = %.9g, <x,A'y> = %.9g, "
             "of %.4g",
             s->name, kernel, g->views, g->columns, g->rows, v->n[0], v->n[1], v->n[2], v->voxel[0], v->voxel[1],
             v->voxel[2], left, right, scale);
}

/* |<Ax,y> - <x,A'y>| relative to |Ax| |y|, which is not zero for random numbers. False if no view sees the volume. */
static bool check_adjoint(const setup *s, const char *kernel) {
    qb_projector *p = projector(s, kernel, 2);
    if (!p) return false;
    float *x = noise(voxels(s)), *y = noise(pixels(s));
    float *ax = noise(pixels(s)), *aty = noise(voxels(s));
    assert_int_equal(qb_projector_forward(p, x, 0, s->geometry.views, NULL, ax), QB_OK);
    assert_int_equal(qb_projector_adjoint(p, y, 0, s->geometry.views, false, NULL, aty), QB_OK);
    double left = dot(ax, y, pixels(s)), right = dot(x, aty, voxels(s));
    double scale = sqrt(dot(ax, ax, pixels(s)) * dot(y, y, pixels(s)));
    /* Random signs: mean squares are 0.05 for weights and 1/3 for each number. */
    if (!(fabs(left - right) <= 1e-5 * scale) &&
        !(fabs(left - right) <= 1e-5 * sqrt(0.05 / 3 * seen_at_all(s, 2) * dot(y, y, pixels(s)))))
        fail_of(s, kernel, left, right, scale);
    /* And with positive numbers, where nothing cancels. */
    for (size_t i = 0; i < voxels(s); i++) x[i] = fabsf(x[i]) + 0.1f;
    for (size_t i = 0; i < pixels(s); i++) y[i] = fabsf(y[i]) + 0.1f;
    assert_int_equal(qb_projector_forward(p, x, 0, s->geometry.views, NULL, ax), QB_OK);
    assert_int_equal(qb_projector_adjoint(p, y, 0, s->geometry.views, false, NULL, aty), QB_OK);
    left = dot(ax, y, pixels(s)), right = dot(x, aty, voxels(s));
    if (!(fabs(left - right) <= 1e-5 * fabs(left)) &&
        !(fabs(left - right) <= 1e-5 * 0.12 * 0.6 * 0.6 * seen_at_all(s, 1))) /* weights of 1/4 on average, halved */
        fail_of(s, kernel, left, right, left);
    free(x), free(y), free(ax), free(aty);
    qb_projector_destroy(p);
    return true;
}

/* Runs `check` for trials of every kind, with every kernel that can be used here. Nearly all of them see the volume. */
static void on_random_scans(size_t many, bool (*check)(const setup *s, const char *kernel)) {
    size_t count, done = 0, all = 0;
    const qb__joseph_variant *rows = qb__joseph_variants(&count);
    for (size_t trial = 0; trial < many; trial++) {
        setup s = make(trial % KINDS);
        for (size_t v = 0; v < count; v++) {
            if ((rows[v].head.features & ~qb__cpu_features()) != 0) continue;
            done += check(&s, rows[v].head.id);
            all++;
        }
        qb_geometry_destroy(&s.geometry);
    }
    if (!(2 * done > all)) fail_msg("only %zu of %zu volumes were seen", done, all);
}

static void adjoint_is_the_transpose(void **state) {
    (void)state;
    on_random_scans(trials(12 * KINDS), check_adjoint);
}

static const char *first_device(void) {
    const qb__device_info *list;
    size_t count;
    return qb__device_list(&list, &count) == QB_OK && count > 0 ? list[0].spec : NULL;
}

typedef struct sum {
    const float *volume;
    double value;
} sum;

static void add_tap(void *context, size_t voxel, double weight) {
    sum *s = context;
    s->value += weight * (double)s->volume[voxel];
}

static bool check_forward(const setup *s, const char *kernel) {
    const qb_geometry *g = &s->geometry;
    qb_projector *p = projector(s, kernel, 3);
    if (!p) return false;
    float *x = noise(voxels(s)), *ax = noise(pixels(s));
    assert_int_equal(qb_projector_forward(p, x, 0, g->views, NULL, ax), QB_OK);
    double error = 0, norm = 0;
    for (size_t i = 0; i < pixels(s); i++) {
        size_t row = i / g->columns % g->rows, view = i / g->columns / g->rows;
        qb__fan fan = qb__fan_of(g, &s->grid, view, i % g->columns);
        sum line = {.volume = x};
        qb__joseph_reference(&fan, row, s->grid.n, add_tap, &line);
        double want = line.value * qb__fan_length(&fan, s->grid.voxel, (double)row);
        error += ((double)ax[i] - want) * ((double)ax[i] - want);
        norm += want * want;
    }
    /* 5e-5, the bound of class high */
    if (!(error <= 2.5e-9 * norm) && !(error <= 2.5e-9 * 0.05 / 3 * seen_at_all(s, 2)))
        fail_msg("%s, %s: relative error %.3g", s->name, kernel, sqrt(error / norm));
    free(x), free(ax);
    qb_projector_destroy(p);
    return true;
}

static void forward_is_what_the_oracle_says(void **state) {
    (void)state;
    on_random_scans(trials(6 * KINDS), check_forward);
}

static float *made_within(const setup *s, size_t max_vram, float *back) {
    qb_projector *p = NULL;
    const qb_env env = {.threads = 1, .device = device, .max_vram = max_vram};
    float *x = malloc(voxels(s) * sizeof *x), *ax = noise(pixels(s));
    assert_non_null(x);
    for (size_t i = 0; i < voxels(s); i++) x[i] = (float)(i % 7) - 2;
    assert_int_equal(qb_projector_create(&s->geometry, &s->grid, NULL, &env, &p), QB_OK);
    assert_int_equal(qb_projector_forward(p, x, 0, s->geometry.views, NULL, ax), QB_OK);
    assert_int_equal(qb_projector_adjoint(p, x, 0, s->geometry.views, false, NULL, back), QB_OK);
    qb_projector_destroy(p);
    free(x);
    return ax;
}

/* Narrow columns and a detector with roll: from the first voxel of a tile to the others there are 2^31 of such rays in
 * floats. */
static void rays_of_a_tile_may_be_far_apart(void) {
    const double turn = 0, pixel = 0.001, roll = sqrt(0.5) * pixel;
    setup s = {.name = "a fine column, rolled", .grid = {{8, 8, 32}, {1, 1, 1}, {0, 0, 0}}};
    assert_int_equal(qb_geometry_parallel(1, &turn, 100000, 1, pixel, 0, &s.geometry), QB_OK);
    s.geometry.view[0] = (qb_view){.source = {0, 1, 0}, .u = {roll, 0, roll}, .v = {-roll, 0, roll}};
    for (int j = 0; j < 3; j++)
        s.geometry.view[0].detector[j] = (j == 0 ? 3 : j == 2 ? 15 : 0) - 0.5 * 99999 * s.geometry.view[0].v[j];
    assert_true(check_adjoint(&s, "project_joseph.alu"));
    qb_geometry_destroy(&s.geometry);
}

/* so large in comparison to the noise that voxels that it reaches can be told from others */
static const float GREAT = 1e30f;

static size_t great(const float *values, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += fabsf(values[i]) > 1e15f;
    return found;
}

static float *adjoint_within(const setup *s, const char *where, size_t max_vram, const float *lines) {
    qb_projector *p = NULL;
    float *back = noise(voxels(s));
    const qb_env env = {.threads = 1, .device = where, .max_vram = max_vram};
    assert_int_equal(qb_projector_create(&s->geometry, &s->grid, NULL, &env, &p), QB_OK);
    assert_int_equal(qb_projector_adjoint(p, lines, 0, s->geometry.views, false, NULL, back), QB_OK);
    qb_projector_destroy(p);
    return back;
}

/* For a leaning detector: the source is far, or so close that tiles have no bound of their own. */
static void a_value_goes_where_its_ray_goes(double sod) {
    const double turn[] = {0, 1.1};
    setup s = {.name = "leaning, one great pixel", .grid = {{40, 40, 45}, {1, 1, 1}, {0, 0, 0}}};
    assert_int_equal(qb_geometry_cone(2, turn, 40, 30, 3, 3, sod, 2 * sod, 0, 0, &s.geometry), QB_OK);
    for (size_t i = 0; i < 2; i++) /* by 0.3, around its columns */
        for (int j = 0; j < 2; j++) s.geometry.view[i].v[j] = (j ? 1 : -1) * s.geometry.view[i].u[1 - j] * 0.3;
    float *lines = noise(pixels(&s));
    lines[20 * 30 + 15] = GREAT;
    float *cpu = adjoint_within(&s, "cpu", 0, lines), *whole = adjoint_within(&s, device, 0, lines);
    float *cut = adjoint_within(&s, device, 1 << 20, lines);
    assert_memory_equal(whole, cut, voxels(&s) * sizeof *whole);
    const double right = (double)great(cpu, voxels(&s)), found = (double)great(whole, voxels(&s));
    assert_true(right > 50);
    if (!(fabs(found - right) < 0.03 * right)) fail_msg("%s: %g voxels are great, %g on the CPU", s.name, found, right);
    free(lines), free(cpu), free(whole), free(cut);
    qb_geometry_destroy(&s.geometry);
}

/* The same on a device, through the operators of the C API; in slabs, too: the same bits. */
static void devices_agree(void **state) {
    (void)state;
    device = first_device();
    if (!device) skip();
    enum { NEAR = 24 }; /* more trials of the last two kinds, since few of them are of the sort that is meant */
    for (size_t kind = 0; kind < trials(KINDS) + NEAR; kind++) {
        setup s = make(kind < trials(KINDS) ? kind % KINDS : 11 + kind % 2);
        check_adjoint(&s, "project_joseph.alu");
        check_forward(&s, "project_joseph.alu");
        qb_geometry_destroy(&s.geometry);
    }
    /* More views than a block has, over a full turn, on a leaning detector. */
    double around[70];
    for (int i = 0; i < 70; i++) around[i] = 0.049 * i; /* 32 of them: a quarter turn */
    setup leaning = {.name = "leaning, 70 views", .grid = {{20, 20, 20}, {1, 1, 1}, {0, 0, 0}}};
    assert_int_equal(qb_geometry_cone(70, around, 24, 24, 1.4, 1.4, 60, 90, 0, 0, &leaning.geometry), QB_OK);
    disturb(&leaning.geometry, 0.05, 0);
    assert_true(check_adjoint(&leaning, "project_joseph.alu"));
    qb_geometry_destroy(&leaning.geometry);
    rays_of_a_tile_may_be_far_apart();
    a_value_goes_where_its_ray_goes(80);
    a_value_goes_where_its_ray_goes(36);
    setup s = {.grid = {{40, 40, 40}, {1, 1, 1}, {0, 0, 0}}};
    const double angles[] = {0, 1, 2, 3};
    assert_int_equal(qb_geometry_cone(4, angles, 64, 64, 1, 1, 200, 300, 0, 0, &s.geometry), QB_OK);
    float *back = noise(voxels(&s)), *in_slabs = noise(voxels(&s));
    float *whole = made_within(&s, 0, back), *cut = made_within(&s, 1 << 20, in_slabs);
    assert_memory_equal(whole, cut, pixels(&s) * sizeof *whole);
    assert_memory_equal(back, in_slabs, voxels(&s) * sizeof *back);
    free(whole), free(cut), free(back), free(in_slabs);
    qb_geometry_destroy(&s.geometry);
    device = NULL;
}

static void bits_do_not_depend_on_how_it_is_cut(void **state) {
    (void)state;
    const size_t many = trials(3 * KINDS);
    size_t done = 0;
    for (size_t trial = 0; trial < many; trial++) {
        setup s = make(trial % KINDS);
        s.grid.n[2] += 130; /* several layers */
        qb_projector *one = projector(&s, NULL, 1), *many = projector(&s, NULL, 5);
        const size_t views = s.geometry.views, half = views / 2, image = pixels(&s) / views;
        if (one && many) {
            float *x = noise(voxels(&s)), *y = noise(pixels(&s)), *sums;
            float *a = noise(pixels(&s)), *b = noise(pixels(&s));
            float *c = noise(voxels(&s)), *d = noise(voxels(&s));
            assert_int_equal(qb_projector_forward(one, x, 0, views, NULL, a), QB_OK);
            if (half) assert_int_equal(qb_projector_forward(many, x, 0, half, NULL, b), QB_OK);
            assert_int_equal(qb_projector_forward(many, x, half, views, NULL, b + half * image), QB_OK);
            assert_memory_equal(a, b, pixels(&s) * sizeof *a);
            /* slab by slab */
            const size_t slice = s.grid.n[0] * s.grid.n[1], depth = many->side[2];
            sums = calloc(views * qb__project_view_floats(many), sizeof *sums);
            for (size_t z = 0; z < s.grid.n[2]; z += depth) {
                size_t end = z + depth < s.grid.n[2] ? z + depth : s.grid.n[2];
                assert_int_equal(qb__project_add(many, x + z * slice, z, end, 0, views, sums, NULL), QB_OK);
            }
            qb__project_finish(many, 0, views, sums, b);
            assert_memory_equal(a, b, pixels(&s) * sizeof *a);
            free(sums);
            assert_int_equal(qb_projector_adjoint(one, y, 0, views, false, NULL, c), QB_OK);
            if (half) assert_int_equal(qb_projector_adjoint(many, y, 0, half, false, NULL, d), QB_OK);
            assert_int_equal(qb_projector_adjoint(many, y + half * image, half, views, half > 0, NULL, d), QB_OK);
            assert_memory_equal(c, d, voxels(&s) * sizeof *c);
            free(x), free(y), free(a), free(b), free(c), free(d);
            done++;
        }
        qb_projector_destroy(one);
        qb_projector_destroy(many);
        qb_geometry_destroy(&s.geometry);
    }
    if (!(2 * done > many)) fail_msg("only %zu of %zu volumes were seen", done, many);
}

/* Rays that lie exactly on the edge of what a brick's last voxel touches, up to rounding. */
static void edges_are_not_overrun(void **state) {
    (void)state;
    enum { N = 64, VIEWS = 16 };
    double angles[VIEWS];
    for (int i = 0; i < VIEWS; i++) angles[i] = M_PI * i / VIEWS;
    setup s = {.name = "edges", .grid = {{N, N, 16}, {1, 1, 1}, {0, 0, 0}}};
    assert_int_equal(qb_geometry_parallel(VIEWS, angles, 16, N, 1, 0.5 * (N - 1), &s.geometry), QB_OK);
    size_t count;
    const qb__joseph_variant *rows = qb__joseph_variants(&count);
    for (size_t v = 0; v < count; v++)
        if ((rows[v].head.features & ~qb__cpu_features()) == 0) assert_true(check_adjoint(&s, rows[v].head.id));
    qb_geometry_destroy(&s.geometry);
}

/* Chords of a ball, in every geometry that sees it: as exact as voxels allow. */
static void a_ball_casts_its_chords(void **state) {
    (void)state;
    enum { N = 64 };
    const double radius = 24, angles[3] = {0.1, 0.9, 2.5};
    const qb_grid grid = {{N, N, N}, {1, 1, 1}, {0, 0, 0}};
    float *volume = malloc(N * N * N * sizeof *volume);
    assert_non_null(volume);
    for (size_t i = 0; i < N * N * N; i++) {
        /* the fraction of a voxel inside the ball, from 4^3 points */
        int inside = 0;
        for (int k = 0; k < 64; k++) {
            double x = (double)(i % N) + (k % 4 + 0.5) / 4 - 32;
            double y = (double)(i / N % N) + (k / 4 % 4 + 0.5) / 4 - 32;
            double z = (double)(i / N / N) + (k / 16 + 0.5) / 4 - 32;
            inside += x * x + y * y + z * z < radius * radius;
        }
        volume[i] = (float)inside / 64;
    }
    for (int kind = 0; kind < 3; kind++) {
        qb_geometry g;
        if (kind == 0)
            assert_int_equal(qb_geometry_parallel(3, angles, 50, 60, 1, 29.5, &g), QB_OK);
        else
            assert_int_equal(qb_geometry_cone(3, angles, 50, 60, 1.5, 1.5, 200, 300, 3, 2, &g), QB_OK);
        if (kind == 2) g.radius = 300;
        qb_projector *p;
        assert_int_equal(qb_projector_create(&g, &grid, NULL, NULL, &p), QB_OK);
        float *lines = noise(3 * 50 * 60);
        assert_int_equal(qb_projector_forward(p, volume, 0, 3, NULL, lines), QB_OK);
        double square = 0, mean = 0, count = 0;
        for (size_t i = 0; i < 3 * 50 * 60; i++) {
            qb__fan f = qb__fan_of(&g, &grid, i / 3000, i % 60);
            double row = (double)(i / 60 % 50), dd = 0, od = 0, oo = 0;
            for (int j = 0; j < 3; j++) {
                double o = f.origin[j] + row * f.origin_step[j] - 31.5;
                double d = f.along[j] + row * f.along_step[j];
                dd += d * d, od += o * d, oo += o * o;
            }
            double rest = radius * radius - oo + od * od / dd;
            if (rest < 0.25 * radius * radius) continue; /* near the rim, chord lengths fall steeply */
            double error = (double)lines[i] - 2 * sqrt(rest);
            square += error * error, mean += error, count++;
        }
        if (!(count > 2000 && sqrt(square / count) < 0.12 && fabs(mean / count) < 0.06))
            fail_msg("beam %d, %g rays: errors of %.4g rms, %.4g on average, of 48", kind, count, sqrt(square / count),
                     mean / count);
        free(lines);
        qb_projector_destroy(p);
        qb_geometry_destroy(&g);
    }
    free(volume);
}

static void add(float *a, double factor, const float *b, size_t count) {
    for (size_t i = 0; i < count; i++) a[i] = (float)((double)a[i] + factor * (double)b[i]);
}

/* The use of the pair: conjugate gradients reduce the residual in every step, and find the volume. */
static void conjugate_gradients_find_the_volume(void **state) {
    (void)state;
    enum { VIEWS = 24, VOXELS = 10 * 9 * 8, PIXELS = VIEWS * 14 * 16, STEPS = 60 };
    double angles[VIEWS];
    for (int i = 0; i < VIEWS; i++) angles[i] = 2 * M_PI * i / VIEWS;
    setup s = {.name = "cg", .grid = {{10, 9, 8}, {1, 1, 1}, {0, 0, 0}}};
    assert_int_equal(qb_geometry_cone(VIEWS, angles, 14, 16, 1, 1, 60, 80, 0.3, -0.2, &s.geometry), QB_OK);
    disturb(&s.geometry, 0.05, 0.2);
    qb_projector *a = projector(&s, NULL, 2);
    assert_non_null(a);
    float *truth = noise(VOXELS), *y = noise(PIXELS), *q = noise(PIXELS);
    float *x = calloc(VOXELS, sizeof *x), *p = noise(VOXELS), *g = noise(VOXELS);
    assert_int_equal(qb_projector_forward(a, truth, 0, VIEWS, NULL, y), QB_OK);
    double misfit = dot(y, y, PIXELS);
    assert_int_equal(qb_projector_adjoint(a, y, 0, VIEWS, false, NULL, p), QB_OK);
    double size = dot(p, p, VOXELS);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(qb_projector_forward(a, p, 0, VIEWS, NULL, q), QB_OK);
        double step = size / dot(q, q, PIXELS), before = misfit;
        add(x, step, p, VOXELS);
        add(y, -step, q, PIXELS);
        misfit = dot(y, y, PIXELS);
        assert_true(misfit < before || misfit < 1e-6);
        assert_int_equal(qb_projector_adjoint(a, y, 0, VIEWS, false, NULL, g), QB_OK);
        double now = dot(g, g, VOXELS), share = now / size;
        for (size_t k = 0; k < VOXELS; k++) p[k] = (float)((double)g[k] + share * (double)p[k]);
        size = now;
    }
    add(x, -1, truth, VOXELS);
    const double left = sqrt(dot(x, x, VOXELS) / dot(truth, truth, VOXELS));
    if (!(left < 0.02)) fail_msg("%.3g of the volume is not found", left);
    free(truth), free(x), free(y), free(q), free(p), free(g);
    qb_projector_destroy(a);
    qb_geometry_destroy(&s.geometry);
}

/* "devices": kernels that must be compiled for them, a separate test. */
int main(int argc, char **argv) {
    const struct CMUnitTest on_devices[] = {cmocka_unit_test(devices_agree)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adjoint_is_the_transpose),
        cmocka_unit_test(forward_is_what_the_oracle_says),
        cmocka_unit_test(bits_do_not_depend_on_how_it_is_cut),
        cmocka_unit_test(edges_are_not_overrun),
        cmocka_unit_test(a_ball_casts_its_chords),
        cmocka_unit_test(conjugate_gradients_find_the_volume),
    };
    if (argc > 1 && strcmp(argv[1], "devices") == 0) return cmocka_run_group_tests(on_devices, throw_dice, NULL);
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
