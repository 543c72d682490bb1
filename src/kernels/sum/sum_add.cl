/* SPDX-License-Identifier: MIT */
/* to[i] += from[i], i from 0 to count, for ranges that begin at to_at and from_at and do not overlap. */
#define ITEMS 256

KERNEL GROUPS_OF(ITEMS, 1) void sum_add(GLOBAL float *to, ulong to_at, GLOBAL const float *from, ulong from_at,
                                        ulong count) {
    for (ulong i = (ulong)group_id(0) * ITEMS + local_id(0); i < count; i += (ulong)group_count(0) * ITEMS)
        to[to_at + i] = to[to_at + i] + from[from_at + i];
}
