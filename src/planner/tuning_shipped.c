/* SPDX-License-Identifier: MIT */
#include "planner/tuning_shipped.h"

/* Our measurements: 1024 x 1024 pixels, 1024 views, 128 slices; CUDA, parameters found by `qb tune`. */
#define ROW(device, kernel, slices, columns, speed, ...)                                                               \
    {                                                                                                                  \
        {device, kernel, slices, columns}, { {__VA_ARGS__}, speed }                                                    \
    }

/* clang-format off */
const qb__tuning_shipped qb__tuning_shipped_rows[] = {
    /* 512^2 pixels, 1024 views, 512^3 voxels. */
    ROW("NVIDIA H200", "bp_cone_circular.float", 1, 512, 1301, 0, 0, 40, 2, 4, 8, 2, 0, 8, 0, 0),
    ROW("NVIDIA H200", "bp_cone_circular.float-local", 1, 512, 1643, 0, 0, 40, 2, 8, 8, 1, 4, 12, 2, 1),
    ROW("NVIDIA H200", "bp_cone_circular.half-local", 1, 512, 2809, 0, 1, 41, 1, 4, 8, 2, 4, 12, 2, 1),
    ROW("NVIDIA H200", "bp_cone_circular.half", 1, 512, 1989, 0, 1, 41, 1, 2, 8, 4, 0, 8, 0, 0),
    ROW("NVIDIA H200", "bp_cone_circular.texture", 1, 512, 3147, 1, 1, 40, 4, 1, 8, 4, 0, 8, 0, 0),
    ROW("NVIDIA H200", "bp_cone_matrix.alu", 1, 512, 764, 0, 16, 16, 32, 4),
    ROW("NVIDIA H200", "bp_cone_matrix.texture", 1, 512, 1077, 1, 16, 16, 32, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.alu", 128, 1024, 3922, 0, 2, 0, 0, 0, 0, 64, 16, 16, 1, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.alu_difference", 128, 1024, 3989, 0, 2, 0, 0, 1, 0, 64, 16, 16, 1, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.alu_half", 128, 1024, 3796, 0, 4, 1, 0, 0, 0, 64, 16, 8, 1, 2, 2),
    ROW("NVIDIA H200", "bp_parallel_linear.alu_half_sums", 128, 1024, 7167, 0, 8, 2, 0, 0, 0, 32, 8, 8, 1, 2, 1),
    ROW("NVIDIA H200", "bp_parallel_linear.alu_split", 128, 1024, 3971, 0, 4, 0, 2, 0, 0, 64, 16, 8, 1, 2, 2),
    ROW("NVIDIA H200", "bp_parallel_linear.alu_write64", 128, 1024, 2709, 0, 1, 0, 0, 0, 1, 64, 8, 16, 1, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.hybrid", 128, 1024, 3835, 0, 2, 1, 64, 16, 16, 2, 4, 2),
    ROW("NVIDIA H200", "bp_parallel_linear.tensor", 128, 1024, 26781, 0, 8, 4, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.tensor_split", 128, 1024, 8866, 1, 8, 4, 1),
    ROW("NVIDIA H200", "bp_parallel_linear.texture", 128, 1024, 1546, 0, 2, 0, 0, 1, 1, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.texture_four_views", 128, 1024, 2002, 0, 2, 0, 1, 4, 4, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.texture_four_views_half", 128, 1024, 3972, 0, 4, 1, 1, 4, 4, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.texture_half", 128, 1024, 3089, 0, 4, 1, 0, 1, 1, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.texture_zorder", 128, 1024, 2025, 0, 2, 0, 1, 4, 1, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_linear.texture_zorder_half", 128, 1024, 4015, 0, 4, 1, 1, 4, 1, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.alu", 128, 1024, 7163, 1, 2, 0, 0, 0, 0, 64, 16, 16, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.alu_half", 128, 1024, 8265, 1, 4, 1, 0, 0, 0, 64, 16, 8, 0, 2, 2),
    ROW("NVIDIA H200", "bp_parallel_nearest.alu_half_sums", 128, 1024, 12407, 1, 8, 2, 0, 0, 0, 32, 8, 8, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.alu_split", 128, 1024, 7337, 1, 4, 0, 2, 0, 0, 64, 16, 8, 0, 2, 2),
    ROW("NVIDIA H200", "bp_parallel_nearest.alu_write64", 128, 1024, 4582, 1, 1, 0, 0, 0, 1, 64, 16, 16, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.hybrid", 128, 1024, 6352, 1, 2, 0, 64, 16, 16, 2, 4, 1),
    ROW("NVIDIA H200", "bp_parallel_nearest.texture", 128, 1024, 2002, 1, 2, 0, 0, 1, 1, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.texture_four_views", 128, 1024, 2008, 1, 2, 0, 1, 4, 4, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.texture_four_views_half", 128, 1024, 3992, 1, 4, 1, 1, 4, 4, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.texture_half", 128, 1024, 3993, 1, 4, 1, 0, 1, 1, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.texture_zorder", 128, 1024, 2038, 1, 2, 0, 1, 4, 1, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_nearest.texture_zorder_half", 128, 1024, 4085, 1, 4, 1, 1, 4, 1, 0, 2, 4),
    ROW("NVIDIA H200", "bp_parallel_oversample.alu", 128, 1024, 3826, 2, 2, 0, 0, 0, 0, 32, 8, 8, 0, 2, 1),
    ROW("NVIDIA H200", "bp_parallel_oversample.alu_split", 128, 1024, 5349, 2, 4, 0, 1, 0, 0, 64, 16, 4, 0, 2, 2),
    ROW("NVIDIA H200", "bp_parallel_oversample.alu_write64", 128, 1024, 2870, 2, 1, 0, 0, 0, 1, 64, 8, 8, 0, 2, 1),
    /* OpenCL, with the first parameters: bench/results/NVIDIA-H200.json. */
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.alu", 128, 1024, 3883, 0, 2, 0, 0, 0, 0, 64, 16, 8, 1, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.alu_difference", 128, 1024, 3532, 0, 1, 0, 0, 1, 0, 64, 16, 16, 1, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.alu_half", 128, 1024, 3053, 0, 4, 1, 0, 0, 0, 64, 16, 8, 1, 2, 2),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.alu_split", 128, 1024, 2687, 0, 4, 0, 2, 0, 0, 64, 16, 8, 1, 2, 2),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.alu_write64", 128, 1024, 2746, 0, 1, 0, 0, 0, 1, 64, 16, 16, 1, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.hybrid", 128, 1024, 3323, 0, 2, 1, 64, 16, 16, 2, 4, 2, 0),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.texture", 128, 1024, 1540, 0, 2, 0, 0, 1, 1, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.texture_four_views", 128, 1024, 1993, 0, 2, 0, 1, 4, 4, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.texture_four_views_half", 128, 1024, 3974, 0, 4, 1, 1, 4, 4, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.texture_half", 128, 1024, 3085, 0, 4, 1, 0, 1, 1, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.texture_zorder", 128, 1024, 2020, 0, 2, 0, 1, 4, 1, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_linear.texture_zorder_half", 128, 1024, 4026, 0, 4, 1, 1, 4, 1, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.alu", 128, 1024, 7083, 1, 2, 0, 0, 0, 0, 64, 16, 16, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.alu_half", 128, 1024, 8336, 1, 4, 1, 0, 0, 0, 64, 16, 8, 0, 2, 2),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.alu_split", 128, 1024, 5932, 1, 4, 0, 2, 0, 0, 64, 16, 8, 0, 2, 2),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.alu_write64", 128, 1024, 4709, 1, 1, 0, 0, 0, 1, 64, 16, 16, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.hybrid", 128, 1024, 5372, 1, 2, 0, 64, 16, 16, 2, 4, 1, 0),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.texture", 128, 1024, 2004, 1, 2, 0, 0, 1, 1, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.texture_four_views", 128, 1024, 1999, 1, 2, 0, 1, 4, 4, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.texture_four_views_half", 128, 1024, 3983, 1, 4, 1, 1, 4, 4, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.texture_half", 128, 1024, 4008, 1, 4, 1, 0, 1, 1, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.texture_zorder", 128, 1024, 2045, 1, 2, 0, 1, 4, 1, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_nearest.texture_zorder_half", 128, 1024, 4060, 1, 4, 1, 1, 4, 1, 0, 2, 4),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_oversample.alu", 128, 1024, 3882, 2, 2, 0, 0, 0, 0, 32, 8, 8, 0, 2, 1),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_oversample.alu_split", 128, 1024, 4863, 2, 4, 0, 1, 0, 0, 64, 16, 4, 0, 2, 2),
    ROW("NVIDIA H200 (OpenCL)", "bp_parallel_oversample.alu_write64", 128, 1024, 2709, 2, 1, 0, 0, 0, 1, 32, 8, 8, 0, 2, 1),
};
/* clang-format on */

const size_t qb__tuning_shipped_count = sizeof qb__tuning_shipped_rows / sizeof qb__tuning_shipped_rows[0];
