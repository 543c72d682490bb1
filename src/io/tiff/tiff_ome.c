/* SPDX-License-Identifier: MIT */
/* OME-TIFF (ome-model.readthedocs.io, OME/2016-06): the first image's description is XML with the axes, the type and
 * the voxel size. Our own lines and JSON are a description in it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/tiff/tiff_write.h"
#include "io/writer.h"

static const struct {
    qb_dtype dtype;
    const char *name;
} types[] = {{QB_U8, "uint8"},   {QB_I8, "int8"},   {QB_U16, "uint16"}, {QB_I16, "int16"},
             {QB_U32, "uint32"}, {QB_I32, "int32"}, {QB_F32, "float"},  {QB_F64, "double"}};

bool qb__tiff_is_ome(const char *path) {
    static const char *const ends[] = {".ome.tif", ".ome.tiff", ".ome.btf"};
    const size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (n > strlen(ends[i]) && strcasecmp(path + n - strlen(ends[i]), ends[i]) == 0) return true;
    return false;
}

static const char *type_of(qb_dtype dtype) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype) return types[i].name;
    return NULL;
}

qb_status qb__tiff_ome_check(const char *path, const qb_stack *stack, bool series) {
    if (series) return qb__fail(QB_BAD_ARGUMENT, "%s: OME-TIFF is written as one file: give NAME.ome.tif", path);
    if (type_of(stack->dtype)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: OME-TIFF has no %s; use .h5, .npy or .tif, or another --dtype", path,
                    qb_dtype_name(stack->dtype));
}

/* Characters that are special in XML: in JSON they are inside strings, where they can be escaped. */
static size_t put_plain(char *to, const char *from) {
    size_t n = 0;
    for (; *from; from++)
        if (strchr("<>&", *from))
            n += (size_t)sprintf(to + n, "\\u%04x", (unsigned)(unsigned char)*from);
        else
            to[n++] = *from;
    to[n] = 0;
    return n;
}

qb_status qb__tiff_ome_text(const qb_stack *s, const char *lines, const char *json, char **out) {
    enum { HEAD = 1024, WIDER = 6 };
    static const char start[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "
        "Creator=\"quickbeam\"><Image ID=\"Image:0\"><Description>\n";
    const bool views = qb__stack_is_projections(s);
    char *text, side[3][80] = {"", "", ""};
    *out = NULL;
    QB__OR_RETURN(qb__alloc(sizeof start + HEAD + WIDER * (strlen(lines) + strlen(json)) + 1, 1, &text));
    for (int i = 0; i < 3; i++)
        if (s->voxel[i] > 0)
            qb__print(side[i], sizeof side[i], " PhysicalSize%c=\"%.9g\" PhysicalSize%cUnit=\"mm\"", "XYZ"[i],
                      s -> voxel[i], "XYZ"[i]);
    size_t n = (size_t)sprintf(text, "%s", start);
    n += put_plain(text + n, lines);
    n += put_plain(text + n, json);
    snprintf(
        text + n, HEAD,
        "\n</Description><Pixels ID=\"Pixels:0\" DimensionOrder=\"%s\" Type=\"%s\" BigEndian=\"false\" SizeX=\"%zu\" "
        "SizeY=\"%zu\" SizeZ=\"%zu\" SizeC=\"1\" SizeT=\"%zu\"%s%s%s><Channel ID=\"Channel:0:0\" "
        "SamplesPerPixel=\"1\"/><TiffData IFD=\"0\" PlaneCount=\"%zu\"/></Pixels></Image></OME>\n",
        views ? "XYTZC" : "XYZCT", type_of(s->dtype), s->shape[2], s->shape[1], views ? 1 : s->shape[0],
        views ? s->shape[0] : 1, side[0], side[1], views ? "" : side[2], s->shape[0]);
    *out = text;
    return QB_OK;
}
