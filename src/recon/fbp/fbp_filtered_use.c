/* SPDX-License-Identifier: MIT */
#include "base/status.h"
#include "recon/fbp/fbp.h"
#include "recon/fbp/fbp_filtered.h"

qb_status qb_tool_filtered_use(qb_tool_filtered *filtered, const char *rows, qb_job *job) {
    qb__fbp *fbp = (qb__fbp *)qb__fbp_of(job);
    if (!fbp) return qb__fail(QB_UNSUPPORTED, "filtered rows are kept only for jobs of fbp");
    qb__filtered_name(filtered, rows);
    qb__fbp_read_less(fbp, filtered);
    return QB_OK;
}
