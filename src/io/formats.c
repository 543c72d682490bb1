/* SPDX-License-Identifier: MIT */
#include "io/formats.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "quickbeam/io.h"

#define FORMAT(kind, endings, words, ...)                                                                              \
    { .name = kind, .extensions = endings, .line = words, __VA_ARGS__ }
#define START(text)                                                                                                    \
    { text, sizeof text - 1 }

static const qb__format formats[] = {
    {
        .name = "HDF5",
        .extensions = " .h5 .hdf5 .hdf .nxs .nx ",
#ifdef QB_HAVE_HDF5
        .line = "HDF5 (.h5 .hdf5 .nxs): reads DataExchange and NXtomo scans and arrays; writes "
                "volumes and DataExchange scans",
        .open = qb__hdf5_open,
        .scan = qb__hdf5_scan,
        .writer = &qb__hdf5_writer,
        .provenance = qb__hdf5_provenance,
#else
        .line = "HDF5 (.h5 .hdf5 .nxs): missing, install libhdf5-dev and build again",
        .package = "libhdf5-dev",
#endif
        .starts = {START("\x89HDF\r\n\x1a\n")},
    },
    {
        .name = "TIFF",
        .extensions = " .tif .tiff .btf ",
#ifdef QB_HAVE_TIFF
        .line = "TIFF (.tif .tiff, folders, patterns): reads stacks and multi-page files, 8 to 64 "
                "bits, compressed, BigTIFF; writes all three, and OME-TIFF (.ome.tif)",
        .open = qb__tiff_open,
        .provenance = qb__tiff_provenance,
#else
        .line = "TIFF (.tif .tiff, folders, patterns): writes; to read, install libtiff-dev and "
                "build again",
        .package = "libtiff-dev",
#endif
        .starts = {START("II*\0"), START("II+\0"), START("MM\0*"), START("MM\0+")},
        .series = true,
        .writer = &qb__tiff_writer,
    },
    FORMAT("MetaImage", " .mha .mhd ",
           "MetaImage (.mha .mhd): reads and writes data in the file or in one next to it, also compressed",
           .starts = {START("ObjectTy"), START("NDims = ")}, .open = qb__mha_open, .writer = &qb__mha_writer,
           .provenance = qb__mha_provenance),
    FORMAT("NPY", " .npy ", "NPY (.npy): reads versions 1 to 3, C and Fortran order; writes, with a .json next to it",
           .starts = {START("\x93NUMPY")}, .open = qb__npy_open, .scan = qb__sidecar_scan, .writer = &qb__npy_writer,
           .provenance = qb__sidecar_provenance),
    FORMAT("raw", " .raw .bin .dat .img ",
           "raw (.raw .bin .dat .img, folders, patterns): reads with --shape or our .json next to it; writes, with a "
           ".json next to it",
           .open = qb__raw_open, .series = true, .scan = qb__sidecar_scan, .writer = &qb__raw_writer,
           .provenance = qb__sidecar_provenance),
    FORMAT("NRRD", " .nrrd .nhdr ",
           "NRRD (.nrrd .nhdr): reads raw and gzip data, in the file or in one next to it; writes .nrrd, also gzip, "
           "with a .json next to it",
           .starts = {START("NRRD000")}, .open = qb__nrrd_open, .scan = qb__sidecar_scan, .writer = &qb__nrrd_writer,
           .provenance = qb__sidecar_provenance),
    FORMAT("Zarr", " .zarr ",
           "OME-Zarr (.zarr, .ome.zarr): reads and writes 0.5 and 0.4 at several resolutions, chunks by gzip, zstd and "
           "blosc",
           .open = qb__zarr_open, .scan = qb__zarr_scan, .store = true, .writer = &qb__zarr_writer,
           .provenance = qb__zarr_provenance),
    FORMAT("MRC", " .mrc .mrcs .rec .ali .st ",
           "MRC (.mrc .mrcs .rec .ali .st): reads and writes modes 0, 1, 2, 6 and 12, with a .json next to them",
           .open = qb__mrc_open, .scan = qb__mrc_scan, .writer = &qb__mrc_writer, .provenance = qb__sidecar_provenance),
    FORMAT("NIfTI", " .nii .nii.gz ",
           "NIfTI (.nii .nii.gz): reads versions 1 and 2; writes both, with a .json next to them",
           .open = qb__nifti_open, .scan = qb__sidecar_scan, .writer = &qb__nifti_writer,
           .provenance = qb__sidecar_provenance),
    FORMAT("vol", " .vol .vgi .info .pcr ",
           "VGStudio and PyHST (.vol with .vgi or .vol.info): reads and writes both, with a .json next to them; reads "
           "phoenix (.vol with .pcr)",
           .open = qb__vol_open, .scan = qb__sidecar_scan, .writer = &qb__vol_writer,
           .provenance = qb__sidecar_provenance),
    FORMAT("DEN", " .den ", "DEN (.den): reads and writes the legacy kind, with a .json next to it",
           .open = qb__den_open, .scan = qb__sidecar_scan, .writer = &qb__den_writer,
           .provenance = qb__sidecar_provenance),
    {
        .name = "FITS",
        .extensions = " .fits .fit .fts .fz ",
#ifdef QB_HAVE_CFITSIO
        .line = "FITS (.fits .fit .fts): reads images, also compressed in tiles (.fits.fz)",
#else
        .line = "FITS (.fits .fit .fts): reads images; to read compressed ones, install libcfitsio-dev and build again",
#endif
        .starts = {START("SIMPLE  ")},
        .open = qb__fits_open,
    },
    {
        .name = "PNG",
        .extensions = " .png ",
#ifdef QB_HAVE_PNG
        .line = "PNG (.png, folders, patterns): reads grey levels of 1 to 16 bits, of colours the first channel",
        .open = qb__png_open,
#else
        .line = "PNG (.png): missing, install libpng-dev and build again",
        .package = "libpng-dev",
#endif
        .starts = {START("\x89PNG\r\n\x1a\n")},
        .series = true,
    },
    {
        .name = "JPEG 2000",
        .extensions = " .jp2 .j2k .j2c ",
#ifdef QB_HAVE_OPENJPEG
        .line =
            "JPEG 2000 (.jp2 .j2k, folders, patterns): reads grey levels of 1 to 16 bits, of colours the first channel",
        .open = qb__jp2_open,
#else
        .line = "JPEG 2000 (.jp2 .j2k): missing, install libopenjp2-7-dev and build again",
        .package = "libopenjp2-7-dev",
#endif
        .starts = {START("\0\0\0\x0cjP  "), START("\xff\x4f\xff\x51")},
        .series = true,
    },
    FORMAT("MATLAB", " .mat ", "MATLAB (.mat): reads arrays of versions 5 to 7; those of 7.3 are HDF5",
           .starts = {START("MATLAB 5")}, .open = qb__mat_open, .scan = qb__mat_scan),
    FORMAT("EDF", " .edf .edf.gz ",
           "EDF of ESRF (.edf .edf.gz, folders, patterns): reads images, one or several a file", .open = qb__edf_open,
           .series = true),
    FORMAT("sv-mbirct", " .sinoparams .imgparams .2dsinodata .2dweightdata .2dprojection .2dimgdata ",
           "sv-mbirct (.sinoparams .imgparams, slices next to them): reads scans of parallel beams and fans, weights "
           "and images; writes images, as BASE_slice%04d.2Dimgdata, and scans of parallel beams, as BASE.sinoparams",
           .open = qb__mbirct_open, .scan = qb__mbirct_scan, .writer = &qb__mbirct_writer,
           .provenance = qb__sidecar_provenance),
    FORMAT("Nikon", " .xtekct ", "Nikon (.xtekct, TIFF next to it): reads cone-beam scans with their geometry",
           .open = qb__vendor_open, .scan = qb__nikon_scan),
    FORMAT("SkyScan", " .log ", "SkyScan (.log of Bruker, TIFF next to it): reads cone-beam scans with their geometry",
           .open = qb__vendor_open, .scan = qb__skyscan_scan),
    FORMAT("phoenix", " .pca ", "phoenix (.pca of GE, TIFF next to it): reads cone-beam scans with their geometry",
           .open = qb__vendor_open, .scan = qb__phoenix_scan),
    FORMAT("NSI", " .nsipro ",
           "NSI (.nsipro of North Star Imaging, TIFF in Radiographs... next to it): reads cone-beam scans with their "
           "geometry",
           .open = qb__vendor_open, .scan = qb__nsi_scan),
    FORMAT("Diondo", " .xml ", "Diondo (.xml, raw in Projection next to it): reads cone-beam scans with their geometry",
           .open = qb__vendor_open, .scan = qb__cabinet_scan),
    FORMAT("YXLON", " .txt ",
           "YXLON (ScanParameter.xml or .txt, TIFF or raw in Projections next to it): reads cone-beam scans with their "
           "geometry",
           .open = qb__vendor_open, .scan = qb__cabinet_scan),
    FORMAT("Zeiss", " .txrm .txm .xrm ",
           "Zeiss (.txrm .xrm .txm, folders of .xrm): reads scans with flats, shifts and geometry, and volumes",
           .starts = {START("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")}, .open = qb__zeiss_open, .scan = qb__zeiss_scan,
           .series = true),
    FORMAT("Varian", " .xim .hnd .hnc ",
           "Varian (.xim .hnd .hnc, folders, patterns): reads views with Scan.xml or ProjectionInfo.xml near them",
           .open = qb__varian_open, .scan = qb__varian_scan, .series = true),
    FORMAT("Elekta", " .his ", "Elekta (.his, folders, patterns): reads views with NAME_Frames.xml next to them",
           .open = qb__elekta_open, .scan = qb__elekta_scan, .series = true),
    FORMAT("DICOM", " .dcm .ima ",
           "DICOM (.dcm, folders, patterns): reads slices, and projections of clinical scanners (DICOM-CT-PD) with "
           "their geometry; writes CT slices",
           .open = qb__dicom_open_any, .scan = qb__dicom_scan, .geometry = qb__ct_pd_geometry, .series = true,
           .writer = &qb__dicom_writer, .provenance = qb__dicom_provenance),
    FORMAT("simulated", " .sim ",
           "simulated (.sim): a scan of qb simulate that is computed when it is read, view by view",
           .open = qb__simulated_open, .scan = qb__simulated_scan, .writer = &qb__simulated_writer),
    FORMAT("nothing", "", "/dev/null: computes, and writes nothing", .writer = &qb__nothing_writer),
    /* No file name leads to this format: qb_scan_from_tensor and qb_output_options use it directly. */
    FORMAT("array", "",
           "arrays in memory (qb_tensor of the C API): reads any type and strides; writes float32, float16, uint16 and "
           "uint8",
           .writer = &qb__tensor_writer),
};
static const size_t format_count = sizeof formats / sizeof formats[0];

