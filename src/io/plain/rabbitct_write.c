/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/rabbitct.h"
#include "io/writer.h"

/* Indices of the files: the input, the geometry, and a reference for each of four sizes. */
enum { INPUT, GEOMETRY, REFERENCES, FILES = REFERENCES + 4 };

typedef struct output {
    char *path; /* temporary or final path */
    FILE *file;
} output;

struct qb__rabbitct_writer {
    qb__rabbitct set;             /* only columns, rows, views, hu and layout are used */
    qb__publication *publication; /* all files together, or the single one */
    const char *fresh;
    size_t references, open_size; /* number of references; size of the one being written */
    output files[FILES];
};

static qb_status open_output(qb__rabbitct_writer *w, output *o, const char *name) {
    o->path = name ? qb__join(w->fresh, name) : qb__strdup(w->fresh);
    if (!o->path) return qb__fail(QB_NO_MEMORY, "no memory for a file's name");
    o->file = fopen(o->path, "wb");
    return o->file ? QB_OK : qb__fail_errno(errno, "opening", o->path);
}

static qb_status put(const output *o, const void *data, size_t bytes) {
    if (bytes == 0 || fwrite(data, 1, bytes, o->file) == bytes) return QB_OK;
    return qb__fail_writing(errno, o->path);
}

static qb_status put_header(const qb__rabbitct_writer *w, const output *o) {
    const uint32_t version = 2;
    const uint32_t head[3] = {(uint32_t)w->set.columns, (uint32_t)w->set.rows, (uint32_t)w->set.views};
    qb_status status = w->set.original ? put(o, &version, sizeof version) : QB_OK;
    if (status == QB_OK) status = put(o, head, sizeof head);
    return status == QB_OK ? put(o, w->set.hu, sizeof w->set.hu) : status;
}

qb_status qb__rabbitct_writer_create(const char *path, const qb__rabbitct *set, const qb_env *env,
                                     qb__rabbitct_writer **writer) {
    qb__rabbitct_writer *w;
    *writer = NULL;
    qb_status status = qb__alloc(1, sizeof *w, &w);
    if (status != QB_OK) return status;
    w->set = *set;
    QB__TRY(qb__publication_create(env, &w->publication));
    QB__TRY(set->original ? qb__publication_file(w->publication, path, &w->fresh)
                          : qb__publication_folder(w->publication, path, NULL, &w->fresh));
    QB__TRY(open_output(w, &w->files[INPUT], set->original ? NULL : "RabbitInput.rct"));
    QB__TRY(put_header(w, &w->files[INPUT]));
    if (!set->original) {
        QB__TRY(open_output(w, &w->files[GEOMETRY], "RabbitGeometry.rct"));
        QB__TRY(put_header(w, &w->files[GEOMETRY]));
    }
    *writer = w;
    return QB_OK;
out:
    qb__rabbitct_writer_abort(w);
    return status;
}

qb_status qb__rabbitct_writer_view(qb__rabbitct_writer *w, const double matrix[12], const float *image) {
    qb_status status = put(&w->files[INPUT], matrix, 12 * sizeof *matrix);
    if (status == QB_OK) status = put(&w->files[INPUT], image, w->set.columns * w->set.rows * sizeof *image);
    if (status == QB_OK && !w->set.original) status = put(&w->files[GEOMETRY], matrix, 12 * sizeof *matrix);
    return status;
}

qb_status qb__rabbitct_writer_reference(qb__rabbitct_writer *w, size_t size, const uint16_t *values, size_t count) {
    if (w->set.original) return put(&w->files[INPUT], values, count * sizeof *values);
    if (size != w->open_size) {
        char name[32];
        if (w->references == FILES - REFERENCES)
            return qb__fail(QB_INTERNAL, "a fifth reference, of %zu^3 voxels", size);
        snprintf(name, sizeof name, "Reference%zu.vol", size);
        QB__OR_RETURN(open_output(w, &w->files[REFERENCES + w->references++], name));
        w->open_size = size;
    }
    return put(&w->files[REFERENCES + w->references - 1], values, count * sizeof *values);
}

qb_status qb__rabbitct_writer_commit(qb__rabbitct_writer *w) {
    qb_status status = QB_OK;
    for (int i = 0; i < FILES && status == QB_OK; i++) {
        output *o = &w->files[i];
        if (!o->file) continue;
        bool good = fflush(o->file) == 0 && fsync(fileno(o->file)) == 0;
        if (!good) status = qb__fail_writing(errno, o->path);
        if (fclose(o->file) != 0 && good) status = qb__fail_writing(errno, o->path);
        o->file = NULL;
    }
    if (status == QB_OK) {
        status = qb__publication_commit(w->publication);
        w->publication = NULL;
    }
    qb__rabbitct_writer_abort(w);
    return status;
}

void qb__rabbitct_writer_abort(qb__rabbitct_writer *w) {
    if (!w) return;
    for (int i = 0; i < FILES; i++) {
        if (w->files[i].file) fclose(w->files[i].file);
        qb__free(w->files[i].path);
    }
    qb__publication_abort(w->publication);
    qb__free(w);
}
