/* SPDX-License-Identifier: MIT */
/* What a parallel-beam reconstruction will do: grid, axis, weights, kernel, chunks, forecast. */
#include "recon/fbp/fbp_plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "center/center.h"
#include "cpu/features.h"
#include "geometry/parallel.h"
#include "job/describe.h"
#include "planner/backproject.h"
#include "planner/kernel_name.h"
#include "recon/fbp/fbp_device.h"

static qb_status check_scan(const qb_scan_info *info) {
    if (info->beam == QB_BEAM_CONE)
        return qb__fail(QB_BAD_INPUT, "%s states that its beam is a cone: use qb fdk", info->path);
    if (!info->angles)
        return qb__fail(QB_BAD_INPUT, "%s has no angles: give --angles FROM:TO or a file", info->path);
    if (info->views == 0 || info->rows == 0 || info->columns < 2)
        return qb__fail(QB_BAD_INPUT, "%s: %zu views of %zu x %zu pixels are too few", info->path,
                        info->views, info->rows, info->columns);
    return QB_OK;
}

/* --center: a number, A:B:STEP, or a finder's name (found when run: the plan reads no projections). */
static qb_status decide_center(qb__fbp *fbp) {
    const char *text = fbp->options.center;
    char *stop;
    const double column = qb__strtod(text, &stop);
    double last = (double)fbp->info->columns - 1;
    if (strcmp(text, "middle") == 0) {
        fbp->center = last / 2;
        return QB_OK;
    }
    if (qb__center_names_method(text)) {
        if (!fbp->found) fbp->center = NAN;
        return QB_OK;
    }
    if (fbp->options.search)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--search %s: nothing is looked for with --center %s; give --center auto",
                        fbp->options.search, text);
    if (stop == text)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--center %s is neither a column nor one of auto, registration, overlap, "
                        "sharpness, mass, middle",
                        text);
    fbp->center = column;
    if (*stop == ':') {
        double end;
        double rest[2] = {NAN, NAN};
        const char *after;
        int count = qb__read_numbers(stop + 1, ':', 2, rest, &after);
        end = rest[0];
        fbp->sweep_step = rest[1];
        if (count != 2 || *after ||
            !(fbp->sweep_step >= 0.001) || !(end >= fbp->center) || !(end <= last) ||
            (end - fbp->center) / fbp->sweep_step > 10000)
            return qb__fail(QB_BAD_ARGUMENT,
                            "--center %s: a sweep is A:B:STEP with 0 <= A <= B <= %g, STEP at least 0.001 and "
                            "at most 10000 steps",
                            text, last);
        fbp->sweep = true;
        if (fbp->output.array)
            return qb__fail(QB_BAD_ARGUMENT,
                            "--center %s: a sweep writes a folder of TIFF files, no array", text);
        const char *dot = strrchr(fbp->output.output, '.');
        if (dot && !strchr(dot, '/'))
            return qb__fail(QB_BAD_ARGUMENT,
                            "--center %s: a sweep writes a folder of TIFF files, and -o %s looks like "
                            "a file",
                            text, fbp->output.output);
        if (fbp->output.preview)
            return qb__fail(QB_BAD_ARGUMENT, "--preview: a sweep makes pictures enough");
        fbp->sweep_count = (size_t)floor((end - fbp->center) / fbp->sweep_step + 1e-6) + 1;
    } else if (*stop) {
        return qb__fail(QB_BAD_ARGUMENT, "--center %s is not a column", text);
    }
    if (!(fbp->center >= 0 && fbp->center <= last))
        return qb__fail(QB_BAD_ARGUMENT, "--center %s lies outside the detector's columns 0..%g",
                        text, last);
    return QB_OK;
}

