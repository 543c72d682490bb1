/* SPDX-License-Identifier: MIT */
/* Angles in text files as written by spreadsheets, control systems and numpy. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/geometry/angle_list.h"
#include "io/geometry/unit_words.h"

/* Tabs, commas and semicolons separate columns that may be empty; otherwise any white space separates columns. */
static char separator_of(const char *line) {
    static const char choices[] = "\t;,";
    for (const char *c = choices; *c; c++)
        if (strchr(line, *c)) return *c;
    return 0;
}

/* Start of a line's first column, and of the column after `at`; NULL if there is none. */
static const char *first_column(const char *line, char separator) {
    const char *at = separator ? line : line + strspn(line, " ");
    return *at ? at : NULL;
}

static const char *next_column(const char *at, char separator) {
    at = separator ? strchr(at, separator) : strpbrk(at, " ");
    if (at) at += separator ? 1 : strspn(at, " ");
    return at && *at ? at : NULL;
}

/* The text of a column, counted from 1; NULL if the line has fewer. */
static const char *column_of(const char *line, size_t column) {
    const char separator = separator_of(line), *at = first_column(line, separator);
    for (size_t i = 1; i < column && at; i++) at = next_column(at, separator);
    return at;
}

static size_t count_columns(const char *line) {
    const char separator = separator_of(line);
    size_t n = 0;
    for (const char *at = first_column(line, separator); at; at = next_column(at, separator)) n++;
    return n;
}

/* True if the text up to the separator is a number and nothing else. */
static bool number_at(const char *at, char separator, double *number) {
    char *end;
    while (*at == ' ' || *at == '"') at++;
    *number = qb__strtod(at, &end);
    if (end == at || !isfinite(*number)) return false;
    while (*end == ' ' || *end == '"') end++;
    return *end == 0 || *end == separator || (end > at && end[-1] == ' ');
}

static bool number_in(const char *line, size_t column, double *number) {
    const char *at = column_of(line, column);
    return at && number_at(at, separator_of(line), number);
}

static bool holds_number(const char *line) {
    const char separator = separator_of(line);
    double value;
    for (const char *at = first_column(line, separator); at; at = next_column(at, separator))
        if (number_at(at, separator, &value)) return true;
    return false;
}

/* The next line without its end; `*number` counts lines from 1. */
static char *next_line(char **at, size_t *number) {
    char *line = *at;
    if (!*line) return NULL;
    size_t n = strcspn(line, "\r\n"), end = n;
    end += line[end] == '\r';
    end += line[end] == '\n';
    *at = line + end;
    line[n] = 0;
    ++*number;
    return line;
}

static bool is_blank(const char *line) { return line[strspn(line, " \t;,")] == 0; }

/* A copy of a cell without surrounding blanks and quotes. */
static void cell_of(const char *line, size_t column, char *cell, size_t size) {
    const char *at = column_of(line, column);
    const char stop[] = {separator_of(line), '"', 0};
    if (at) at += strspn(at, " \"");
    size_t n = at ? strcspn(at, *stop ? stop : " \"") : 0;
    while (n && at[n - 1] == ' ') n--;
    snprintf(cell, size, "%.*s", (int)(n < size ? n : size - 1), at ? at : "");
}

/* The unit that a word of the text names; 0 if there is none, or two different ones. */
static double unit_in(const char *text) {
    double found = 0;
    char word[24];
    for (const char *at = text; *at;) {
        size_t n = 0;
        while (isalpha((unsigned char)at[n]) || (unsigned char)at[n] >= 0x80) n++;
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : 0), at);
        const double unit = n ? qb__angle_unit(word) : 0;
        if (unit > 0 && found > 0 && fabs(unit / found - 1) > 1e-9) return 0;
        if (unit > 0) found = unit;
        at += n ? n : 1;
    }
    return found;
}

