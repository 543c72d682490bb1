/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_GEOMETRY_FILE_H
#define QB_IO_GEOMETRY_FILE_H

#include "io/text.h"
#include "quickbeam/geometry.h"

/* The key of a scan that is computed when it is read (simulated.c), which has its geometry in it. */
#define QB__SIMULATED_SCAN "quickbeam_simulated_scan"
enum { QB__GEOMETRY_MOST_BYTES = 256 << 20 }; /* of a file: a view takes 400 to 800 */

/* Readers: `text` is the whole file; details do not repeat its name. On failure *geometry holds
 * nothing or what qb_geometry_destroy releases. */
qb_status qb__geometry_from_json(const qb__text *text, qb_geometry *geometry);
/* The two steps of that. *object: release with cJSON_Delete. */
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

/* What XML and matrices cannot say: a comment near the beginning of the file. */
void qb__geometry_add_note(const qb_geometry *geometry, qb__text *text);
bool qb__geometry_read_note(const char *text, qb_detector *detector);

/* Writers: QB_UNSUPPORTED for what the format cannot say. */
qb_status qb__geometry_to_json(const qb_geometry *geometry, qb__text *text);
qb_status qb__geometry_to_rtk(const qb_geometry *geometry, qb__text *text);
qb_status qb__geometry_to_matrices(const qb_geometry *geometry, qb__text *text);

/* qb_geometry_save as one of a set. */
qb_status qb__geometry_save(qb__publication *set, const char *path, const qb_geometry *geometry);

#endif
