/* SPDX-License-Identifier: MIT */
/* What the user sees on stderr while the command runs: messages, warnings and progress. Also handles interruption by
 * signals. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t interrupted;
static sem_t told; /* posted by the signal handler, to wake the thread of watch() */

static struct {
    bool silent, terminal, quiet, verbose, open;
    bool once; /* each note is printed once: a scan is opened again after a look at it */
    struct timespec start, last;
    int percent;               /* percentage that was last printed where stderr is no terminal */
    char stage[32], come[112]; /* name of the stage; the last note of the stage about its own progress */
} screen;

static void interrupt(int signal_number) {
    (void)signal_number;
    if (interrupted) _exit(130); /* A second signal ends the process at once */
    interrupted = 1;
    sem_post(&told);
}

/* Ends the process where the work cannot stop by itself. The work checks `interrupted` between chunks and views, but it
 * cannot check inside a library or on a disk that hangs. */
static void *watch(void *unused) {
    static const char words[] =
        "qb: interrupted in the midst of what could not be stopped; temporary files are removed\n";
    const double PATIENCE = 1.5;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    while (sem_wait(&told) != 0) continue;
    wait_patiently(PATIENCE);
    qb_abandon();
    if (poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) && write(STDERR_FILENO, words, sizeof words - 1) < 0)
        _exit(130);
    _exit(130);
    return unused;
}

/* Starts the thread of watch(). If this fails, a signal still stops the work at its next check. The thread blocks all
 * signals: the other threads handle them. */
static void start_watch(void) {
    sigset_t all, before;
    pthread_attr_t small;
    pthread_t thread;
    if (sem_init(&told, 0, 0) != 0 || pthread_attr_init(&small) != 0) return;
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, &small, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
}

static double since(const struct timespec *then) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

void finish_progress(void) {
    if (screen.open && screen.terminal) fprintf(stderr, "\r\033[K");
    screen.open = false;
}

/* Warnings for --json, and notes. The library calls the log function from one thread at a time. */
static cJSON *warnings, *notes;

/* Adds a line to a list; false where the list has the same line. */
static bool is_new(cJSON **list, const char *text) {
    const cJSON *said;
    if (!*list) *list = cJSON_CreateArray();
    cJSON_ArrayForEach(said, *list) {
        if (strcmp(said->valuestring, text) == 0) return false;
    }
    cJSON_AddItemToArray(*list, cJSON_CreateString(text));
    return true;
}

void add_warnings(cJSON *object) {
    cJSON *all = warnings ? warnings : cJSON_CreateArray();
    warnings = NULL;
    cJSON_DeleteItemFromObject(object, "warnings");
    cJSON_AddItemToObject(object, "warnings", all);
}

void show_warnings(cJSON *object) {
    cJSON_AddItemToObject(object, "warnings", warnings ? cJSON_Duplicate(warnings, true) : cJSON_CreateArray());
}

static cJSON *held; /* warnings that are held back */

void hold_warnings(void) {
    if (!held) held = cJSON_CreateArray();
}

/* Does the error message say the same as the warning? Then it contains the sentence of the warning, without the
 * code. */
static bool is_refusal(const char *warning) {
    char sentence[640];
    const char *code = strrchr(warning, '[');
    const size_t length = code && code > warning ? (size_t)(code - 1 - warning) : strlen(warning);
    if (length == 0 || length >= sizeof sentence) return false;
    memcpy(sentence, warning, length);
    sentence[length] = 0;
    return strstr(complaint(), sentence) != NULL;
}

void tell_warnings(qb_status status) {
    const cJSON *text;
    const bool spare = qb_status_exit_code(status) == 2;
    cJSON_ArrayForEach(text, held) {
        if (spare || (status != QB_OK && is_refusal(text->valuestring))) continue;
        finish_progress();
        fprintf(stderr, "warning: %s\n", text->valuestring);
    }
    cJSON_Delete(held);
    held = NULL;
}

