/* SPDX-License-Identifier: MIT */
#include "geometry/partition.h"

#include "base/memory.h"
#include "base/status.h"

size_t qb__cut_slabs(const qb__layers *layers, size_t nz, size_t thickness, size_t *cut) {
    size_t n = 0, down = 0;
    cut[n++] = 0;
    if (thickness < nz) {
        while (layers->below > (down + 1) * thickness) down++;
        for (; down > 0; down--)
            if (layers->below - down * thickness < layers->above) cut[n++] = layers->below - down * thickness;
        const size_t up =
            /* without layers below, not all of it lies above */
            layers->below ? layers->above : layers->above % thickness;
        for (size_t at = up; at < nz; at += thickness)
            if (at > 0) cut[n++] = at;
    }
    cut[n] = nz;
    return n;
}

/* If a share lies on one side of where the layers begin, all its layers go one way: from the first that begins in it,
 * or from the last that ends in it. */
qb__layers qb__layers_from(const qb__layers *layers, size_t first, size_t slices) {
    const size_t step = layers->thickness, end = first + slices;
    qb__layers own = {.thickness = step};
    if (first >= layers->above) {
        own.above = (step - (first - layers->above) % step) % step;
    } else if (end <= layers->below) {
        const size_t beyond = qb__round_up(layers->below - end, step);
        own.above = own.below = layers->below - first > beyond ? layers->below - first - beyond : 0;
    } else {
        own.above = layers->above - first;
        own.below = layers->below - first;
    }
    return own;
}

/* ---- ways to become thinner ---- */

size_t qb__thinner_slab(const qb__layers *layers, size_t nz, size_t thickness) {
    const size_t step = layers->thickness;
    if (thickness > nz) thickness = nz;
    if (thickness <= step || thickness < 2) return thickness / 2;
    size_t slabs = qb__ceil_div(nz, thickness); /* slabs of equal thickness, more of them each time */
    for (size_t more = slabs + 1 + slabs / 8;; more++) {
        size_t next = qb__round_up(qb__ceil_div(nz, more), step);
        if (next < thickness) return next;
    }
}

static size_t grains(const qb__cut_space *space, size_t slices) {
    return space->grain ? slices / space->grain * space->grain : slices;
}

size_t qb__thinner_layers(const qb__cut_space *space, size_t thickness) {
    return grains(space, qb__thinner_slab(&space->layers, space->slices, thickness));
}

/* Thickness of as many slabs as with at most `thickness`, with similar sizes. */
static size_t even(const qb__cut_space *space, size_t thickness) {
    size_t slabs = qb__ceil_div(space->slices, thickness);
    return qb__round_up(qb__ceil_div(space->slices, slabs), space->layers.thickness);
}

size_t qb__thinner_even(const qb__cut_space *space, size_t thickness) {
    size_t step = space->layers.thickness;
    return thickness > step ? even(space, thickness - step) : 0;
}

size_t qb__thinner_half(const qb__cut_space *space, size_t thickness) {
    size_t step = space->layers.thickness;
    return thickness > step ? thickness / step / 2 * step : 0;
}

size_t qb__thinner_single(const qb__cut_space *space, size_t thickness) {
    size_t step = space->layers.thickness;
    return thickness > step ? step : 0;
}

size_t qb__thinner_never(const qb__cut_space *space, size_t thickness) {
    (void)space, (void)thickness;
    return 0;
}

/* ---- the search ---- */

/* Find the largest number of slabs that a row of ranks needs, and the slabs of this rank, counted from its first
 * slice. */
static void cut_rows(const qb__cut_grid *grid, size_t *edge, qb__cut *cut) {
    cut->slabs = 1;
    for (int row = 0; row < grid->rows; row++)
        cut->slabs = qb__larger(cut->slabs, qb__cut_row(grid, row, cut->thickness, 0, edge));
    qb__cut_row(grid, grid->row, cut->thickness, cut->slabs, edge);
    for (size_t i = cut->slabs + 1; i-- > 0;) edge[i] -= edge[0];
}

