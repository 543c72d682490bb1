/* SPDX-License-Identifier: MIT */
#ifndef QB_CLI_H
#define QB_CLI_H

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
    qb_numbers max_rel_l2, max_rmse; /* none: no limit; 0 is one */
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

/* One place for all; a verb uses the sections that it names. */
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
    size_t offset, size; /* of its struct in options */
} section;

enum { SECTIONS_MAX = 10, ARGUMENTS_MAX = 8, GIVEN_MAX = 128 };

typedef struct cli cli;

/* What a verb can do besides. */
enum {
    ON_DEVICES = 1, /* has work for a device; others refuse one that is named */
    PLANS = 2,      /* --dry-run shows what it would do */
    WRITES = 4,     /* has an output; what is saved besides appears together with it */
    SHARES = 8,     /* can be one job of several processes */
};

typedef struct verb {
    const char *name;
    const char *arguments; /* "SCAN -o OUT" */
    const char *summary;
    const char *example;
    int fewest, most; /* positional arguments */
    unsigned abilities;
    qb_status (*run)(cli *c);
    section sections[SECTIONS_MAX]; /* ends with an empty one */
} verb;

struct cli {
    const verb *verb;
    options options;
    int count;
    const char *argument[ARGUMENTS_MAX];
    char *command; /* what to type to do this again; command.c */
    size_t command_bytes;
    FILE *words;                      /* while it is put together */
    bool lost;                        /* some of it, for want of memory */
    const qb_param *given[GIVEN_MAX]; /* options that were given, those of the command line first */
    int given_count, by_flags;        /* of all; of the command line, once a configuration is read */
    char *config;                     /* what --save-config writes; NULL = it is not given */
    const char *reads[2];             /* of env */
    qb_sidecar writes[5];
    qb_env env;
    char *result;             /* JSON object for stdout, when --json */
    struct html_report *page; /* what --report gathers; NULL = it is not given */
    struct sweep *sweep;      /* what --sweep does; NULL = it is not given */
    bool crop, cropping;      /* --size object is given; the object is looked for */
};

extern const verb verbs[];
const verb *find_verb(const char *name);

/* args.c: argv[2..] -> c->options and c->argument, by the verb's tables. */
qb_status parse_arguments(cli *c, int argc, char **argv);
/* One option. Lists add up within the command line and within the configuration; anything else that is given twice
 * there is refused. What the command line gives, the configuration does not. */
qb_status give_option(cli *c, const qb_param *row, void *target, const char *value);
/* The row of an option among the verb's sections, by its name or, with name NULL, its letter; and the struct that it sets. */
const qb_param *find_row(cli *c, const char *name, char letter, void **target);
qb_status init_options(cli *c);
void clear_options(cli *c);

/* command.c: what was given joins c->command, by a flag, a configuration file, or as an argument. */
void command_option(cli *c, const qb_param *row, const char *value);
void command_argument(cli *c, const char *word);
qb_status command_end(cli *c);

/* config.c */
qb_status read_config(cli *c, const char *path);
/* One option as a configuration says it. */
qb_status set_from_config(cli *c, const char *name, const char *value);
/* sv-mbirct's BASE.reconparams in the place of a configuration. */
bool is_mbirct_config(const char *path);
qb_status read_mbirct_config(cli *c, const char *path, FILE *file);
char *print_config(const cli *c); /* what --save-config writes; NULL: no memory */

/* help.c */
void print_usage(FILE *out);
void print_help(const verb *v, FILE *out);
void print_option(const qb_param *row, FILE *out);
void print_rows(const qb_param *table, FILE *out);

/* What the code of a warning means; false when there is no such code. */
bool print_warning_help(const char *code, FILE *out);

/* pages.c: the help of all verbs as another page, by its flag: --man, --bash, --zsh or --markdown. Is there one? `out` NULL only asks. */
bool print_page(const char *flag, FILE *out);

/* terminal.c: logging, progress, interruption */
void open_terminal(cli *c);
/* A refusal of an option comes before warnings that have nothing to do with it: from hold_warnings() on they wait. tell_warnings()
 * prints them, unless the status is a wrong use of the command or the refusal says the same. */
void hold_warnings(void);
void tell_warnings(qb_status status);
/* The warnings so far, as "warnings" of a result. */
void add_warnings(cJSON *object);
/* A copy of them. */
void show_warnings(cJSON *object);
void finish_progress(void);

/* report.c: what stands under a name; 0 and "" where nothing of the kind does. */
double number(const cJSON *object, const char *name);
const char *text(const cJSON *object, const char *name);

/* patience.c: until work has had so many seconds, not counting those in which the machine was busy with others. */
void wait_patiently(double seconds);

