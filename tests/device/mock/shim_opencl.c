/* SPDX-License-Identifier: MIT */
#include "shim_opencl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The preprocessor generates the functions from the list of loaded ones. Each asks before() whether it fails, calls the
 * real function and reports to after(). */

enum {
#define NAME(type, field, symbol, arguments) ID_##field,
    QB__OPENCL_SYMBOLS(NAME)
#undef NAME
        IDS
};

enum { ARGUMENTS_MAX = 10, QUEUES_MAX = 64, NO_PLATFORM = -1001, TYPE_GPU = 1 << 2 };

typedef struct call {
    int id;
    uintptr_t a[ARGUMENTS_MAX];
    bool counted, backed, holds; /* memory was asked for; it exists; the lock `going` is held */
    size_t bytes;
} call;

/* The kind of a call, and which arguments of a command are memory objects (0 = none; ANY = all that were set as
 * arguments of a kernel). */
enum { RELEASES = 1, COMMANDS = 2, ANY = 255 };
static const struct {
    unsigned char kind, memory[2];
} about[IDS] = {
    [ID_context_release] = {.kind = RELEASES},
    [ID_queue_release] = {.kind = RELEASES},
    [ID_memory_release] = {.kind = RELEASES},
    [ID_sampler_release] = {.kind = RELEASES},
    [ID_event_release] = {.kind = RELEASES},
    [ID_program_release] = {.kind = RELEASES},
    [ID_kernel_release] = {.kind = RELEASES},
    [ID_write] = {COMMANDS, {1}},
    [ID_read] = {COMMANDS, {1}},
    [ID_copy] = {COMMANDS, {1, 2}},
    [ID_fill] = {COMMANDS, {1}},
    [ID_copy_to_image] = {COMMANDS, {1, 2}},
    [ID_map] = {COMMANDS, {1}},
    [ID_unmap] = {COMMANDS, {1}},
    [ID_marker] = {.kind = COMMANDS},
    [ID_barrier] = {.kind = COMMANDS},
    [ID_launch] = {COMMANDS, {ANY}},
};

static qb__opencl_api real;
static shim_orders told;
static void *queues[QUEUES_MAX];
static atomic_long commands;
static atomic_int lost;
static pthread_rwlock_t going = PTHREAD_RWLOCK_INITIALIZER; /* commands in progress */

/* ---- begin and end ---- */

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
#define NAME(type, field, symbol, arguments) symbol,
    static const char *const symbols[] = {QB__OPENCL_SYMBOLS(NAME)};
#undef NAME
    const char *file = getenv("SHIM_REAL");
    void *library = dlopen(file ? file : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < IDS; i++) {
        void *symbol = dlsym(library, symbols[i]);
        memcpy((char *)&real + i * sizeof symbol, &symbol, sizeof symbol);
    }
    told = (shim_orders){.gpu = (int)number("SHIM_GPU", 0),
                         .single = number("SHIM_SINGLE", 0) != 0,
                         .deferred = number("SHIM_DEFERRED", 0) != 0,
                         .host_fails = number("SHIM_HOST_FAILS", 0) != 0,
                         .late = number("SHIM_LATE", 0) != 0,
                         .bytes = (size_t)number("SHIM_BYTES", INT64_MAX),
                         .error = (qb__cl_result)number("SHIM_ERROR", -4),
                         .lose_after = number("SHIM_LOSE_AFTER", -1),
                         .lose_with = (qb__cl_result)number("SHIM_LOSE_WITH", -2)};
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("SHIM_REPORT");
    FILE *file = path ? fopen(path, "we") : NULL;
    if (!file) return;
    shim_memory_report(file);
    fprintf(file, "commands %ld\nlost %d\n", (long)commands, (int)lost);
    fclose(file);
}

/* ---- loss of the device ---- */

static void keep_queue(const void *old, void *new) {
    pthread_rwlock_wrlock(&going);
    size_t i = 0;
    while (i < QUEUES_MAX && queues[i] != old) i++;
    if (i < QUEUES_MAX) queues[i] = new;
    pthread_rwlock_unlock(&going);
}

/* A lost device accesses no memory any more, unless SHIM_LATE is set: no command may be in progress when the caller
 * learns of the loss. */
static void lose(void) {
    pthread_rwlock_wrlock(&going);
    for (size_t i = 0; !lost && !told.late && i < QUEUES_MAX; i++) {
        if (queues[i]) real.finish(queues[i]);
    }
    lost = 1;
    pthread_rwlock_unlock(&going);
}

/* ---- memory ---- */

static size_t image_bytes(const qb__cl_format *format, const qb__cl_image *image) {
    size_t channels = format->order == QB__CL_R ? 1 : format->order == QB__CL_RG ? 2 : 4;
    size_t layers = image->layers ? image->layers : 1;
    return image->width * image->height * layers * channels * (format->type == QB__CL_HALF ? 2 : 4);
}

static qb__cl_result take(call *c, size_t bytes) {
    c->counted = true;
    c->bytes = bytes;
    c->backed = shim_memory_take(bytes, told.bytes);
    return c->backed || told.deferred ? 0 : told.error;
}

static bool lacks_memory(const call *c) {
    bool lacks = false;
    for (int i = 0; i < 2 && !lacks; i++) {
        unsigned which = about[c->id].memory[i];
        const void *object = which && which != ANY ? (const void *)c->a[which] : NULL;
        if (which) lacks = shim_memory_lacks(object);
    }
    return lacks;
}

/* ---- before and after every call ---- */

