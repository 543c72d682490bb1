/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>

#include "controls.h"
#include "planes.h"
#include "server.h"

/* Slices that are computed from a scan when they are looked at. */

/* How a plane is computed: VIEW_WHOLE from the whole scan, VIEW_ROUGH quickly, from binned pixels and some of the
 * views. */
typedef enum view_level { VIEW_ROUGH, VIEW_WHOLE } view_level;

typedef struct view_progress {
    pthread_mutex_t lock;
    char what[48];
    double share; /* share of the work that is done, 0 to 1 */
} view_progress;

/* The voxel grid of one level. */
typedef struct view_grid {
    size_t n[3]; /* number of voxels along x, y, z */
    double voxel[3], offset[3];
} view_grid;

/* Line integrals that are made in the background and kept in memory: of the rough level, or of the whole scan where
 * there is none. */
typedef struct view_kept {
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_t thread;
    bool started, ending, failed;
    bool asked; /* A request needs the line integrals */
    volatile sig_atomic_t cancel;
    view_changes wanted; /* preparation that the page asks for */
    char wanted_key[256], made_key[256];
    bool made;
    float *lines, *spare; /* line integrals [view][row][column]; `spare` is being filled */
    qb_scan *scan;        /* scan that reads `lines` */
    int users;            /* number of jobs that read `scan` */
    size_t times;         /* how often the line integrals have been made */
    view_progress progress;
} view_kept;

/* The command that was started on the page. */
typedef struct view_job {
    pthread_t thread;
    bool started; /* there is a thread to be joined */
    int running;
    volatile sig_atomic_t cancel;
    view_changes changes;
    view_progress progress; /* progress of the command; its lock protects `words`, too */
    char words[400];        /* how the command ended */
} view_job;

/* What jobs of one level leave for later ones. */
typedef struct view_filtered {
    pthread_mutex_t lock; /* held by the job that uses `rows` */
    struct qb_tool_filtered *rows;
    char checked[320]; /* numbers that a job has checked; recon.lock_checked protects it */
} view_filtered;

struct view_live;

typedef struct view_recon {
    cli *c;
    struct view_live *live; /* running scan; NULL: the scan is a file */
    bool cone, fixed;       /* fixed: a geometry file states the axis or the detector */
    qb_scan *scan, *rough;
    size_t bin; /* voxels of the whole volume along a side of a rough voxel; 1: there is no rough level */
    view_grid grid, rough_grid;
    double rough_scale; /* factor for the values of the rough level */
    char kernel[64], units[24];
    char note[500];     /* what the page says at first; "": nothing */
    const char *output; /* output file of the command */
    view_planes planes;
    view_kept kept;
    view_filtered filtered[2]; /* [view_level] */
    pthread_mutex_t lock_checked;
    struct view_device *device; /* state of recon_device.c; NULL: all planes come from jobs of their own */
    pthread_mutex_t one_sharp;  /* held while a plane of the whole scan is computed: each takes all threads */
    view_progress sharp;
    view_job job;
    char *about;          /* JSON of /info */
    pthread_mutex_t lock; /* protects `about`, and the start of a command */
} view_recon;

/* Opens a running scan; `live` stays the caller's. */
qb_status view_recon_open_live(cli *c, bool cone, struct view_live *live, view_recon **recon);
/* Plans the volume. The scan is taken over, also where this fails. */
qb_status view_recon_open(cli *c, bool cone, qb_scan *scan, view_recon **recon);
void view_recon_close(view_recon *recon); /* NULL-safe */

/* recon_plane.c: computes a whole plane of one level into out[lines][points], as view_plane has it; QB_CANCELLED once
 * *gone is set. */
qb_status view_recon_plane(view_recon *recon, const view_changes *changes, view_level level, size_t axis, size_t index,
                           const volatile sig_atomic_t *gone, float *out);
/* Computes a plane of a cone beam, given in voxels of the rough level where there is one. */
struct qb_tool_plane;
qb_status view_recon_cone(view_recon *recon, const view_changes *changes, const struct qb_tool_plane *plane,
                          float *out);
