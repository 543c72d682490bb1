/* SPDX-License-Identifier: MIT */
#include "fuzz.h"
#ifdef QB_HAVE_HDF5
#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

const char *const fuzz_name = "h5";

#ifdef QB_HAVE_HDF5
/* Sizes in a malformed file make HDF5 ask for more memory than there is, which it survives. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static void catch_signals(void) { fuzz_catch("libhdf5", true); }

/* libFuzzer keeps handlers that it finds, and its own clock is SIGALRM, so only children use ours. */
__attribute__((constructor)) static void begin(void) {
    if (&fuzz_replays) catch_signals();
}

/* ---- a child that reads many inputs ----
 *
 * The library may crash, so a child reads the inputs, and only a crash costs a new child. It counts what it covers, and
 * libFuzzer takes the counts from this process: they pass through shared memory. */

/* The compiler's counters of edges, by names that the linker gives them (CMakeLists.txt). */
__attribute__((weak)) extern uint8_t fuzz_edges_begin[], fuzz_edges_end[];
__attribute__((weak)) extern int __lsan_do_recoverable_leak_check(void);

enum { LARGEST = 1 << 20, SECONDS = 5, INPUTS = 4000 }; /* INPUTS: a child ends then, as the library loses memory */

static struct {
    uint8_t *input, *edges; /* shared */
    size_t *size;           /* shared: bytes of the input */
    pid_t child;            /* 0: none */
    int to, from;           /* a byte each when an input is there, and when it was read */
} server;

static size_t edge_count(void) { return (size_t)(fuzz_edges_end - fuzz_edges_begin); }

static void serve(int asked, int answer) {
    char byte;
    catch_signals();
    for (int i = 0; i < INPUTS && read(asked, &byte, 1) == 1; i++) {
        memset(fuzz_edges_begin, 0, edge_count());
        alarm(SECONDS);
        fuzz_file(server.input, *server.size, NULL);
        alarm(0);
        memcpy(server.edges, fuzz_edges_begin, edge_count());
        if (i == INPUTS - 1 && __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check()) abort();
        if (write(answer, &byte, 1) != 1) break;
    }
    _exit(0);
}

static void start_child(void) {
    int to[2], from[2];
    if (!server.input) {
        const size_t bytes = LARGEST + edge_count() + sizeof *server.size;
        void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) abort();
        server.size = shared, server.input = (uint8_t *)(server.size + 1), server.edges = server.input + LARGEST;
        signal(SIGPIPE, SIG_IGN);
    }
    if (pipe(to) != 0 || pipe(from) != 0 || (server.child = fork()) < 0) abort();
    if (server.child == 0) {
        close(to[1]), close(from[0]);
        serve(to[0], from[1]);
    }
    close(to[0]), close(from[1]);
    server.to = to[1], server.from = from[0];
}

static void end_child(void) {
    int how = 0;
    close(server.to), close(server.from);
    waitpid(server.child, &how, 0);
    server.child = 0;
    if (how && !(WIFEXITED(how) && WEXITSTATUS(how) == FUZZ_ELSEWHERE)) abort(); /* a fault of ours */
}

/* False if the library crashed. */
static bool ask_child(const uint8_t *data, size_t size) {
    char byte = 0;
    if (!server.child) start_child();
    memcpy(server.input, data, size);
    *server.size = size;
    const bool read_it = write(server.to, &byte, 1) == 1 && read(server.from, &byte, 1) == 1;
    if (!read_it) end_child();
    return read_it;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (&fuzz_replays) {
        fuzz_file(data, size, NULL);
        return 0;
    }
    if (size > LARGEST) return -1;
    for (int tries = 0; tries < 2 && !ask_child(data, size); tries++) continue; /* the last input of a child ends it */
    memcpy(fuzz_edges_begin, server.edges, edge_count());
    return 0;
}

static void put_numbers(hid_t file, const char *path, hid_t type, int rank, const hsize_t *shape,
                        const hsize_t *chunk) {
    double numbers[240];
    for (int i = 0; i < 240; i++) numbers[i] = i % 3;
    hid_t space = H5Screate_simple(rank, shape, NULL);
    hid_t links = H5Pcreate(H5P_LINK_CREATE), create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    if (chunk) {
        H5Pset_chunk(create, rank, chunk);
        H5Pset_deflate(create, 4);
    }
    hid_t set = H5Dcreate2(file, path, type, space, links, create, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
    H5Dclose(set);
    H5Pclose(create);
    H5Pclose(links);
    H5Sclose(space);
}

static void put_definition(hid_t file) {
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, 7);
    hid_t set = H5Dcreate2(file, "/entry/definition", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, "NXtomo");
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
}

/* An NXtomo with compressed frames, links, and an external link whose file is missing. */
static bool put_nxtomo(const char *path) {
    const hsize_t frames[] = {8, 5, 6}, one[] = {1, 5, 6}, keys[] = {8};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) return false;
    put_numbers(file, "/entry/instrument/detector/data", H5T_STD_U16LE, 3, frames, one);
    put_numbers(file, "/entry/instrument/detector/image_key", H5T_STD_I32LE, 1, keys, NULL);
    put_numbers(file, "/entry/sample/rotation_angle", H5T_IEEE_F64LE, 1, keys, NULL);
    put_definition(file);
    H5Lcreate_soft("/entry/instrument", file, "/entry/again", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("none.h5", "/data", file, "/entry/outside", H5P_DEFAULT, H5P_DEFAULT);
    return H5Fclose(file) >= 0;
}

/* Chunks that our own codecs unpack; false if this build does not have the library. */
static bool put_packed(const char *path, const char *compress) {
    const uint16_t values[3 * 5 * 6] = {1, 2, 3};
    const qb_stack stack = {
        .dtype = QB_U16, .shape = {3, 5, 6}, .units = "", .quantity = "counts", .compress = compress};
    qb_writer *writer;
    if (qb_writer_create(path, &stack, &writer) != QB_OK) return false;
    if (qb_writer_write(writer, 0, 3, values) == QB_OK) return qb_writer_commit(writer, "{}") == QB_OK;
    qb_writer_abort(writer);
    return false;
}

bool fuzz_seed(size_t index, const char *path) {
    static const char *const codecs[] = {"gzip", "zstd", "blosc", "bitshuffle"};
    if (index == 2) return put_nxtomo(path);
    if (index >= 3 && index < 7) return put_packed(path, codecs[index - 3]);
    return index < 2 && fuzz_put(path, index ? QB_F32 : QB_U16, index == 0);
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_file(data, size, NULL);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    (void)index, (void)path;
    return false;
}
#endif