static qb_status decide_weights(qb__fbp *fbp, const qb_env *env) {
    size_t views = fbp->info->views;
    double *exact = NULL;
    qb__angle_report report;
    char wide[320];
    qb_status status;
    QB__TRY(qb__alloc(views, sizeof *exact, &exact));
    QB__TRY(qb__alloc(views, sizeof *fbp->weights, &fbp->weights));
    QB__TRY(qb__angle_weights(views, fbp->info->angles, exact, &report));
    if (fbp->fan.used) QB__TRY(qb__turn_weights(views, fbp->info->angles, exact));
    if (views >= 3 && views - report.repeated < 2) {
        status = qb__fail(QB_BAD_INPUT, "%s: all %zu views have the same angle: give --angles FROM:TO",
                          fbp->info->path, views);
        goto out;
    }
    double scale = fbp->options.hu > 0 ? 1000.0 / fbp->options.hu : 1.0;
    if (!(scale / fbp->pixel < 1e30)) {
        status = qb__fail(QB_BAD_ARGUMENT,
                          "--hu %g and a pixel of %g mm make numbers that no float holds: both are "
                          "in mm (1/mm)",
                          fbp->options.hu, fbp->pixel);
        goto out;
    }
    for (size_t i = 0; i < views; i++) fbp->weights[i] = (float)(exact[i] * scale);
    qb__log(env, report.missing > 0 ? QB_LOG_WARNING : QB_LOG_INFO, "angles: %s", report.text);
    cJSON_AddStringToObject(fbp->job.plan, "angles", report.text);
    qb__fbp_describe_turn(fbp, wide, sizeof wide);
    if (wide[0]) qb__info(env, "%s", wide);
out:
    qb__free(exact);
    return status;
}

/* A bound on the filtered, weighted rows, which half-precision kernels scale by; generous is good
 * enough, since halves keep their precision over many orders of magnitude. The logarithm of any
 * finite float is within 89; the ramp's taps sum to 1/2 in magnitude, and no window of ours makes
 * that more than 4 times as much. Nothing is known of given line integrals or of a filter file: devices
 * then measure (device_pass.h), and the CPU's kernels in half precision do not apply. */
static qb_status bound_rows(qb__fbp *fbp) {
    double weight = 0, bound = 89;
    size_t most = fbp->grid.n[2] + QB__BP_PARALLEL_MOST_LANES; /* of any pass, lanes padded */
    const char *filter = fbp->options.filter;
    if (fbp->info->quantity == QB_LINE_INTEGRAL || access(filter, F_OK) == 0)
        return QB_OK;
    qb_status status = qb__alloc(most, sizeof *fbp->largest, &fbp->largest);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < fbp->info->views; i++) weight = fmax(weight, fbp->weights[i]);
    if (strncmp(filter, "none", 4) != 0) bound *= 0.5 * 4 / fbp->pixel;
    for (size_t i = 0; i < most; i++) fbp->largest[i] = (float)(bound * weight);
    return QB_OK;
}

/* One of the CPU's is always chosen: single slices (the range of integers, sweeps) are its work. */
static qb_status decide_kernel(qb__fbp *fbp, const qb_env *env) {
    size_t views = fbp->info->views;
    qb_status status;
    QB__TRY(bound_rows(fbp));
    QB__TRY(qb__alloc(views, sizeof(double), &fbp->ax));
    QB__TRY(qb__alloc(views, sizeof(double), &fbp->ay));
    QB__TRY(qb__alloc(views, sizeof(double), &fbp->h0));
    fbp->problem = (qb__bp_parallel_problem){.views = views, .columns = fbp->width,
                                             .nx = fbp->grid.n[0], .ny = fbp->grid.n[1],
                                             .ax = fbp->ax, .ay = fbp->ay, .h0 = fbp->h0,
                                             .largest = fbp->largest};
    QB__TRY(qb__fbp_aim(fbp, isnan(fbp->center) ? ((double)fbp->info->columns - 1) / 2
                                                : fbp->center));
    QB__TRY(qb__filter_create(fbp->options.filter, fbp->options.pad, fbp->width, fbp->pixel,
                              &fbp->filter));
    QB__TRY(qb__kernel_interp(fbp->options.kernel, &fbp->options.interp, env));
    QB__TRY(qb__fbp_device_decide(fbp, env));
    qb_interp interp = fbp->options.interp;
    if (fbp->device && interp == QB_INTERP_OVERSAMPLE) interp = QB_INTERP_LINEAR;
    QB__TRY(qb__bp_parallel_choose(&fbp->problem, fbp->sweep ? 1 : fbp->grid.n[2], interp,
                                   fbp->options.accuracy, fbp->device ? NULL : fbp->options.kernel,
                                   &fbp->variant));
out:
    return status;
}