size_t qb_format_count(void) { return format_count; }

const char *qb_format_line(size_t index) { return index < format_count ? formats[index].line : ""; }

/* The format by the letters after the last dot. */
static const qb__format *by_name(const char *path) {
    char key[16] = " ";
    const size_t length = strlen(path);
    if (length > 6 && strcmp(path + length - 6, ".zarr/") == 0) path = "v.zarr";
    const char *dot = qb__ending(path), *slash = strrchr(path, '/');
    if (!dot || (slash && slash > dot) || strlen(dot) > 13) return NULL;
    size_t n = 1;
    for (; *dot; dot++) key[n++] = (char)tolower((unsigned char)*dot);
    key[n++] = ' ';
    key[n] = 0;
    for (size_t i = 0; i < format_count; i++)
        if (strstr(formats[i].extensions, key)) return &formats[i];
    return NULL;
}

/* Kinds of files that are often taken for scans, and what to do with them. */
static const struct {
    const char *begins, *text;
} strangers[] = {
    {"PK\3\4", "a ZIP archive, as .npz and .xlsx are: save one array of it with numpy.save"},
    {"\xff\xd8\xff", "a JPEG picture: save the views as TIFF"},
    {"\x1f\x8b", "compressed by gzip: unpack it with gunzip"},
    {"\x80\x04\x95", "a Python pickle: save its array with numpy.save"},
};

