/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP */
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/hdf5/external.h"

/* The state of the HDF5 library is shared by the process, so its lock must be too. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int depth;
static H5E_auto2_t printer;
static void *printer_data;
static int fault;     /* errno of the first fault of the system since the outermost qb__h5_enter(); 0 = none */
static size_t denied; /* failed allocations of this thread at that time */

static herr_t find_fault(unsigned n, const H5E_error2_t *error, void *user) {
    (void)n, (void)user;
    const char *number = error->desc ? strstr(error->desc, "errno = ") : NULL;
    int code = number ? atoi(number + strlen("errno = ")) : 0;
    if (error->maj_num == H5E_RESOURCE && error->min_num == H5E_NOSPACE) code = ENOMEM;
    bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
    if (!fault && (full || qb__is_system_fault(code))) fault = code;
    return 0;
}

/* HDF5 calls this at each failure, also at those that are ignored because an item is optional. */
static herr_t notice(hid_t stack, void *user) {
    H5Ewalk2(stack, H5E_WALK_UPWARD, find_fault, user);
    return 0;
}

static void start(void) {
    /* A file that could not be written stays open inside HDF5, which would write it again when the process exits, and
     * crash (1.10). We close what we open. If another part of the program started HDF5, its behaviour is kept. */
    H5dont_atexit();
    /* Memory that HDF5 frees is returned at once, because its own free lists are in no forecast. */
    H5set_free_list_limits(0, 0, 0, 0, 0, 0);
}

void qb__h5_enter(void) {
    pthread_mutex_lock(&lock);
    if (depth++) return;
    static bool started; /* guarded by the lock */
    if (!started) start();
    started = true;
    fault = 0;
    denied = qb__allocations_failed();
    H5Eget_auto2(H5E_DEFAULT, &printer, &printer_data);
    H5Eset_auto2(H5E_DEFAULT, notice, NULL);
}

int qb__h5_fault(int other) {
    int found = fault;
    fault = other;
    return found;
}

bool qb__h5_has_fault(void) { return fault != 0; }

qb_status qb__h5_judge(qb_status status, const char *path) {
    if (status != QB_OK && qb_status_exit_code(status) != 3) return status;
    if (!fault && qb__allocations_failed() != denied) fault = ENOMEM;
    if (!fault) return status;
    return qb__fail_errno(fault, "HDF5 reading", path);
}

void qb__h5_leave(void) {
    if (--depth == 0) H5Eset_auto2(H5E_DEFAULT, printer, printer_data);
    pthread_mutex_unlock(&lock);
}

static herr_t innermost(unsigned n, const H5E_error2_t *error, void *user) {
    char *words = user;
    if (n == 0 && error->desc) snprintf(words, 200, "%s", error->desc);
    return 0;
}

qb_status qb__h5_fail(qb_status status, const char *path, const char *what) {
    char words[200] = "HDF5 gives no reason";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, words);
    return qb__fail(status, "%s: %s: %s", path, what, words);
}

/* HDF5's metadata cache counts entries by their size in the file, which is an eighth of their size in memory, and would
 * grow to 32 MiB of those with many chunks. Chunks are read in order, so a small cache is enough. */
static hid_t small_index(void) {
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) return H5P_DEFAULT;
    if (H5Pget_mdc_config(access, &config) >= 0) {
        config.set_initial_size = true;
        config.initial_size = config.min_size = config.max_size = QB__H5_INDEX / 8;
        config.incr_mode = H5C_incr__off;
        config.flash_incr_mode = H5C_flash_incr__off;
        H5Pset_mdc_config(access, &config);
    }
    return access;
}

/* Why the library could not open the file, with the remedy. Call it before any other function of the library. */
static qb_status open_failed(const char *path, uint64_t bytes) {
    char words[200] = "";
    unsigned long long end, stored;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, words);
    const char *cut = strstr(words, "eof = ");
    if (!bytes)
        return qb__fail(QB_BAD_INPUT, "%s is empty (0 bytes): it was never written, or is being written now", path);
    if (cut && sscanf(cut, "eof = %llu, sblock->base_addr = %*u, stored_eof = %llu", &end, &stored) == 2)
        return qb__fail(QB_BAD_INPUT,
                        "%s is cut short: it has %llu of %llu bytes; copy it again, or wait until it is written", path,
                        end, stored);
    if (strstr(words, "already open"))
        return qb__fail(QB_BAD_INPUT,
                        "%s is being written, or its writer was stopped: wait, or run h5clear -s on a copy of it",
                        path);
    if (strstr(words, "unable to lock"))
        return qb__fail(QB_BAD_INPUT,
                        "%s is locked by the program that writes it: wait, or set HDF5_USE_FILE_LOCKING=FALSE and read "
                        "what is there",
                        path);
    if (strstr(words, "signature"))
        return qb__fail(QB_BAD_INPUT, "%s (%llu bytes) does not begin like HDF5: it is of another format, or damaged",
                        path, (unsigned long long)bytes);
    char what[80];
    snprintf(what, sizeof what, "cannot be read as HDF5 (%llu bytes)", (unsigned long long)bytes);
    return qb__fail(QB_BAD_INPUT, "%s: %s: %s", path, what, *words ? words : "HDF5 gives no reason");
}

