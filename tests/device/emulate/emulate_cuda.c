/* SPDX-License-Identifier: MIT */
/* The mock driver with a real compiler and real launches, on this processor (emulate.h). So kernels that are for CUDA
 * only are compared to their oracles without a GPU. QB_LIBCUDA and QB_LIBNVRTC name this library. Tensor cores are not
 * emulated. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulate_written.h"

#define EXPORT __attribute__((visibility("default")))
enum { OPTIONS = 64, NAMES = 64 };

/* ---- the compiler ---- */

typedef struct program {
    char *text, *code;
    size_t bytes;
    char log[2048];
} program;

EXPORT int nvrtcVersion(int *major, int *minor) {
    *major = 13, *minor = 0;
    return 0;
}
EXPORT int nvrtcGetNumSupportedArchs(int *count) {
    *count = 1;
    return 0;
}
EXPORT int nvrtcGetSupportedArchs(int *archs) {
    archs[0] = 90;
    return 0;
}
EXPORT int nvrtcCreateProgram(void **out, const char *text, const char *name, int headers,
                              const char *const *header_texts, const char *const *header_names) {
    (void)name, (void)headers, (void)header_texts, (void)header_names;
    program *p = calloc(1, sizeof *p);
    if (!p) return 1;
    p->text = strdup(text);
    *out = p;
    return p->text ? 0 : 1;
}
EXPORT int nvrtcDestroyProgram(void **of) {
    program *p = *of;
    free(p->text), free(p->code), free(p);
    *of = NULL;
    return 0;
}

enum { PATH = 512 };
/* For mkdtemp and mkstemp. */
static void place(char path[PATH]) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, PATH, "%.400s/qb-emulate-XXXXXX", folder && *folder ? folder : "/tmp");
}

static int write_file(const char *path, const char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    if (!file) return 1;
    const size_t written = fwrite(bytes, 1, count, file);
    return fclose(file) || written != count;
}
static char *read_file(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *count = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*count + 1);
    if (bytes) bytes[fread(bytes, 1, *count, file)] = '\0';
    fclose(file);
    return bytes;
}

/* The compiler's output goes to the file `log`. */
static int run_translator(const char *source, const char *library, const char *log, int count,
                          const char *const *options) {
    const char *words[OPTIONS + 6] = {"python3", EMULATE_PY, source, library};
    for (int i = 0; i < count && i < OPTIONS; i++) words[4 + i] = options[i];
    const pid_t child = fork();
    int status;
    if (child == 0) {
        if (!freopen(log, "wb", stderr)) _exit(1);
        execvp(words[0], (char **)words);
        _exit(1);
    }
    return child < 0 || waitpid(child, &status, 0) < 0 || status;
}

EXPORT int nvrtcCompileProgram(void *of, int count, const char *const *options) {
    program *p = of;
    char folder[PATH], source[PATH + 16], library[PATH + 16], log[PATH + 16], remove[PATH + 16];
    size_t said;
    place(folder);
    if (!mkdtemp(folder)) return 1;
    snprintf(source, sizeof source, "%s/kernel.cu", folder), snprintf(library, sizeof library, "%s/kernel.so", folder);
    snprintf(log, sizeof log, "%s/log", folder), snprintf(remove, sizeof remove, "rm -rf '%s'", folder);
    int failed = write_file(source, p->text, strlen(p->text)) || run_translator(source, library, log, count, options);
    if (!failed) failed = !(p->code = read_file(library, &p->bytes));
    char *words = failed ? read_file(log, &said) : NULL;
    if (words) snprintf(p->log, sizeof p->log, "%s", words);
    free(words);
    if (system(remove)) failed = 1;
    return failed ? 6 : 0;
}
EXPORT int nvrtcGetProgramLogSize(void *of, size_t *size) {
    *size = strlen(((program *)of)->log) + 1;
    return 0;
}
EXPORT int nvrtcGetProgramLog(void *of, char *log) {
    strcpy(log, ((program *)of)->log);
    return 0;
}
EXPORT int nvrtcGetCUBINSize(void *of, size_t *size) {
    *size = ((program *)of)->bytes;
    return 0;
}
EXPORT int nvrtcGetCUBIN(void *of, char *bytes) {
    memcpy(bytes, ((program *)of)->code, ((program *)of)->bytes);
    return 0;
}
EXPORT int nvrtcGetPTXSize(void *of, size_t *size) { return nvrtcGetCUBINSize(of, size); }
EXPORT int nvrtcGetPTX(void *of, char *bytes) { return nvrtcGetCUBIN(of, bytes); }

/* ---- device memory, if EMULATE_WRITTEN watches it ---- */

static int watched(void) { return getenv("EMULATE_WRITTEN") != NULL; }
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t taken;

