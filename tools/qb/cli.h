/* SPDX-License-Identifier: MIT */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

#include "bench/bench_options.h"
#include "planner/cluster_plan.h"
#include "quickbeam/quickbeam.h"

/* Options that every verb takes. */
typedef struct run_options {
    size_t struct_size;
    int threads;
    size_t max_ram, max_vram;
    char *device;
    char *config, *save_config;
    bool dry_run, why, json, quiet, verbose, help, allow_external;
} run_options;
extern const qb_param run_params[];

/* Of qb fdk: an option that other verbs also have for parallel beams. */
typedef struct cone_options {
    size_t struct_size;
    char *center;
} cone_options;
extern const qb_param cone_params[];

/* Options of `qb info` about a geometry. */
typedef struct info_options {
    size_t struct_size;
    qb_numbers detector;
    char *preview, *mask_out;
} info_options;
extern const qb_param info_params[];

/* Options of `qb compare` alone. */
typedef struct compare_options {
    size_t struct_size;
    char *dataset;
    /* Largest difference that is accepted; no value given: no limit. 0 is a limit, too */
    qb_numbers max_rel_l2, max_rmse;
    bool any_quantity;
} compare_options;
extern const qb_param compare_params[];

/* Options of `qb view`. */
typedef struct view_options {
    size_t struct_size;
    char *dataset, *listen;
    int port;
    bool reconstruct, allow_run, frame;
} view_options;
extern const qb_param view_params[], serve_params[];

/* Options of `qb live`. */
typedef struct live_options {
    size_t struct_size;
    char *center, *filter;
    bool rolling, subscribe;
} live_options;
extern const qb_param live_params[];

/* Options of the report of a reconstruction. */
typedef struct report_options {
    size_t struct_size;
    char *file;
} report_options;
extern const qb_param report_params[];

/* Options of a sweep. */
typedef struct sweep_options {
    size_t struct_size;
    char *of; /* OPTION=VALUES */
} sweep_options;
extern const qb_param sweep_params[];

/* The options of all verbs. A verb uses the sections that its row names. */
typedef struct options {
    run_options run;
    qb_scan_options scan;
    qb_prep_options prep;
    qb_fbp_options fbp;
    qb_fdk_options fdk;
    qb_tool_cluster_options cluster;
    qb_iterative_options iterative;
    qb_mbir_options mbir;
    qb_project_options project;
    qb_geometry_options geometry;
    cone_options cone;
    qb_grid_options grid;
    qb_output_options output;
    qb_center_options center;
    qb_simulate_options simulate;
    qb_convert_options convert;
    qb_tool_bench_options bench;
    qb_tune_options tune;
    compare_options compare;
    info_options info;
    report_options report;
    sweep_options sweep;
    view_options view;
    live_options live;
} options;

typedef struct section {
    const char *title;
    const qb_param *table;
    size_t offset, size; /* offset and size of the section's struct within `options` */
} section;

enum { SECTIONS_MAX = 11, ARGUMENTS_MAX = 8, GIVEN_MAX = 128 };

typedef struct cli cli;

/* What a verb can do: flags of verb.abilities. */
enum {
    ON_DEVICES = 1, /* the verb can compute on a device; other verbs refuse a named device */
    PLANS = 2,      /* --dry-run shows what the verb would do */
    WRITES = 4,     /* the verb has an output; its sidecar files appear together with the output */
    SHARES = 8,     /* the verb can run as one job of several processes */
};

typedef struct verb {
    const char *name;
    const char *arguments; /* arguments as the usage line shows them: "SCAN -o OUT" */
    const char *summary;
    const char *example;
    int fewest, most; /* smallest and largest number of positional arguments */
    unsigned abilities;
    qb_status (*run)(cli *c);
    section sections[SECTIONS_MAX]; /* the list ends with an empty section */
} verb;

