/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* File names and what is at them, independent of the contents of files. */

/* "A/B"; release with qb__free, NULL if memory ran out. */
char *qb__join(const char *a, const char *b);

/* True for several names at once: a folder, a pattern with * ? [ or a %05d. */
bool qb__is_pattern(const char *path);
bool qb__is_folder(const char *path);

qb_status qb__pwrite_all(int fd, const char *path, const void *data, size_t bytes, uint64_t offset);
/* qb__fail_errno; the limit of a file's size counts as a lack of space. */
qb_status qb__fail_writing(int error, const char *path);
/* Flush the names in a folder to the disk; without it a file may lose its name in a power failure. File systems and
 * folders that cannot be flushed are not a failure. `path` is for messages. */
qb_status qb__flush_names(const char *folder, const char *path);
/* Start writing dirty pages to the disk, so that the last fsync is short. */
void qb__start_writeback(int fd, uint64_t offset, size_t bytes);

/* True if the last part of a path has a number to fill in: name_%05d.tif. */
bool qb__has_number(const char *path);
/* For a file whose images are in parts (qb_stack.parts): its folder PATH.parts, with links resolved, released with
 * qb__free; and the name of part `part` in it. */
qb_status qb__parts_folder(const char *path, char **folder);
qb_status qb__part_name(const char *path, size_t part, char *name, size_t room);
/* True if files next to PATH can be moved into that folder by renaming: it is on the same disk. */
bool qb__parts_near(const char *path);
/* Unique part of the names of a run's staging folders: PID-CLOCK. */
void qb__part_tag(char *tag, size_t room);
/* The last part of a path, after its last slash. */
const char *qb__last_part(const char *path);
/* From the last dot on or, for a name in .gz, from the dot before it; NULL if there is none. */
const char *qb__ending(const char *path);
/* "." if there is none; release with qb__free, NULL if memory ran out. */
char *qb__folder_of(const char *path);
/* True if two names stand for the same file, existing or not: links are resolved. */
qb_status qb__same_file(const char *a, const char *b, bool *same);
/* The target of a name with all links resolved, whether the file exists or not: writing there keeps the links. Release
 * with qb__free. */
qb_status qb__target_of(const char *path, char **target);
/* QB_BAD_ARGUMENT if the path is not a regular file: a pipe, a device, a folder. */
qb_status qb__target_check(const char *path);
/* qb__target_check for an image of a series, which must not replace a link either. */
qb_status qb__member_check(const char *path);
/* QB_NO_SPACE, with both numbers, if `folder` has less room than `bytes`. */
qb_status qb__check_space(const char *folder, const char *path, uint64_t bytes);

/* True if a folder has the header of a Zarr array or group. */
bool qb__is_zarr(const char *folder);
/* QB_BAD_ARGUMENT if `path` is something that a Zarr folder must not replace: a file, or a folder with other
 * contents. */
qb_status qb__store_check(const char *path);
