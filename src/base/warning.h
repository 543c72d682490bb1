/* SPDX-License-Identifier: MIT */
#pragma once

/* Every warning, and every note on a scan, ends with a code: qb__warn(env, "... %zu views" QB__CODE("blank-views"), n).
 * The code is a row of the table in warning.c, which explains it at length. */
#define QB__CODE(code) " [" code "]"
