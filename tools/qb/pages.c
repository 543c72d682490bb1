/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "cli.h"

/* `qb help --man` and the other pages: the tables of the help for man, for shells and for docs/cli.md. A table that
 * several verbs use is printed once, under the title that the first of these verbs gives it. */

/* Do several verbs use the section's table? *first becomes its section in the first of them. */
static bool shared(const section *wanted, const section **first) {
    int count = 0;
    *first = wanted;
    for (const verb *v = verbs; v->name; v++) {
        for (const section *s = v->sections; s->table; s++) {
            if (s->table != wanted->table) continue;
            if (count++ == 0) *first = s;
        }
    }
    return count > 1;
}

/* Calls `print` once for each table that several verbs use. */
static void each_shared(void (*print)(const section *s, FILE *out), FILE *out) {
    for (const verb *v = verbs; v->name; v++) {
        for (const section *s = v->sections; s->table; s++) {
            const section *first;
            if (shared(s, &first) && first == s) print(s, out);
        }
    }
}

static const char *value_of(const qb_param *row) { return row->meta ? row->meta : row->choices ? row->choices : ""; }

/* ---- docs/cli.md ---- */

/* Prints the anchor of a heading, as the usual Markdown renderers make it. */
static void print_anchor(const char *title, FILE *out) {
    for (; *title; title++)
        if (isalnum((unsigned char)*title))
            fputc(tolower((unsigned char)*title), out);
        else if (*title == ' ' || *title == '-')
            fputc('-', out);
}

static void markdown_section(const section *s, FILE *out) {
    fprintf(out, "\n### %s\n\n```\n", s->title);
    print_rows(s->table, out);
    fprintf(out, "```\n");
}

