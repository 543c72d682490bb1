/* SPDX-License-Identifier: MIT */
/* Defective pixels of NSI's detectors: <Defect>COLUMN ROW, one a line, in the section <Defective Pixels>. */
#include "io/vendor/vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* Marks the pixels of the list. */
static qb_status mark(const char *path, const char *text, const qb__image *image, unsigned char *marks) {
    static const char begin[] = "<Defective Pixels>", tag[] = "<Defect>";
    const char *at = strstr(text, begin), *end = at ? strstr(at, "</Defective Pixels>") : NULL;
    if (!end) return qb__fail(QB_BAD_INPUT, "%s has no section %s with its end tag: was it cut off?", path, begin);
    while ((at = strstr(at, tag)) && at < end) {
        char *behind = NULL, *last = NULL;
        at += strlen(tag);
        const unsigned long long column = strtoull(at, &behind, 10), row = strtoull(behind, &last, 10);
        if (behind == at || last == behind || column >= image->stored_columns || row >= image->stored_rows)
            return qb__fail(QB_BAD_INPUT, "%s lists '%.*s', which is no column and row of images of %zu x %zu pixels",
                            path, (int)qb__smaller(strcspn(at, "<\r\n"), 40), at, image->stored_columns,
                            image->stored_rows);
        marks[row * image->stored_columns + column] = QB_PIXEL_MASKED;
    }
    return QB_OK;
}

static qb_status read_list(const char *path, const qb__image *image, qb__detector_mask *mask) {
    char *text = NULL;
    unsigned char *marks = NULL;
    qb_status status;
    QB__TRY(qb__settings_text(path, &text));
    QB__TRY(qb__alloc(image->stored_rows * image->stored_columns, 1, &marks));
    QB__TRY(mark(path, text, image, marks));
    QB__TRY(qb__alloc(image->rows * image->columns, 1, &mask->marks));
    qb__image_mask(image, marks, mask->marks);
    mask->rows = image->rows, mask->columns = image->columns;
    snprintf(mask->from, sizeof mask->from, "%.150s", path);
out:
    QB__FREE(text, marks);
    return status;
}

qb_status qb__nsi_defects(const char *folder, const qb__image *image, bool cropped, qb__scan_parts *parts) {
    char path[QB__VENDOR_NAME];
    const size_t count = qb__nsi_find(folder, true, "", ".defect", path, sizeof path);
    if (count > 1)
        qb__note_of(&parts->notes, QB_PROBLEM_PIXELS,
                    "%zu lists of defective pixels, one of them %s: none is used; keep only that of this "
                    "scan" QB__CODE("metadata-unusable"),
                    count, path);
    if (count == 1 && cropped)
        qb__note_of(
            &parts->notes, QB_PROBLEM_PIXELS,
            "%s: it is not used, since the images are cropped already and its columns may be those of the whole "
            "detector; give --mask" QB__CODE("metadata-unusable"),
            path);
    if (count != 1 || cropped) return QB_OK;
    const qb_status status = read_list(path, image, &parts->mask);
    if (status == QB_OK || qb_status_exit_code(status) != 3) return status;
    qb__note_of(&parts->notes, QB_PROBLEM_PIXELS, "%s: it is not used; give --mask" QB__CODE("metadata-unusable"),
                qb_detail());
    return QB_OK;
}
