/* SPDX-License-Identifier: MIT */
/* Opens DICOM files, which hold projections (dicom_ct_pd.c) or slices (dicom_slices.c). */
#include "base/status.h"
#include "io/formats.h"
#include "io/vendor/dicom.h"

/* The first file decides: projections state the rows of a detector, slices do not. */
static qb_status look(const char *path, bool *projections) {
    qb__notes files;
    qb__dicom d;
    double rows;
    qb_status status = qb__list_images(path, QB__DICOM_NAMES, &files);
    if (status == QB_OK) {
        status = qb__dicom_open(files.text[0], &d);
        *projections = status == QB_OK && qb__dicom_numbers(&d, 0x70291010, 1, &rows) == 1;
        qb__dicom_close(&d);
    }
    qb__notes_release(&files);
    return status;
}

qb_status qb__dicom_open_any(const char *path, const char *how, qb__source **source) {
    bool projections = false;
    (void)how;
    *source = NULL;
    QB__OR_RETURN(look(path, &projections));
    return projections ? qb__ct_pd_open(path, source) : qb__dicom_slices_open(path, source);
}

qb_status qb__dicom_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    bool projections = false;
    QB__OR_RETURN(look(path, &projections));
    if (projections) return qb__ct_pd_scan(path, options, parts);
    QB__OR_RETURN(qb__dicom_slices_open(path, &parts->data.source));
    return qb__sidecar_parts(NULL, path, parts);
}

qb_status qb__dicom_provenance(const char *path, cJSON **object) {
    qb__source *source = NULL;
    cJSON *note = NULL;
    bool projections = false;
    qb_status status;
    *object = NULL;
    QB__TRY(look(path, &projections));
    if (projections) return QB_OK;
    QB__TRY(qb__dicom_slices_open(path, &source));
    QB__TRY(qb__dicom_slices_note(source, &note));
    *object = cJSON_DetachItemFromObject(note, "provenance");
out:
    cJSON_Delete(note);
    qb__source_close(source);
    return status;
}
