/* SPDX-License-Identifier: MIT */
/* Pixels behind collimator blades: their flats differ from darks only by noise, half of them upwards. They are set to
 * the dark, which is a dead flat. */
#include "base/select.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"

/* In comparison with a beam so many times as strong, a beam below SIGMAS times the noise of one dark frame is no
 * information about the object. */
qb_status qb__shade_flats(float *flat, const float *dark, size_t n, float noise) {
    const float SIGMAS = 3, BRIGHT = 100, least = SIGMAS * noise;
    size_t count = 0;
    float *beam;
    if (!flat || !dark || !(least > 0)) return QB_OK;
    QB__OR_RETURN(qb__alloc(n, sizeof *beam, &beam));
    for (size_t i = 0; i < n; i++)
        if (flat[i] > dark[i]) beam[count++] = flat[i] - dark[i];
    const bool bright = count > 0 && qb__float_at(beam, count, count / 2) > BRIGHT * least;
    for (size_t i = 0; bright && i < n; i++)
        if (flat[i] - dark[i] < least) flat[i] = dark[i];
    qb__free(beam);
    return QB_OK;
}
