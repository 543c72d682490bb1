/* SPDX-License-Identifier: MIT */
/* Data for finding rings (prep/rings_find.c): means of neighbouring views, and how much columns change from view to
 * view. The operations and their order are those of the CPU, so that the bits are the same. An item handles one column
 * of a row. */

/* lines: [view - view0][at] of views view0 <= v < view1, where view0 is a multiple of `group`. last[at]: the view
 * before. Writes means[group of views][at] and adds to change[at] over all calls. `pixels`: number of positions `at`;
 * `all`: number of views. */
KERNEL void view_groups(GLOBAL const float *RESTRICT lines, GLOBAL float *RESTRICT last, GLOBAL float *RESTRICT means,
                        GLOBAL float *RESTRICT change, uint pixels, uint view0, uint view1, uint all, uint group) {
    const uint at = group_id(0) * (uint)local_size(0) + (uint)local_id(0);
    if (at >= pixels) return;
    float sum = 0.0f, changed = view0 ? change[at] : 0.0f, before = view0 ? last[at] : 0.0f;
    for (uint v = view0; v < view1; v++) {
        const float here = lines[(ulong)(v - view0) * pixels + at];
        const uint place = v % group;
        sum = place ? sum + here : here;
        if (v > 0) changed += here > before ? here - before : before - here;
        before = here;
        if (place + 1 < group && v + 1 < all) continue;
        means[(ulong)(v / group) * pixels + at] = group > 1 ? sum * (1.0f / (float)(place + 1)) : sum;
    }
    last[at] = before;
    change[at] = changed;
}