static const char *stranger(const char *path) {
    char head[16] = {0};
    const char *text = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? 0 : pread(fd, head, sizeof head, 0);
    for (size_t i = 0; got > 0 && i < sizeof strangers / sizeof *strangers; i++)
        if (memcmp(head, strangers[i].begins, strlen(strangers[i].begins)) == 0) text = strangers[i].text;
    const bool dicom = got > 0 && pread(fd, head, 4, 128) == 4 && memcmp(head, "DICM", 4) == 0;
    if (dicom && !text) text = "a DICOM file: end its name in .dcm";
    if (fd >= 0) close(fd);
    return text;
}

static const qb__format *named(const char *name) {
    for (size_t i = 0; i < format_count; i++)
        if (strcmp(formats[i].name, name) == 0) return &formats[i];
    return NULL;
}

static bool begins(const qb__format *format, const unsigned char head[8]) {
    for (int i = 0; i < QB__STARTS_MOST && format->starts[i].length; i++)
        if (memcmp(head, format->starts[i].bytes, format->starts[i].length) == 0) return true;
    return false;
}

/* The format by the first bytes. An HDF5 file may begin with a block of the user, as MATLAB's files (v7.3) do: of 512
 * bytes or a power of two times that. */
static const qb__format *by_content(const char *path, int *fault) {
    enum { BLOCK = 512, BLOCK_MOST = 1 << 20 };
    const qb__format *found = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        *fault = errno;
        return NULL;
    }
    for (off_t at = 0; !found && at <= BLOCK_MOST; at = at ? 2 * at : BLOCK) {
        unsigned char head[8] = {0};
        const ssize_t got = pread(fd, head, sizeof head, at);
        if (got < 0) *fault = errno;
        if (got != (ssize_t)sizeof head) break;
        for (size_t i = 0; i < format_count && !found; i++)
            if (begins(&formats[i], head) && (at == 0 || &formats[i] == named("HDF5"))) found = &formats[i];
    }
    close(fd);
    return found;
}

