/* SPDX-License-Identifier: MIT */
/* A plane of a cone-beam volume in any direction: the grid becomes one slice that lies in the plane, and matrices map
 * its points. Weights and filter are those of the whole volume. */
#include "recon/fdk/fdk.h"

/* Reorders a vector from z, y, x to x, y, z. */
static void turn(const double zyx[3], double xyz[3]) {
    for (int i = 0; i < 3; i++) xyz[i] = zyx[2 - i];
}

void qb__fdk_turn_matrix(const qb_tool_plane *plane, double m[12]) {
    double right[3], down[3], at[3], way[4][3];
    turn(plane->right, right);
    turn(plane->down, down);
    turn(plane->at, at);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        way[0][i] = right[i], way[1][i] = down[i], way[3][i] = at[i];
        way[2][i] =
            right[j] * down[k] - right[k] * down[j]; /* the plane has one slice, so any direction across it is valid */
    }
    for (double *row = m; row < m + 12; row += 4) {
        const double x = row[0], y = row[1], z = row[2];
        for (int i = 0; i < 4; i++) row[i] = x * way[i][0] + y * way[i][1] + z * way[i][2] + (i == 3 ? row[3] : 0);
    }
}