void qb__cut_edges(const qb__cut_space *space, size_t *edge, qb__cut *cut) {
    if (space->grid)
        cut_rows(space->grid, edge, cut);
    else
        cut->slabs = qb__cut_slabs(&space->layers, space->slices, cut->thickness, edge);
    cut->slices = 0;
    for (size_t i = 0; i < cut->slabs; i++)
        if (edge[i + 1] - edge[i] > cut->slices) cut->slices = edge[i + 1] - edge[i];
    for (size_t i = 0; i <= cut->slabs; i++) edge[i] += space->first;
    cut->all_slices = (qb__run){space->first, space->first + space->slices};
    if (space->slabs) space->slabs(space->context, cut, edge);
}

void qb__cut_chunks(const qb__cut *cut, const size_t *edge, qb__chunks *chunks) {
    for (size_t i = 0; i < cut->slabs; i++) {
        qb__run own = qb__cut_column(cut->grid, edge[i + 1] - edge[i]);
        own.first += edge[i], own.end += edge[i];
        chunks->chunk[i] = (qb__chunk){.slab = i, .images = {{own, {own.end, own.end}}}, .weight = 1};
    }
    chunks->count = cut->slabs;
    chunks->most = cut->grid ? qb__ceil_div(cut->slices, (size_t)cut->grid->columns) : cut->slices;
    chunks->first = cut->all_slices.first;
}

void qb__cut_views(const qb__cut_space *space, size_t views, qb__cut *cut) {
    cut->views = views;
    cut->blocks = qb__ceil_div(space->views, views);
    cut->all_views = (qb__run){space->view0, space->view0 + space->views};
}

typedef struct search {
    const qb__cut_space *space;
    qb__cut best, least;
    double seconds; /* time of the best cut */
    bool found;
} search;

static void try_cut(search *s, qb__cut *cut) {
    const qb__cut_space *space = s->space;
    cut->need = space->need(space->context, cut);
    const double seconds = space->seconds ? space->seconds(space->context, cut) : 0;
    const qb__room *need = &cut->need, *least = &s->least.need;
    if (s->least.thickness == 0 || need->host + need->device < least->host + least->device) s->least = *cut;
    if (need->host > space->cap.host || need->device > space->cap.device) return;
    if (s->found && !(seconds < s->seconds)) return;
    s->best = *cut;
    s->seconds = seconds;
    s->found = true;
}

/* Try all numbers of buffers per ring and of views per block for one thickness. */
static void try_slabs(search *s, qb__cut *cut) {
    const qb__cut_space *space = s->space;
    for (cut->slots = 2; cut->slots >= 1; cut->slots--) {
        if (cut->slots == 2 && cut->slabs == 1 && !space->views_stream) continue;
        size_t views = space->views_after ? space->views_after(space->engine, cut, 0) : space->views;
        while (views > 0) {
            qb__cut_views(space, views, cut);
            try_cut(s, cut);
            if (s->found && !space->seconds) return;
            views = space->views_after ? space->views_after(space->engine, cut, views) : 0;
        }
    }
}

/* If all stages overlap and four smaller cuts were not faster, still smaller ones will not be. */
static bool is_idle(const search *s, size_t thickness, int *idle) {
    if (!s->space->seconds) return s->found;
    *idle = !s->found || s->best.slots < 2 || s->best.thickness == thickness ? 0 : *idle + 1;
    return *idle == 4;
}

/* Find the fastest cut of one thickness. */
static void try_thickness(search *s, size_t thickness, size_t *edge) {
    const qb__cut_space *space = s->space;
    qb__cut now = {.thickness = thickness, .grid = space->grid, .schedule = space->schedule};
    do {
        qb__cut_edges(space, edge, &now);
        try_slabs(s, &now);
        now.schedule = space->schedule_after ? space->schedule_after(space->engine, &now) : 0;
    } while (now.schedule);
}

