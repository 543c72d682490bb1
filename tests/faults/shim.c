/* SPDX-License-Identifier: MIT */
/* Preloaded into qb, it makes one call fail, or kills the process there, and counts calls.
 *   QB_FAULT         CALL:N:ERRNO  the N-th CALL (from 1) fails with this number; CALL:N:kill ends
 *                    the process before it, CALL:N:after directly after it. CALL is one of `names`, or
 *                    `file` for any of them that changes files
 *   QB_FAULT_NOT     calls from libraries whose name begins with one of these, separated by commas, are
 *                    not counted
 *   QB_FAULT_COUNTS  a file that gets the number of each call at the end
 *   QB_FAULT_TRACE   a file that gets a line for each successful write, fsync and rename: the inode, and
 *                    the target of a rename
 * Failures of memory have no errno of their own, so any number can be given. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MALLOC, OPEN, READ, WRITE, FSYNC, RENAME, CLOSE, UNLINK, MKDIR, TRUNCATE, KINDS, FILES = KINDS };
static const char *const names[] = {"malloc", "open",   "read",  "write",    "fsync", "rename",
                                    "close",  "unlink", "mkdir", "truncate", "file"};

static atomic_long counts[KINDS + 1];
static int kind = -1, error_number, trace = -1;
static long at;
static bool kills, after, ready;
static const char *left_out;
static struct { uintptr_t from, to; } theirs[16];
static int their_count;

static int note_object(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    bool found = false;
    for (const char *word = left_out; *word; word += strspn(word, ",")) {
        const size_t n = strcspn(word, ",");
        found |= strncmp(name, word, n) == 0;
        word += n;
    }
    if (!found) return 0;
    for (int i = 0; i < info->dlpi_phnum && their_count < 16; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        theirs[their_count].from = info->dlpi_addr + part->p_vaddr;
        theirs[their_count++].to = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("QB_FAULT");
    left_out = getenv("QB_FAULT_NOT");
    if (left_out) dl_iterate_phdr(note_object, NULL);
    if (getenv("QB_FAULT_TRACE"))
        trace = (int)syscall(SYS_openat, AT_FDCWD, getenv("QB_FAULT_TRACE"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                             0666);
    for (int i = 0; text && i <= KINDS; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(text, names[i], n) != 0 || text[n] != ':') continue;
        char *end;
        kind = i;
        at = strtol(text + n + 1, &end, 10);
        after = strcmp(end, ":after") == 0;
        kills = after || strcmp(end, ":kill") == 0;
        if (!kills && *end == ':') error_number = atoi(end + 1);
    }
    ready = true;
}

__attribute__((destructor)) static void finish(void) {
    const char *path = getenv("QB_FAULT_COUNTS");
    ready = false; /* calls after this are not those of the program */
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    for (int i = 0; i <= KINDS; i++) fprintf(file, "%s %ld\n", names[i], (long)counts[i]);
    fclose(file);
}

static bool by_them(void *caller) {
    for (int i = 0; i < their_count; i++)
        if ((uintptr_t)caller >= theirs[i].from && (uintptr_t)caller < theirs[i].to) return true;
    return false;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    pause();
}

/* True if this is the call to fail. Kills the process for that kind of fault. *behind: kill after the call was made. */
static bool strikes(int which, void *caller, bool *behind) {
    *behind = false;
    if (!ready || by_them(caller)) return false;
    const long n = atomic_fetch_add(&counts[which], 1) + 1;
    const bool changes = which == WRITE || which >= FSYNC;
    const long m = changes ? atomic_fetch_add(&counts[FILES], 1) + 1 : 0;
    if (!(kind == which && n == at) && !(kind == FILES && changes && m == at)) return false;
    if (kills && !after) die();
    *behind = after;
    if (kills) return false;
    errno = error_number;
    return true;
}

