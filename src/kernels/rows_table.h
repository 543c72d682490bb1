/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_ROWS_TABLE_H
#define QB_KERNELS_ROWS_TABLE_H

/* What the tables of variants say in one word: a parameter and its legal values, the default first. */
#define P(name, ...)                                                                               \
    {                                                                                              \
        name, sizeof((int[]){__VA_ARGS__}) / sizeof(int), {                                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#endif
