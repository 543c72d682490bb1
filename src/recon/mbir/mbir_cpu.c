/* SPDX-License-Identifier: MIT */
/* The CPU as an engine of qb mbir: a slab is prepared as a whole, then descends. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/io.h"
#include "recon/mbir/mbir.h"

enum { READ_VIEWS = 64, LOOK_ROWS = 8 };

typedef struct on_cpu {
    qb__mbir *m;
    int threads;
    /* while running */
    const qb__running *run;
    qb_env env; /* of several slabs, how far one is says nothing of the whole */
    qb__icd_settings settings; /* with sigma_x and sigma_y */
    qb__mbir_sigmas sigmas;
    qb_array weights;          /* of a file */
    float *some;               /* a slab's part of them */
    qb__icd_trace *trace;
    cJSON *slabs;              /* what each came to */
} on_cpu;

/* ---- reading ---- */

size_t qb__mbir_chunk_slices(const qb__mbir *m, size_t chunk) {
    return qb__smaller(m->cut.slices, m->grid.n[2] - chunk * m->cut.slices);
}

static size_t raw_row(const qb__mbir *m) {
    return m->info->columns * qb_dtype_size(m->info->dtype);
}

static size_t read_tasks(void *self, size_t chunk) {
    (void)chunk;
    return qb__ceil_div(((const qb__mbir *)self)->info->views, READ_VIEWS);
}

static qb_status read_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)in;
    const qb__mbir *m = self;
    const size_t first = task * READ_VIEWS, row = m->first_row + chunk * m->cut.slices;
    const size_t slices = qb__mbir_chunk_slices(m, chunk);
    return qb_scan_read(m->scan, first, qb__smaller(first + READ_VIEWS, m->info->views), row,
                        row + slices, (char *)out + first * slices * raw_row(m));
}

int qb__mbir_stages(void *plan, const qb__cut *cut, qb__stage *stages) {
    const qb__mbir *m = plan;
    const size_t slice = m->info->views * raw_row(m);
    stages[0] = (qb__stage){.name = "read",
                            .self = plan,
                            .blocking = true,
                            .slots = cut->slots,
                            .slot_bytes = cut->slices * slice,
                            .last_bytes = qb__cut_last(cut, m->grid.n[2]) * slice,
                            .tasks = read_tasks,
                            .run = read_run};
    return 1;
}

qb_status qb__mbir_open(void *plan, const qb__cut *cut) {
    ((qb__mbir *)plan)->cut = *cut;
    return QB_OK;
}

/* ---- preparation ---- */

static size_t prepare_tasks(void *self, size_t chunk) {
    (void)chunk;
    return ((const on_cpu *)self)->m->info->views;
}

static qb_status prepare_run(void *self, size_t chunk, size_t view, int worker, const void *in, void *out) {
    const on_cpu *cpu = self;
    const qb__mbir *m = cpu->m;
    const size_t slices = qb__mbir_chunk_slices(m, chunk), columns = m->info->columns;
    for (size_t s = 0; s < slices; s++)
        qb__prepare_row(cpu->run->prepare, view, m->first_row + chunk * m->cut.slices + s,
                        (const char *)in + (view * slices + s) * raw_row(m),
                        (float *)out + (view * slices + s) * columns, &cpu->run->counts[worker]);
    return QB_OK;
}

/* ---- weights of a file ---- */

static size_t weight_rows(const qb__mbir *m, size_t slices) {
    return m->weights_file ? m->info->views * slices * m->info->columns : 0;
}

static qb_status load_weights(on_cpu *cpu) {
    const qb__mbir *m = cpu->m;
    const qb_scan_info *info = m->info;
    if (!m->weights_file) return QB_OK;
    qb_status status = qb_array_load_values(m->weights_file, NULL, &cpu->weights, NULL);
    if (status == QB_NOT_FOUND)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--weights %s is neither a file nor one of unweighted, transmission, "
                        "transmission_root, emission",
                        m->weights_file);
    if (status != QB_OK) return status;
    const size_t *shape = cpu->weights.shape;
    if (shape[0] != info->views || shape[1] != info->rows || shape[2] != info->columns)
        return qb__fail(QB_BAD_INPUT, "%s has %zu x %zu x %zu weights, %s %zu views of %zu x %zu",
                        m->weights_file, shape[0], shape[1], shape[2], info->path, info->views,
                        info->rows, info->columns);
    return qb_array_to_float(&cpu->weights);
}

