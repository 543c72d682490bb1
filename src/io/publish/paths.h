/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_PATHS_H
#define QB_IO_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Names of files and what is at them, whatever is in the files. */

/* "A/B"; release with qb__free, NULL when memory is out. */
char *qb__join(const char *a, const char *b);

/* Several names at once: a folder, a pattern with * ? [ or a %05d. */
bool qb__is_pattern(const char *path);
bool qb__is_folder(const char *path);

qb_status qb__pwrite_all(int fd, const char *path, const void *data, size_t bytes, uint64_t offset);
/* qb__fail_errno; a file that may not grow is a lack of space, too. */
qb_status qb__fail_writing(int error, const char *path);
/* Flush the names in a folder to the disk; without that a file may lose its name in a power cut. File systems and folders that cannot be
 * flushed are no failure. `path` is for messages. */
qb_status qb__flush_names(const char *folder, const char *path);
/* Start writing dirty pages to the disk, so that the last fsync is short. */
void qb__start_writeback(int fd, uint64_t offset, size_t bytes);

/* Whether the last part of a path holds a number to fill in: name_%05d.tif. */
bool qb__has_number(const char *path);
/* For a file whose images are in parts (qb_stack.parts): its folder PATH.parts, links followed, to be released with qb__free; and the
 * name of part `part` in it. */
qb_status qb__parts_folder(const char *path, char **folder);
qb_status qb__part_name(const char *path, size_t part, char *name, size_t room);
/* Whether files beside PATH can be moved into that folder by their names alone: it is not on another disk. */
bool qb__parts_near(const char *path);
/* Unique part of the names of a run's staging folders: PID-CLOCK. */
void qb__part_tag(char *tag, size_t room);
/* The last part of a path: what follows its last slash. */
const char *qb__last_part(const char *path);
/* From the last dot on, or, of a name in .gz, from the dot before it; NULL when there is none. */
const char *qb__ending(const char *path);
/* "." when there is none; release with qb__free, NULL when memory is out. */
char *qb__folder_of(const char *path);
/* Whether two names stand for one file, or will once it is there: links are followed. */
qb_status qb__same_file(const char *a, const char *b, bool *same);
/* Where a name leads, links followed to the last, whether or not there is a file: what is written
 * there leaves the links as they are. Release with qb__free. */
qb_status qb__target_of(const char *path, char **target);
/* QB_BAD_ARGUMENT when what is there is no regular file: a pipe, a device, a folder. */
qb_status qb__target_check(const char *path);
/* qb__target_check for an image of a series, which must not replace a link either. */
qb_status qb__member_check(const char *path);
/* QB_NO_SPACE, naming both numbers, when `folder` has less room than `bytes`. */
qb_status qb__check_space(const char *folder, const char *path, uint64_t bytes);

#endif