/* Addresses are never used again, and blocks do not touch each other. */
EXPORT void *mock_alloc(size_t bytes) {
    enum {
        APART = 4096,
        USED = PROT_READ | PROT_WRITE,
        HOW = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE
    };
    const size_t room = (bytes + 2 * APART - 1) / APART * APART;
    if (!watched()) return malloc(bytes);
    pthread_mutex_lock(&taking);
    if (!taken && mmap((void *)QB_WRITTEN_AT, 2 * QB_WRITTEN_BYTES, PROT_NONE, HOW, -1, 0) != (void *)QB_WRITTEN_AT) {
        perror("emulated CUDA: EMULATE_WRITTEN");
        abort();
    }
    char *begin = (char *)(QB_WRITTEN_AT + taken);
    const int failed = mprotect(begin, room, USED) || mprotect(qb_marks_of(begin), room, USED);
    taken += room;
    pthread_mutex_unlock(&taking);
    if (failed) return NULL;
    size_t *block = (size_t *)(void *)(begin + APART);
    block[-1] = bytes;
    return block;
}
EXPORT void mock_free(void *block) {
    if (!qb_is_device(block)) {
        free(block);
        return;
    }
    const size_t bytes = ((size_t *)block)[-1];
    madvise(block, bytes, MADV_DONTNEED);
    madvise(qb_marks_of(block), bytes, MADV_DONTNEED);
}
EXPORT void mock_wrote(const void *at, size_t bytes) {
    if (watched()) qb_mark(at, bytes);
}
EXPORT int mock_reads(const void *at, size_t bytes) {
    const size_t whole = watched() ? qb_written(at, bytes) : bytes;
    if (whole == bytes) return 0;
    fprintf(stderr,
            "emulated CUDA: a copy of %zu bytes begins with %zu that were written, and nothing wrote the next\n", bytes,
            whole);
    return 716;
}

/* ---- modules and launches ---- */

typedef struct launch {
    unsigned grid[3], block[3], shared;
    void **arguments;
    unsigned seed;
} launch;

/* The length of an ELF file follows from its header: the section headers are its last part. */
static size_t elf_bytes(const unsigned char *image) {
    uint64_t offset;
    uint16_t size, count;
    if (memcmp(image, "\177ELF", 4) != 0) return 0;
    memcpy(&offset, image + 40, 8), memcpy(&size, image + 58, 2), memcpy(&count, image + 60, 2);
    return (size_t)offset + (size_t)size * count;
}
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    (void)count, (void)options, (void)values;
    char path[PATH];
    place(path);
    const int file = mkstemp(path);
    if (file < 0) return 2;
    close(file);
    const int failed = write_file(path, image, elf_bytes(image));
    *module = failed ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*module && !failed) fprintf(stderr, "emulated CUDA: %s\n", dlerror());
    unlink(path);
    return *module ? 0 : 200;
}
EXPORT int cuModuleUnload(void *module) {
    dlclose(module);
    return 0;
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    char entry[128];
    snprintf(entry, sizeof entry, "qb_launch_%s", name);
    *function = dlsym(module, entry);
    return *function ? 0 : 500;
}
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **arguments, void **extra) {
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static unsigned seed;
    (void)stream, (void)extra;
    int (*run)(const launch *);
    memcpy(&run, &function, sizeof run);
    const char *said = getenv("QB_SEED");
    pthread_mutex_lock(&one);
    const launch l = {{gx, gy, gz}, {bx, by, bz}, shared, arguments, (said ? (unsigned)atoi(said) : 0) + seed++};
    const int failed = run(&l);
    pthread_mutex_unlock(&one);
    if (failed == 1) fprintf(stderr, "emulated CUDA: a kernel waits for ever\n");
    return failed ? 719 : 0;
}

/* ---- textures ---- */

typedef struct texture { /* the same struct as in emulate.h */
    size_t width, height, layers;
    unsigned channels;
    int half, linear;
    char *texels;
} texture;
typedef struct array_shape {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array_shape;
typedef struct resource {
    int kind;
    texture *array;
} resource;
enum { HALF = 0x10 };

static size_t plane_bytes(const texture *t) { return t->width * t->height * t->channels * (t->half ? 2 : 4); }
EXPORT int cuArray3DCreate_v2(void **array, const array_shape *s) {
    texture *t = calloc(1, sizeof *t);
    if (!t) return 2;
    *t = (texture){s->width, s->height, s->depth ? s->depth : 1, s->channels, s->format == HALF, 0, NULL};
    t->texels = malloc(plane_bytes(t) * t->layers);
    if (t->texels) memset(t->texels, 0xff, plane_bytes(t) * t->layers);
    *array = t;
    return t->texels ? 0 : 2;
}
EXPORT int cuArrayDestroy(void *array) {
    free(((texture *)array)->texels), free(array);
    return 0;
}
EXPORT int cuTexObjectCreate(uint64_t *object, const resource *of, const int *how, const void *view) {
    (void)view;
    of->array->linear = how[3];
    *object = (uint64_t)(uintptr_t)of->array;
    return 0;
}
EXPORT int cuTexObjectDestroy(uint64_t object) {
    (void)object;
    return 0;
}
EXPORT int mock_fill_array(void *array, const char *from, size_t depth) {
    memcpy(((texture *)array)->texels, from, plane_bytes(array) * depth);
    return mock_reads(from, plane_bytes(array) * depth);
}