/* Those of `slices` rows from `row` on, as the lines lie. */
static void some_weights(const on_cpu *cpu, size_t row, size_t slices, float *out) {
    const qb_scan_info *info = cpu->m->info;
    const float *all = cpu->weights.data;
    for (size_t view = 0; view < info->views; view++)
        memcpy(out + view * slices * info->columns, all + (view * info->rows + row) * info->columns,
               slices * info->columns * sizeof *out);
}

/* ---- sigma_x and sigma_y ---- */

/* From a few rows of the scan, the same ones whatever the cut. */
static qb_status look(on_cpu *cpu) {
    const qb__mbir *m = cpu->m;
    const size_t slices = m->grid.n[2], rows = qb__smaller(LOOK_ROWS, slices);
    const size_t one = m->info->views * m->info->columns;
    float *lines = NULL, *weights = NULL;
    qb__prep_counts *counts = NULL; /* dropped: these rows are counted when they are reconstructed */
    qb_status status;
    QB__TRY(qb__alloc(rows * one, sizeof *lines, &lines));
    QB__TRY(qb__alloc(rows * one, sizeof *weights, &weights));
    QB__TRY(qb__alloc((size_t)cpu->threads, sizeof *counts, &counts));
    for (size_t i = 0; i < rows; i++) {
        const size_t row = m->first_row + (2 * i + 1) * slices / (2 * rows);
        QB__TRY(qb__prepare_rows(cpu->run->prepare, m->scan, row, row + 1, cpu->run->pool,
                                 lines + i * one, counts));
        if (m->weights_file) some_weights(cpu, row, 1, weights + i * one);
    }
    for (size_t i = 0; !m->weights_file && i < rows * one; i++)
        weights[i] = qb__icd_weigh(m->settings.weighting, lines[i]);
    cpu->sigmas = qb__mbir_sigmas_of(lines, weights, rows * one, (double)m->info->columns * m->pixel,
                                     m->grid.voxel[0] / m->pixel, m->options->sharpness,
                                     m->options->snr_db);
out:
    qb__free(lines);
    qb__free(weights);
    qb__free(counts);
    return status;
}

static qb_status find_sigmas(on_cpu *cpu) {
    const qb_mbir_options *o = cpu->m->options;
    cpu->settings = cpu->m->settings;
    if (!(o->sigma_x > 0) || !(o->sigma_y > 0)) {
        qb_status status = look(cpu);
        if (status != QB_OK) return status;
    }
    if (o->sigma_x > 0) cpu->sigmas.x = o->sigma_x;
    if (o->sigma_y > 0) cpu->sigmas.y = o->sigma_y;
    if (!isfinite(cpu->sigmas.x) || !isfinite(cpu->sigmas.y))
        return qb__fail(QB_BAD_INPUT, "%s holds numbers that are none: mask or mend them, or give --sigma-x and --sigma-y",
                        cpu->m->info->path);
    cpu->settings.prior.sigma = cpu->sigmas.x;
    cpu->settings.sigma_y = cpu->sigmas.y;
    qb__info(cpu->run->env, "sigma_x %.4g, sigma_y %.4g", cpu->sigmas.x, cpu->sigmas.y);
    return QB_OK;
}

/* ---- descending ---- */

