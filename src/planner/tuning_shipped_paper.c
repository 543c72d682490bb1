/* SPDX-License-Identifier: MIT */
#include "planner/tuning.h"
#include "planner/tuning_shipped.h"

#include <string.h>

/* Parameters that the parallel back-projection paper (bench/notes/paper.md) found best on its cards, converted to the
 * parameters of our kernels:
 *   n_q, pixels a thread    PIXELS; 16 of them mean AREA=64, fewer AREA=32
 *   s_d, cached projections VIEWS
 *   s_t, threads a row      none: 16 for AREA=32, 32 for AREA=64
 *   O, occupancy            BLOCKS, the groups that it makes, at most the largest we have (4; 6 for
 *                           textures); where none is given (AMD) 1
 *   R, rounding             SFU: ROUND=0, ALU: ROUND=1; nearest, oversampled and the hybrid have
 *                           one way
 *   U, unrolling            none: loops over views are unrolled on GPUs
 *   C, caches               WIDTH of alu_split: n_v / C slices together
 *   T/A                     TEXTURE_SHARE of eight areas; by multiprocessor, so BALANCE=1
 *   L1/ShMem                none: the driver divides
 * and of Table 18, caches, and 14:
 *   Adv.                    alu_difference: DIFFERENCE=1 with shuffles, 2 where the paper reads
 *                           shared memory
 *   h_m                     CACHE=0
 *   h_m and c_s             CACHE=1
 *   s_p=256                 CACHE=2
 *   h_x                     CACHE=3 (GCN wants h_x and s_p, and gets h_x)
 *   double buffer           alu_split, of Fermi and of AMD with 4 slices
 *   write64                 alu_write64, of Kepler
 * Speeds are giga-updates/s for 2048 views; 0: not given, only parameters. Slices are those of a fetch. */
#define ROW(device, kernel, slices, speed, ...)                                                                        \
    {                                                                                                                  \
        {device, kernel, slices, 2048}, { {__VA_ARGS__}, speed }                                                       \
    }

