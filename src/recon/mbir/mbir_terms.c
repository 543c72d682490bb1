/* SPDX-License-Identifier: MIT */
/* The cost as the options state it: weights, prior or proximal map, and a number with which the descent may begin. */
#include "recon/mbir/mbir.h"

#include <math.h>

#include "base/number.h"
#include "base/params.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "quickbeam/io.h"

/* Check the file of weights at plan time, so that it is among the inputs of the job, which no output replaces. */
static qb_status check_weights(const qb__mbir *m) {
    const qb_scan_info *info = m->info;
    const char *path = m->terms.weights_file;
    qb_array_info found = {.struct_size = sizeof found};
    qb_status status = qb_array_describe(path, NULL, &found);
    if (status == QB_NOT_FOUND && qb__is_folder(path))
        return qb__fail(QB_BAD_ARGUMENT, "--weights %s is a folder without image files", path);
    if (status == QB_NOT_FOUND)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "--weights %s is neither a file nor one of unweighted, transmission, transmission_root, emission", path);
    if (status != QB_OK) return status;
    const size_t *shape = found.shape;
    if (shape[0] == info->views && shape[1] == info->rows && shape[2] == info->columns) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s has %zu x %zu x %zu weights, %s %zu views of %zu x %zu", path, shape[0], shape[1],
                    shape[2], info->path, info->views, info->rows, info->columns);
}

qb_status qb__mbir_weights_decide(qb__mbir *m) {
    static const char *const rules[] = {"unweighted", "transmission", "transmission_root", "emission"};
    const char *text = m->options->weights;
    m->settings.weighting = QB__WEIGH_GIVEN;
    m->terms.weights_file = text;
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, rules[i]) != 0) continue;
        m->settings.weighting = (qb__icd_weighting)i;
        m->terms.weights_file = NULL;
    }
    return m->terms.weights_file ? check_weights(m) : QB_OK;
}

/* Refuse options that shape the prior if there is none: a proximal map has no prior. */
static qb_status check_idle(const qb_mbir_options *options) {
    static const char *const names[] = {"p", "q", "threshold", "neighbours"};
    qb_mbir_options usual;
    qb_status status = qb__params_view(qb_mbir_params, NULL, &usual);
    for (size_t i = 0; status == QB_OK && i < sizeof names / sizeof names[0]; i++) {
        const qb_param *row = qb_param_find(qb_mbir_params, names[i]);
        char asked[128] = "", initial[128] = "";
        qb_param_get(row, options, asked, sizeof asked);
        qb_param_get(row, &usual, initial, sizeof initial);
        if (strcmp(asked, initial) != 0)
            status = qb__fail(QB_BAD_ARGUMENT, "--%s %s is the prior's, and --prox has none: leave one of them out",
                              names[i], asked);
    }
    return status;
}

/* In volumes of cones all directions count alike: with edges at half the weight of faces, the second differences of a
 * smooth volume do not depend on how the object lies. Without edges a slice is smoothed much more than the slices
 * against each other. */
const qb_numbers *qb__mbir_neighbours(const qb__mbir *m) {
    static const qb_numbers slices = {3, {1, 0.7071, 1}}, cone = {5, {1, 0.5, 1, 0.5, 0}};
    if (m->options->neighbours.count) return &m->options->neighbours;
    return m->any && m->info->rows > 1 ? &cone : &slices;
}

qb_status qb__mbir_prior_decide(qb__mbir *m) {
    const qb_mbir_options *o = m->options;
    const qb_numbers *n = qb__mbir_neighbours(m);
    const double *b = n->value, sum = 4 * b[0] + 4 * b[1] + 2 * b[2] + 8 * b[3] + 8 * b[4];
    const bool proximal = o->prox || o->prox_array;
    if (proximal && o->sigma_x > 0)
        return qb__fail(QB_BAD_ARGUMENT, "--sigma-x is the prior's, and --prox has none: give --sigma-p");
    if (!proximal && o->sigma_p > 0)
        return qb__fail(QB_BAD_ARGUMENT, "--sigma-p says how near to the image of --prox: give one, or --sigma-x");
    if (proximal) { /* rho(d) is d^2 / (4 sigma^2) */
        QB__OR_RETURN(check_idle(o));
        m->settings.prior = (qb__icd_prior){.p = 2, .q = 2, .t = 1, .sigma = o->sigma_p};
        m->settings.pull = 2;
        return QB_OK;
    }
    if (o->p > o->q) return qb__fail(QB_BAD_ARGUMENT, "--p %g lies above --q %g: 1 <= p <= q <= 2", o->p, o->q);
    if ((n->count != 3 && n->count != 5) || !(sum > 0))
        return qb__fail(QB_BAD_ARGUMENT, "--neighbours takes three or five numbers, not all zero: "
                                         "NEAREST,DIAGONAL,INTERSLICE[,EDGE,CORNER]");
    if (!m->any && (b[3] > 0 || b[4] > 0))
        return qb__fail(QB_BAD_ARGUMENT, "--neighbours: EDGE and CORNER are for cones, not for parallel and fan beams: "
                                         "give NEAREST,DIAGONAL,INTERSLICE");
    m->settings.prior = (qb__icd_prior){.p = o->p,
                                        .q = o->q,
                                        .t = o->t,
                                        .sigma = o->sigma_x,
                                        .nearest = b[0] / sum,
                                        .diagonal = b[1] / sum,
                                        .interslice = b[2] / sum,
                                        .edge = b[3] / sum,
                                        .corner = b[4] / sum};
    return QB_OK;
}

qb_status qb__mbir_start_number(qb__mbir *m) {
    const char *text = m->options->start;
    char *stop;
    m->terms.constant = qb__strtod(text, &stop);
    m->terms.is_number = stop > text && !*stop;
    if (!m->terms.is_number ||
        (fabs(m->terms.constant) <= 1e6 && (m->terms.constant >= 0 || m->options->no_positivity)))
        return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--start %s is not a number in 1/mm%s", text,
                    m->options->no_positivity ? " from -1e6 to 1e6" : " from 0 to 1e6");
}
