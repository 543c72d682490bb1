/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* Read the terms of the cost from the options into m->settings and m->terms.weights_file. Of files only the shape is
 * read. */
qb_status qb__mbir_weights_decide(qb__mbir *m);
qb_status qb__mbir_prior_decide(qb__mbir *m);
/* The weights of neighbours that are used: as asked, else those for this geometry. */
const qb_numbers *qb__mbir_neighbours(const qb__mbir *m);
/* Read --start if it is a number, into m->terms.is_number and m->terms.constant. */
qb_status qb__mbir_start_number(qb__mbir *m);
