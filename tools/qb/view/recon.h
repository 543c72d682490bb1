/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_RECON_H
#define QB_VIEW_RECON_H

#include <pthread.h>

#include "controls.h"
#include "planes.h"
#include "server.h"

/* Slices that are computed from a scan when they are looked at. */

/* How a plane is computed: from all of the scan, or soon, from binned pixels and some of the views. */
typedef enum view_level { VIEW_ROUGH, VIEW_WHOLE } view_level;

typedef struct view_progress {
    pthread_mutex_t lock;
    char what[48];
    double share; /* 0 to 1 */
} view_progress;

/* The volume of one level. */
typedef struct view_grid {
    size_t n[3]; /* x, y, z */
    double voxel[3], offset[3];
} view_grid;

/* Line integrals of the rough level, which are made in the background and kept in memory. */
typedef struct view_kept {
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_t thread;
    bool started, ending, failed;
    bool asked; /* somebody wants them */
    volatile sig_atomic_t cancel;
    view_changes wanted; /* preparation that is asked for */
    char wanted_key[256], made_key[256];
    bool made;
    float *lines, *spare; /* [view][row][column]; being filled */
    qb_scan *scan;        /* of `lines` */
    int users;            /* jobs that read it */
    size_t times;         /* how often they have been made */
    view_progress progress;
} view_kept;

/* The command that the page has started. */
typedef struct view_job {
    pthread_t thread;
    bool started; /* there is a thread to be joined */
    int running;
    volatile sig_atomic_t cancel;
    view_changes changes;
    view_progress progress; /* its lock is that of `words`, too */
    char words[400];        /* how it ended */
} view_job;

struct view_live;

typedef struct view_recon {
    cli *c;
    struct view_live *live; /* the scan is being taken; NULL: it is a file */
    bool cone, fixed;       /* fixed: a file says where the axis or the detector is */
    qb_scan *scan, *rough;
    size_t bin; /* voxels of the whole volume a side of a rough one; 1: there is no rough level */
    view_grid grid, rough_grid;
    double rough_scale; /* of values of the rough level */
    char kernel[64], units[24];
    const char *output; /* what the command writes */
    view_planes planes;
    view_kept kept;
    struct view_device *device; /* NULL: the CPU computes */
    view_progress sharp;
    view_job job;
    char *about;          /* JSON of /info */
    pthread_mutex_t lock; /* of `about`, and while a job is started */
} view_recon;

/* Of a scan that is being taken, which stays the caller's. */
qb_status view_recon_open_live(cli *c, bool cone, struct view_live *live, view_recon **recon);
/* Plans the volume; the scan is its own, also after a failure. */
qb_status view_recon_open(cli *c, bool cone, qb_scan *scan, view_recon **recon);
void view_recon_close(view_recon *recon); /* NULL-safe */

/* recon_plane.c: a whole plane of one level, out[lines][points] as view_plane's; QB_CANCELLED once *gone. */
qb_status view_recon_plane(view_recon *recon, const view_changes *changes, view_level level, size_t axis, size_t index,
                           const volatile sig_atomic_t *gone, float *out);
/* Of cones, in voxels of the rough level, where there is one. */
struct qb_tool_plane;
qb_status view_recon_cone(view_recon *recon, const view_changes *changes, const struct qb_tool_plane *plane,
                          float *out);
/* Lines and points of such a plane. */
void view_recon_shape(const view_recon *recon, view_level level, size_t axis, size_t shape[2]);

/* The column of the axis, of a scan of the binned and cut views that `real` gives. */
qb_status view_recon_aim(const qb_scan *real, qb_fbp_options *fbp);

/* The grid of a level, slices from row 0 on. */
void view_recon_set_grid(const view_recon *recon, view_level level, qb_fbp_options *fbp);

/* recon_tv.c: one slice by qb tv, of its own row alone */
qb_status view_recon_tv(view_recon *recon, const view_changes *changes, view_level level, size_t index,
                        const volatile sig_atomic_t *gone, float *out);
/* The file once more, that many pixels a side in one, with fewer views where all are taken; `rows` "R0:R1" of the whole detector, or NULL. */
qb_status view_recon_reopen(const view_recon *recon, size_t bin, const char *rows, qb_scan **scan);

/* recon_oblique.c */
bool view_recon_may_be_oblique(const view_recon *recon);
view_answer view_answer_oblique(view_recon *r, const char *query, const volatile sig_atomic_t *gone);

/* recon_device.c: nothing of cones. */
qb_status view_device_open(view_recon *recon);
void view_device_close(view_recon *recon);
bool view_device_computes(const view_recon *recon); /* a GPU makes the planes */
/* QB_UNSUPPORTED, QB_NO_MEMORY: the CPU has to. */
qb_status view_device_plane(view_recon *recon, const view_changes *changes, size_t axis, size_t index, float *out);
/* A plane in voxels of the rough level, where there is one. QB_UNSUPPORTED also while its lines are being made. */
qb_status view_device_make(view_recon *recon, const view_changes *changes, const struct qb_tool_plane *plane,
                           float *out);
void view_device_add(cJSON *root, view_recon *recon); /* {"device": {"planes": 12, "milliseconds": 8.1}} */

/* recon_kept.c */
qb_status view_kept_open(view_recon *recon);
void view_kept_close(view_recon *recon);
/* The scan of the kept line integrals that these changes make, to be returned by view_kept_release; NULL: they are being made. */
qb_scan *view_kept_take(view_recon *recon, const view_changes *changes);
void view_kept_release(view_recon *recon);
bool view_kept_ready(view_recon *recon, const view_changes *changes);

/* recon_job.c */
void view_job_init(view_job *job);
/* NULL, or why not. */
const char *view_job_start(view_recon *recon, const view_changes *changes);
void view_job_stop(view_job *job);
void view_job_close(view_job *job); /* stops it and waits */
void view_job_add(cJSON *root, view_job *job);

/* recon_command.c: rows of the table in recon_answer.c */
view_answer view_answer_command(view_recon *r, const char *query, const volatile sig_atomic_t *gone);
view_answer view_answer_progress(view_recon *r, const char *query, const volatile sig_atomic_t *gone);
view_answer view_answer_run(view_recon *r, const char *query, const volatile sig_atomic_t *gone);
view_answer view_answer_stop(view_recon *r, const char *query, const volatile sig_atomic_t *gone);

/* recon_answer.c: what the page asks for; `recon` is a view_recon. */
view_answer view_recon_answer(void *recon, const char *path, const char *query, const volatile sig_atomic_t *gone);
view_lane view_recon_lane(void *recon, const char *path, const char *query);

#endif
