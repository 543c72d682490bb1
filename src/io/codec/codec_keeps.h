/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/status.h"

/* For the command of the same build; not a part of the public interface. Blosc and others allocate some MB for each
 * chunk and free them. A program that gives freed blocks back to the system at once (M_MMAP_THRESHOLD of glibc) spends
 * most of the time on their pages. From the first chunk on, its heaps keep blocks of up to `bytes`, and as much at their
 * ends. 0 (the default): the program's settings stay. */
QB_API void qb_tool_codec_keeps(int bytes);