static qb__cl_result before_command(call *c) {
    long n = ++commands;
    if (told.lose_after >= 0 && n > told.lose_after) lose();
    if (lacks_memory(c)) return told.error;
    pthread_rwlock_rdlock(&going);
    c->holds = !lost;
    if (lost) pthread_rwlock_unlock(&going);
    return lost ? told.lose_with : 0;
}

static qb__cl_result before(call *c) {
    if (!real.platforms) return NO_PLATFORM;
    if (c->id == ID_memory_release) shim_memory_gone((void *)c->a[0]);
    if (c->id == ID_queue_release) keep_queue((void *)c->a[0], NULL);
    if (about[c->id].kind == RELEASES) return 0;
    if (lost && told.late && c->id == ID_finish) real.finish((void *)c->a[0]);
    if (lost) return told.lose_with;
    if (about[c->id].kind == COMMANDS) return before_command(c);
    if (c->id == ID_image_create) return take(c, image_bytes((void *)c->a[2], (void *)c->a[3]));
    if (c->id != ID_buffer_create) return 0;
    if (c->a[1] & QB__CL_MEMORY_HOST) return told.host_fails ? told.error : 0;
    return take(c, c->a[2]);
}

static void forget_doubles(char *extensions) {
    char *doubles = strstr(extensions, "cl_khr_fp64");
    if (doubles) memcpy(doubles, "cl_khr_none", 11);
}

/* Numbers of devices, from 1, in the order in which their properties are asked. */
static int number_of(uintptr_t device) {
    static uintptr_t known[8];
    int i = 0;
    while (i < 7 && known[i] && known[i] != device) i++;
    known[i] = device;
    return i + 1;
}

static void after(const call *c, uintptr_t value) {
    if (c->holds) pthread_rwlock_unlock(&going);
    if (c->counted) shim_memory_made((void *)value, c->bytes, c->backed);
    if (c->id == ID_queue_create && value) keep_queue(NULL, (void *)value);
    uint64_t *type = (void *)c->a[3];
    if (c->id == ID_device_info && told.gpu && c->a[1] == QB__CL_DEVICE_TYPE && type &&
        (told.gpu == 1 || told.gpu == number_of(c->a[0])))
        *type = TYPE_GPU;
    if (c->id == ID_device_info && told.single && c->a[1] == QB__CL_DEVICE_EXTENSIONS && type)
        forget_doubles((char *)type);
}

/* Functions that create an object return their error through the last argument. */
static void *refuse_object(uintptr_t last, qb__cl_result result) {
    if (last) *(qb__cl_result *)last = result;
    return NULL;
}
static qb__cl_result refuse(uintptr_t last, qb__cl_result result) {
    (void)last;
    return result;
}

/* ---- the functions ---- */

/* EACH(X, types...) expands to X(type, number), ... for one to ten types. */
#define EACH1(X, t) X(t, 0)
#define EACH2(X, t, u) EACH1(X, t), X(u, 1)
#define EACH3(X, t, u, v) EACH2(X, t, u), X(v, 2)
#define EACH4(X, t, u, v, w) EACH3(X, t, u, v), X(w, 3)
#define EACH5(X, t, u, v, w, x) EACH4(X, t, u, v, w), X(x, 4)
#define EACH6(X, t, u, v, w, x, y) EACH5(X, t, u, v, w, x), X(y, 5)
#define EACH7(X, t, u, v, w, x, y, z) EACH6(X, t, u, v, w, x, y), X(z, 6)
#define EACH8(X, t, u, v, w, x, y, z, p) EACH7(X, t, u, v, w, x, y, z), X(p, 7)
#define EACH9(X, t, u, v, w, x, y, z, p, q) EACH8(X, t, u, v, w, x, y, z, p), X(q, 8)
#define EACH10(X, t, u, v, w, x, y, z, p, q, r) EACH9(X, t, u, v, w, x, y, z, p, q), X(r, 9)
#define PICK(a, b, c, d, e, f, g, h, i, j, n, ...) n
#define COUNT(...) PICK(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define EACH_OF(n, X, ...) EACH_PASTE(n, X, __VA_ARGS__)
#define EACH_PASTE(n, X, ...) EACH##n(X, __VA_ARGS__)
#define EACH(X, ...) EACH_OF(COUNT(__VA_ARGS__), X, __VA_ARGS__)

#define PARAMETER(t, n) t a##n
#define ARGUMENT(t, n) a##n
#define NUMBER(t, n) (uintptr_t) a##n
#define PARAMETERS(...) EACH(PARAMETER, __VA_ARGS__)
#define ARGUMENTS(...) EACH(ARGUMENT, __VA_ARGS__)
#define NUMBERS(...) EACH(NUMBER, __VA_ARGS__)

#define FUNCTION(type, field, symbol, arguments)                                                                       \
    __attribute__((visibility("default"))) type shim_##field(PARAMETERS arguments) __asm__(symbol);                    \
    type shim_##field(PARAMETERS arguments) {                                                                          \
        call c = {.id = ID_##field, .a = {NUMBERS arguments}};                                                         \
        qb__cl_result result = before(&c);                                                                             \
        if (result)                                                                                                    \
            return _Generic((type)0, void * : refuse_object, default : refuse)(c.a[COUNT arguments - 1], result);      \
        type value = real.field(ARGUMENTS arguments);                                                                  \
        after(&c, (uintptr_t)value);                                                                                   \
        return value;                                                                                                  \
    }
QB__OPENCL_SYMBOLS(FUNCTION)
