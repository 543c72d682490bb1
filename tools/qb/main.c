/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "crop.h"
#include "report_html.h"
#include "sweep.h"
#include "view/zmq.h"
#include "io/codec/codec_keeps.h"
#include "io/guard/guard.h"
#include "planner/device_early.h"

/* Opens /dev/null as descriptors 0, 1 and 2 where they are closed. Otherwise a file could get one of these numbers and
 * be read or written as a standard stream. */
static void open_standard_streams(void) {
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2) continue;
    if (fd > 2) close(fd);
}

qb_status give_result(cli *c, char *json) {
    if (!json) return complain(QB_NO_MEMORY, "no memory for the result");
    cJSON *root = cJSON_Parse(json);
    cJSON_free(json);
    if (!root) return complain(QB_NO_MEMORY, "no memory for the result");
    add_warnings(root);
    cJSON_free(c->result);
    c->result = cJSON_Print(root);
    cJSON_Delete(root);
    return c->result ? QB_OK : complain(QB_NO_MEMORY, "no memory for the result");
}

static void print_failure(const char *verb_name, const char *words, qb_status status, bool json) {
    if (is_silent()) return;
    fprintf(stderr, "qb %s: %s\n", verb_name, words);
    if (json) print_json_failure(words, qb_status_text(status));
}

/* Verbs that cannot compute on a device refuse a named device. */
static qb_status check_device(const cli *c) {
    const char *device = c->options.run.device;
    if (!device || strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0) return QB_OK;
    if (c->verb->abilities & ON_DEVICES) return QB_OK;
    return complain(QB_BAD_ARGUMENT, "--device %s: this verb computes on the CPU only; use auto or cpu", device);
}

bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Checks the folder of a file before the job runs: the file itself is written only at the end. */
static qb_status check_save(const char *flag, const char *path) {
    char folder[PATH_MAX];
    struct stat about;
    if (!path) return QB_OK;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return complain(QB_BAD_ARGUMENT, "--%s %s is a folder: give a file's name", flag, path);
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof folder) return complain(QB_BAD_ARGUMENT, "--%s %.60s... is too long a name", flag, path);
    snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    const char *where = !slash ? "." : n ? folder : "/";
    if (stat(where, &about) != 0) return complain(QB_NOT_FOUND, "--%s %s: there is no folder %s", flag, path, where);
    if (!S_ISDIR(about.st_mode)) return complain(QB_NOT_FOUND, "--%s %s: %s is no folder", flag, path, where);
    return access(where, W_OK | X_OK) == 0
               ? QB_OK
               : complain(QB_IO, "--%s %s: the folder %s: %s", flag, path, where, strerror(errno));
}

static qb_status check_inputs(const cli *c, const char *flag, const char *path) {
    for (int i = 0; path && i < c->count + 1; i++) {
        const char *read = i < c->count ? c->argument[i] : c->options.run.config;
        if (same_file(path, read))
            return complain(QB_BAD_ARGUMENT, "--%s %s would overwrite the input %s", flag, path, read);
    }
    return QB_OK;
}

static qb_status run_verb(cli *c) {
    qb_status status = check_device(c);
    const char *save = c->options.run.save_config;
    char names[160];
    if (status == QB_OK && c->options.run.dry_run && !(c->verb->abilities & PLANS))
        status = complain(QB_BAD_ARGUMENT, "qb %s has no plan to show; these have: %s", c->verb->name,
                          list_verbs(PLANS, names, sizeof names));
    if (status == QB_OK && c->options.run.why && !c->options.run.dry_run)
        status = complain(QB_BAD_ARGUMENT, "--why belongs to qb plan %s", c->verb->name);
    status = status == QB_OK ? check_inputs(c, "save-config", save) : status;
    status = status == QB_OK ? check_inputs(c, "report", c->options.report.file) : status;
    if (status == QB_OK && save) status = check_save("save-config", save);
    if (status == QB_OK && c->options.report.file) status = check_save("report", c->options.report.file);
    if (status == QB_OK && save && !(c->config = print_config(c)))
        status = complain(QB_NO_MEMORY, "no memory for the configuration %s", save);
    open_terminal(c);
    qb_external_allow(c->options.run.allow_external);
    if (status == QB_OK && c->options.run.max_vram && !(c->verb->abilities & ON_DEVICES))
        c->env.log(NULL, QB_LOG_INFO, "--max-vram has no effect: the CPU computes");
    if (status == QB_OK && c->options.run.dry_run && !is_silent()) {
        const char *const paths[] = {c->argument[0], c->options.output.output};
        /* An output that is missing is reported by the verb, later */
        status = qb_machine_measure(paths, paths[1] ? 2 : 1, &c->env);
    }
    if (status == QB_OK) status = open_ranks(c);
    if (status == QB_OK) status = html_report_begin(c);
    if (status == QB_OK) status = crop_run(c);
    if (status == QB_OK) status = sweep_begin(c);
    if (status == QB_OK) status = c->sweep ? sweep_run(c) : c->verb->run(c);
    sweep_end(c);
    html_report_end(c);
    status = agree_ranks(c, status);
    finish_progress();
    tell_warnings(status);
    const bool written = c->verb->abilities & WRITES && !c->options.run.dry_run;
    if (status == QB_OK && save && !written && !is_silent()) status = qb_file_write(save, c->config);
    return status;
}

/* True for `qb plan VERB ...`, which means `qb VERB ... --dry-run`. */
static bool is_plan(int argc, char **argv) { return argc > 2 && strcmp(argv[1], "plan") == 0 && argv[2][0] != '-'; }

static void print_verb_help(const void *v, FILE *out) { print_help(v, out); }