struct cli {
    const verb *verb;
    options options;
    int count;
    const char *argument[ARGUMENTS_MAX];
    char *command; /* the command line that repeats this run; made by command.c */
    size_t command_bytes;
    FILE *words;                      /* stream into `command`, open while `command` is written */
    bool lost;                        /* part of `command` is missing because memory ran out */
    const qb_param *given[GIVEN_MAX]; /* options that were given; those of the command line come first */
    /* Number of all options in `given`; number of those from the command line, set before a configuration is read */
    int given_count, by_flags;
    char *config;         /* text that --save-config writes; NULL: the option is not given */
    const char *reads[2]; /* files that env.reads lists: input files of the command itself */
    qb_sidecar writes[5];
    qb_env env;
    char *result;             /* JSON object that --json prints on stdout */
    struct html_report *page; /* data that --report collects; NULL: the option is not given */
    bool offset_by_center;    /* --detector-offset was set from --center */
    struct sweep *sweep;      /* state of --sweep; NULL: the option is not given */
    /* crop: --size object is given; cropping: the run that looks for the object is going on */
    bool crop, cropping;
};

extern const verb verbs[];
const verb *find_verb(const char *name);

/* args.c: reads argv[2..] into c->options and c->argument, by the verb's tables. */
qb_status parse_arguments(cli *c, int argc, char **argv);
/* Sets one option. A list option may be given several times, on the command line or in the configuration; any other
 * option may be given once in each. Where both give an option, the command line wins. */
qb_status give_option(cli *c, const qb_param *row, void *target, const char *value);
/* The row of an option in the verb's sections, found by its name, or by its letter where name is NULL; *target becomes
 * the struct that the row sets. */
const qb_param *find_row(cli *c, const char *name, char letter, void **target);
qb_status init_options(cli *c);
void clear_options(cli *c);

/* command.c: appends an option or an argument to c->command, whether it comes from a flag or from a configuration
 * file. */
void command_option(cli *c, const qb_param *row, const char *value);
void command_argument(cli *c, const char *word);
qb_status command_end(cli *c);

/* config.c */
qb_status read_config(cli *c, const char *path);
/* Sets one option from a line of a configuration. */
qb_status set_from_config(cli *c, const char *name, const char *value);
/* Reads sv-mbirct's BASE.reconparams as a configuration. */
bool is_mbirct_config(const char *path);
qb_status read_mbirct_config(cli *c, const char *path, FILE *file);
char *print_config(const cli *c); /* text that --save-config writes; NULL: out of memory */

/* help.c */
void print_usage(FILE *out);
void print_help(const verb *v, FILE *out);
void print_option(const qb_param *row, FILE *out);
void print_rows(const qb_param *table, FILE *out);

/* Prints what a warning code means; false where there is no such code. */
bool print_warning_help(const char *code, FILE *out);

/* pages.c: prints the help of all verbs as one page, chosen by its flag: --man, --bash, --zsh, --markdown or
 * --warnings. False where there is no such page. With `out` NULL nothing is printed: the call only asks whether the
 * page exists. */
bool print_page(const char *flag, FILE *out);

/* terminal.c: logging, progress, interruption */
void open_terminal(cli *c);
/* A refused option is reported without warnings that have nothing to do with it. Therefore warnings are held back after
 * hold_warnings(). tell_warnings() prints them, except where the status means wrong usage or the error message says the
 * same. */
void hold_warnings(void);
void tell_warnings(qb_status status);
/* Moves the warnings so far into `object` as "warnings". */
void add_warnings(cJSON *object);
/* Copies the warnings so far into `object`; they stay for add_warnings(). */
void show_warnings(cJSON *object);
void finish_progress(void);

/* report.c: the number or text of the field `name`; 0 or "" where the field is missing or has another type. */
double number(const cJSON *object, const char *name);
const char *plural(double count); /* "s", and "" for 1 */
const char *text(const cJSON *object, const char *name);

/* patience.c: returns after the process has had so many seconds to work. Time in which other processes kept the machine
 * busy does not count. */
void wait_patiently(double seconds);

/* ranks.c: true in all processes of a launched job but the first. Only the first one prints. */
bool is_silent(void);
/* Joins the processes that the launcher started, where the verb can be shared; other verbs are refused. */
qb_status open_ranks(cli *c);
/* Combines the status of all processes; afterwards complaint() has the message of the failure. */
qb_status agree_ranks(cli *c, qb_status status);

/* guard.c: runs `qb --try-file FILE [DATASET [serve]]`. qb starts this process itself: see qb_tool_guard. */
extern const char guard_word[];
int try_file(const char *path, const char *dataset, bool serve);

