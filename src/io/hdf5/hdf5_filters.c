/* SPDX-License-Identifier: MIT */
/* HDF5 filters that are not a part of the library: plug-ins, searched in HDF5_PLUGIN_PATH. */
#include <stdio.h>

#include "base/status.h"
#include "io/hdf5/hdf5.h"

#define ELSEWHERE "where the file was written, unpack it: h5repack -f NONE IN.h5 OUT.h5"
#define PLUGIN "pip install hdf5plugin, and let HDF5_PLUGIN_PATH be its folder of plugins"

/* The HDF Group's list of registered filters. */
static const struct {
    H5Z_filter_t id;
    const char *name, *remedy; /* NULL: hdf5plugin provides it */
} known[] = {
    {305, "LZO", ELSEWHERE},
    {307, "BZIP2", NULL},
    {32000, "LZF", "only h5py has it: copy the data in Python with h5py, compression=\"gzip\""},
    {32001, "Blosc", NULL},
    {32004, "LZ4", NULL},
    {32008, "Bitshuffle", NULL},
    {32013, "ZFP", NULL},
    {32015, "Zstandard", NULL},
    {32017, "SZ", NULL},
    {32018, "FCIDECOMP", NULL},
    {32019, "JPEG", ELSEWHERE},
    {32026, "Blosc2", NULL},
};

/* The filters that the first chunk skips, one bit each: a writer without the plug-in leaves out an optional filter. */
static unsigned left_out(hid_t set) {
    hsize_t at[H5S_MAX_RANK], bytes;
    haddr_t address;
    unsigned mask = 0;
    hid_t space = H5Dget_space(set);
    if (space < 0 || H5Dget_chunk_info(set, space, 0, at, &mask, &address, &bytes) < 0) mask = 0;
    if (space >= 0) H5Sclose(space);
    return mask;
}

/* `without`: one bit for each filter that may be missing. */
static qb_status find_missing(hid_t plist, unsigned without, const char *label) {
    const int count = H5Pget_nfilters(plist);
    for (int i = 0; i < count; i++) {
        unsigned flags, config;
        size_t values = 0;
        char stored[64] = "";
        const H5Z_filter_t id =
            H5Pget_filter2(plist, (unsigned)i, &flags, &values, NULL, sizeof stored, stored, &config);
        if (id < 0 || H5Zfilter_avail(id) > 0 || without >> i & 1) continue;
        const char *name = *stored ? stored : "unknown", *remedy = PLUGIN;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            if (known[k].id != id) continue;
            name = known[k].name;
            if (known[k].remedy) remedy = known[k].remedy;
        }
        return qb__fail(QB_UNSUPPORTED, "%s is packed by HDF5 filter %d (%s), which is not installed: %s", label,
                        (int)id, name, remedy);
    }
    return QB_OK;
}

qb_status qb__h5_check_filters(hid_t set, hid_t plist, const char *label) {
    if (find_missing(plist, 0, label) == QB_OK) return QB_OK;
    return find_missing(plist, left_out(set), label);
}

/* The first chunk may skip a filter, because it did not become smaller, but later ones may not. */
qb_status qb__h5_blame_filters(hid_t set, const char *label) {
    const hid_t plist = H5Dget_create_plist(set);
    const qb_status status = plist < 0 ? QB_OK : find_missing(plist, 0, label);
    if (plist >= 0) H5Pclose(plist);
    return status;
}
