/* SPDX-License-Identifier: MIT */
/* Waits until work that was told to stop has had enough time. Only time in which this process could run counts, not
 * time in which other processes had the processors. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static double clock_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor time of all threads except the calling one. */
static double others_used(void) { return clock_of(CLOCK_PROCESS_CPUTIME_ID) - clock_of(CLOCK_THREAD_CPUTIME_ID); }

/* Is this thread running or ready to run? Its stat file reads "12 (name) R ..." then. */
static bool runs(int tasks, const char *thread) {
    char path[280], text[128];
    snprintf(path, sizeof path, "%s/stat", thread);
    const int file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    text[n > 0 ? n : 0] = 0;
    const char *name_ends = strrchr(text, ')');
    return name_ends && strncmp(name_ends, ") R", 3) == 0;
}

/* Number of threads of this process that are running or ready to run, without the calling one; 0 where the system does
 * not say. */
static int running(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    if (!tasks) return 0;
    for (const struct dirent *entry; (entry = readdir(tasks));)
        if (entry->d_name[0] != '.') count += runs(dirfd(tasks), entry->d_name);
    closedir(tasks);
    return count > 0 ? count - 1 : 0;
}

/* While all threads sleep (on a disk or a lock), time counts in full. While threads are ready to run, only the
 * processor time that they get counts, divided by their number. So a process that gets little time on a busy machine is
 * not taken for one that hangs. */
void wait_patiently(double seconds) {
    const double TICK = 0.02;
    const struct timespec tick = {0, (long)(TICK * 1e9)};
    double used = others_used();
    while (seconds > 0) {
        nanosleep(&tick, NULL);
        const double before = used;
        const int threads = running();
        used = others_used();
        const double each = threads ? (used - before) / threads : TICK;
        seconds -= each < TICK ? each : TICK;
    }
}
