/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_REPORT_H
#define QB_RECON_MBIR_REPORT_H

#include "recon/mbir/mbir_descent.h"

/* Of voxels. */
const char *qb__mbir_units(const qb__mbir *m);
/* A slab whose slice 0 is `first` of the volume has come to its end: into what qb__mbir_descent_finish() reports. */
qb_status qb__mbir_note_slab(qb__mbir_descent *d, size_t first, const qb__checkpoint_slab *of);

#endif