/* json_out.c: does the command line ask for --json? Works also where other words of it are wrong. */
bool wants_json(int argc, char **argv);
/* Number of bytes of the first UTF-8 character of a text; 0 where the text does not begin with one. */
size_t utf8_length(const char *text);
bool is_utf8(const char *text);
/* Prints JSON and a line end on stdout; bytes that are not UTF-8 are escaped. */
void print_json(const char *text);
void print_json_failure(const char *words, const char *status);
/* Prints the object {name: TEXT}, where TEXT is what `print` writes. */
void print_json_text(const char *name, void (*print)(const void *what, FILE *out), const void *what);

/* Keeps `json` as the result that --json prints, and frees it. `json` is from cJSON_Print; NULL means out of memory. */
qb_status give_result(cli *c, char *json);

/* main.c: do both names lead to the same existing file? Either name may be NULL. */
bool same_file(const char *a, const char *b);

/* Writes the names of all verbs that have an ability into `text`, separated by commas, and returns `text`. */
const char *list_verbs(int ability, char *text, size_t size);

/* cmd_*.c */
qb_status cmd_info(cli *c);
/* info_geometry.c: do the options describe a geometry? info_geometry() describes it, with the scan or without one
 * (NULL). The result goes to stdout, or into a new object where `root` is not NULL. */
bool wants_geometry(const cli *c);
qb_status info_geometry(cli *c, const qb_scan_info *scan, cJSON **root);
/* info_mask.c: which pixels were not measured. Writes a sentence into `words` ("" where all were measured), counts into
 * `object`, and the file of --mask-out. */
qb_status tell_mask(const cli *c, const qb_scan *scan, char *words, size_t size, cJSON *object);
/* info_volume.c: states_volume(): is this stated quantity one of a volume? is_volume(): shall c->argument[0] be
 * described as a volume? info_volume() describes it. */
bool states_volume(const char *quantity);
bool is_volume(const cli *c, const qb_scan_info *info);
qb_status info_volume(cli *c);
qb_status cmd_plan(cli *c);
qb_status cmd_fbp(cli *c);
qb_status cmd_fdk(cli *c);
qb_status cmd_iterative(cli *c);
qb_status cmd_mbir(cli *c);
qb_status cmd_project(cli *c);
/* cone_axis.c: turns --center (NULL: not given) of a cone beam into --detector-offset, and replaces "auto" by the offset that
 * is found in the scan. */
qb_status find_offset(cli *c, qb_scan *scan, const char *center);
/* True where the axis of a circular cone-beam scan clearly lies elsewhere than options and file state; `text` then says
 * so. */
bool axis_differs(cli *c, qb_scan *scan, char *text, size_t size);
/* cmd_iterative.c: refuses options of detector faults that exist only for fan and cone beams. */
qb_status check_parallel(const qb_geometry_options *given);
/* Common end of all reconstruction verbs and of project, once the job is planned: prints the plan, or runs the job and
 * prints its report. --report needs the scan and its geometry; geometry NULL: parallel beam; scan NULL: no scan, as for
 * project. */
qb_status finish_job(cli *c, qb_job *job, qb_scan *scan, const qb_geometry *geometry);
/* Prints a plan, which is a JSON object. */
qb_status show_plan(cli *c, const char *plan);
/* Opens the scan c->argument[0] and prints warnings about its problems. */
qb_status open_scan(cli *c, qb_scan **scan);
/* Closes a scan of open_scan(), unless a sweep keeps it for its next job. */
void close_scan(cli *c, qb_scan *scan);
/* Replaces --hardening fit by the numbers A,B of the curve that is found */
qb_status fit_hardening(cli *c, qb_scan *scan);
qb_status cmd_center(cli *c);
qb_status cmd_hardening(cli *c);
qb_status cmd_simulate(cli *c);
qb_status cmd_convert(cli *c);
qb_status cmd_compare(cli *c);
qb_status cmd_live(cli *c);
qb_status cmd_view(cli *c);
/* Where --reconstruct is among the words, qb view also takes the options of qb fbp or fdk. Then *made becomes a verb
 * with the options of both, and is returned; otherwise `named` is returned. */
const verb *view_verb(const verb *named, int argc, char **argv, verb *made);
qb_status cmd_bench(cli *c);
qb_status cmd_devices(cli *c);
qb_status cmd_tune(cli *c);

/* Stores the message and returns the status, as the library does. */
__attribute__((format(printf, 2, 3))) qb_status complain(qb_status status, const char *format, ...);
/* The message of the last failure: that of the last complain(), or else the library's detail. */
const char *complaint(void);
