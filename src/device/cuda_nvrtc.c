/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/cuda_api.h"
#include "device/library.h"

/* Choice and calls of NVRTC. The driver runs machine code of toolkits with its own or an older major version, so the
 * newest of these compilers is best. */

qb__nvrtc_api qb__nvrtc;

static const char *const sonames[] = {"libnvrtc.so.14", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                      "libnvrtc.so"};
enum { SONAMES = sizeof sonames / sizeof *sonames };
static const char install[] =
    "install cuda-nvrtc of NVIDIA's repository (cuda-nvrtc-12-8, say), Debian's libnvrtc12, or "
    "pip's "
    "nvidia-cuda-nvrtc-cu12, and name the file in QB_LIBNVRTC if it is not on the library path";

/* Load one file; true if its major version suits the driver. *newest: the newest version that was refused. */
static bool try_file(const char *path, int driver, int *newest) {
#define NAME(field, symbol, arguments) symbol,
    static const char *const symbols[] = {QB__NVRTC_SYMBOLS(NAME)};
#undef NAME
    const char *const files[] = {path, NULL};
    const char *absent;
    char why[256];
    qb__nvrtc_api api;
    memset(&api, 0, sizeof api);
    void *library = qb__library_open("QB_LIBNVRTC", files, why, sizeof why);
    if (!library || !qb__library_symbols(library, symbols, sizeof symbols / sizeof *symbols, &api, &absent)) {
        return false;
    }
    if (api.version(&api.major, &api.minor)) return false;
    if (driver && api.major > driver / 1000) {
        int version = api.major * 1000 + api.minor * 10;
        if (version > *newest) *newest = version;
        return false;
    }
    char builtins[48];
    snprintf(builtins, sizeof builtins, "libnvrtc-builtins.so.%d.%d", api.major, api.minor);
    qb__library_neighbour(library, builtins);
    qb__nvrtc = api;
    return true;
}

bool qb__nvrtc_open(int driver, char *why, size_t why_size) {
    const char *folders[] = {"", getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    int newest = 0;
    for (size_t i = 0; i < SONAMES; i++) {
        for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
            char path[4096];
            if (!folders[f] || (f && !*folders[f])) continue;
            int n = snprintf(path, sizeof path, f ? "%s/lib64/%s" : "%s%s", folders[f], sonames[i]);
            if (n < 0 || (size_t)n >= sizeof path) continue;
            if (try_file(path, driver, &newest)) return true;
        }
    }
    if (newest) {
        snprintf(why, why_size,
                 "NVRTC %d.%d is newer than the driver, which is for CUDA %d.%d: update the "
                 "driver, or %s",
                 newest / 1000, newest % 1000 / 10, driver / 1000, driver % 1000 / 10, install);
    } else {
        const char *set = getenv("QB_LIBNVRTC");
        snprintf(why, why_size, "%s%s%s: %s", set ? "QB_LIBNVRTC=" : "libnvrtc.so is not there", set ? set : "",
                 set ? " does not open" : "", install);
    }
    return false;
}

static int known(int arch, int *newest_below) {
    int count = 0, archs[64], found = 0;
    *newest_below = 0;
    if (!qb__nvrtc.major || qb__nvrtc.arch_count(&count)) return 0;
    if (count < 1 || count > 64 || qb__nvrtc.archs(archs)) return 0;
    for (int i = 0; i < count; i++) {
        if (archs[i] == arch) found = 1;
        if (archs[i] <= arch && archs[i] > *newest_below) *newest_below = archs[i];
    }
    return found;
}

bool qb__nvrtc_specific(int arch) {
    int below;
    return arch >= 90 && qb__nvrtc.major >= 12 && known(arch, &below);
}

void qb__options_free(char **list, size_t count) {
    for (size_t i = 0; list && i < count; i++) qb__free(list[i]);
    qb__free(list);
}

