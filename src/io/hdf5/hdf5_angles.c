/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#ifdef QB_HAVE_HDF5
#include "io/guard/guard_reader.h"
#include "io/hdf5/hdf5.h"

qb_status qb__hdf5_angles(const char *path, const char *dataset, size_t most, double **values, size_t *count,
                          double *unit) {
    hid_t file;
    char units[32];
    *values = NULL;
    *count = 0;
    if (unit) *unit = 0;
    QB__OR_RETURN(qb__guard_prove(path, dataset));
    qb__h5_enter();
    qb_status status = qb__h5_open(path, &file);
    if (status != QB_OK) goto leave;
    if (!qb__h5_exists(file, dataset)) status = qb__fail(QB_NOT_FOUND, "%s: %s is not there", path, dataset);
    if (status == QB_OK) status = qb__h5_numbers(file, path, dataset, most, values, count);
    if (status == QB_OK && unit && qb__h5_text(file, dataset, "units", units, sizeof units) && *units) {
        *unit = qb__angle_unit(units);
        if (!(*unit > 0))
            status = qb__fail(QB_BAD_INPUT,
                              "%s:%s is in \"%s\", which is not a known unit of angle: give --angle-unit deg or rad",
                              path, dataset, units);
    }
    H5Fclose(file);
leave:
    status = qb__h5_judge(status, path);
    qb__h5_leave();
    if (status == QB_OK) return QB_OK;
    qb__free(*values);
    *values = NULL;
    return status;
}
#else
qb_status qb__hdf5_angles(const char *path, const char *dataset, size_t most, double **values, size_t *count,
                          double *unit) {
    (void)most, (void)unit;
    *values = NULL;
    *count = 0;
    return qb__fail(QB_UNSUPPORTED, "%s:%s: this build reads no HDF5", path, dataset);
}
#endif