bool qb__is_store(const char *path) {
    const qb__format *format = path ? by_name(path) : NULL;
    return format && format->store;
}

/* The format of a folder: that of its first file of a known kind that stores series. Raw files do not count, because
 * their names are not known. */
static const qb__format *in_folder(const char *path) {
    const qb__format *found = NULL;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        found = entry->d_name[0] != '.' ? by_name(entry->d_name) : NULL;
        if (found && (!found->series || found == named("raw"))) found = NULL;
    }
    if (folder) closedir(folder);
    return found;
}

/* Find a file. It may also be missing because a run was killed while it exchanged it for a new one; then that exchange
 * is finished first. */
static bool find(const char *path, struct stat *what) {
    if (stat(path, what) == 0) return true;
    if (errno != ENOENT) return false;
    char *folder = qb__folder_of(path);
    if (folder) qb__recover(folder, false, NULL);
    qb__free(folder);
    return stat(path, what) == 0;
}

qb_status qb__format_to_read(const char *path, const qb__format **format) {
    *format = NULL;
    struct stat what;
    const bool store = qb__is_store(path) || qb__is_zarr(path);
    if (store) {
        *format = named("Zarr");
        if (!find(path, &what)) return qb__fail_errno(errno, "opening", path);
    } else if (qb__is_folder(path) || qb__is_pattern(path)) {
        *format = qb__is_folder(path) ? in_folder(path) : by_name(path);
        if (!*format || !(*format)->series) *format = named("TIFF");
    } else {
        if (!find(path, &what)) return qb__fail_errno(errno, "opening", path);
        if (!S_ISREG(what.st_mode)) /* reading a pipe could wait for ever */
            return qb__fail(QB_BAD_INPUT, "%s is neither a file nor a folder", path);
        *format = by_name(path);
        const bool raw = *format == named("raw");
        int fault = 0;
        const qb__format *other = !*format || raw || (*format)->starts[0].length ? by_content(path, &fault) : NULL;
        if (fault) return qb__fail_errno(fault, "opening", path);
        const bool sure = other && (other == named("HDF5") || other == named("NPY"));
        if (other && (!raw || sure)) *format = other; /* raw data may begin like text, or like a TIFF's four bytes */
    }
    const char *known = *format ? NULL : stranger(path);
    if (known) return qb__fail(QB_UNSUPPORTED, "%s is %s", path, known);
    if (!*format)
        return qb__fail(QB_UNSUPPORTED,
                        "%s: neither its name nor its first bytes are of a format that this program knows", path);
    if ((*format)->package)
        return qb__fail(QB_UNSUPPORTED, "%s: this build cannot read %s; install %s and build again", path,
                        (*format)->name, (*format)->package);
    return QB_OK;
}