static void note_slab(on_cpu *cpu, size_t first, size_t slices, int turns, const char *stopped) {
    cJSON *slab = cJSON_CreateObject();
    cJSON *equits = cJSON_AddArrayToObject(slab, "equits"), *change = cJSON_AddArrayToObject(slab, "change"),
          *cost = cJSON_AddArrayToObject(slab, "cost");
    cJSON_AddNumberToObject(slab, "first_slice", (double)first);
    cJSON_AddNumberToObject(slab, "slices", (double)slices);
    cJSON_AddStringToObject(slab, "stopped", stopped ? stopped : "early");
    for (int i = 0; i < turns; i++) {
        cJSON_AddItemToArray(equits, cJSON_CreateNumber(cpu->trace[i].equits));
        cJSON_AddItemToArray(change, cJSON_CreateNumber(cpu->trace[i].change));
        cJSON_AddItemToArray(cost, cJSON_CreateNumber(cpu->trace[i].cost));
    }
    cJSON_AddItemToArray(cpu->slabs, slab);
}

static qb_status descend_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    on_cpu *cpu = self;
    qb__mbir *m = cpu->m;
    const size_t slices = qb__mbir_chunk_slices(m, chunk), first = chunk * m->cut.slices;
    const size_t image = m->grid.n[0] * m->grid.n[1];
    const float scale = m->options->hu > 0 ? (float)(1000 / m->options->hu) : 1;
    qb__icd_stack *stack = NULL;
    const char *stopped;
    int turns;
    qb_status status;
    QB__TRY(qb__icd_stack_create(&m->matrix, m->kind, &cpu->settings, slices, cpu->run->pool, &stack));
    if (m->weights_file) some_weights(cpu, m->first_row + first, slices, cpu->some);
    QB__TRY(qb__icd_stack_start(stack, in, cpu->some, m->filter, m->theta, m->constant));
    QB__TRY(qb__icd_stack_run(stack, &cpu->env, NULL, cpu->trace, &turns, &stopped));
    note_slab(cpu, first, slices, turns, stopped);
    for (size_t s = 0; s < slices; s++)
        qb__icd_stack_image(stack, s, scale, (float *)out + s * image);
out:
    qb__icd_stack_destroy(stack);
    return status;
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source;
    const qb__mbir *m = ((on_cpu *)state)->m;
    const size_t lines = m->info->views * m->info->columns * sizeof(float);
    const size_t image = m->grid.n[0] * m->grid.n[1] * sizeof(float);
    const size_t last = qb__cut_last(cut, m->grid.n[2]);
    stages[0] = (qb__stage){.name = "prepare",
                            .self = state,
                            .slots = 1,
                            .slot_bytes = cut->slices * lines,
                            .last_bytes = last * lines,
                            .tasks = prepare_tasks,
                            .run = prepare_run};
    stages[1] = (qb__stage){.name = "mbir",
                            .self = state,
                            .blocking = true,
                            .slots = 1,
                            .slot_bytes = cut->slices * image,
                            .last_bytes = last * image,
                            .run = descend_run};
    return 2;
}

/* ---- what it costs ---- */

static size_t pixels_of(const qb__mbir *m) {
    return qb__icd_pixels(m->grid.n[0], m->grid.n[1], m->settings.radius);
}

static qb__room memory(void *state, const qb__cut *cut) {
    const on_cpu *cpu = state;
    const qb__mbir *m = cpu->m;
    const size_t look = 2 * LOOK_ROWS * m->info->views * m->info->columns * sizeof(float);
    const size_t stack = qb__icd_stack_bytes(&m->matrix, &m->settings, cut->slices, cpu->threads) +
                         qb__system_matrix_bytes(&m->matrix, m->kind, pixels_of(m)) +
                         (size_t)qb__icd_turns(m->settings.equits) * sizeof(qb__icd_trace) +
                         (size_t)cpu->threads * (m->filter ? qb__filter_scratch(m->filter) : 0);
    const size_t weights = (weight_rows(m, m->info->rows) + weight_rows(m, cut->slices)) * sizeof(float);
    return (qb__room){.host = weights + qb__larger(look, stack)};
}

static size_t scratch(void *state, const qb__cut *cut) {
    (void)state, (void)cut;
    return 0; /* the stack has its own */
}