/* Held from beginning to end besides the rings and the scratch. */
static size_t fixed_bytes(const qb__fbp *fbp) {
    enum { THREAD_BYTES = 48 << 10, LIBRARY_BYTES = 1 << 20 };
    const qb_scan_info *info = fbp->info;
    size_t bytes = qb__resident_bytes() + LIBRARY_BYTES + (size_t)(fbp->threads + 2) * THREAD_BYTES;
    size_t field = ((fbp->grid.n[2] - 1) * fbp->step + 1) * info->columns * sizeof(float);
    if (info->quantity == QB_COUNTS && info->flats) bytes += 2 * field;
    bytes += info->cache_bytes;
    if (fbp->output.preview) bytes += fbp->grid.n[0] * fbp->grid.n[1] * sizeof(float);
    return bytes;
}

static size_t cached_row_bytes(const qb__fbp *fbp) {
    const qb_scan_info *info = fbp->info;
    return info->views * info->columns * qb_dtype_size(info->dtype);
}

/* Storage pieces of many rows: read as many rows at once as memory allows, in whole chunks. */
static void decide_cache(qb__fbp *fbp, size_t cap) {
    const qb_scan_info *info = fbp->info;
    size_t rows = (fbp->grid.n[2] - 1) * fbp->step + 1;
    size_t per_chunk = fbp->partition.slices_per_chunk * fbp->step;
    if (info->chunk_rows <= 1 || fbp->partition.chunks < 2) return;
    size_t row_bytes = cached_row_bytes(fbp);
    size_t fit = (cap - fbp->partition.bytes) / row_bytes;
    size_t wanted = fit < rows ? fit / per_chunk * per_chunk : rows;
    if (wanted <= per_chunk) return;
    fbp->cache_rows = wanted;
    fbp->partition.bytes += wanted * row_bytes;
}

/* The slice that is reconstructed to find the range of integers, before the rings are there. */
static size_t range_bytes(const qb__fbp *fbp) {
    const qb_scan_info *info = fbp->info;
    if (qb_dtype_is_float(fbp->output.dtype) || fbp->output.range.count > 0) return 0;
    return fbp->fixed_bytes + (fbp->device ? qb__fbp_device_ram(fbp) : 0) +
           (size_t)fbp->threads * qb__fbp_scratch(fbp, qb__fbp_scratch_slices(fbp)) +
           fbp->grid.n[0] * fbp->grid.n[1] * sizeof(float) +
           info->views * (info->columns * qb_dtype_size(info->dtype) +
                          fbp->variant->view_bytes(&fbp->problem, fbp->variant->lanes_step));
}

static qb_status cpu_chunks(qb__fbp *fbp, size_t cap) {
    qb__partition_problem problem = {.slices = fbp->sweep ? 1 : fbp->grid.n[2],
                                     .step = fbp->variant->lanes_step,
                                     .most = fbp->variant->lanes_max,
                                     .cap = cap,
                                     .bytes = qb__fbp_bytes,
                                     .context = fbp};
    return qb__partition_slices(&problem, &fbp->partition);
}

/* The most of what is held one after the other. */
static size_t peak_bytes(const qb__fbp *fbp) {
    size_t peak = fbp->partition.bytes, range = range_bytes(fbp);
    if (range > peak) peak = range;
    return fbp->finding_bytes > peak ? fbp->finding_bytes : peak;
}

static qb_status decide_chunks(qb__fbp *fbp, const qb_env *env) {
    size_t cap = qb__memory_cap(env);
    fbp->threads = env && env->threads > 0 ? env->threads : qb__cpu_count();
    fbp->fixed_bytes = fixed_bytes(fbp);
    qb_status status = fbp->device ? qb__fbp_device_chunks(fbp, env) : QB_OK;
    if (status == QB_OK && !fbp->device) status = cpu_chunks(fbp, cap);
    if (status != QB_OK) return status;
    decide_cache(fbp, cap);
    if (range_bytes(fbp) > cap)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "--max-ram of %.1f MiB is too small to find the range of the integers, which "
            "needs %.1f MiB: give --range LO,HI",
            (double)cap / 1048576.0, (double)range_bytes(fbp) / 1048576.0);
    if (isnan(fbp->center)) /* finding the axis comes first and is over when the rest begins */
        fbp->finding_bytes = qb__resident_bytes() + qb__center_bytes(fbp->info, env);
    fbp->memory = peak_bytes(fbp);
    return QB_OK;
}

