/* SPDX-License-Identifier: MIT */
#include "recon/convert/conversion.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "prep/paganin.h"

static const double pi = 3.14159265358979323846;

static qb_status beta_of_delta(const qb_scan_info *info, const qb_prep_options *prep, double delta, double *beta) {
    qb__paganin p = {.delta_beta = 0};
    bool wanted = false;
    qb_status status = prep ? qb__paganin_wanted(prep, &wanted) : QB_OK;
    if (status == QB_OK && wanted) status = qb__paganin_of(info, NULL, prep, &p);
    if (status == QB_OK && !(p.delta_beta > 0))
        status = qb__fail(QB_BAD_ARGUMENT,
                          "--thickness delta:%g needs delta/beta: give --paganin DELTA_BETA, or beta:B", delta);
    if (status == QB_OK) *beta = delta / p.delta_beta;
    return status;
}

static qb_status check(const char *text, double mu) {
    const double LEAST = 1e-6, MOST = 1e6;
    if (mu >= LEAST && mu <= MOST) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "--thickness %s: an attenuation of %.3g/mm is of no material: give %g to %g in 1/mm", text, mu,
                    LEAST, MOST);
}

qb_status qb__thickness_of(const char *text, const qb_scan_info *info, const qb_prep_options *prep, double *mu) {
    const bool beta = text && strncmp(text, "beta:", 5) == 0, delta = text && strncmp(text, "delta:", 6) == 0;
    const char *number = beta ? text + 5 : delta ? text + 6 : text;
    const double energy = prep && prep->energy > 0 ? prep->energy : info->energy;
    char *end;
    *mu = 1;
    if (!text) return QB_OK;
    *mu = qb__strtod(number, &end);
    if (end == number || *end || !(*mu > 0) || !isfinite(*mu))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--thickness %s: give the attenuation of the material in 1/mm, or beta:B or delta:D of its "
                        "refractive index, above 0",
                        text);
    if (!beta && !delta) return check(text, *mu);
    if (!(energy > 0))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--thickness %s needs the energy of the beam, as --paganin does: give --energy KEV with it, or "
                        "the attenuation in 1/mm",
                        text);
    const qb_status status = delta ? beta_of_delta(info, prep, *mu, mu) : QB_OK;
    *mu *= 4 * pi * energy / qb__paganin_hc;
    return status == QB_OK ? check(text, *mu) : status;
}