static void print_named_page(const void *flag, FILE *out) { print_page(flag, out); }

static void print_code(const void *code, FILE *out) { print_warning_help(code, out); }

static void print_all_verbs(const void *unused, FILE *out) {
    (void)unused;
    print_usage(out);
}

static void print_version(const void *unused, FILE *out) {
    (void)unused;
    char zeromq[80], mpi[256];
    view_zmq_describe(zeromq, sizeof zeromq);
    fprintf(out, "quickbeam %s\n%sZeroMQ of qb live: %s\n", qb_version(), qb_build_summary(), zeromq);
    if (!strstr(qb_build_summary(), "MPICH are looked for")) return;
    const bool found = qb_ranks_library(mpi, sizeof mpi) == QB_OK;
    fprintf(out, "MPI that is found: %s\n", found ? mpi : qb_detail());
}

/* Prints a page of help on stdout, as text or as JSON. */
static void show(bool json, const char *name, void (*print)(const void *what, FILE *out), const void *what) {
    if (json)
        print_json_text(name, print, what);
    else
        print(what, stdout);
}

static int no_verb(const char *word, bool json) {
    char words[200];
    snprintf(words, sizeof words, "there is no verb %.100s; qb --help lists them", *word ? word : "''");
    fprintf(stderr, "qb: %s\n", words);
    if (json)
        print_json_failure(words, qb_status_text(QB_BAD_ARGUMENT));
    else
        fputc('\n', stderr), print_usage(stderr);
    return 2;
}

static int run(int argc, char **argv) {
    cli c = {0};
    int first = is_plan(argc, argv) ? 2 : 1;
    verb made;
    c.verb = view_verb(find_verb(argv[first]), argc - first - 1, argv + first + 1, &made);
    if (!c.verb) return no_verb(argv[first], wants_json(argc, argv));
    qb_status status = init_options(&c);
    if (status == QB_OK) status = parse_arguments(&c, argc - first - 1, argv + first + 1);
    if (status == QB_OK && c.options.run.help) {
        show(c.options.run.json, "help", print_verb_help, c.verb);
    } else if (status == QB_OK) {
        if (first == 2) c.options.run.dry_run = true;
        status = run_verb(&c);
    }
    if (status != QB_OK) {
        const char *words = complaint();
        print_failure(c.verb->name, *words ? words : qb_status_text(status), status,
                      c.options.run.json || wants_json(argc, argv));
    } else if (c.options.run.json && c.result && !is_silent()) {
        print_json(c.result);
    }
    fflush(NULL);
    qb_ranks_close(c.env.ranks);
    free(c.config);
    clear_options(&c);
    cJSON_free(c.result);
    free(c.command);
    return qb_status_exit_code(status);
}

/* qb help VERB, qb help CODE, qb help --man and the other pages. */
static int help(const char *word, bool json) {
    char words[200];
    const verb *v = find_verb(word);
    if (v) return show(json, "help", print_verb_help, v), 0;
    if (strcmp(word, "--json") == 0) return show(json, "help", print_all_verbs, NULL), 0;
    if (print_page(word, NULL)) return show(json, "help", print_named_page, word), 0;
    if (qb_warning_text(word)) return show(json, "help", print_code, word), 0;
    snprintf(words, sizeof words,
             "%.100s is neither a verb nor the code of a warning; docs/warnings.md lists the codes", word);
    fprintf(stderr, "qb help: %s\n", words);
    if (json) print_json_failure(words, qb_status_text(QB_BAD_ARGUMENT));
    return 2;
}

/* Fails where the output could not be written to stdout. */
static int end(int code) {
    qb_tool_device_settle();
    if (code || (fflush(stdout) == 0 && !ferror(stdout))) return code;
    fprintf(stderr, "qb: cannot write to standard output\n");
    return 1;
}

/* Handles signals until open_terminal() installs the real handler. No file is open yet, so the process may end at
 * once. */
static void stop_early(int signal_number) {
    (void)signal_number;
    _exit(130);
}

static void listen_early(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now, action = {.sa_handler = stop_early};
        sigemptyset(&action.sa_mask);
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);
    }
}

/* Path of this program, to start it once more. /proc may be missing, as in a bare container: then the path by which the
 * program was started is used. */
static const char *own_path(void) {
    static const char self[] = "/proc/self/exe";
    static char path[PATH_MAX];
    const char *started_as = (const char *)getauxval(AT_EXECFN);
    return access(self, X_OK) != 0 && started_as && realpath(started_as, path) ? path : self;
}

int main(int argc, char **argv) {
    if (argc >= 3 && strcmp(argv[1], guard_word) == 0) return try_file(argv[2], argc > 3 ? argv[3] : NULL, argc > 4);
    listen_early();
    open_standard_streams();
    qb_tool_guard(own_path(), guard_word);
#ifdef __GLIBC__
    /* --max-ram counts on freed memory going back to the system. Blocks above this size are mapped one by one and do
     * so. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    qb_tool_codec_keeps(8 << 20); /* larger than a block of Blosc */
    /* Under a limit of the address space (ulimit -v), the heap of each thread, 64 MiB of addresses, would use most of
     * it. */
    struct rlimit addresses;
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
#endif
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    const char *word = argv[1];
    const bool json = wants_json(argc, argv);
    if (strcmp(word, "--version") == 0) {
        show(json, "version", print_version, NULL);
        return end(0);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (strcmp(word, "help") == 0 && argc == 2)) {
        show(json, "help", print_all_verbs, NULL);
        return end(0);
    }
    if (strcmp(word, "help") == 0) return end(help(argv[2], json));
    return end(run(argc, argv));
}
