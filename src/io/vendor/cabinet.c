/* SPDX-License-Identifier: MIT */
/* Settings files in XML or text whose names are not specific: their text shows which scanner wrote them. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/vendor/vendor.h"

qb_status qb__cabinet_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    char *text = NULL;
    qb_status status = qb__settings_xml(path, &text);
    if (status != QB_OK) return status;
    if (strstr(text, "<Geometrie") && strstr(text, "<Recon"))
        status = qb__diondo_take(path, text, options, parts);
    else if (strstr(text, "<ConeBeamScanParameter") || strstr(text, "FDD [mm]"))
        status = qb__yxlon_take(path, text, options, parts);
    else
        status = qb__fail(QB_UNSUPPORTED,
                          "%s is not a scan of Diondo or YXLON: give the images, and a geometry file with -g", path);
    qb__free(text);
    return status;
}
