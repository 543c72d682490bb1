/* SPDX-License-Identifier: MIT */
/* Scans of Elekta's machines (XVI): .his, one or several views per file, with NAME_Frames.xml, which has the angle and
 * the detector's position of each view.
 *
 * In our frame the angle is that of the gantry. The central ray meets the detector UCentre and VCentre mm from its
 * centre. Distances and the detector's size, which no file states, are the same in all of these machines. Numbers grow
 * with attenuation: 0 is open beam, and the transmission is 1 - number / 65536. The pixels at the edges of a panel are
 * not usable, and are left out. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "io/scan/image.h"
#include "io/text.h"
#include "io/vendor/frame_files.h"
#include "io/vendor/ini.h"

enum { HEADER = 68, UINT16 = 4, NAME = 4096 };

static const double SOURCE_TO_AXIS = 1000, SOURCE_TO_DETECTOR = 1536, DETECTOR_SIDE = 409.6, RANGE = 65536;

static size_t half(const unsigned char *at) { return at[0] | (size_t)at[1] << 8; }

static qb_status his_head(const char *path, int fd, uint64_t size, qb__frame_head *head) {
    unsigned char h[HEADER];
    (void)size;
    QB__OR_RETURN(qb__pread_all(fd, path, h, sizeof h, 0));
    if (h[0] != 0 || h[1] != 112 || h[2] != 68 || h[3] != 0)
        return qb__fail(QB_BAD_INPUT, "%s is not a .his file of Elekta: its first bytes are not 0, 112, 68, 0", path);
    const size_t left = half(h + 12), top = half(h + 14), right = half(h + 16), bottom = half(h + 18);
    if (right < left || bottom < top)
        return qb__fail(
            QB_BAD_INPUT,
            "%s: its header states images from pixel %zu,%zu to %zu,%zu, which is not possible: it is damaged", path,
            left, top, right, bottom);
    if (h[32] != UINT16)
        return qb__fail(QB_UNSUPPORTED, "%s: its numbers are of type %u; 4 (uint16) is read", path, h[32]);
    head->columns = bottom - top + 1, head->rows = right - left + 1;
    head->count = half(h + 20);
    head->dtype = QB_U16;
    head->at = HEADER + half(h + 10);
    head->pixel[0] = DETECTOR_SIDE / (double)head->columns, head->pixel[1] = DETECTOR_SIDE / (double)head->rows;
    return QB_OK;
}

static const qb__frame_kind kinds[] = {{"Elekta", ".his", his_head}};

/* ---- the frames' list ---- */

/* The only ..._Frames.xml in the folder of the images; "" if there is none. */
static qb_status find_list(const char *path, char *found) {
    static const char ending[] = "_Frames.xml";
    char *folder = qb__is_folder(path) ? qb__strdup(path) : qb__folder_of(path);
    qb_status status = folder ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    DIR *open = folder ? opendir(folder) : NULL;
    *found = 0;
    for (struct dirent *entry; status == QB_OK && open && (entry = readdir(open));) {
        const size_t n = strlen(entry->d_name), m = strlen(ending);
        if (n < m || strcasecmp(entry->d_name + n - m, ending) != 0) continue;
        if (*found)
            status =
                qb__fail(QB_BAD_INPUT, "%s holds several files *%s: keep only the one of this scan", folder, ending);
        snprintf(found, NAME, "%s/%s", folder, entry->d_name);
    }
    if (open) closedir(open);
    qb__free(folder);
    return status;
}

/* Some programs that remove the patient's name also remove letters of the tags. */
static bool number_of(const char *from, const char *end, const char *const names[4], double *value) {
    for (int i = 0; i < 4 && names[i]; i++)
        if (qb__tag_number(from, end, names[i], value)) return true;
    return false;
}

static bool read_frame(const char *from, const char *end, qb__frame_head *head) {
    static const char *const angle[4] = {"GantryAngle", "Angle", "antryAngle", "Gantryngle"},
                             *const across[4] = {"UCentre", "Uentre"}, *const along[4] = {"VCentre", "Ventre"};
    double u, v;
    if (!number_of(from, end, angle, &head->angle)) return false;
    if (number_of(from, end, across, &u) && number_of(from, end, along, &v)) head->offset[0] = -u, head->offset[1] = -v;
    return true;
}

static qb_status read_list(const char *path, const char *text, size_t views, qb__frame_head *heads) {
    static const char begin[] = "<Frame>", end[] = "</Frame>";
    size_t count = 0;
    for (const char *at = strstr(text, begin), *stop; at; at = strstr(stop, begin), count++) {
        stop = strstr(at, end);
        if (!stop) return qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends within frame %zu", path, count);
        if (count < views && !read_frame(at, stop, &heads[count]))
            return qb__fail(QB_BAD_INPUT, "%s: frame %zu has no <GantryAngle>", path, count);
    }
    if (count == views) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s lists %zu frames for %zu images: give the whole series", path, count, views);
}

/* ---- the format ---- */

/* Leaves out as many pixels at each edge as RTK. Panels have 512 or 1024. */
static qb_status leave_out_edge(qb__source **source) {
    enum { EDGE = 4, LEAST = 256 };
    const size_t rows = (*source)->shape[1], columns = (*source)->shape[2];
    char part[96];
    const qb_scan_options options = {.crop = part};
    qb__image image;
    if (rows < LEAST || columns < LEAST) return QB_OK;
    snprintf(part, sizeof part, "%d:%zu,%d:%zu", EDGE, columns - EDGE, EDGE, rows - EDGE);
    const qb_status status = qb__image_parse(&options, rows, columns, &image);
    return status == QB_OK ? qb__source_image(source, &image, false, false) : status;
}

qb_status qb__elekta_open(const char *path, const char *how, qb__source **source) {
    qb__frame_head *heads;
    (void)how;
    const qb_status status = qb__frame_files_open(path, kinds, 1, &heads, source);
    qb__free(heads);
    return status;
}

qb_status qb__elekta_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    qb__frame_head *heads;
    char found[NAME], *text = NULL;
    (void)options;
    qb_status status;
    QB__TRY(qb__frame_files_open(path, kinds, 1, &heads, &parts->data.source));
    QB__TRY(find_list(path, found));
    if (*found) {
        QB__TRY(qb__settings_text(found, &text));
        QB__TRY(read_list(found, text, parts->data.source->shape[0], heads));
    }
    QB__TRY(qb__frame_files_parts(heads, parts));
    parts->sod = SOURCE_TO_AXIS, parts->sdd = SOURCE_TO_DETECTOR;
    parts->data.source->beam = QB_BEAM_CONE;
    snprintf(parts->quantity, sizeof parts->quantity, "transmission");
    QB__TRY(leave_out_edge(&parts->data.source));
    const bool quiet = !*parts->data.source->trouble;
    QB__TRY(qb__source_scale(&parts->data.source, -1 / RANGE, 1));
    if (quiet) parts->data.source->trouble[0] = 0;
out:
    QB__FREE(text, heads);
    return status;
}