/* clang-format off */
const qb__tuning_shipped qb__tuning_paper_rows[] = {
    /* Table 13, texture engine. Constants are in constant memory on NVIDIA's cards, cached 256 views at a time on
     * AMD's. Partial sums meet in shared memory: shuffles, available since Kepler, gain nothing here, and OpenCL does
     * not have them there. Four slices: nearest neighbour in half precision (its Fig. 6). */
    ROW("GeForce GTX 295", "bp_parallel_linear.texture_four_views", 1, 49, 0, 1, 0, 1, 4, 4, 0, 1, 2),
    ROW("GeForce GTX 580", "bp_parallel_linear.texture_four_views", 1, 49, 0, 1, 0, 1, 4, 4, 0, 1, 2),
    ROW("GeForce GTX 580", "bp_parallel_linear.texture_four_views", 2, 97, 0, 2, 0, 1, 4, 4, 0, 1, 2),
    ROW("GeForce GTX 580", "bp_parallel_nearest.texture_four_views_half", 4, 172, 1, 4, 1, 1, 4, 4, 0, 1, 2),
    ROW("GeForce GTX 680", "bp_parallel_linear.texture_four_views", 1, 118, 0, 1, 0, 1, 4, 4, 0, 1, 6),
    ROW("GeForce GTX 680", "bp_parallel_linear.texture_four_views", 2, 232, 0, 2, 0, 1, 4, 4, 0, 1, 6),
    ROW("GeForce GTX TITAN", "bp_parallel_linear.texture_four_views", 1, 200, 0, 1, 0, 1, 4, 4, 0, 1, 6),
    ROW("GeForce GTX TITAN", "bp_parallel_linear.texture_four_views", 2, 362, 0, 2, 0, 1, 4, 4, 0, 1, 6),
    ROW("GeForce GTX 980", "bp_parallel_linear.texture_four_views", 1, 155, 0, 1, 0, 1, 4, 4, 0, 1, 6),
    ROW("GeForce GTX 980", "bp_parallel_linear.texture_four_views", 2, 304, 0, 2, 0, 1, 4, 4, 0, 1, 6),
    ROW("GeForce GTX 980", "bp_parallel_nearest.texture_four_views_half", 4, 555, 1, 4, 1, 1, 4, 4, 0, 1, 6),
    ROW("TITAN X (Pascal)", "bp_parallel_linear.texture_four_views", 1, 389, 0, 1, 0, 1, 4, 4, 0, 1, 6),
    ROW("TITAN X (Pascal)", "bp_parallel_linear.texture_four_views", 2, 726, 0, 2, 0, 1, 4, 4, 0, 1, 6),
    ROW("TITAN X (Pascal)", "bp_parallel_nearest.texture_four_views_half", 4, 1396, 1, 4, 1, 1, 4, 4, 0, 1, 6),
    ROW("Cypress", "bp_parallel_linear.texture_four_views", 1, 56, 0, 1, 0, 1, 4, 4, 0, 2, 1),
    ROW("Tahiti", "bp_parallel_linear.texture_four_views", 1, 115, 0, 1, 0, 1, 4, 4, 0, 2, 1),
    ROW("Hawaii", "bp_parallel_linear.texture_four_views", 1, 146, 0, 1, 0, 1, 4, 4, 0, 2, 1),
    /* Table 20, arithmetic, with its notes: a (half precision), b, c, d, e, f (differences for nearest). */
    ROW("GeForce GTX 580", "bp_parallel_linear.alu_difference", 1, 80, 0, 1, 0, 0, 2, 0, 32, 4, 16, 0, 3, 4),
    ROW("GeForce GTX 580", "bp_parallel_nearest.alu", 1, 120, 1, 1, 0, 0, 0, 0, 32, 4, 16, 0, 3, 4),
    ROW("GeForce GTX 580", "bp_parallel_linear.alu_difference", 2, 113, 0, 2, 0, 0, 2, 0, 32, 4, 16, 0, 3, 3),
    ROW("GeForce GTX 580", "bp_parallel_nearest.alu", 2, 188, 1, 2, 0, 0, 0, 0, 32, 4, 16, 0, 3, 3),
    ROW("GeForce GTX 580", "bp_parallel_linear.alu_difference", 4, 142, 0, 4, 0, 0, 2, 0, 32, 4, 8, 0, 1, 3),
    ROW("GeForce GTX 580", "bp_parallel_nearest.alu_split", 4, 247, 1, 4, 0, 2, 0, 0, 32, 4, 16, 0, 1, 3),
    ROW("GeForce GTX 680", "bp_parallel_linear.alu_difference", 1, 123, 0, 1, 0, 0, 1, 0, 32, 8, 8, 1, 1, 4),
    ROW("GeForce GTX 680", "bp_parallel_nearest.alu_write64", 1, 195, 1, 1, 0, 0, 0, 1, 64, 16, 16, 0, 1, 4),
    ROW("GeForce GTX 680", "bp_parallel_linear.alu", 2, 160, 0, 2, 0, 0, 0, 0, 32, 8, 8, 1, 0, 4),
    ROW("GeForce GTX 680", "bp_parallel_nearest.alu", 2, 290, 1, 2, 0, 0, 0, 0, 32, 8, 8, 0, 0, 4),
    ROW("GeForce GTX 680", "bp_parallel_linear.alu", 4, 165, 0, 4, 0, 0, 0, 0, 32, 4, 8, 0, 0, 4),
    ROW("GeForce GTX 680", "bp_parallel_nearest.alu", 4, 306, 1, 4, 0, 0, 0, 0, 32, 4, 8, 0, 0, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_linear.alu_difference", 1, 195, 0, 1, 0, 0, 1, 0, 32, 8, 8, 1, 1, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_nearest.alu_write64", 1, 268, 1, 1, 0, 0, 0, 1, 64, 16, 16, 0, 1, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_linear.alu", 2, 237, 0, 2, 0, 0, 0, 0, 32, 8, 8, 1, 0, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_nearest.alu", 2, 429, 1, 2, 0, 0, 0, 0, 32, 8, 8, 0, 0, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_linear.alu", 4, 278, 0, 4, 0, 0, 0, 0, 32, 4, 8, 0, 0, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_nearest.alu", 4, 471, 1, 4, 0, 0, 0, 0, 32, 4, 8, 0, 0, 4),
    ROW("GeForce GTX 980", "bp_parallel_linear.alu_difference", 1, 218, 0, 1, 0, 0, 1, 0, 64, 16, 8, 0, 1, 4),
    ROW("GeForce GTX 980", "bp_parallel_nearest.alu", 1, 452, 1, 1, 0, 0, 0, 0, 64, 16, 8, 0, 1, 4),
    ROW("GeForce GTX 980", "bp_parallel_linear.alu", 2, 269, 0, 2, 0, 0, 0, 0, 64, 16, 8, 0, 0, 4),
    ROW("GeForce GTX 980", "bp_parallel_nearest.alu", 2, 510, 1, 2, 0, 0, 0, 0, 64, 16, 8, 0, 0, 4),
    ROW("GeForce GTX 980", "bp_parallel_linear.alu_half", 4, 292, 0, 4, 1, 0, 0, 0, 32, 4, 16, 1, 0, 4),
    ROW("GeForce GTX 980", "bp_parallel_nearest.alu_half", 4, 567, 1, 4, 1, 0, 0, 0, 32, 4, 16, 0, 0, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_linear.alu_difference", 1, 606, 0, 1, 0, 0, 1, 0, 64, 16, 8, 0, 1, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_nearest.alu", 1, 1161, 1, 1, 0, 0, 0, 0, 64, 16, 8, 0, 1, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_linear.alu", 2, 692, 0, 2, 0, 0, 0, 0, 64, 16, 8, 0, 0, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_nearest.alu", 2, 1328, 1, 2, 0, 0, 0, 0, 64, 16, 8, 0, 0, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_linear.alu_half", 4, 743, 0, 4, 1, 0, 0, 0, 32, 4, 16, 1, 0, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_nearest.alu_half", 4, 1405, 1, 4, 1, 0, 0, 0, 32, 4, 16, 0, 0, 4),
    ROW("Cypress", "bp_parallel_linear.alu_difference", 1, 63, 0, 1, 0, 0, 2, 0, 64, 16, 8, 0, 2, 1),
    ROW("Cypress", "bp_parallel_nearest.alu", 1, 116, 1, 1, 0, 0, 0, 0, 64, 16, 8, 0, 2, 1),
    ROW("Cypress", "bp_parallel_linear.alu", 2, 71, 0, 2, 0, 0, 0, 0, 32, 8, 16, 0, 2, 1),
    ROW("Cypress", "bp_parallel_nearest.alu", 2, 146, 1, 2, 0, 0, 0, 0, 32, 8, 16, 0, 2, 1),
    ROW("Cypress", "bp_parallel_linear.alu_split", 4, 73, 0, 4, 0, 2, 0, 0, 32, 8, 8, 0, 2, 1),
    ROW("Cypress", "bp_parallel_nearest.alu_split", 4, 160, 1, 4, 0, 2, 0, 0, 32, 8, 8, 0, 2, 1),
    ROW("Tahiti", "bp_parallel_linear.alu_difference", 1, 178, 0, 1, 0, 0, 2, 0, 64, 16, 8, 0, 3, 1),
    ROW("Tahiti", "bp_parallel_nearest.alu", 1, 290, 1, 1, 0, 0, 0, 0, 64, 16, 8, 0, 3, 1),
    ROW("Tahiti", "bp_parallel_linear.alu", 2, 221, 0, 2, 0, 0, 0, 0, 32, 4, 16, 0, 3, 1),
    ROW("Tahiti", "bp_parallel_nearest.alu", 2, 430, 1, 2, 0, 0, 0, 0, 64, 16, 8, 0, 3, 1),
    ROW("Tahiti", "bp_parallel_linear.alu_split", 4, 233, 0, 4, 0, 2, 0, 0, 32, 4, 8, 0, 3, 1),
    ROW("Tahiti", "bp_parallel_nearest.alu_split", 4, 450, 1, 4, 0, 2, 0, 0, 32, 4, 8, 0, 3, 1),
    ROW("Hawaii", "bp_parallel_linear.alu_difference", 1, 219, 0, 1, 0, 0, 2, 0, 64, 16, 8, 0, 0, 1),
    ROW("Hawaii", "bp_parallel_nearest.alu", 1, 341, 1, 1, 0, 0, 0, 0, 64, 16, 8, 0, 0, 1),
    ROW("Hawaii", "bp_parallel_linear.alu", 2, 298, 0, 2, 0, 0, 0, 0, 32, 4, 16, 0, 0, 1),
    ROW("Hawaii", "bp_parallel_nearest.alu", 2, 582, 1, 2, 0, 0, 0, 0, 64, 16, 8, 0, 0, 1),
    ROW("Hawaii", "bp_parallel_linear.alu_split", 4, 383, 0, 4, 0, 2, 0, 0, 32, 4, 16, 0, 0, 1),
    ROW("Hawaii", "bp_parallel_nearest.alu_split", 4, 635, 1, 4, 0, 2, 0, 0, 32, 4, 16, 0, 0, 1),
    /* Table 23, hybrid: its Titan is the Pascal card, as the paper's text says. */
    ROW("GeForce GTX 980", "bp_parallel_linear.hybrid", 1, 266, 0, 1, 1, 64, 16, 8, 1, 4, 3, 1),
    ROW("GeForce GTX 980", "bp_parallel_linear.hybrid", 2, 389, 0, 2, 0, 32, 4, 16, 1, 4, 4, 1),
    ROW("TITAN X (Pascal)", "bp_parallel_linear.hybrid", 1, 734, 0, 1, 1, 64, 16, 8, 1, 4, 3, 1),
    ROW("TITAN X (Pascal)", "bp_parallel_linear.hybrid", 2, 995, 0, 2, 0, 32, 4, 16, 1, 4, 4, 1),
    /* Table 24, oversampling. Its speeds repeat the linear column of Table 20; Table 22 has different ones. */
    ROW("GeForce GTX 580", "bp_parallel_oversample.alu", 1, 0, 2, 1, 0, 0, 0, 0, 32, 4, 8, 0, 3, 4),
    ROW("GeForce GTX 580", "bp_parallel_oversample.alu_split", 2, 0, 2, 2, 0, 1, 0, 0, 32, 4, 8, 0, 3, 3),
    ROW("GeForce GTX 580", "bp_parallel_oversample.alu_split", 4, 0, 2, 4, 0, 1, 0, 0, 32, 4, 4, 0, 1, 3),
    ROW("GeForce GTX 680", "bp_parallel_oversample.alu_write64", 1, 0, 2, 1, 0, 0, 0, 1, 64, 16, 4, 0, 1, 4),
    ROW("GeForce GTX 680", "bp_parallel_oversample.alu", 2, 0, 2, 2, 0, 0, 0, 0, 32, 8, 4, 0, 0, 4),
    ROW("GeForce GTX 680", "bp_parallel_oversample.alu_split", 4, 0, 2, 4, 0, 2, 0, 0, 32, 4, 4, 0, 0, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_oversample.alu_write64", 1, 0, 2, 1, 0, 0, 0, 1, 64, 16, 4, 0, 1, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_oversample.alu", 2, 0, 2, 2, 0, 0, 0, 0, 32, 8, 4, 0, 0, 4),
    ROW("GeForce GTX TITAN", "bp_parallel_oversample.alu_split", 4, 0, 2, 4, 0, 2, 0, 0, 32, 4, 4, 0, 0, 2),
    ROW("GeForce GTX 980", "bp_parallel_oversample.alu", 1, 0, 2, 1, 0, 0, 0, 0, 64, 16, 8, 0, 1, 4),
    ROW("GeForce GTX 980", "bp_parallel_oversample.alu_split", 2, 0, 2, 2, 0, 1, 0, 0, 64, 16, 4, 0, 0, 4),
    ROW("GeForce GTX 980", "bp_parallel_oversample.alu_split", 4, 0, 2, 4, 0, 1, 0, 0, 32, 4, 4, 0, 0, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_oversample.alu", 1, 0, 2, 1, 0, 0, 0, 0, 64, 16, 8, 0, 1, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_oversample.alu_split", 2, 1107, 2, 2, 0, 1, 0, 0, 64, 16, 4, 0, 0, 4),
    ROW("TITAN X (Pascal)", "bp_parallel_oversample.alu_split", 4, 0, 2, 4, 0, 1, 0, 0, 32, 4, 4, 0, 0, 4),
    ROW("Cypress", "bp_parallel_oversample.alu_write64", 1, 0, 2, 1, 0, 0, 0, 1, 64, 16, 8, 0, 2, 1),
    ROW("Cypress", "bp_parallel_oversample.alu", 2, 0, 2, 2, 0, 0, 0, 0, 32, 8, 4, 0, 2, 1),
    ROW("Cypress", "bp_parallel_oversample.alu_split", 4, 0, 2, 4, 0, 2, 0, 0, 32, 8, 4, 0, 2, 1),
    ROW("Tahiti", "bp_parallel_oversample.alu_write64", 1, 0, 2, 1, 0, 0, 0, 1, 64, 16, 8, 0, 3, 1),
    ROW("Tahiti", "bp_parallel_oversample.alu", 2, 0, 2, 2, 0, 0, 0, 0, 32, 4, 8, 0, 3, 1),
    ROW("Tahiti", "bp_parallel_oversample.alu_split", 4, 0, 2, 4, 0, 2, 0, 0, 32, 4, 4, 0, 3, 1),
    ROW("Hawaii", "bp_parallel_oversample.alu", 1, 0, 2, 1, 0, 0, 0, 0, 64, 16, 8, 0, 0, 1),
    ROW("Hawaii", "bp_parallel_oversample.alu_split", 2, 0, 2, 2, 0, 1, 0, 0, 32, 4, 8, 0, 0, 1),
    ROW("Hawaii", "bp_parallel_oversample.alu_split", 4, 0, 2, 4, 0, 1, 0, 0, 32, 4, 4, 0, 0, 1),
};
/* clang-format on */