/* What is known of all slices in one pass, for the passes that chunks and devices cut them into. */
static double kernel_seconds(const qb__fbp *fbp) {
    const qb__device_choice *choice = &fbp->device->choice;
    const qb__device_info *info = qb__device_info_of(fbp->device->set.device[0]);
    const size_t all = fbp->grid.n[2], chunk = fbp->partition.slices_per_chunk;
    const size_t slices[] = {all, qb__ceil_div(chunk, fbp->parts),
                             qb__ceil_div(all % chunk, fbp->parts)};
    double seconds[3] = {0};
    int unit;
    for (int i = 0; i < 3; i++)
        if (slices[i])
            seconds[i] = qb__device_forecast(info, choice->variant, &fbp->problem, slices[i],
                                             choice->values, NULL, &unit);
    return choice->seconds * ((double)(all / chunk) * seconds[1] + seconds[2]) / seconds[0];
}

/* Rough costs where nothing has been measured on this machine. */
static double forecast_seconds(const qb__fbp *fbp) {
    double slices = (double)(fbp->sweep ? fbp->sweep_count : fbp->grid.n[2]);
    double updates = (double)fbp->grid.n[0] * (double)fbp->grid.n[1] * slices * (double)fbp->info->views;
    double padded = (double)qb__filter_length(fbp->filter) * slices * (double)fbp->info->views;
    if (fbp->device) return kernel_seconds(fbp) + padded / 50e9 / (double)fbp->parts;
    return (updates / (fbp->variant->speed * 1e9) + padded / 0.4e9) / fbp->threads;
}

/* A kernel that is named goes before --accuracy. */
static void tell_accuracy(const qb__fbp *fbp, const qb_env *env) {
    qb_accuracy got = fbp->device ? fbp->device->choice.variant->accuracy : fbp->variant->accuracy;
    if (fbp->options.kernel && got > fbp->options.accuracy)
        qb__warn(env, "--kernel %s keeps --accuracy %s only, not %s", fbp->options.kernel,
                 qb_accuracy_name(got), qb_accuracy_name(fbp->options.accuracy));
}

static void describe_kernel(const qb__fbp *fbp, cJSON *plan) {
    qb_interp interp = fbp->options.interp;
    qb_accuracy asked = fbp->options.accuracy;
    const qb__fbp_device *gpu = fbp->device;
    qb_accuracy accuracy = gpu ? gpu->choice.variant->accuracy : fbp->variant->accuracy;
    cJSON_AddStringToObject(plan, "kernel", qb__fbp_kernel(fbp));
    cJSON_AddStringToObject(plan, "accuracy", qb_accuracy_name(accuracy));
    if (!gpu) {
        cJSON_AddStringToObject(plan, "device", "cpu");
        cJSON_AddItemToObject(plan, "why",
                              qb__bp_parallel_why(&fbp->problem, fbp->grid.n[2], interp, asked));
        return;
    }
    const qb__device_info *info = qb__device_info_of(gpu->set.device[0]);
    cJSON_AddStringToObject(plan, "device", info->spec);
    cJSON_AddStringToObject(plan, "device_name", info->name);
    cJSON_AddNumberToObject(plan, "devices", (double)fbp->parts);
    cJSON_AddNumberToObject(plan, "device_memory_bytes", (double)gpu->bytes);
    cJSON_AddItemToObject(plan, "kernel_parameters",
                          qb__parameters_json(gpu->choice.variant, gpu->choice.values));
    cJSON_AddItemToObject(plan, "why_device",
                          qb__device_why(info, &gpu->problem, fbp->grid.n[2], interp, asked));
}