qb_status qb__cut_search(const qb__cut_space *space, qb__cut *cut, bool *fits) {
    search s = {.space = space};
    size_t *edge;
    int idle = 0;
    QB__OR_RETURN(qb__alloc(space->grid ? qb__cut_room(space->grid) : space->slices + 2, sizeof *edge, &edge));
    size_t first = space->thinner == qb__thinner_even ? even(space, space->most) : space->most;
    for (size_t t = first; t > 0; t = space->thinner(space, t)) {
        try_thickness(&s, t, edge);
        if (is_idle(&s, t, &idle)) break;
    }
    *cut = s.found ? s.best : s.least;
    *fits = s.found;
    qb__cut_edges(space, edge, cut);
    qb__free(edge);
    return QB_OK;
}

static size_t half(const qb__cut_space *space, size_t slices) {
    size_t step = space->layers.thickness, less = qb__round_up((slices + 1) / 2, step);
    if (space->thinner == qb__thinner_never) return 0;
    if (slices <= step) return space->thinner == qb__thinner_layers ? grains(space, slices / 2) : 0;
    return less < slices ? less : slices - step;
}

bool qb__cut_less(const qb__cut_space *space, qb__cut *cut) {
    const size_t thickness = half(space, cut->slices);
    if (cut->schedule != space->schedule)
        cut->schedule = space->schedule;
    else if (thickness > 0)
        cut->thickness = thickness;
    else if (cut->slots > 1)
        cut->slots = 1;
    else if (space->views_after && cut->views > 1)
        qb__cut_views(space, (cut->views + 1) / 2, cut);
    else
        return false;
    return true;
}

size_t qb__cut_last(const qb__cut *cut, size_t slices) {
    const size_t before = (cut->slabs - 1) * cut->slices;
    return slices > before ? slices - before : 0;
}

/* ---- ranks ---- */

void qb__cut_rank(size_t slices, size_t grain, int ranks, int rank, size_t *first, size_t *count) {
    const size_t grains = qb__ceil_div(slices, grain), n = (size_t)ranks, i = (size_t)rank;
    const size_t each = grains / n, more = grains % n; /* the first ranks have one more */
    const size_t end = qb__smaller(((i + 1) * each + qb__smaller(i + 1, more)) * grain, slices);
    *first = qb__smaller((i * each + qb__smaller(i, more)) * grain, slices);
    *count = end - *first;
}

qb__run qb__cut_column(const qb__cut_grid *grid, size_t slices) {
    size_t first = 0, count = slices;
    if (grid) qb__cut_rank(slices, 1, grid->columns, grid->column, &first, &count);
    return (qb__run){first, first + count};
}

size_t qb__cut_row(const qb__cut_grid *grid, int row, size_t thickness, size_t slabs, size_t *edge) {
    size_t first, count;
    qb__cut_rank(grid->slices, grid->grain, grid->rows, row, &first, &count);
    const qb__layers layers = qb__layers_from(&grid->layers, first, count);
    const size_t own = qb__cut_slabs(&layers, count, thickness, edge);
    for (size_t i = own + 1; i <= slabs; i++) edge[i] = count;
    for (size_t i = 0; i <= qb__larger(own, slabs); i++) edge[i] += first;
    return own;
}

size_t qb__cut_tallest(const qb__cut_grid *grid) {
    size_t first, count;
    qb__cut_rank(grid->slices, grid->grain, grid->rows, 0, &first, &count);
    return count;
}

int qb__cut_owner(size_t slices, size_t grain, int ranks, size_t slice) {
    size_t first, count;
    for (int rank = 0;; rank++) {
        qb__cut_rank(slices, grain, ranks, rank, &first, &count);
        if (slice < first + count) return rank;
    }
}