const size_t qb__tuning_paper_count = sizeof qb__tuning_paper_rows / sizeof qb__tuning_paper_rows[0];

/* The paper's card with the architecture of a device: by compute capability, or by the chip name of AMD's OpenCL. */
const char *qb__tuning_paper_card(const qb__device_info *device) {
    static const struct {
        int from, below;
        const char *card;
    } nvidia[] = {{13, 20, "GeForce GTX 295"},   {20, 30, "GeForce GTX 580"}, {30, 35, "GeForce GTX 680"},
                  {35, 50, "GeForce GTX TITAN"}, {50, 60, "GeForce GTX 980"}, {60, 70, "TITAN X (Pascal)"}};
    static const struct {
        const char *chip, *card;
    } amd[] = {{"Cypress", "Cypress"},  {"Hemlock", "Cypress"}, {"Juniper", "Cypress"}, {"Barts", "Cypress"},
               {"Cayman", "Cypress"},   {"Tahiti", "Tahiti"},   {"Pitcairn", "Tahiti"}, {"Capeverde", "Tahiti"},
               {"Hawaii", "Hawaii"},    {"Bonaire", "Hawaii"},  {"Tonga", "Hawaii"},    {"Fiji", "Hawaii"},
               {"Ellesmere", "Hawaii"}, {"Baffin", "Hawaii"},   {"gfx8", "Hawaii"},     {"gfx9", "Hawaii"}};
    for (size_t i = 0; i < sizeof nvidia / sizeof *nvidia; i++)
        if (device->arch >= nvidia[i].from && device->arch < nvidia[i].below) return nvidia[i].card;
    for (size_t i = 0; i < sizeof amd / sizeof *amd; i++)
        if (strncmp(device->name, amd[i].chip, strlen(amd[i].chip)) == 0) return amd[i].card;
    return NULL;
}