static void describe(qb__fbp *fbp) {
    cJSON *plan = fbp->job.plan;
    qb__describe_volume(plan, "fbp", fbp->info, &fbp->volume);
    qb__describe_options(plan, qb_fbp_params, &fbp->options);
    qb__describe_options(plan, qb_prep_params, &fbp->prep);
    describe_kernel(fbp, plan);
    char wide[320];
    qb__fbp_describe_turn(fbp, wide, sizeof wide);
    if (wide[0]) cJSON_AddStringToObject(plan, "redundancy", wide);
    cJSON_AddNumberToObject(plan, "fft_length", (double)qb__filter_length(fbp->filter));
    cJSON_AddNumberToObject(plan, "threads", fbp->threads);
    cJSON_AddNumberToObject(plan, "slices_per_chunk", (double)fbp->partition.slices_per_chunk);
    cJSON_AddNumberToObject(plan, "chunks", (double)fbp->partition.chunks);
    cJSON_AddNumberToObject(plan, "ring_slots", fbp->partition.slots);
    cJSON_AddNumberToObject(plan, "rows_read_ahead", (double)fbp->cache_rows);
    qb__describe_cost(plan, &fbp->volume, fbp->memory, forecast_seconds(fbp));
}

static qb_status write_plan(qb__fbp *fbp) {
    describe(fbp);
    cJSON_free(fbp->job.plan_text);
    fbp->job.plan_text = cJSON_Print(fbp->job.plan);
    return fbp->job.plan_text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for the plan");
}

qb_status qb__fbp_decide(qb__fbp *fbp, const qb_env *env) {
    qb_status status;
    fbp->job.plan = cJSON_CreateObject();
    QB__TRY(check_scan(fbp->info));
    QB__TRY(qb__volume_check(&fbp->output, fbp->info->path));
    QB__TRY(decide_center(fbp));
    QB__TRY(qb__fbp_decide_turn(fbp));
    QB__TRY(qb__fbp_decide_grid(fbp, env));
    QB__TRY(decide_weights(fbp, env));
    QB__TRY(decide_kernel(fbp, env));
    tell_accuracy(fbp, env);
    QB__TRY(decide_chunks(fbp, env));
    status = write_plan(fbp);
out:
    return status;
}

/* The plan's JSON anew; of the angles nothing is said twice. */
static qb_status write_plan_again(qb__fbp *fbp) {
    cJSON *plan = cJSON_CreateObject();
    cJSON_AddItemToObject(plan, "angles", cJSON_DetachItemFromObject(fbp->job.plan, "angles"));
    cJSON_Delete(fbp->job.plan);
    fbp->job.plan = plan;
    return write_plan(fbp);
}

qb_status qb__fbp_decide_less(qb__fbp *fbp) {
    qb__fbp_device_forecast(fbp);
    fbp->partition.bytes += fbp->cache_rows * cached_row_bytes(fbp);
    fbp->memory = peak_bytes(fbp);
    return write_plan_again(fbp);
}

qb_status qb__fbp_decide_without_device(qb__fbp *fbp, const qb_env *env) {
    size_t cap = qb__memory_cap(env);
    qb_status status = cpu_chunks(fbp, cap);
    if (status != QB_OK) return status;
    fbp->cache_rows = 0;
    decide_cache(fbp, cap);
    fbp->memory = peak_bytes(fbp);
    return write_plan_again(fbp);
}

/* What was decided for the axis in the middle; the scan, the options and the axis stay. */
static void forget(qb__fbp *fbp) {
    qb__fbp_device_destroy(fbp);
    qb__filter_destroy(fbp->filter);
    fbp->filter = NULL;
    void **const arrays[] = {(void **)&fbp->weights, (void **)&fbp->share, (void **)&fbp->ax,
                             (void **)&fbp->ay,      (void **)&fbp->h0,    (void **)&fbp->largest};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        qb__free(*arrays[i]);
        *arrays[i] = NULL;
    }
    fbp->parts = 1;
    fbp->cache_rows = fbp->finding_bytes = 0;
    cJSON_Delete(fbp->job.plan);
    fbp->job.plan = NULL;
}

qb_status qb__fbp_decide_found(qb__fbp *fbp, const qb_env *env) {
    fbp->found = true;
    if (!fbp->full_turn ||
        !qb__half_fan_of(fbp->info->columns, fbp->center, fbp->center).used)
        return QB_OK;
    forget(fbp);
    return qb__fbp_decide(fbp, env);
}