qb_status qb__format_to_write(const char *path, const qb__format **format) {
    const size_t n = strlen(path);
    *format = qb__is_nothing(path) ? named("nothing") : by_name(path);
    if (*format && (*format)->store) return QB_OK;
    if (*format && qb__is_folder(path) && path[n - 1] != '/')
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s is a folder, but its name is that of a file of kind %s: remove the folder, give another "
                        "name, or write %s/ for a TIFF stack in it",
                        path, (*format)->name, path);
    if (qb__is_folder(path)) *format = named("TIFF");
    if (!*format)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "%s: the name does not say which kind of file to write: end it in .h5, .zarr, .mha, .npy, .nrrd, .nii, "
            ".mrc, .vol, .den, .raw, .tif, name_%%05d.tif, name_%%05d.dcm or a folder that ends in /",
            path);
    if (!(*format)->writer && !(*format)->package)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s: %s is only read, not written; give .h5, .zarr, .mha, .npy, .nrrd, .nii, .mrc, .vol, .den, "
                        ".raw or .tif",
                        path, (*format)->name);
    if (!(*format)->writer)
        return qb__fail(QB_UNSUPPORTED, "%s: this build cannot write %s; install %s and build again", path,
                        (*format)->name, (*format)->package);
    return QB_OK;
}

char *qb__split_dataset(char *item) {
    char *at = access(item, F_OK) == 0 ? NULL : strstr(item, ":/");
    for (; at; at = strstr(at + 1, ":/")) {
        *at = 0;
        if (access(item, F_OK) == 0) return at + 1;
        *at = ':';
    }
    return NULL;
}

qb_status qb__source_open(const char *path, const char *how, qb__source **source) {
    const qb__format *format;
    *source = NULL;
    qb_status status = qb__format_to_read(path, &format);
    if (status == QB_OK) status = format->open(path, how, source);
    if (status == QB_OK) status = qb__source_check_holes(*source, NULL, 0, (*source)->shape[0], 1);
    if (status != QB_OK) {
        qb__source_close(*source);
        *source = NULL;
        return status;
    }
    qb__printable((*source)->quantity);
    qb__printable((*source)->units);
    return QB_OK;
}

qb_status qb_provenance_load(const char *path, char **json) {
    QB__NEED(path);
    QB__NEED(json);
    const qb__format *format;
    *json = NULL;
    qb_status status = qb__format_to_read(path, &format);
    if (status != QB_OK) return status;
    cJSON *object = NULL;
    if (format->provenance) status = format->provenance(path, &object);
    if (status == QB_OK && cJSON_IsObject(object)) *json = cJSON_Print(object);
    if (status == QB_OK && cJSON_IsObject(object) && !*json)
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its provenance", path);
    cJSON_Delete(object);
    return status;
}
