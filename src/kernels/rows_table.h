/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/variant.h"

/* What the tables of variants say in one word: a parameter and its legal values, the default first. */
#define P(name, ...)                                                                                                   \
    {                                                                                                                  \
        name, sizeof((int[]){__VA_ARGS__}) / sizeof(int), { __VA_ARGS__ }                                              \
    }

/* The head of a device's row. padded, limit: slices of a pass; what follows are its parameters. */
#define HEAD(what, name, kind, served, class, how, padded, limit, refuses, costs, ...)                                 \
    .head = {.id = name,                                                                                               \
             .operation = what,                                                                                        \
             .interp = kind,                                                                                           \
             .apis = served,                                                                                           \
             .accuracy = class,                                                                                        \
             .method = how,                                                                                            \
             .step = padded,                                                                                           \
             .most = limit,                                                                                            \
             .unusable = refuses,                                                                                      \
             .cost = costs,                                                                                            \
             .parameters = {__VA_ARGS__}}