/* Number of lines and points of a plane of view_recon_plane(). */
void view_recon_shape(const view_recon *recon, view_level level, size_t axis, size_t shape[2]);

/* Sets the column of the axis for a scan that is binned and cropped as `real` is. */
qb_status view_recon_aim(const qb_scan *real, qb_fbp_options *fbp);

/* Sets the grid of a level for slices from row 0 on. */
void view_recon_set_grid(const view_recon *recon, view_level level, qb_fbp_options *fbp);

/* recon_tv.c: computes one slice by qb tv, from its detector row alone. */
qb_status view_recon_tv(view_recon *recon, const view_changes *changes, view_level level, size_t index,
                        const volatile sig_atomic_t *gone, float *out);
/* Opens the file again with `bin` x `bin` pixels joined, and with fewer views where the options take all views. `rows`
 * is "R0:R1" of the whole detector, or NULL. */
qb_status view_recon_reopen(const view_recon *recon, size_t bin, const char *rows, qb_scan **scan);

/* recon_oblique.c */
bool view_recon_may_be_oblique(const view_recon *recon);
view_answer view_answer_oblique(view_recon *r, const char *query, const volatile sig_atomic_t *gone);

/* recon_device.c: planes of parallel beams only. */
qb_status view_device_open(view_recon *recon);
void view_device_close(view_recon *recon);
bool view_device_computes(const view_recon *recon); /* A GPU computes the planes */
/* Computes a plane on the GPU. QB_UNSUPPORTED, QB_NO_MEMORY: the CPU has to compute it. */
qb_status view_device_plane(view_recon *recon, const view_changes *changes, size_t axis, size_t index, float *out);
/* Computes a plane given in voxels of the rough level, where there is one. QB_UNSUPPORTED also while its line integrals
 * are being made. */
qb_status view_device_make(view_recon *recon, const view_changes *changes, const struct qb_tool_plane *plane,
                           float *out);
void view_device_add(cJSON *root, view_recon *recon); /* adds {"device": {"planes": 12, "milliseconds": 8.1}} */

/* recon_kept.c */
qb_status view_kept_open(view_recon *recon);
void view_kept_close(view_recon *recon);
/* The scan of the kept line integrals for these changes; the caller returns it by view_kept_release(). NULL: they are
 * still being made. */
qb_scan *view_kept_take(view_recon *recon, const view_changes *changes);
void view_kept_release(view_recon *recon);
bool view_kept_ready(view_recon *recon, const view_changes *changes);

/* recon_filtered.c: the scan is checked once for all planes, and rows are filtered once for all planes of parallel beams
 * along z. */
qb_status view_filtered_open(view_recon *recon);
void view_filtered_close(view_recon *recon);
/* Runs the job of a plane; `kept`: it reads the kept line integrals. */
qb_status view_filtered_run(view_recon *recon, view_level level, const view_changes *changes, bool kept, bool along_z,
                            qb_job *job, const qb_env *env);

/* recon_job.c */
void view_job_init(view_job *job);
/* Starts the command; returns NULL, or why it cannot start. */
const char *view_job_start(view_recon *recon, const view_changes *changes);
void view_job_stop(view_job *job);
void view_job_close(view_job *job); /* stops the command and waits for its end */
void view_job_add(cJSON *root, view_job *job);

/* recon_command.c: rows of the table in recon_answer.c */
view_answer view_answer_command(view_recon *r, const char *query, const volatile sig_atomic_t *gone);
view_answer view_answer_progress(view_recon *r, const char *query, const volatile sig_atomic_t *gone);
view_answer view_answer_run(view_recon *r, const char *query, const volatile sig_atomic_t *gone);
view_answer view_answer_stop(view_recon *r, const char *query, const volatile sig_atomic_t *gone);

/* recon_answer.c: answers the page's requests; `recon` is a view_recon. */
view_answer view_recon_answer(void *recon, const char *path, const char *query, const volatile sig_atomic_t *gone);
view_lane view_recon_lane(void *recon, const char *path, const char *query);