/* Traces a successful call; system calls made here are not counted. */
static void tell(const char *what, const struct stat *about, const char *to) {
    char line[4400];
    int n = snprintf(line, sizeof line, "%s %lu %s\n", what, (unsigned long)about->st_ino, to);
    syscall(SYS_write, trace, line, (size_t)n);
}
static void tell_fd(const char *what, int fd, bool good) {
    struct stat about;
    if (trace >= 0 && good && fstat(fd, &about) == 0) tell(what, &about, "");
}
static void tell_name(const char *to, bool good) {
    struct stat about;
    if (trace >= 0 && good && lstat(to, &about) == 0) tell("rename", &about, to);
}

#define REAL(name)                                                                                                     \
    __extension__({                                                                                                    \
        static void *found;                                                                                            \
        if (!found) found = dlsym(RTLD_NEXT, #name);                                                                   \
        (__typeof__(&name))found;                                                                                      \
    })
/* Makes the call unless it is to fail. */
#define FAULTY(which, type, failed, call)                                                                              \
    bool behind;                                                                                                       \
    if (strikes(which, __builtin_return_address(0), &behind)) return failed;                                           \
    type result = call;                                                                                                \
    if (behind) die();                                                                                                 \
    return result
/* The same, with a line of the trace. */
#define TOLD(which, type, failed, call, line)                                                                          \
    bool behind;                                                                                                       \
    if (strikes(which, __builtin_return_address(0), &behind)) return failed;                                           \
    type result = call;                                                                                                \
    line;                                                                                                              \
    if (behind) die();                                                                                                 \
    return result

/* Internal names of the C library, since looking up names allocates memory. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) { FAULTY(MALLOC, void *, NULL, __libc_malloc(size)); }
void *calloc(size_t count, size_t size) { FAULTY(MALLOC, void *, NULL, __libc_calloc(count, size)); }
void *realloc(void *old, size_t size) { FAULTY(MALLOC, void *, NULL, __libc_realloc(old, size)); }
void *aligned_alloc(size_t alignment, size_t size) { FAULTY(MALLOC, void *, NULL, __libc_memalign(alignment, size)); }
int posix_memalign(void **out, size_t alignment, size_t size) {
    bool behind;
    if (strikes(MALLOC, __builtin_return_address(0), &behind)) return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

static mode_t mode_of(int flags, va_list list) {
    return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(list, unsigned) : 0;
}
#define OPENER(name, parameters, ...)                                                                                  \
    int name parameters {                                                                                              \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = mode_of(flags, list);                                                                            \
        va_end(list);                                                                                                  \
        FAULTY(OPEN, int, -1, REAL(name)(__VA_ARGS__, mode));                                                          \
    }
OPENER(open, (const char *path, int flags, ...), path, flags)
OPENER(open64, (const char *path, int flags, ...), path, flags)
OPENER(openat, (int folder, const char *path, int flags, ...), folder, path, flags)
OPENER(openat64, (int folder, const char *path, int flags, ...), folder, path, flags)
FILE *fopen(const char *path, const char *mode) { FAULTY(OPEN, FILE *, NULL, REAL(fopen)(path, mode)); }
FILE *fopen64(const char *path, const char *mode) { FAULTY(OPEN, FILE *, NULL, REAL(fopen64)(path, mode)); }

ssize_t read(int fd, void *to, size_t n) { FAULTY(READ, ssize_t, -1, REAL(read)(fd, to, n)); }
ssize_t pread(int fd, void *to, size_t n, off_t where) { FAULTY(READ, ssize_t, -1, REAL(pread)(fd, to, n, where)); }
ssize_t pread64(int fd, void *to, size_t n, off64_t where) {
    FAULTY(READ, ssize_t, -1, REAL(pread64)(fd, to, n, where));
}
size_t fread(void *to, size_t size, size_t n, FILE *file) { FAULTY(READ, size_t, 0, REAL(fread)(to, size, n, file)); }
ssize_t write(int fd, const void *from, size_t n) {
    TOLD(WRITE, ssize_t, -1, REAL(write)(fd, from, n), tell_fd("write", fd, result > 0));
}
ssize_t pwrite(int fd, const void *from, size_t n, off_t where) {
    TOLD(WRITE, ssize_t, -1, REAL(pwrite)(fd, from, n, where), tell_fd("write", fd, result > 0));
}
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t where) {
    TOLD(WRITE, ssize_t, -1, REAL(pwrite64)(fd, from, n, where), tell_fd("write", fd, result > 0));
}
ssize_t writev(int fd, const struct iovec *from, int n) {
    TOLD(WRITE, ssize_t, -1, REAL(writev)(fd, from, n), tell_fd("write", fd, result > 0));
}
size_t fwrite(const void *from, size_t size, size_t n, FILE *file) {
    TOLD(WRITE, size_t, 0, REAL(fwrite)(from, size, n, file), tell_fd("write", fileno(file), result > 0));
}
int fsync(int fd) { TOLD(FSYNC, int, -1, REAL(fsync)(fd), tell_fd("fsync", fd, result == 0)); }
int fdatasync(int fd) { TOLD(FSYNC, int, -1, REAL(fdatasync)(fd), tell_fd("fsync", fd, result == 0)); }
int syncfs(int fd) { TOLD(FSYNC, int, -1, REAL(syncfs)(fd), tell_fd("syncfs", fd, result == 0)); }
int rename(const char *from, const char *to) {
    TOLD(RENAME, int, -1, REAL(rename)(from, to), tell_name(to, result == 0));
}
int renameat(int a, const char *from, int b, const char *to) {
    FAULTY(RENAME, int, -1, REAL(renameat)(a, from, b, to));
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    FAULTY(RENAME, int, -1, REAL(renameat2)(a, from, b, to, flags));
}
int link(const char *from, const char *to) { FAULTY(RENAME, int, -1, REAL(link)(from, to)); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    FAULTY(RENAME, int, -1, REAL(linkat)(a, from, b, to, flags));
}
/* The descriptor is closed even if close() says that written data may not be safe. */
int close(int fd) {
    bool behind;
    if (strikes(CLOSE, __builtin_return_address(0), &behind)) {
        const int wanted = errno;
        REAL(close)(fd);
        errno = wanted;
        return -1;
    }
    int result = REAL(close)(fd);
    if (behind) die();
    return result;
}
int fclose(FILE *file) {
    bool behind;
    if (strikes(CLOSE, __builtin_return_address(0), &behind)) {
        const int wanted = errno;
        REAL(fclose)(file);
        errno = wanted;
        return EOF;
    }
    int result = REAL(fclose)(file);
    if (behind) die();
    return result;
}
int unlink(const char *path) { FAULTY(UNLINK, int, -1, REAL(unlink)(path)); }
int unlinkat(int folder, const char *path, int flags) { FAULTY(UNLINK, int, -1, REAL(unlinkat)(folder, path, flags)); }
int remove(const char *path) { FAULTY(UNLINK, int, -1, REAL(remove)(path)); }
int rmdir(const char *path) { FAULTY(UNLINK, int, -1, REAL(rmdir)(path)); }
int mkdir(const char *path, mode_t mode) { FAULTY(MKDIR, int, -1, REAL(mkdir)(path, mode)); }
int mkdirat(int folder, const char *path, mode_t mode) { FAULTY(MKDIR, int, -1, REAL(mkdirat)(folder, path, mode)); }
int ftruncate(int fd, off_t size) {
    TOLD(TRUNCATE, int, -1, REAL(ftruncate)(fd, size), tell_fd("write", fd, result == 0));
}
int ftruncate64(int fd, off64_t size) {
    TOLD(TRUNCATE, int, -1, REAL(ftruncate64)(fd, size), tell_fd("write", fd, result == 0));
}
