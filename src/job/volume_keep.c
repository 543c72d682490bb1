/* SPDX-License-Identifier: MIT */
#include "job/volume_out.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/writer.h"
#include "job/job.h"

bool qb__keep_has(const qb__keep *keep, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        if (!(keep->done[i / 8] >> i % 8 & 1)) return false;
    return true;
}

static qb_status tell(qb__keep *k) { return k->job ? QB_OK : k->tell(k->self, &k->job); }

static size_t marks_of(size_t images) { return images / 8 + 1; }

qb_status qb__keep_look(void *keep, const char *folder) {
    qb__keep *k = keep;
    char *then = NULL;
    qb_status status;
    QB__TRY(tell(k));
    QB__TRY(qb__alloc(marks_of(k->images), 1, &k->done));
    QB__TRY(qb__journal_read(folder, k->path, k->images, &then, k->done));
    if (then && strcmp(then, k->job) != 0) status = qb__job_fingerprint_mismatch(folder, then, k->job);
    k->whose = qb__hash(k->job, strlen(k->job), 0);
out:
    qb__free(then);
    return status;
}

/* Collective: the images that are done are in k->done. */
static qb_status find(qb__keep *k, qb_status status) {
    const bool first = qb__comm_rank(k->comm) == 0;
    uint64_t found[] = {status == QB_OK && k->writer->taken_up, k->whose};
    if (found[0] && first) status = qb__writer_has(k->writer, k->done);
    status = qb__comm_bcast(k->comm, status, 0, found, sizeof found);
    if (status == QB_OK && first && !found[0]) qb__info(k->env, "nothing of %s is kept: from the beginning", k->path);
    if (status != QB_OK || !found[0]) return status;
    if (!first) status = qb__alloc(marks_of(k->images), 1, &k->done);
    k->whose = found[1];
    return qb__comm_bcast(k->comm, status, 0, k->done, marks_of(k->images));
}

qb_status qb__keep_still(qb__keep *k) {
    char *before = k->job;
    if (!k->done) return QB_OK;
    k->job = NULL;
    qb_status status = tell(k);
    if (status == QB_OK && qb__hash(k->job, strlen(k->job), 0) != k->whose)
        status = before ? qb__job_fingerprint_mismatch(k->folder, before, k->job)
                        : qb__fail(QB_BAD_ARGUMENT, "rank %d would go on with %s by other means than rank 0",
                                   qb__comm_rank(k->comm), k->path);
    cJSON_free(before);
    return status;
}

qb_status qb__keep_open(qb__keep *k, qb__comm *comm, qb_writer *writer, qb_status status, const qb_env *env) {
    k->comm = comm;
    k->writer = writer;
    k->env = env;
    k->journal.fd = -1;
    k->saved = qb__now();
    if (!k->resume && !(k->every > 0)) return status;
    if (status == QB_OK) status = qb__writer_staging(writer, &k->folder);
    if (k->resume) status = find(k, status);
    if (status == QB_OK && !qb__hash_known()) k->every = 0;
    return status;
}

static qb_status note(qb__keep *k) {
    const qb_writer *w = k->writer;
    qb_status status = tell(k);
    if (status == QB_OK && k->journal.fd < 0) {
        qb__journal_close(&k->journal);
        status = qb__journal_open(k->folder, w->path, qb__comm_rank(k->comm), k->job, k->images, k->done, &k->journal);
    }
    return status == QB_OK ? qb__journal_note(&k->journal, w->path, w->written) : status;
}

/* Data must be on the disk before it is noted; a failure to write the note is not an error. */
qb_status qb__keep_note(qb__keep *k) {
    if (!k->folder || !(k->every > 0) || qb__now() - k->saved < k->every) return QB_OK;
    QB__OR_RETURN(qb__writer_sync(k->writer));
    if (note(k) != QB_OK) {
        qb__warn(k->env,
                 "this checkpoint could not be written, and there will be no more: %s" QB__CODE("checkpoint-stopped"),
                 qb_detail());
        k->every = 0;
    }
    k->saved = qb__now();
    return QB_OK;
}

void qb__keep_close(qb__keep *k) {
    qb__journal_close(&k->journal);
    cJSON_free(k->job);
    QB__FREE(k->folder, k->done);
    k->job = k->folder = NULL;
    k->done = NULL;
}