/* "angle [steps]" states a unit too, although an unknown one. */
static qb_status check_brackets(const qb__angle_list *list, const char *cell) {
    const char *open = strchr(cell, '['), *close = open ? strchr(open, ']') : NULL;
    if (list->unit > 0 || !close || open == cell || close == open + 1) return QB_OK;
    return qb__fail(
        QB_BAD_INPUT,
        "%s: its header states the unit %.*s, which is not a known unit of angle: give --angle-unit deg or rad",
        list->path, (int)(close - open + 1), open);
}

static const char *const angle_words[] = {"angle", "theta", "winkel", NULL};

static bool names_one(const char *cell, const char *const *words) {
    char lower[64];
    size_t n = 0;
    for (; cell[n] && n + 1 < sizeof lower; n++) lower[n] = (char)tolower((unsigned char)cell[n]);
    lower[n] = 0;
    for (; *words; words++)
        if (strstr(lower, *words)) return true;
    return false;
}

/* The only column whose header has one of the words; 0 if there is none, or several. */
static size_t named_column(const char *header, size_t columns, const char *const *words) {
    char cell[64];
    size_t found = 0;
    for (size_t i = 1; i <= columns && i <= 64; i++) {
        cell_of(header, i, cell, sizeof cell);
        if (!names_one(cell, words)) continue;
        if (found) return 0;
        found = i;
    }
    return found;
}

/* The lines before the first line of numbers. */
typedef struct beginning {
    char *header;       /* the last line of words, without its #; NULL */
    char *left;         /* the first line of words that is not a comment */
    size_t left_number; /* number of that line */
} beginning;

static qb_status take_unit(qb__angle_list *list, const beginning *b, size_t columns) {
    char cell[64] = "";
    if (!b->header || list->unit > 0) return QB_OK;
    if (list->column && columns > 1) cell_of(b->header, list->column, cell, sizeof cell);
    list->unit = unit_in(cell);
    if (!(list->unit > 0)) list->unit = unit_in(b->header);
    return check_brackets(list, *cell ? cell : b->header);
}

/* Characters beyond ASCII may have any encoding. */
static void quote(const char *line, char *out, size_t size) {
    size_t n = 0;
    for (; line[n] && n + 1 < size && n < 40; n++)
        out[n] = line[n] >= ' ' && line[n] <= '~' ? line[n] : line[n] == '\t' ? ' ' : '?';
    out[n] = 0;
}

static void tell_header(qb__angle_list *list, const beginning *b, size_t column) {
    char cell[40], *end;
    if (!b->left) return;
    cell_of(b->left, column, cell, sizeof cell);
    (void)qb__strtod(cell, &end);
    char quoted[44];
    quote(b->left, quoted, sizeof quoted);
    if (end == cell) {
        snprintf(list->how, sizeof list->how, "below its header \"%s\"", quoted);
        return;
    }
    /* "1,5", "0.5deg", "nan": probably a number that cannot be parsed */
    snprintf(list->doubt, sizeof list->doubt, "%s", quoted);
    list->doubt_line = b->left_number;
}

/* One row of numbers and nothing else is the list of angles. */
static qb_status read_row(qb__angle_list *list, const char *line, size_t columns) {
    const char separator = separator_of(line);
    QB__OR_RETURN(qb__alloc(columns, sizeof *list->values, &list->values));
    list->row = true;
    for (const char *at = first_column(line, separator); at && list->row; at = next_column(at, separator))
        list->row = number_at(at, separator, &list->values[list->count++]);
    if (list->row) return QB_OK;
    qb__free(list->values);
    list->values = NULL;
    list->count = 0;
    return QB_OK;
}

/* The counts of the beam monitor before and after each view, as in the tables of IMAT at ISIS. */
static void find_counts(const beginning *b, size_t columns, size_t column[2]) {
    static const char *const words[][2] = {{"counts before", NULL}, {"counts after", NULL}};
    for (int i = 0; i < 2; i++) column[i] = b->header ? named_column(b->header, columns, words[i]) : 0;
}

