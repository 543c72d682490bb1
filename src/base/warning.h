/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_WARNING_H
#define QB_BASE_WARNING_H

/* Every warning, and every note on a scan, ends with a code: qb__warn(env, "... %zu views" QB__CODE("blank-views"), n).
 * The code is a row of the table in warning.c, which explains it at length. */
#define QB__CODE(code) " [" code "]"

#endif