static double seconds(void *state, const qb__cut *cut) {
    const on_cpu *cpu = state;
    const qb__mbir *m = cpu->m;
    const double entries = (double)(m->matrix.shadows.taps * m->info->views) * (double)pixels_of(m);
    const double groups = (double)qb__ceil_div(cut->slices, QB__ICD_LANES);
    const double each = entries * QB__ICD_LANES / (m->variant->head.speed * 1e9);
    const double turns = ceil(groups / cpu->threads) * (double)cut->slabs;
    return each * turns * (fmin(m->settings.equits, 12) + 1.5);
}

static size_t never_thinner(const qb__cut_space *space, size_t thickness) {
    (void)space, (void)thickness;
    return 0; /* neighbours count */
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)env;
    qb__mbir *m = plan;
    const size_t slices = m->grid.n[2], lanes = QB__ICD_LANES;
    const bool apart = !(m->settings.prior.interslice > 0);
    on_cpu *cpu;
    qb_status status = qb__alloc(1, sizeof *cpu, &cpu);
    if (status != QB_OK) return status;
    *cpu = (on_cpu){.m = m, .threads = task->threads};
    offer->state = cpu;
    offer->space = (qb__cut_space){
        .slices = slices,
        .views = m->info->views,
        .layers = {.thickness = apart ? lanes : 1},
        .most = apart ? qb__smaller(qb__round_up(slices, lanes), lanes * (size_t)task->threads) : slices,
        .thinner = apart ? qb__thinner_layers : never_thinner,
        .cap = offer->space.cap};
    return QB_OK;
}

/* ---- life ---- */

static void close_cpu(void *state) {
    on_cpu *cpu = state;
    qb_array_destroy(&cpu->weights);
    qb__free(cpu->some);
    qb__free(cpu->trace);
    cJSON_Delete(cpu->slabs);
    *cpu = (on_cpu){.m = cpu->m, .threads = cpu->threads};
}

static qb_status open_cpu(void *state, const qb__cut *cut, const qb__running *run) {
    on_cpu *cpu = state;
    const qb__mbir *m = cpu->m;
    qb_status status;
    cpu->run = run;
    if (run->env) cpu->env = *run->env;
    if (cut->slabs > 1) cpu->env.progress = NULL;
    QB__TRY(load_weights(cpu));
    QB__TRY(qb__alloc(weight_rows(m, cut->slices), sizeof(float), &cpu->some));
    QB__TRY(find_sigmas(cpu));
    QB__TRY(qb__alloc((size_t)qb__icd_turns(m->settings.equits), sizeof *cpu->trace, &cpu->trace));
    cpu->slabs = cJSON_CreateArray();
out:
    return status;
}

static qb_status finish(void *state, cJSON *report, qb__prep_counts *counts) {
    (void)counts;
    on_cpu *cpu = state;
    if (!report) return QB_OK;
    cJSON *json = cJSON_AddObjectToObject(report, "convergence");
    cJSON_AddNumberToObject(json, "sigma_x", cpu->sigmas.x);
    cJSON_AddNumberToObject(json, "sigma_y", cpu->sigmas.y);
    cJSON_AddItemToObject(json, "slabs", cpu->slabs);
    cpu->slabs = NULL;
    return QB_OK;
}

static void describe(void *state, const qb__cut *cut, cJSON *plan) {
    (void)cut;
    cJSON_AddStringToObject(plan, "kernel", ((on_cpu *)state)->m->variant->head.id);
    cJSON_AddStringToObject(plan, "device", "cpu");
}

static const char *kernel(void *state) { return ((on_cpu *)state)->m->variant->head.id; }

const qb__engine qb__mbir_cpu = {
    .name = "cpu",
    .place = "this computer",
    .decide = decide,
    .memory = memory,
    .scratch = scratch,
    .seconds = seconds,
    .stages = stages,
    .open = open_cpu,
    .finish = finish,
    .close = close_cpu,
    .describe = describe,
    .kernel = kernel,
    .destroy = qb__free,
};