/* ranks.c: is this one of several processes that a launcher started, but not the first, who speaks for all? */
bool is_silent(void);
/* Join them, for a verb that can be shared; others are refused. */
qb_status open_ranks(cli *c);
/* How all of them fared, in what complaint() says then. */
qb_status agree_ranks(cli *c, qb_status status);

/* trial.c: `qb --try-hdf5 FILE [DATASET [serve]]`, which qb starts itself: see qb_tool_hdf5_guard. */
extern const char trial_word[];
int try_hdf5(const char *path, const char *dataset, bool serve);

/* json_out.c: is --json among the words? Also when another of them is wrong. */
bool wants_json(int argc, char **argv);
/* Bytes of the UTF-8 character that a text begins with; 0 where it is none. */
size_t utf8_length(const char *text);
bool is_utf8(const char *text);
/* JSON onto stdout, and a line's end; what is not UTF-8 is escaped. */
void print_json(const char *text);
void print_json_failure(const char *words, const char *status);
/* {name: what `print` prints} */
void print_json_text(const char *name, void (*print)(const void *what, FILE *out), const void *what);

/* Keep `json` (from malloc: cJSON_Print) as what --json prints; NULL = out of memory. */
qb_status give_result(cli *c, char *json);

/* main.c: do two names, either of which may be NULL, lead to one file that is there? */
bool same_file(const char *a, const char *b);

/* The names of the verbs that have an ability, with commas between them, in `text`, which is returned. */
const char *list_verbs(int ability, char *text, size_t size);

/* cmd_*.c */
qb_status cmd_info(cli *c);
/* info_geometry.c: is there a geometry among the options? Describe it, for a scan or for none (NULL): onto
 * stdout, or as a new object when `root` is not NULL. */
bool wants_geometry(const cli *c);
qb_status info_geometry(cli *c, const qb_scan_info *scan, cJSON **root);
/* info_mask.c: which pixels were not measured, in words ("" where all were) and as an object; into the file of --mask-out. */
qb_status tell_mask(const cli *c, const qb_scan *scan, char *words, size_t size, cJSON *object);
/* info_volume.c: does the file in c->argument[0] say that it is a volume, and is it asked about as
 * one? Describe it. */
bool states_volume(const char *quantity);
bool is_volume(const cli *c, const qb_scan_info *info);
qb_status info_volume(cli *c);
qb_status cmd_plan(cli *c);
qb_status cmd_fbp(cli *c);
qb_status cmd_fdk(cli *c);
qb_status cmd_iterative(cli *c);
qb_status cmd_mbir(cli *c);
qb_status cmd_project(cli *c);
/* cone_axis.c: where --detector-offset is auto, it becomes what the scan says. */
qb_status find_offset(cli *c, qb_scan *scan);
/* Does a circular cone beam's axis surely fall elsewhere than options and file say? Then `text` says so. */
bool axis_differs(cli *c, qb_scan *scan, char *text, size_t size);
/* cmd_iterative.c: none of the faults that only a fan's or cone's detector has here. */
qb_status check_parallel(const qb_geometry_options *given);
/* What fbp, fdk and project do once the job is planned: print the plan, or run it and print the report. Of a scan and its
 * geometry (NULL: a parallel beam) --report makes a page; scan NULL: there is none. */
qb_status finish_job(cli *c, qb_job *job, qb_scan *scan, const qb_geometry *geometry);
/* Print a plan, a JSON object. */
qb_status show_plan(cli *c, const char *plan);
/* The scan in c->argument[0], its problems told. */
qb_status open_scan(cli *c, qb_scan **scan);
/* Of open_scan; a sweep keeps it for its next job. */
void close_scan(cli *c, qb_scan *scan);
qb_status fit_hardening(cli *c, qb_scan *scan); /* --hardening fit becomes A,B */
qb_status cmd_center(cli *c);
qb_status cmd_hardening(cli *c);
qb_status cmd_simulate(cli *c);
qb_status cmd_convert(cli *c);
qb_status cmd_compare(cli *c);
qb_status cmd_live(cli *c);
qb_status cmd_view(cli *c);
/* With --reconstruct among the words, qb view takes the options of qb fbp or fdk besides: such a verb in *made; else `named`. */
const verb *view_verb(const verb *named, int argc, char **argv, verb *made);
qb_status cmd_bench(cli *c);
qb_status cmd_devices(cli *c);
qb_status cmd_tune(cli *c);

/* Set the detail and return the status, as the library does. */
__attribute__((format(printf, 2, 3))) qb_status complain(qb_status status, const char *format, ...);
/* The words for a failure: what complain() said last, else the library's detail. */
const char *complaint(void);

#endif
