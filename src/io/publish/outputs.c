/* SPDX-License-Identifier: MIT */
#include "io/publish/outputs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/formats.h"
#include "io/publish/paths.h"
#include "io/tiff/tiff_write.h"

/* The names of one output: a series, or a file with its additional files. */
enum { NAME_ROOM = 4096 };

static bool is_series(const qb__output *output) {
    return output->images && !qb__is_store(output->path) &&
           (qb__is_folder(output->path) || qb__has_number(output->path));
}

static const char *word_of(const qb__output *output) { return output->projections ? "view_" : "slice_"; }

/* The name of file `number` that is written with an output: its notes, the further files of its format, its parts; ""
 * beyond the last. */
static qb_status name_with(const qb__output *o, size_t number, char name[NAME_ROOM]) {
    const qb__format *format = NULL;
    const size_t notes = is_series(o) ? 0 : 1;
    int length = 0;
    *name = 0;
    if (!o->images || qb__is_store(o->path)) return QB_OK;
    if (number < notes) {
        length = snprintf(name, NAME_ROOM, "%s.json", o->path);
    } else {
        QB__OR_RETURN(qb__format_to_write(o->path, &format));
        if (format->writer->also && format->writer->also(o->path, number - notes, name, NAME_ROOM)) return QB_OK;
        *name = 0;
        if (o->parts > 1 && number - notes < o->parts) return qb__part_name(o->path, number - notes, name, NAME_ROOM);
    }
    if (length < NAME_ROOM) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", o->path);
}

static qb_status two_things(const char *path, const char *other) {
    return qb__fail(QB_BAD_ARGUMENT, "two outputs have the name %s, that and %s: give another name", path, other);
}

/* True if writing `output` would replace the file at `path`. */
static qb_status takes(const qb__output *output, const char *path, bool *taken) {
    char name[NAME_ROOM];
    qb_status status = is_series(output)
                           ? qb__series_holds(output->path, word_of(output), output->first, output->images, path, taken)
                           : qb__same_file(output->path, path, taken);
    for (size_t i = 0; status == QB_OK && !*taken; i++) {
        status = name_with(output, i, name);
        if (status != QB_OK || !*name) break;
        status = qb__same_file(name, path, taken);
    }
    return status;
}

/* A folder that is replaced as a whole, with everything in it that was read. */
static qb_status spare_store(const qb__output *output, const qb__inputs *inputs) {
    char whole[PATH_MAX], file[PATH_MAX];
    const qb_status status = qb__store_check(output->path);
    if (status != QB_OK || !realpath(output->path, whole)) return status;
    const size_t n = strlen(whole);
    for (int list = -1; list < 2; list++) {
        const qb__inputs *from = list < 0 ? inputs : inputs ? inputs->also[list] : NULL;
        for (size_t i = 0; from && i < from->count; i++)
            if (realpath(from->file[i].path, file) && strncmp(file, whole, n) == 0 && file[n] == '/')
                return qb__fail(QB_BAD_ARGUMENT, "writing %s would overwrite the input %s: give another name",
                                output->path, from->file[i].path);
    }
    return QB_OK;
}

static qb_status spare_inputs(const qb__output *output, const qb__inputs *inputs) {
    char name[NAME_ROOM];
    qb_status status = QB_OK;
    if (output->images && qb__is_store(output->path)) return spare_store(output, inputs);
    if (is_series(output)) {
        status = qb__series_protect_inputs(output->path, word_of(output), output->first, output->images, inputs);
    } else {
        status = qb__target_check(output->path);
        if (status == QB_OK) status = qb__inputs_protect(inputs, output->path);
    }
    for (size_t i = 0; status == QB_OK; i++) {
        status = name_with(output, i, name);
        if (status != QB_OK || !*name) break;
        status = qb__target_check(name);
        if (status == QB_OK) status = qb__inputs_protect(inputs, name);
    }
    return status;
}

static qb_status spare_one(const qb__output *output, const char *path, const char *what) {
    bool taken;
    qb_status status = takes(output, path, &taken);
    if (status != QB_OK || !taken) return status;
    return qb__fail(QB_BAD_ARGUMENT, "writing %s would overwrite %s, %s: give another name", output->path, path, what);
}

static qb_status spare_callers(const qb__output *output, const qb_env *env) {
    qb_status status = QB_OK;
    if (!env) return QB_OK;
    for (const char *const *path = env->reads; status == QB_OK && path && *path; path++)
        status = spare_one(output, *path, "which this run reads");
    for (const qb_sidecar *file = env->writes; status == QB_OK && file && file->path; file++)
        status = spare_one(output, file->path, "which this run writes, too");
    return status;
}

static qb_status check_callers(const qb__inputs *inputs, const qb_env *env) {
    qb_status status = QB_OK;
    for (const qb_sidecar *file = env ? env->writes : NULL; status == QB_OK && file && file->path; file++)
        status = qb__target_check(file->path);
    return status == QB_OK ? qb__inputs_protect_all(inputs, env) : status;
}

static qb_status check_pair(const qb__output *a, const qb__output *b) {
    bool taken = false;
    qb_status status = QB_OK;
    if (is_series(a) && is_series(b)) status = qb__series_meet(a->path, word_of(a), b->path, word_of(b), &taken);
    if (!is_series(b)) status = takes(a, b->path, &taken);
    if (status == QB_OK && !taken && !is_series(a)) status = takes(b, a->path, &taken);
    if (status != QB_OK) return status;
    return taken ? two_things(a->path, b->path) : QB_OK;
}

qb_status qb__outputs_check(const qb__output *outputs, size_t count, const qb__inputs *inputs, const qb_env *env) {
    for (size_t i = 0; i < count; i++) {
        const qb__output *output = &outputs[i];
        if (!output->path) continue;
        QB__OR_RETURN(spare_inputs(output, inputs));
        QB__OR_RETURN(spare_callers(output, env));
        for (size_t k = 0; k < i; k++)
            if (outputs[k].path) QB__OR_RETURN(check_pair(output, &outputs[k]));
    }
    return check_callers(inputs, env);
}