static void take_counts(qb__angle_list *list, const char *line, const size_t column[2]) {
    double count[2];
    if (!list->counts) return;
    if (number_in(line, column[0], &count[0]) && number_in(line, column[1], &count[1])) {
        list->counts[list->count] = count[1] - count[0];
        return;
    }
    qb__free(list->counts);
    list->counts = NULL;
}

static qb_status read_column(qb__angle_list *list, const beginning *b, char *line, char *rest, size_t number) {
    size_t room = 1, column[2];
    for (char *c = rest; *c; c++) room += *c == '\n' || *c == '\r';
    qb_status status = qb__alloc(room + 1, sizeof *list->values, &list->values);
    find_counts(b, count_columns(line), column);
    if (status == QB_OK && column[0] && column[1]) status = qb__alloc(room + 1, sizeof *list->counts, &list->counts);
    for (; status == QB_OK && line; line = next_line(&rest, &number)) {
        if (is_blank(line) || *line == '#') continue;
        take_counts(list, line, column);
        if (!number_in(line, list->column, &list->values[list->count++]))
            return qb__fail(QB_BAD_INPUT, "%s: line %zu has no number in column %zu", list->path, number, list->column);
    }
    return status;
}

static bool only_blank(const char *rest) {
    for (size_t n; *rest; rest += n + (rest[n] != 0)) {
        n = strcspn(rest, "\r\n");
        if (*rest != '#' && strspn(rest, " \t;,") < n) return false;
    }
    return true;
}

/* The first line with a number in that column (0: in any column); NULL if there is none. Reads the lines before it. */
static char *skip_beginning(const qb__angle_list *list, char **text, size_t *number, beginning *b) {
    double value;
    for (char *line; (line = next_line(text, number));) {
        if (is_blank(line)) continue;
        const bool remark = *line == '#';
        if (!remark && (list->column ? number_in(line, list->column, &value) : holds_number(line))) return line;
        b->header = line + strspn(line, "# ");
        if (remark || b->left) continue;
        b->left = line;
        b->left_number = *number;
    }
    return NULL;
}

/* The column to use if none is given: the only one, or the one with the header "angle". */
static qb_status choose_column(qb__angle_list *list, const beginning *b, size_t columns, char separator) {
    if (columns == 1) list->column = 1;
    if (columns > 1 && b->header) list->column = named_column(b->header, columns, angle_words);
    if (list->column) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s has %zu columns: say which, as in %s:2%s", list->path, columns, list->path,
                    separator == ',' && columns == 2 ? "; if its commas are decimal commas, write points" : "");
}

/* Convert a list as written by Python and JSON, "[0, 1.5,
 *  3]", to one row of numbers. */
static void open_brackets(char *text) {
    static const char blanks[] = " \t\r\n[(";
    const char *first = text + strspn(text, blanks);
    char *at = text + strspn(text, " \t\r\n");
    if ((*at != '[' && *at != '(') || !(isdigit((unsigned char)*first) || strchr("+-.", *first) || !*first)) return;
    for (; *at; at++)
        if (strchr("[]()\r\n", *at)) *at = ' ';
}

qb_status qb__angle_list_text(qb__angle_list *list, char *text) {
    beginning b = {0};
    open_brackets(text);
    size_t number = 0;
    qb_status status = QB_OK;
    char *line = skip_beginning(list, &text, &number, &b);
    if (!line)
        return qb__fail(QB_BAD_INPUT, "%s has no numbers in column %zu", list->path, list->column ? list->column : 1);
    const size_t columns = count_columns(line);
    if (!list->column && columns > 1 && only_blank(text)) status = read_row(list, line, columns);
    if (status == QB_OK && !list->column && !list->row) status = choose_column(list, &b, columns, separator_of(line));
    if (status == QB_OK) status = take_unit(list, &b, columns);
    if (status != QB_OK) return status;
    tell_header(list, &b, list->column ? list->column : 1);
    return list->row ? QB_OK : read_column(list, &b, line, text, number);
}
