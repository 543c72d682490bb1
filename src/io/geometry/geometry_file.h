/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/text.h"
#include "quickbeam/geometry.h"

/* JSON key of a scan that is computed when it is read (simulated.c), which contains its geometry. */
#define QB__SIMULATED_SCAN "quickbeam_simulated_scan"
enum { QB__GEOMETRY_MOST_BYTES = 256 << 20 }; /* largest file: a view takes 400 to 800 bytes */

/* Readers: `text` is the whole file; details do not repeat its name. After a failure *geometry is empty or can be
 * released with qb_geometry_destroy. */
qb_status qb__geometry_from_json(const qb__text *text, qb_geometry *geometry);
/* The same in two steps. Release *object with cJSON_Delete. */
qb_status qb__geometry_json(const qb__text *text, cJSON **object);
qb_status qb__geometry_of_json(const cJSON *object, qb_geometry *geometry);
qb_status qb__geometry_from_rtk(const qb__text *text, const qb_detector *detector, const qb_env *env,
                                qb_geometry *geometry);
qb_status qb__geometry_from_matrices(const qb__text *text, const qb_detector *detector, const qb_env *env,
                                     qb_geometry *geometry);
qb_status qb__geometry_from_npy(const char *path, const qb_detector *detector, const qb_env *env,
                                qb_geometry *geometry);

bool qb__geometry_is_ctsimu(const qb__text *text);
qb_status qb__geometry_from_ctsimu(const qb__text *text, qb_geometry *geometry);

/* Detector data that XML and matrices lack, from a comment near the beginning of the file. */
void qb__geometry_add_note(const qb_geometry *geometry, qb__text *text);
bool qb__geometry_read_note(const char *text, qb_detector *detector);

/* Writers: QB_UNSUPPORTED if the format cannot hold the geometry. */
qb_status qb__geometry_to_json(const qb_geometry *geometry, qb__text *text);
qb_status qb__geometry_to_rtk(const qb_geometry *geometry, qb__text *text);
qb_status qb__geometry_to_matrices(const qb_geometry *geometry, qb__text *text);

/* A circular scan as a scanner states it: mm and degrees. */
typedef struct qb__kept_circle {
    double sod, sdd;
    double offset[2]; /* of the detector's middle from the principal ray; NAN: not stated */
    double tilt[2];   /* of the detector in its plane, and out of it */
    bool rows_down;   /* rows count downwards */
    /* for views in place of a circle: when the file was written, the scan had the angles of these views */
    bool angles_follow;
} qb__kept_circle;

/* Add the geometry of projections to the provenance of their file, as views or as a circle. As with other items of
 * JSON, a lack of memory shows when the provenance is printed. `radians`: angles of the scan, NULL if it has none. */
void qb__geometry_keep(const qb_geometry *geometry, const double *radians, cJSON *provenance);
void qb__circle_keep(const qb__kept_circle *circle, const qb_detector *detector, size_t views, const double *radians,
                     cJSON *provenance);
/* Reads what these added to the file at `path`. geometry->views is 0 if there is none; circle->sod is 0 if views were
 * kept. Release the geometry with qb_geometry_destroy, also after a failure. */
bool qb__angles_follow(const qb_geometry *geometry, const double *radians); /* whether they are the views' angles */
qb_status qb__geometry_kept(const char *path, qb_geometry *geometry, qb__kept_circle *circle);

/* qb_geometry_save as one of a set of files. */
qb_status qb__geometry_save(qb__publication *set, const char *path, const qb_geometry *geometry);