qb_status qb__h5_open(const char *path, hid_t *file) {
    uint64_t bytes;
    *file = H5I_INVALID_HID;
    QB__OR_RETURN(qb__file_size(path, &bytes));
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* the system's reason is clearer than HDF5's */
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    close(fd);
    hid_t access = small_index();
    *file = H5Fopen(path, H5F_ACC_RDONLY, access);
    qb_status status = *file >= 0 ? QB_OK : open_failed(path, bytes);
    /* detectors write such files while others read them */
    if (status != QB_OK && strstr(qb_detail(), "is being written")) {
        *file = H5Fopen(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access);
        if (*file >= 0) status = QB_OK;
    }
    if (access != H5P_DEFAULT) H5Pclose(access);
    return status;
}

bool qb__h5_being_written(hid_t file) {
    unsigned how = 0;
    return H5Fget_intent(file, &how) >= 0 && how & H5F_ACC_SWMR_READ;
}

/* True if a link leads to a file that is not a regular one, such as a pipe, which HDF5 would open and wait for. Soft
 * links are followed. */
static bool leads_to_no_file(hid_t outer, const char *name) {
    static _Thread_local int depth_of_links;
    H5L_info_t link;
    char file[QB__EXTERNAL_NAME], path[QB__EXTERNAL_NAME], value[2048];
    const char *other, *object;
    unsigned flags;
    struct stat about;
    if (H5Lget_info(outer, name, &link, H5P_DEFAULT) < 0) return false;
    if (link.type == H5L_TYPE_HARD || link.u.val_size >= sizeof value ||
        H5Lget_val(outer, name, value, sizeof value, H5P_DEFAULT) < 0)
        return false;
    value[link.u.val_size] = 0;
    if (link.type == H5L_TYPE_SOFT) {
        if (depth_of_links > 16) return true; /* probably a circle */
        hid_t root = *value == '/' ? H5Gopen2(outer, "/", H5P_DEFAULT) : H5I_INVALID_HID;
        depth_of_links++;
        const bool nowhere = qb__h5_look(root >= 0 ? root : outer, value) < 0;
        depth_of_links--;
        if (root >= 0) H5Gclose(root);
        return nowhere;
    }
    if (link.type != H5L_TYPE_EXTERNAL || H5Lunpack_elink_val(value, link.u.val_size, &flags, &other, &object) < 0)
        return false;
    if (H5Fget_name(outer, file, sizeof file) < 0 || !qb__external_find(file, other, "HDF5_EXT_PREFIX", path))
        return false;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

/* HDF5 needs each step of a path to be checked before the next. One step; *inner is the object there, to be closed. */
static int step_into(hid_t outer, const char *name, bool last, hid_t *inner) {
    *inner = H5I_INVALID_HID;
    H5O_info_t object;
    htri_t linked = H5Lexists(outer, name, H5P_DEFAULT);
    if (linked <= 0) return linked < 0 ? -1 : 0;
    if (leads_to_no_file(outer, name)) return -1;
    if (H5Oexists_by_name(outer, name, H5P_DEFAULT) <= 0) return -1;
    if (last) return 1;
    if (H5Oget_info_by_name2(outer, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return -1;
    if (object.type != H5O_TYPE_GROUP) return 0;
    *inner = H5Gopen2(outer, name, H5P_DEFAULT);
    return *inner < 0 ? -1 : 1;
}

int qb__h5_look(hid_t place, const char *path) {
    char name[1024];
    hid_t at = H5Iinc_ref(place) < 0 ? H5I_INVALID_HID : place;
    int found = at < 0 ? -1 : 1;
    for (const char *part = path + strspn(path, "/"); *part && found == 1;) {
        size_t n = strcspn(part, "/");
        const char *next = part + n + strspn(part + n, "/");
        if (n >= sizeof name) {
            found = 0;
            break;
        }
        memcpy(name, part, n);
        name[n] = 0;
        hid_t inner;
        found = step_into(at, name, !*next, &inner);
        H5Idec_ref(at);
        at = inner;
        part = next;
    }
    if (at >= 0) H5Idec_ref(at);
    return *path ? found : 0;
}

bool qb__h5_exists(hid_t place, const char *path) { return qb__h5_look(place, path) == 1; }

/* False if more than three dimensions are larger than 1. */
static bool choose_kept(int rank, const hsize_t *n, int kept[3]) {
    int count = 0, dropped = 0;
    for (int i = rank; i < 3; i++) kept[count++] = -1;
    for (int i = 0; i < rank; i++) {
        if (n[i] == 1 && rank - dropped > 3)
            dropped++;
        else if (count < 3)
            kept[count++] = i;
        else
            return false;
    }
    return true;
}

int qb__h5_dimensions(hid_t set, int kept[3], char *text, size_t size) {
    hsize_t n[H5S_MAX_RANK];
    hid_t space = set < 0 ? -1 : H5Dget_space(set);
    const int rank = space < 0 ? 0 : H5Sget_simple_extent_dims(space, n, NULL);
    *text = 0;
    if (rank > 0) choose_kept(rank, n, kept);
    for (int i = 0; i < rank && strlen(text) + 32 < size; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%llu", i ? " x " : "", (unsigned long long)n[i]);
    if (space >= 0) H5Sclose(space);
    return rank;
}

bool qb__h5_shape(hid_t file, const char *path, int *rank, size_t shape[3]) {
    if (!qb__h5_exists(file, path)) return false;
    hid_t set = qb__h5_dataset(file, path);
    if (set < 0) return false;
    hid_t space = H5Dget_space(set);
    hsize_t n[H5S_MAX_RANK];
    int kept[3];
    *rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool good = *rank >= 1 && H5Sget_simple_extent_dims(space, n, NULL) == *rank && choose_kept(*rank, n, kept);
    for (int i = 0; good && i < 3; i++) shape[i] = kept[i] < 0 ? 1 : (size_t)n[kept[i]];
    if (good && *rank > 3) *rank = 3;
    if (space >= 0) H5Sclose(space);
    H5Dclose(set);
    return good;
}

/* Bytes of all its values; 0 if unknown. */
static uint64_t bytes_of(hid_t set) {
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    const hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    size_t bytes = 0;
    if (points < 0 || type < 0 || !qb__mul((size_t)points, H5Tget_size(type), 1, &bytes)) bytes = 0;
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return bytes;
}

/* A file of raw data, of which the dataset needs `wanted` bytes from `offset` on: all must exist, because HDF5 reads
 * missing ones as zeros, and would wait for a pipe. */
static qb_status check_raw(const char *header, const char *name, uint64_t offset, uint64_t wanted) {
    struct stat about;
    QB__OR_RETURN(qb__external_check(header, name));
    if (stat(name, &about) != 0) return qb__fail_errno(errno, "opening the external data", name);
    if (!S_ISREG(about.st_mode))
        return qb__fail(QB_BAD_INPUT, "%s takes its data from %s, which is no file", header, name);
    qb__input_seen(name, &about);
    if (offset <= (uint64_t)about.st_size && wanted <= (uint64_t)about.st_size - offset) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s takes %llu bytes from byte %llu on of %s, which ends at byte %llu", header,
                    (unsigned long long)wanted, (unsigned long long)offset, name, (unsigned long long)about.st_size);
}

qb_status qb__h5_check_external(hid_t set) {
    char header[QB__EXTERNAL_NAME], name[QB__EXTERNAL_NAME];
    off_t offset;
    hsize_t bytes;
    hid_t how = H5Dget_create_plist(set);
    int count = how < 0 ? 0 : H5Pget_external_count(how);
    qb_status status = QB_OK;
    if (count > 0 && H5Fget_name(set, header, sizeof header) < 0)
        status = qb__h5_fail(QB_BAD_INPUT, "a file", "its name");
    uint64_t left = count > 0 ? bytes_of(set) : 0;
    for (int i = 0; i < count && status == QB_OK; i++) {
        /* Names are relative to the working folder. A name that is too long comes without its end. */
        if (H5Pget_external(how, (unsigned)i, sizeof name, name, &offset, &bytes) < 0) {
            status = qb__h5_fail(QB_BAD_INPUT, header, "its external storage");
            break;
        }
        name[sizeof name - 1] = 0;
        const uint64_t wanted = bytes < left ? bytes : left;
        status = offset < 0 ? qb__fail(QB_BAD_INPUT, "%s: its external data begin before a file", header)
                            : check_raw(header, name, (uint64_t)offset, wanted);
        left -= wanted;
    }
    if (status == QB_OK && left)
        status = qb__fail(QB_BAD_INPUT, "%s: its external files lack the last %llu bytes of the data", header,
                          (unsigned long long)left);
    if (how >= 0) H5Pclose(how);
    return status;
}

qb_status qb__h5_numbers(hid_t file, const char *name, const char *path, size_t limit, double **values, size_t *count) {
    *values = NULL;
    hid_t set = qb__h5_dataset(file, path);
    if (set < 0) return qb__h5_fail(QB_NOT_FOUND, name, path);
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    qb_status status;
    if (points < 0 || (class != H5T_INTEGER && class != H5T_FLOAT && class != H5T_ENUM))
        status = qb__fail(QB_BAD_INPUT, "%s:%s holds %s, not numbers: store it as integers or floats", name, path,
                          class == H5T_STRING ? "text" : "something else");
    else if ((size_t)points > limit)
        status = qb__fail(QB_BAD_INPUT, "%s:%s holds %lld numbers; at most %zu make sense", name, path,
                          (long long)points, limit);
    else
        status = qb__h5_check_external(set);
    if (status == QB_OK) status = qb__alloc((size_t)points, sizeof **values, values);
    *count = points < 0 ? 0 : (size_t)points;
    if (status == QB_OK && points > 0 && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) < 0)
        status = qb__h5_fail(QB_BAD_INPUT, name, path);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    H5Dclose(set);
    if (status != QB_OK) {
        qb__free(*values);
        *values = NULL;
    }
    return status;
}

/* Strings of fixed and variable length differ in the owner of their memory. */
static bool read_text(hid_t object, hid_t type, hid_t space, bool attribute, char *text, size_t size) {
    hssize_t points = H5Sget_simple_extent_npoints(space);
    if (H5Tget_class(type) != H5T_STRING || points != 1) return false;
    bool variable = H5Tis_variable_str(type) > 0;
    size_t length = variable ? sizeof(char *) : H5Tget_size(type);
    if (length > qb__larger(size, 1 << 20)) return false; /* texts are short but for our own provenance */
    if (!attribute && qb__h5_check_external(object) != QB_OK) return false;
    char *buffer;
    if (qb__alloc(length + 1, 1, &buffer) != QB_OK) return false;
    hid_t memory = H5Tcopy(H5T_C_S1);
    H5Tset_size(memory, variable ? H5T_VARIABLE : length + 1);
    H5Tset_cset(memory, H5Tget_cset(type));
    herr_t failed =
        attribute ? H5Aread(object, memory, buffer) : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
    if (failed >= 0 && variable) {
        char *owned;
        memcpy(&owned, buffer, sizeof owned);
        snprintf(text, size, "%s", owned ? owned : "");
        H5free_memory(owned);
    } else if (failed >= 0) {
        snprintf(text, size, "%s", buffer);
    }
    H5Tclose(memory);
    qb__free(buffer);
    return failed >= 0;
}

bool qb__h5_text(hid_t file, const char *path, const char *attribute, char *text, size_t size) {
    text[0] = 0;
    if (!qb__h5_exists(file, path)) return false;
    hid_t object =
        attribute ? H5Aopen_by_name(file, path, attribute, H5P_DEFAULT, H5P_DEFAULT) : qb__h5_dataset(file, path);
    if (object < 0) return false;
    hid_t type = attribute ? H5Aget_type(object) : H5Dget_type(object);
    hid_t space = attribute ? H5Aget_space(object) : H5Dget_space(object);
    bool good = type >= 0 && space >= 0 && read_text(object, type, space, attribute != NULL, text, size);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    if (attribute)
        H5Aclose(object);
    else
        H5Dclose(object);
    return good;
}

bool qb__h5_number(hid_t file, const char *path, const char *attribute, double *number) {
    if (!qb__h5_exists(file, path)) return false;
    hid_t object = H5Aopen_by_name(file, path, attribute, H5P_DEFAULT, H5P_DEFAULT);
    if (object < 0) return false;
    hid_t space = H5Aget_space(object), type = H5Aget_type(object);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    bool good = space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                (class == H5T_FLOAT || class == H5T_INTEGER) && H5Aread(object, H5T_NATIVE_DOUBLE, number) >= 0;
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    H5Aclose(object);
    return good;
}
