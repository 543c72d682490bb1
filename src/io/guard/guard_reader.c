/* SPDX-License-Identifier: MIT */
/* The side that asks: see guard_reader.h. The other side is guard_serve.c. */
#include "io/guard/guard_reader.h"

#ifdef QB__GUARD

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"

enum { WORDS_MOST = 2000 };

struct qb__guard_reader {
    char *file, *dataset;
    pthread_mutex_t lock;
    pid_t child; /* 0: not started */
    int wire;
    qb_status failed; /* how the process ended, with its message */
    char words[WORDS_MOST + 1];
};

qb_status qb__guard_reader_create(const char *file, const char *dataset, qb__guard_reader **out) {
    qb__guard_reader *reader;
    *out = NULL;
    if (!qb__guarded()) return QB_OK;
    QB__OR_RETURN(qb__alloc(1, sizeof *reader, &reader));
    reader->wire = -1;
    reader->file = qb__strdup(file);
    reader->dataset = qb__strdup(dataset);
    pthread_mutex_init(&reader->lock, NULL);
    *out = reader;
    if (reader->file && reader->dataset) return QB_OK;
    qb__guard_reader_close(reader);
    *out = NULL;
    return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", file);
}

void qb__guard_reader_close(qb__guard_reader *reader) {
    if (!reader) return;
    if (reader->wire >= 0) close(reader->wire);
    if (reader->child && reader->failed == QB_OK) {
        kill(reader->child, SIGKILL); /* it holds nothing that could be lost */
        while (waitpid(reader->child, NULL, 0) < 0 && errno == EINTR) continue; /* the reason of the failure is kept */
    }
    pthread_mutex_destroy(&reader->lock);
    QB__FREE(reader->file, reader->dataset, reader);
}

static qb_status start(qb__guard_reader *reader) {
    int ends[2];
    if (reader->child) return QB_OK;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return qb__fail_errno(errno, "starting the reader of", reader->file);
    qb_status status = qb__guard_start(reader->file, reader->dataset, "serve", ends[1], &reader->child);
    close(ends[1]);
    if (status == QB_OK)
        reader->wire = ends[0];
    else
        close(ends[0]), reader->child = 0;
    return status;
}

/* False: the other process has ended, or does not answer. */
static bool receive(const qb__guard_reader *reader, void *out, size_t bytes, bool *in_time) {
    struct pollfd wire = {.fd = reader->wire, .events = POLLIN};
    for (char *to = out; bytes;) {
        const int ready = poll(&wire, 1, QB__GUARD_SECONDS * 1000);
        if (ready == 0) *in_time = false;
        if (ready == 0 || (ready < 0 && errno != EINTR)) return false;
        const ssize_t got = ready < 0 ? -1 : recv(reader->wire, to, bytes, 0);
        if (got == 0 || (got < 0 && errno != EINTR)) return false;
        if (got < 0) continue;
        to += got;
        bytes -= (size_t)got;
    }
    return true;
}

static bool ask(const qb__guard_reader *reader, const qb__guard_question *question) {
    const char *from = (const char *)question;
    for (size_t left = sizeof *question; left;) {
        const ssize_t sent = send(reader->wire, from, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        from += sent;
        left -= (size_t)sent;
    }
    return true;
}

/* End the process if it still runs; later calls return the same status. */
static qb_status lost(qb__guard_reader *reader, bool in_time) {
    if (!in_time) kill(reader->child, SIGKILL);
    close(reader->wire);
    reader->wire = -1;
    reader->failed = qb__guard_end(reader->child, reader->file, in_time);
    if (reader->failed == QB_OK)
        reader->failed = qb__fail(QB_BAD_INPUT, "%s: the process that read it ended", reader->file);
    strncpy(reader->words, qb_detail(), WORDS_MOST);
    return reader->failed;
}

/* An answer without its data, but with the message of its error. */
static qb_status answer_of(qb__guard_reader *reader, const qb__guard_question *question, qb__guard_answer *answer) {
    char words[WORDS_MOST + 1];
    bool in_time = true;
    if (reader->failed != QB_OK) return qb__fail(reader->failed, "%s", reader->words);
    QB__OR_RETURN(start(reader));
    if (!ask(reader, question) || !receive(reader, answer, sizeof *answer, &in_time)) return lost(reader, in_time);
    if (answer->status == QB_OK) return QB_OK;
    if (answer->words > WORDS_MOST || !receive(reader, words, answer->words, &in_time)) return lost(reader, in_time);
    words[answer->words] = 0;
    return qb__fail((qb_status)answer->status, "%s", words);
}

qb_status qb__guard_reader_images(qb__guard_reader *reader, const qb__region *region, size_t row, size_t image,
                                  void *out) {
    const qb__guard_question question = {.kind = QB__GUARD_IMAGES,
                                         .first = region->first,
                                         .count = region->count,
                                         .step = region->step,
                                         .row0 = region->row0,
                                         .row1 = region->row1};
    const size_t part = (region->row1 - region->row0) * row;
    qb__guard_answer answer;
    bool in_time = true;
    pthread_mutex_lock(&reader->lock);
    qb_status status = answer_of(reader, &question, &answer);
    if (status == QB_OK && answer.bytes != region->count * part)
        status = qb__fail(QB_INTERNAL, "%s: the process that reads it sent %llu bytes", reader->file,
                          (unsigned long long)answer.bytes);
    for (size_t i = 0; status == QB_OK && i < region->count; i++)
        if (!receive(reader, (char *)out + i * image, part, &in_time)) status = lost(reader, in_time);
    pthread_mutex_unlock(&reader->lock);
    return status;
}

qb_status qb__guard_reader_chunk(qb__guard_reader *reader, const uint64_t at[3], size_t most, void *raw, size_t *bytes,
                                 uint32_t *mask) {
    const qb__guard_question question = {.kind = QB__GUARD_CHUNK, .at = {at[0], at[1], at[2]}, .most = most};
    qb__guard_answer answer;
    bool in_time = true;
    pthread_mutex_lock(&reader->lock);
    qb_status status = answer_of(reader, &question, &answer);
    if (status == QB_OK && (answer.bytes > most || !receive(reader, raw, answer.bytes, &in_time)))
        status = lost(reader, in_time);
    pthread_mutex_unlock(&reader->lock);
    if (status != QB_OK) return status;
    *bytes = answer.bytes;
    *mask = answer.mask;
    return QB_OK;
}
#else
typedef int qb__no_guard;
#endif
