/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"
#include "io/publish/staging.h"

/* The steps by which one member of a set gets its name, and their inverses. */
typedef struct qb__member {
    qb__staging staging;
    qb__notes names; /* QB__STAGING_MEMBERS: the files that join the folder */
    size_t count;    /* number of files at the beginning */
} qb__member;

qb_status qb__member_list(qb__member *member);    /* names and count, from the files in `fresh` */
qb_status qb__member_retire(qb__member *member);  /* target -> old */
qb_status qb__member_install(qb__member *member); /* fresh -> target */
/* Flush the new names to the disk. */
qb_status qb__member_flush(const qb__member *member);
/* The inverse steps go on after a failure. They never replace a file, nor does installing with `anew`: a file that another
 * program has put there stays. */
void qb__member_withdraw(qb__member *member);    /* target -> fresh, for installed files */
void qb__member_restore(qb__member *member);     /* old -> target */
void qb__member_resume(qb__member *member);      /* install what is not installed yet */
bool qb__member_begun(const qb__member *member); /* true if a part of it was installed */
void qb__member_release(qb__member *member);

/* Contents of the file `set` in the first member's hidden folder. */
enum { QB__FILE_SET_MOST = 16 };
qb_status qb__file_set_write(const qb__member *members, size_t count);
/* *count is 0 if there is no set, or its writing was cut off: then nothing has moved. Release the members. Not QB_OK:
 * it exists but cannot be read. */
qb_status qb__file_set_read(const char *folder, qb__member members[QB__FILE_SET_MOST], size_t *count);