static bool alike(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* The first verb that has the same option with the same help; v itself where no earlier verb has it. */
static const verb *first_with(const verb *v, const qb_param *row) {
    for (const verb *earlier = verbs; earlier < v; earlier++)
        for (const section *s = earlier->sections; s->table; s++)
            for (const qb_param *other = s->table; other->name; other++)
                if (strcmp(row->name, other->name) == 0 && alike(row->help, other->help) &&
                    alike(row->meta, other->meta) && alike(row->initial, other->initial))
                    return earlier;
    return v;
}

/* Prints the options of one verb. An option that an earlier verb explains in the same words is only named. */
static void markdown_own(const verb *v, const section *s, FILE *out) {
    bool any = false;
    for (const qb_param *row = s->table; row->name; row++) any = any || first_with(v, row) == v;
    if (any) {
        fprintf(out, "\n```\n%s\n", s->title);
        for (const qb_param *row = s->table; row->name; row++)
            if (first_with(v, row) == v) print_option(row, out);
        fprintf(out, "```\n");
    }
    for (const verb *earlier = verbs; earlier < v; earlier++) {
        const char *comma = "";
        for (const qb_param *row = s->table; row->name; row++) {
            if (first_with(v, row) != earlier) continue;
            if (!*comma) fprintf(out, "\nAs in `qb %s`:", earlier->name);
            fprintf(out, "%s `--%s`", comma, row->name);
            comma = ",";
        }
        if (*comma) fprintf(out, ".\n");
    }
}

static void markdown_verb(const verb *v, FILE *out) {
    fprintf(out, "\n## qb %s\n\n    qb %s%s%s\n\n%c%s.\n\nCommon options:", v->name, v->name, *v->arguments ? " " : "",
            v->arguments, toupper((unsigned char)v->summary[0]), v->summary + 1);
    const char *comma = "";
    for (const section *s = v->sections; s->table; s++) {
        const section *first;
        if (!shared(s, &first)) continue;
        fprintf(out, "%s [%s](#", comma, s->title);
        print_anchor(first->title, out);
        fprintf(out, ")");
        comma = ",";
    }
    fprintf(out, ".\n");
    for (const section *s = v->sections; s->table; s++) {
        const section *first;
        if (!shared(s, &first)) markdown_own(v, s, out);
    }
    fprintf(out, "\nExample: `%s`\n", v->example);
}

static void print_markdown(FILE *out) {
    fprintf(
        out,
        "# The command line\n\nMade by scripts/make-cli-docs.sh from the tables that `qb VERB --help` prints; do not "
        "edit. The value in brackets is the default.\nAs a manual page: `man qb`; bash and zsh complete verbs, options "
        "and what they take.\n`make install` installs all three; `qb help --man`, `--bash` and `--zsh` print them.\n");
    for (const verb *v = verbs; v->name; v++) markdown_verb(v, out);
    fprintf(out, "\n## Common options\n");
    each_shared(markdown_section, out);
}

/* ---- man ---- */

/* Prints text with escapes, so that roff takes no part of it for a request. */
static void roff(const char *text, FILE *out) {
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void roff_row(const qb_param *row, FILE *out) {
    fputs(".TP\n", out);
    if (row->letter) fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
    fputs("\\fB\\-\\-", out);
    roff(row->name, out);
    fputs("\\fR", out);
    if (*value_of(row)) {
        fputs(" \\fI", out);
        roff(value_of(row), out);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    roff(row->help, out);
    if (row->initial) {
        fputs(" [", out);
        roff(row->initial, out);
        fputc(']', out);
    }
    fputc('\n', out);
}

static void roff_section(const section *s, FILE *out) {
    fputs(".SS ", out);
    roff(s->title, out);
    fputc('\n', out);
    for (const qb_param *row = s->table; row->name; row++) roff_row(row, out);
}

static void roff_verb(const verb *v, FILE *out) {
    fprintf(out, ".SS qb %s ", v->name);
    roff(v->arguments, out);
    fprintf(out, "\n");
    roff(v->summary, out);
    fprintf(out, ".\nExample:\n.PP\n.RS\n");
    roff(v->example, out);
    fprintf(out, "\n.RE\n.PP\nTakes the common options under");
    const char *comma = " ";
    for (const section *s = v->sections; s->table; s++) {
        const section *first;
        if (!shared(s, &first)) continue;
        fprintf(out, "%s\\(lq", comma);
        roff(first->title, out);
        fprintf(out, "\\(rq");
        comma = ", ";
    }
    fprintf(out, ".\n");
    for (const section *s = v->sections; s->table; s++) {
        const section *first;
        if (shared(s, &first)) continue;
        for (const qb_param *row = s->table; row->name; row++) roff_row(row, out);
    }
}

static void print_man(FILE *out) {
    fprintf(out,
            ".TH QB 1 \"\" \"quickbeam %s\" \"User Commands\"\n.SH NAME\nqb \\- CT reconstruction at the speed of the "
            "hardware\n"
            ".SH SYNOPSIS\n.B qb\n.I VERB\n.RI [ options ]\n.SH VERBS\n",
            qb_version());
    for (const verb *v = verbs; v->name; v++) roff_verb(v, out);
    fprintf(out, ".SH COMMON OPTIONS\nThe value in brackets is the default.\n");
    each_shared(roff_section, out);
    fprintf(out, ".SH EXIT STATUS\n0 done, 1 failed while running, 2 bad usage, 3 bad input, 130 interrupted.\n");
}

/* ---- shells ---- */

/* Can this word of a list of choices be typed as it stands? */
static bool plain_word(const char *word, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!islower((unsigned char)word[i]) && !isdigit((unsigned char)word[i]) && !strchr("-_.", word[i]))
            return false;
    return length > 0;
}

/* Prints those words of an option's choices that can be typed as they stand, each after a space, and returns their
 * number. `out` NULL: only counts. */
static int print_words(const qb_param *row, FILE *out) {
    int count = 0;
    for (const char *at = row->choices ? row->choices : value_of(row); *at;) {
        size_t n = strcspn(at, "|");
        if (plain_word(at, n)) {
            if (out) fprintf(out, " %.*s", (int)n, at);
            count++;
        }
        at += n + (at[n] == '|');
    }
    return count;
}

static void print_names(const verb *v, FILE *out) {
    for (const section *s = v->sections; s->table; s++)
        for (const qb_param *row = s->table; row->name; row++) fprintf(out, " --%s", row->name);
}

static void print_verbs(unsigned abilities, FILE *out) {
    for (const verb *v = verbs; v->name; v++)
        if ((v->abilities & abilities) == abilities) fprintf(out, " %s", v->name);
}

static void bash_verb(const verb *v, FILE *out) {
    fprintf(out, "        %s)\n            names=\"", v->name);
    print_names(v, out);
    fprintf(out, "\"\n            case $before in\n");
    for (const section *s = v->sections; s->table; s++) {
        for (const qb_param *row = s->table; row->name; row++) {
            if (row->type == QB_PARAM_FLAG) continue;
            fprintf(out, "            --%s", row->name);
            if (row->letter) fprintf(out, "|-%c", row->letter);
            fprintf(out, ") value=1 words=\"");
            print_words(row, out);
            fprintf(out, "\" ;;\n");
        }
    }
    fprintf(out, "            esac ;;\n");
}

static void print_bash(FILE *out) {
    fprintf(out, "# qb(1) in bash; made by qb help --bash\n_qb() {\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}\n"
                 "    local names= words= value= first=1\n"
                 "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}\n"
                 "    [[ $word == = ]] && word=\n"
                 "    [[ $verb == plan || $verb == help ]] && ((COMP_CWORD > 1)) && first=2\n"
                 "    if ((COMP_CWORD == first)) && [[ $first == 1 || $word != -* ]]; then\n"
                 "        words=\"");
    print_verbs(0, out);
    fprintf(out, " help --help --version\"\n        [[ $verb == plan && $first == 2 ]] && words=\"");
    print_verbs(PLANS, out);
    fprintf(out, "\"\n        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n        return\n    fi\n"
                 "    ((first == 2)) && [[ ${COMP_WORDS[2]} != -* ]] && verb=${COMP_WORDS[2]}\n    case $verb in\n");
    for (const verb *v = verbs; v->name; v++) bash_verb(v, out);
    fprintf(out, "    esac\n"
                 "    if [[ -z $value && $word == -* ]]; then words=$names; fi\n"
                 "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                 "    if [[ -n $value || $word != -* ]]; then COMPREPLY+=($(compgen -f -- \"$word\")); fi\n"
                 "}\ncomplete -o filenames -F _qb qb\n");
}

/* Prints text with the escapes that an argument of _arguments needs inside '...'. */
static void zsh_text(const char *text, FILE *out) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

/* Prints one option for _arguments. `begin` is its name in the form that _arguments wants: "--name=" or "-n+" where the
 * option takes a value, attached or as the next word. */
static void zsh_option(const char *begin, const qb_param *row, FILE *out) {
    fprintf(out, " \\\n            '%s[", begin);
    zsh_text(row->help, out);
    fputc(']', out);
    if (row->type != QB_PARAM_FLAG) {
        fputc(':', out);
        zsh_text(row->name, out);
        if (print_words(row, NULL)) {
            fputs(":(", out);
            print_words(row, out);
            fputc(')', out);
        } else {
            fputs(":_files", out);
        }
    }
    fputc('\'', out);
}

static void zsh_row(const qb_param *row, FILE *out) {
    bool flag = row->type == QB_PARAM_FLAG;
    char begin[80];
    snprintf(begin, sizeof begin, "--%s%s", row->name, flag ? "" : "=");
    zsh_option(begin, row, out);
    if (!row->letter) return;
    snprintf(begin, sizeof begin, "-%c%s", row->letter, flag ? "" : "+");
    zsh_option(begin, row, out);
}

static void print_zsh(FILE *out) {
    fprintf(out, "#compdef qb\n# qb(1) in zsh; made by qb help --zsh\n_qb() {\n    local -a verbs\n    verbs=(\n");
    for (const verb *v = verbs; v->name; v++) {
        fprintf(out, "        '%s:", v->name);
        zsh_text(v->summary, out);
        fprintf(out, "'\n");
    }
    fprintf(out, "    )\n    if ((CURRENT == 2)); then _describe verb verbs; return; fi\n"
                 "    shift words; ((CURRENT--))\n"
                 "    if [[ $words[1] == plan && $words[2] != -* ]]; then\n"
                 "        if ((CURRENT == 2)); then _describe verb verbs; return; fi\n"
                 "        shift words; ((CURRENT--))\n    fi\n"
                 "    case $words[1] in\n");
    for (const verb *v = verbs; v->name; v++) {
        fprintf(out, "    %s)\n        _arguments", v->name);
        for (const section *s = v->sections; s->table; s++)
            for (const qb_param *row = s->table; row->name; row++) zsh_row(row, out);
        fprintf(out, " \\\n            '*:file:_files' ;;\n");
    }
    fprintf(out, "    esac\n}\n_qb \"$@\"\n");
}

/* ---- docs/warnings.md ---- */
static void print_warnings(FILE *out) {
    const char *code;
    fprintf(out, "# Warnings\n\nEvery warning ends with a code in brackets. `qb help CODE` prints the text below.\n");
    for (size_t i = 0; (code = qb_warning_code(i)); i++) fprintf(out, "\n## %s\n\n%s\n", code, qb_warning_text(code));
}

bool print_page(const char *flag, FILE *out) {
    static const struct {
        const char *flag;
        void (*print)(FILE *out);
    } pages[] = {{"--man", print_man},
                 {"--bash", print_bash},
                 {"--zsh", print_zsh},
                 {"--markdown", print_markdown},
                 {"--warnings", print_warnings}};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (strcmp(flag, pages[i].flag) != 0) continue;
        if (out) pages[i].print(out);
        return true;
    }
    return false;
}
