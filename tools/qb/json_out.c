/* SPDX-License-Identifier: MIT */
/* The one JSON object that --json prints on stdout. File names and messages may have bytes that are not UTF-8, which
 * JSON does not allow: such a byte is written as \xHH. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

size_t utf8_length(const char *text) {
    static const struct {
        /* Range of the first byte (first to last), and of the second byte (low to high) */
        unsigned char first, last, low, high;
        size_t bytes;
    } rows[] = {{0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *at = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (at[0] < rows[i].first || at[0] > rows[i].last) continue;
        size_t n = 1;
        while (n < rows[i].bytes && at[n] >= (n == 1 ? rows[i].low : 0x80) && at[n] <= (n == 1 ? rows[i].high : 0xbf))
            n++;
        return n == rows[i].bytes ? n : 0;
    }
    return 0;
}

bool is_utf8(const char *text) {
    for (size_t n; *text; text += n)
        if ((n = utf8_length(text)) == 0) return false;
    return true;
}

void print_json(const char *text) {
    while (*text) {
        const size_t n = utf8_length(text);
        if (n > 0)
            fwrite(text, 1, n, stdout);
        else
            printf("\\\\x%02x", (unsigned char)*text);
        text += n > 0 ? n : 1;
    }
    putchar('\n');
}

bool wants_json(int argc, char **argv) {
    bool wanted = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--json=true") == 0) wanted = true;
        if (strcmp(argv[i], "--no-json") == 0 || strcmp(argv[i], "--json=false") == 0) wanted = false;
    }
    return wanted;
}

static void print_object(cJSON *root) {
    char *text = cJSON_Print(root);
    print_json(text ? text : "{\"error\": \"no memory for the result\", \"status\": \"out of memory\"}");
    cJSON_free(text);
    cJSON_Delete(root);
}

void print_json_failure(const char *words, const char *status) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "error", words);
    cJSON_AddStringToObject(root, "status", status);
    add_warnings(root);
    print_object(root);
}

/* `print` writes what would be printed without --json. */
void print_json_text(const char *name, void (*print)(const void *what, FILE *out), const void *what) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) print(what, out);
    const bool good = out && fclose(out) == 0;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, name, good && text ? text : "");
    print_object(root);
    free(text);
}
