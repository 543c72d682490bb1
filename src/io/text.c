/* SPDX-License-Identifier: MIT */
#include "io/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

static bool make_room(qb__text *text, size_t more) {
    size_t needed = text->length + more + 1, room = text->room ? text->room : 1024;
    while (room < needed) room *= 2;
    if (room == text->room) return true;
    char *data;
    if (qb__alloc(room, 1, &data) != QB_OK) return false;
    if (text->length) memcpy(data, text->data, text->length);
    qb__free(text->data);
    text->data = data;
    text->room = room;
    return true;
}

void qb__text_add(qb__text *text, const char *format, ...) {
    va_list arguments;
    for (int pass = 0; pass < 2 && !text->failed; pass++) {
        size_t left = text->room - text->length;
        va_start(arguments, format);
        int n = qb__vprint(text->data ? text->data + text->length : NULL, left, format, arguments);
        va_end(arguments);
        if (n < 0) text->failed = true;
        if (n >= 0 && (size_t)n < left) {
            text->length += (size_t)n;
            return;
        }
        text->failed = text->failed || !make_room(text, (size_t)n);
    }
}

void qb__text_clear(qb__text *text) {
    qb__free(text->data);
    *text = (qb__text){0};
}

static qb_status read_open(FILE *file, const char *path, size_t most, qb__text *text) {
    struct stat about;
    if (fstat(fileno(file), &about) != 0) return qb__fail_errno(errno, "reading", path);
    if (!S_ISREG(about.st_mode)) return qb__fail(QB_BAD_INPUT, "%s is not a file", path);
    qb__input_seen(path, &about);
    if (about.st_size < 0 || (size_t)about.st_size > most)
        return qb__fail(QB_BAD_INPUT, "%s has %lld bytes; at most %zu are read", path, (long long)about.st_size, most);
    size_t size = (size_t)about.st_size;
    if (!make_room(text, size)) return qb__fail(QB_NO_MEMORY, "%zu bytes of %s", size, path);
    text->length = fread(text->data, 1, size, file);
    text->data[text->length] = 0;
    if (ferror(file)) return qb__fail_errno(errno, "reading", path);
    qb__input_read(path, text->data, text->length);
    return QB_OK;
}

qb_status qb__text_read(const char *path, size_t most, qb__text *text) {
    *text = (qb__text){0};
    /* Opening a pipe without a writer would block. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!file) {
        int error = errno;
        if (fd >= 0) close(fd);
        return qb__fail_errno(error, "opening", path);
    }
    qb_status status = read_open(file, path, most, text);
    fclose(file);
    if (status != QB_OK) qb__text_clear(text);
    return status;
}

void qb__text_narrow(qb__text *text) {
    const unsigned char *bytes = (const unsigned char *)text->data;
    const bool little = text->length >= 2 && bytes[0] == 0xff && bytes[1] == 0xfe;
    const bool big = text->length >= 2 && bytes[0] == 0xfe && bytes[1] == 0xff;
    const size_t n = text->length / 2;
    if (text->length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        text->length -= 3;
        memmove(text->data, text->data + 3, text->length + 1);
    }
    if (!little && !big) return;
    for (size_t i = 1; i < n; i++) {
        const unsigned code = little ? bytes[2 * i] | bytes[2 * i + 1] << 8 : bytes[2 * i + 1] | bytes[2 * i] << 8;
        text->data[i - 1] = code < 128 ? (char)code : '?';
    }
    text->data[n - 1] = 0;
    text->length = n - 1;
}

qb_status qb__text_write(qb__publication *set, const char *path, const qb__text *text) {
    const char *fresh;
    if (text->failed || !text->data) return qb__fail(QB_NO_MEMORY, "no memory for %s", path);
    if (!set) return qb__publish_bytes(path, text->data, text->length);
    qb_status status = qb__publication_file(set, path, &fresh);
    return status == QB_OK ? qb__write_fresh(fresh, path, text->data, text->length) : status;
}

qb_status qb__json_parse(const char *text, cJSON **object) {
    errno = 0; /* the parser does not tell a lack of memory from a syntax error, but malloc sets errno */
    *object = cJSON_ParseWithOpts(text, NULL, true);
    if (*object) return QB_OK;
    return errno == ENOMEM ? qb__fail(QB_NO_MEMORY, "no memory for a JSON text of %zu bytes", strlen(text))
                           : qb__fail(QB_BAD_INPUT, "it is not complete JSON");
}

qb_status qb__provenance_parse(const char *text, cJSON **object) {
    const qb_status status = qb__json_parse(text, object);
    return status == QB_BAD_INPUT ? qb__fail(QB_BAD_INPUT, "its provenance is not valid JSON") : status;
}
