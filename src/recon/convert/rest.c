/* SPDX-License-Identifier: MIT */
#include "recon/convert/conversion.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/status.h"
#include "io/writer.h"

qb_status qb__rest_open(qb__rest *r, const qb_convert_options *options, const qb_stack *stack,
                        qb_status (*tell)(void *self, char **job), void *self, const qb_env *env) {
    const char *why = qb__writer_for_good(options->output, stack);
    r->images = stack->shape[0];
    if (options->resume && why) return qb__fail(QB_BAD_ARGUMENT, "--resume: %s", why);
    QB__OR_RETURN(options->resume ? qb__hash_for_resume() : QB_OK);
    r->keep = (qb__keep){.resume = options->resume,
                         .every = why || !qb__hash_known() ? 0 : options->checkpoint,
                         .tell = tell,
                         .self = self,
                         .path = options->output,
                         .images = r->images,
                         .journal.fd = -1};
    qb_status status = qb__publication_create(env, &r->set);
    if (status == QB_OK && r->keep.resume) qb__publication_resume(r->set, qb__keep_look, &r->keep);
    if (status == QB_OK) status = qb__writer_create(r->set, NULL, options->output, stack, &r->writer);
    status = qb__keep_open(&r->keep, NULL, r->writer, status, env);
    if (status == QB_OK) qb__writer_limit(r->writer, env);
    return status;
}

static bool is_done(const qb__rest *r, size_t image) {
    return r->keep.done && qb__keep_has(&r->keep, image, image + 1);
}

bool qb__rest_next(qb__rest *r, size_t block, size_t *first, size_t *end) {
    size_t at = *first;
    while (at < r->images && is_done(r, at)) at++;
    if (at > *first) qb__writer_count(r->writer, *first, at);
    r->resumed += at - *first;
    *first = at;
    while (at < r->images && at - *first < block && !is_done(r, at)) at++;
    *end = at;
    return at > *first;
}

qb_status qb__rest_write(qb__rest *r, size_t first, size_t end, const void *images, const qb_env *env) {
    qb_status status = qb__writer_write(r->writer, first, end, images);
    if (status == QB_OK) status = qb__keep_note(&r->keep);
    qb__progress(env, "convert", end, r->images);
    return status;
}

qb_status qb__rest_finish(qb__rest *r, const char *provenance) {
    qb_status status = qb__writer_finish(r->writer, provenance);
    r->writer = NULL;
    if (status == QB_OK && r->set) {
        status = qb__publication_commit(r->set);
        r->set = NULL;
    }
    return status;
}

void qb__rest_release(qb__rest *r) {
    qb__keep_close(&r->keep);
    qb_writer_abort(r->writer);
    qb__publication_abort(r->set);
}