qb_status qb__nvrtc_options(const char *const *macros, char ***list, size_t *count) {
    size_t n = 0;
    qb_status status;
    *list = NULL;
    *count = 0;
    while (macros && macros[n]) n++;
    if (!n) return QB_OK;
    QB__TRY(qb__alloc(n, sizeof **list, list));
    for (size_t i = 0; i < n; i++) {
        size_t cap = !strncmp(macros[i], "QB_REGISTERS=", 13);
        size_t size = strlen(macros[i]) + 32;
        QB__TRY(qb__alloc(size, 1, &(*list)[i]));
        *count = i + 1;
        snprintf((*list)[i], size, cap ? "--maxrregcount=%s" : "-D%s", cap ? macros[i] + 13 : macros[i]);
    }
out:
    if (status != QB_OK) {
        qb__options_free(*list, *count);
        *list = NULL;
        *count = 0;
    }
    return status;
}

/* Put the first lines of the compiler's output into the detail. */
static qb_status complain(void *program, const char *name, int result) {
    char *log = NULL;
    size_t size = 0;
    if (qb__nvrtc.log_size(program, &size) || size < 2 || qb__alloc(size + 1, 1, &log) != QB_OK ||
        qb__nvrtc.log(program, log)) {
        qb__free(log);
        return qb__fail(QB_INTERNAL, "NVRTC %d.%d does not compile %s (error %d)", qb__nvrtc.major, qb__nvrtc.minor,
                        name, result);
    }
    qb__fail(QB_INTERNAL, "NVRTC %d.%d does not compile %s: %.800s", qb__nvrtc.major, qb__nvrtc.minor, name, log);
    qb__free(log);
    return QB_INTERNAL;
}

static qb_status take(void *program, bool cubin, qb__binary *binary) {
    int (*size)(void *, size_t *) = cubin ? qb__nvrtc.cubin_size : qb__nvrtc.ptx_size;
    int (*get)(void *, char *) = cubin ? qb__nvrtc.cubin : qb__nvrtc.ptx;
    if (size(program, &binary->count) || !binary->count) {
        binary->count = 0;
        return qb__fail(QB_INTERNAL, "NVRTC gives no code");
    }
    qb_status status = qb__alloc(binary->count, 1, &binary->bytes);
    if (status == QB_OK && get(program, binary->bytes)) { status = qb__fail(QB_INTERNAL, "NVRTC gives no code"); }
    return status;
}

qb_status qb__nvrtc_compile(const char *name, const char *text, int arch, qb__code code, const char *const *options,
                            size_t option_count, qb__binary *binary) {
    int below;
    bool cubin = known(arch, &below) && code != QB__CODE_PTX;
    char target[32];
    const char **all = NULL;
    void *program = NULL;
    qb_status status;
    if (!below) {
        return qb__fail(QB_UNSUPPORTED, "NVRTC %d.%d makes no code for compute capability %d.%d", qb__nvrtc.major,
                        qb__nvrtc.minor, arch / 10, arch % 10);
    }
    snprintf(target, sizeof target, cubin ? "-arch=sm_%d%s" : "-arch=compute_%d%s", cubin ? arch : below,
             cubin && code == QB__CODE_SPECIFIC ? "a" : "");
    QB__TRY(qb__alloc(option_count + 2, sizeof *all, &all));
    all[0] = target;
    all[1] = "--std=c++17";
    for (size_t i = 0; i < option_count; i++) all[i + 2] = options[i];
    int result = qb__nvrtc.create(&program, text, name, 0, NULL, NULL);
    if (result) QB__TRY(qb__fail(QB_INTERNAL, "NVRTC does not take %s (error %d)", name, result));
    result = qb__nvrtc.compile(program, (int)(option_count + 2), all);
    status = result ? complain(program, name, result) : take(program, cubin, binary);
out:
    if (program) qb__nvrtc.destroy(&program);
    qb__free(all);
    return status;
}