/* "NVIDIA GeForce GTX 980 (OpenCL)" is a "GeForce GTX 980": drivers add different prefixes, and the parameters hold for
 * both APIs. */
static bool is_card(const char *device, const char *card) {
    const char *maker = "NVIDIA ";
    if (strncmp(device, maker, strlen(maker)) == 0) device += strlen(maker);
    const size_t n = strlen(card);
    return strncmp(device, card, n) == 0 && (device[n] == '\0' || strcmp(device + n, " (OpenCL)") == 0);
}

/* The fastest entry is used for many slices; without speeds, the entry with most slices per fetch. */
static bool better(const qb__tuning_shipped *row, const qb__tuning_shipped *best) {
    if (!best || row->entry.giga_updates > best->entry.giga_updates) return true;
    return row->entry.giga_updates >= best->entry.giga_updates && row->key.slices > best->key.slices;
}

bool qb__tuning_paper_find(const qb__tuning_key *key, bool few, qb__tuning_entry *entry) {
    const qb__tuning_shipped *best = NULL;
    for (size_t i = 0; i < qb__tuning_paper_count; i++) {
        const qb__tuning_shipped *row = &qb__tuning_paper_rows[i];
        if (strcmp(row->key.variant, key->variant) || !is_card(key->device, row->key.device)) continue;
        if (few ? row->key.slices == key->slices : better(row, best)) best = row;
    }
    if (best) *entry = best->entry;
    return best != NULL;
}
