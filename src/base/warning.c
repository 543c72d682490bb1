/* SPDX-License-Identifier: MIT */
/* What each warning means, how much it matters and what to do: shown by `qb help CODE` and in docs/warnings.md. */
#include "base/warning.h"

#include <string.h>

#include "quickbeam/env.h"

/* Sorted by code. The texts are short sentences for somebody who sees the warning for the first time. */
static const struct {
    const char *code, *text;
} rows[] = {
    {"angle-line",
     "A line before the first number of an --angles file begins like a number but cannot be read as one, such as 1,5 or nan. "
     "It was left out as if it were a header, so all later angles may belong to the wrong views. Mend that line, or put # in "
     "front of a true header."},
    {"angle-turns",
     "The angles cover more than four turns in small steps, or a step is more than a whole turn. Scans of many turns exist, "
     "but far more often the unit is not what the file says: degrees that are stated as radians, or thousandths of a degree. "
     "Look at the first and last angle (qb info SCAN) and give --angle-unit, or choose one turn by --views."},
    {"angle-unit",
     "Many angles lie within so few numbers that they could be a turn in radians. Nothing states a unit, so they were taken as "
     "degrees. If they are radians, give --angle-unit rad; if they are degrees, --angle-unit deg removes this warning."},
    {"checkpoint-stopped",
     "The state of the reconstruction could not be kept, so no more checkpoints are written. The run itself goes on and its "
     "result is not affected. If it is interrupted, --resume can go on from the last checkpoint that was written, if any. "
     "The warning says what was wrong: make room on the disk, or give the folder another name."},
    {"file-missing",
     "The files of a scan are counted by a number in their names, and some numbers are not there. Angles that are given as "
     "FROM:TO are spread evenly over the files that are there, so those behind the gap belong to other views. Find the missing "
     "files, or give --angles as a list with one line for each file that is there."},
    {"matrix-cache",
     "The system matrix was not taken from --matrix-cache, or could not be left there. It was computed instead: the result is "
     "the same, only the start took longer. A cache is used only in a folder that belongs to you and that nobody else may "
     "write to, because its numbers steer the computation. Use a folder of your own, or chmod go-w."},
    {"no-angles",
     "The scan has no angles that can be used: none are stored, their number is not that of the views, or their unit is not "
     "known. The warning says which. Give --angles FROM:TO or a file, or --angle-unit where only the unit is missing."},
    {"older-json",
     "An NPY or raw file has a .json beside it that says what its numbers are: units, quantity, pixel size and angles. The data "
     "were changed at least a minute after it was written. Where they are of another scan, what the .json says of them is wrong: "
     "remove it, or write both anew. Where they were only copied, nothing is wrong: touch the .json."},
    {"scaled-values",
     "The file states that its values are the stored numbers times a slope plus an offset: ElementToIntensityFunctionSlope and "
     "-Offset of MetaImage, scale_factor and add_offset of HDF5. They are applied on reading, and the values are 32-bit floats "
     "from then on. Where the file is wrong about that, remove these entries from it."},
    {"transmission-floor",
     "Some transmissions were zero, negative or very small, so their logarithm has no value or a very large one. They were "
     "raised to the floor (--transmission-floor) before the logarithm. A few such values do no harm. Many of them mean that "
     "the object is too dense for the energy, or that flats and darks do not belong to this scan."},
    {"unmapped-images",
     "The data are a virtual HDF5 dataset: its images lie in other files. To some images no file was mapped, as when a scan "
     "was stopped early. Other programs read them as zeros or as another fill value. They are not read here: leave them out "
     "with --views, or add the files and map them."},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const char *qb_warning_code(size_t index) { return index < ROWS ? rows[index].code : NULL; }

const char *qb_warning_text(const char *code) {
    for (size_t i = 0; code && i < ROWS; i++)
        if (strcmp(rows[i].code, code) == 0) return rows[i].text;
    return NULL;
}