static void print_log(void *user, qb_log_level level, const char *text) {
    (void)user;
    if (screen.silent || (level == QB_LOG_DEBUG && !screen.verbose)) return;
    if (level == QB_LOG_INFO && screen.quiet) return;
    if (level == QB_LOG_WARNING && !is_new(&warnings, text)) return;
    if (level == QB_LOG_INFO && screen.once && !is_new(&notes, text)) return;
    if (level == QB_LOG_WARNING && held && cJSON_AddItemToArray(held, cJSON_CreateString(text))) return;
    finish_progress();
    fprintf(stderr, "%s%s\n", level == QB_LOG_WARNING ? "warning: " : "", text);
}

static void print_bar(const char *what, uint64_t done, uint64_t total, double elapsed) {
    enum { WIDTH = 32 };
    int filled = (int)(done * WIDTH / total);
    char bar[WIDTH + 1];
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '.', (size_t)(WIDTH - filled));
    bar[WIDTH] = 0;
    fprintf(stderr, "\r\033[K%-12s [%s] %3llu %%", what, bar, (unsigned long long)(done * 100 / total));
    if (done) fprintf(stderr, "  %.*f s left", elapsed < 10 ? 1 : 0, elapsed * (double)(total - done) / (double)done);
    fputs(screen.come, stderr);
    fflush(stderr);
    screen.open = true;
}

static void print_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)user;
    if (screen.silent || screen.quiet || total == 0) return;
    if (done > total) done = total; /* the counter may exceed the forecast total */
    const size_t name = strcspn(what, ";");
    if (strncmp(screen.stage, what, name) != 0 || screen.stage[name]) {
        snprintf(screen.stage, sizeof screen.stage, "%.*s", (int)name, what);
        screen.come[0] = 0;
        clock_gettime(CLOCK_MONOTONIC, &screen.start);
        screen.percent = 0;
    }
    if (what[name]) snprintf(screen.come, sizeof screen.come, ", %s", what + name + strspn(what + name, "; "));
    double elapsed = since(&screen.start);
    if (screen.terminal) {
        if (done < total && since(&screen.last) < 0.1) return;
        clock_gettime(CLOCK_MONOTONIC, &screen.last);
        print_bar(screen.stage, done, total, elapsed);
        return;
    }
    int percent = (int)(done * 100 / total);
    if (percent / 10 <= screen.percent / 10) return;
    screen.percent = percent;
    fprintf(stderr, "%s: %d %%, %.1f s, about %.1f s left%s\n", screen.stage, percent, elapsed,
            elapsed * (double)(total - done) / (double)done, screen.come);
}

/* Lists the files that the command itself reads and writes. The library checks that outputs do not overwrite inputs. */
static void list_files(cli *c) {
    const run_options *run = &c->options.run;
    const bool together = c->verb->abilities & WRITES && !run->dry_run;
    qb_sidecar *writes = c->writes;
    c->reads[0] = run->config;
    if (run->save_config) *writes++ = (qb_sidecar){run->save_config, together ? c->config : NULL};
    if (c->options.report.file) *writes++ = (qb_sidecar){c->options.report.file, NULL};
    if (c->options.info.preview) *writes++ = (qb_sidecar){c->options.info.preview, NULL};
    if (c->options.info.mask_out) *writes++ = (qb_sidecar){c->options.info.mask_out, NULL};
}

void open_terminal(cli *c) {
    screen.silent = is_silent();
    screen.terminal = isatty(STDERR_FILENO) == 1;
    screen.quiet = c->options.run.quiet;
    screen.verbose = c->options.run.verbose;
    screen.once = c->verb->abilities & WRITES;
    start_watch();
    struct sigaction action = {.sa_handler = interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        /* A closed session ends the run cleanly; under nohup the signal stays ignored */
        sigaction(SIGHUP, &action, NULL);
    /* A file above the size limit then fails like a full disk, and does not end the process */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    list_files(c);
    c->env = (qb_env){.struct_size = sizeof c->env,
                      .threads = c->options.run.threads,
                      .max_ram = c->options.run.max_ram,
                      .max_vram = c->options.run.max_vram,
                      .device = c->options.run.device,
                      .log = print_log,
                      .progress = print_progress,
                      .reads = c->reads,
                      .writes = c->writes,
                      .cancel = &interrupted};
}
