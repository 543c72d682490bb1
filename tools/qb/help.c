/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli.h"

void print_usage(FILE *out) {
    fprintf(out, "quickbeam %s: CT reconstruction at the speed of the hardware\n\nusage: qb VERB ...\n\n",
            qb_version());
    for (const verb *v = verbs; v->name; v++) fprintf(out, "  %-9s %-16s %s\n", v->name, v->arguments, v->summary);
    fprintf(out, "\nqb VERB --help lists a verb's options; qb help CODE explains a warning; qb --version says what is "
                 "built in.\n"
                 "Exit codes: 0 done, 1 failed while running, 2 bad usage, 3 bad input, 130 "
                 "interrupted.\n");
}

static void print_wrapped(const char *text, int indent, FILE *out) {
    int column = indent;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column + word > 98 && column > indent) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        fprintf(out, "%.*s", word, text);
        column += word;
        text += word;
        if (*text == ' ') {
            fputc(' ', out);
            column++;
            text++;
        }
    }
    fputc('\n', out);
}

bool print_warning_help(const char *code, FILE *out) {
    const char *text = qb_warning_text(code);
    if (!text) return false;
    fprintf(out, "%s\n\n", code);
    print_wrapped(text, 0, out);
    fputc('\n', out);
    return true;
}

void print_option(const qb_param *row, FILE *out) {
    enum { INDENT = 34 };
    char flag[160], help[512];
    const char *meta = row->meta ? row->meta : row->choices ? row->choices : "";
    int n = snprintf(flag, sizeof flag, "  %c%c%s--%s %s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
                     row->letter ? ", " : "  ", row->name, meta);
    fprintf(out, "%-*s", INDENT - 1, flag);
    if (n >= INDENT - 1) fprintf(out, "\n%*s", INDENT - 1, "");
    fputc(' ', out);
    if (row->initial) {
        snprintf(help, sizeof help, "%s [%s]", row->help, row->initial);
    } else {
        snprintf(help, sizeof help, "%s", row->help);
    }
    print_wrapped(help, INDENT, out);
}

void print_rows(const qb_param *table, FILE *out) {
    for (const qb_param *row = table; row->name; row++) print_option(row, out);
}

void print_help(const verb *v, FILE *out) {
    fprintf(out, "qb %s %s\n%s\n", v->name, v->arguments, v->summary);
    for (const section *s = v->sections; s->table; s++) {
        fprintf(out, "\n%s\n", s->title);
        print_rows(s->table, out);
    }
    fprintf(out, "\nExample: %s\n", v->example);
}
