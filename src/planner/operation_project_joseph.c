/* SPDX-License-Identifier: MIT */
/* Forward projection and its adjoint: qb project, sirt, cgls. */
#include "base/memory.h"
#include "base/status.h"
#include "cpu/project_joseph/project_joseph.h"
#include "kernels/project_joseph/project_joseph_device.h"
#include "planner/variants.h"

QB__TABLE(cpu_rows, qb__joseph_variants, .head)
QB__TABLE(device_rows, qb__joseph_device_variants, .head)

static double updates(const void *problem) {
    const qb__joseph_problem *p = problem;
    return (double)p->views * (double)(p->rows * p->columns) * (double)p->planes;
}

/* Parallel rays through few slices, which all kernels can compute. */
typedef struct usual_problem {
    qb__joseph_problem problem;
    qb_geometry geometry;
    qb_view view;
    qb_grid grid;
} usual_problem;

static qb_status usual(void **problem) {
    usual_problem *u;
    *problem = NULL;
    QB__OR_RETURN(qb__alloc(1, sizeof *u, &u));
    u->view = (qb_view){.source = {0, 1, 0}, .detector = {-256, 0, -4}, .u = {1, 0, 0}, .v = {0, 0, 1}};
    u->geometry = (qb_geometry){QB_BEAM_PARALLEL, 1, 8, 512, &u->view, 0, false, NULL};
    u->grid = (qb_grid){.n = {512, 512, 8}, .voxel = {1, 1, 1}};
    u->problem = (qb__joseph_problem){
        .views = 1, .rows = 8, .columns = 512, .planes = 512, .geometry = &u->geometry, .grid = &u->grid};
    *problem = u;
    return QB_OK;
}

/* The same problem, and with the detector rotated in its plane, which uses other programs. */
static qb_status plan(qb__device *device, const qb__variant *row, const void *problem, const int *values) {
    const usual_problem *straight = problem;
    usual_problem all[2] = {*straight, *straight};
    qb_status status = QB_OK;
    all[1].view.u[2] = 0.1, all[1].view.v[0] = -0.1;
    for (int i = 0; i < 2 && status == QB_OK; i++) {
        usual_problem *u = &all[i];
        qb__joseph_plan *made = NULL;
        u->geometry.view = &u->view;
        u->problem.geometry = &u->geometry, u->problem.grid = &u->grid;
        if (row->unusable(qb__device_info_of(device), &u->problem, values)) continue;
        qb__joseph_lay_out(&u->problem, values);
        status = qb__joseph_plan_create(device, &u->problem, (qb__joseph_most){u->grid.n[2], 1}, values, &made);
        qb__joseph_plan_destroy(made);
    }
    return status;
}

const qb__operation_row qb__operation_project_joseph = {.whose = "for forward projection",
                                                        .verb = "project",
                                                        .does = "projects",
                                                        .cpu = cpu_rows,
                                                        .devices = device_rows,
                                                        .updates = updates,
                                                        .columns_at = offsetof(qb__joseph_problem, columns),
                                                        .usual = usual,
                                                        .forget = qb__free,
                                                        .plan = plan};
