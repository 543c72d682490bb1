/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_SWAP_H
#define QB_IO_SWAP_H

#include "io/plain/source.h"
#include "io/publish/staging.h"

/* The steps in which one member of a set gets its name, and their opposites. */
typedef struct qb__member {
    qb__staging staging;
    qb__notes names; /* QB__STAGING_MEMBERS: the files that join the folder */
    size_t count;    /* how many there were to begin with */
} qb__member;

qb_status qb__member_list(qb__member *member);    /* names and count, from what is in `fresh` */
qb_status qb__member_retire(qb__member *member);  /* target -> old */
qb_status qb__member_install(qb__member *member); /* fresh -> target */
/* The names that were given are on the disk. */
qb_status qb__member_flush(const qb__member *member);
/* The opposites do what they can. They, and installing with `anew`, never take the place of a file:
 * what somebody put there since stays. */
void qb__member_withdraw(qb__member *member);    /* target -> fresh, of what was installed */
void qb__member_restore(qb__member *member);     /* old -> target */
void qb__member_resume(qb__member *member);      /* install what has not been */
bool qb__member_begun(const qb__member *member); /* something of it was installed */
void qb__member_release(qb__member *member);

/* What the file `set` in the first member's hidden folder says. */
enum { QB__FILE_SET_MOST = 16 };
qb_status qb__file_set_write(const qb__member *members, size_t count);
/* *count is 0 when there is no set, or its writing was cut short: nothing has moved then. Release
 * the members. Not QB_OK: it is there and cannot be read. */
qb_status qb__file_set_read(const char *folder, qb__member members[QB__FILE_SET_MOST], size_t *count);

#endif
