/* SPDX-License-Identifier: MIT */
/* What each warning means, how much it matters and what to do: shown by `qb help CODE` and in docs/warnings.md. */
#include "base/warning.h"

#include <string.h>

#include "quickbeam/env.h"

/* Sorted by code. The texts are short sentences for somebody who sees the warning for the first time. */
static const struct {
    const char *code, *text;
} rows[] = {
    {"air-for-flats", "The scan holds counts but no flat fields. The median of the air region of each view (--air) is "
                      "used as the open beam "
                      "for all pixels of that view. Differences between pixels stay in the data and become rings. Give "
                      "--flats FILE where "
                      "flats were measured."},
    {"air-level",
     "The region that --air names is much darker or brighter than the flat fields. An object inside that region makes "
     "all "
     "values of the view too small. Look at the views and choose a region that no view covers, or leave --air out."},
    {"alignment-frames", "Some frames are marked as alignment frames (image_key_control -1). They were taken to check "
                         "for movement and are not "
                         "used as projections. Nothing needs to be done."},
    {"angle-cap", "The weights of the views do not add up to the whole turn, because a range of angles was not "
                  "measured and nothing stands "
                  "in for it. All values are too low by about the share that is named. --angle-weights auto, the "
                  "default, lets the views "
                  "beside a gap stand for up to 25 degrees; capped and even do not. Where more is missing, sirt, tv "
                  "and mbir do better."},
    {"angle-gap",
     "A range of angles was not measured, and no opposite ray makes up for it. The views beside the gap stand in for "
     "what is "
     "missing. The mean values are right, but edges along the missing directions are blurred, and streaks run from "
     "them. Gaps of "
     "a few degrees do little harm. More views, or sirt, cgls or mbir, which need no angular weights, do better."},
    {"angle-line", "A line before the first number of an --angles file begins like a number but cannot be read as one, "
                   "such as 1,5 or nan. "
                   "It was left out as if it were a header, so all later angles may belong to the wrong views. Mend "
                   "that line, or put # in "
                   "front of a true header."},
    {"angle-span", "The views turn by another range than the stated angles: the centre of mass of the rows, and how "
                   "wide the object looks, move as "
                   "they would over half or twice that range. The image is wrong, mostly doubled or smeared. Check how "
                   "far the object turned during the "
                   "scan, and give --angles FROM:TO for it. A drift of the sample can look alike in rare cases."},
    {"angle-turns",
     "The angles cover more than four turns in small steps, or a step is more than a whole turn. Scans of many turns "
     "exist, "
     "but far more often the unit is not what the file says: degrees that are stated as radians, or thousandths of a "
     "degree. "
     "Look at the first and last angle (qb info SCAN) and give --angle-unit, or choose one turn by --views."},
    {"angle-unit", "Many angles lie within so few numbers that they could be a turn in radians. Nothing states a unit, "
                   "so they were taken as "
                   "degrees. If they are radians, give --angle-unit rad; if they are degrees, --angle-unit deg removes "
                   "this warning."},
    {"angles-guessed",
     "The file has no dataset rotation_angle in the usual place. A dataset whose name means a rotation and that has "
     "one "
     "number for each view was used. Check with qb info that these are the angles; else give --angles."},
    {"angles-misfit", "The centre of mass of each detector row should move as a sine of the angle, as the whole object "
                      "is seen. It moves otherwise, by more "
                      "than noise. The angles may belong to other views (another order, another scan), or the sample "
                      "moved during the scan. The image is blurred. "
                      "Check --angles, and look at the views."},
    {"angles-unreadable", "The file has a list of angles that cannot be read, so the scan is treated as one without "
                          "angles. The warning says what is "
                          "wrong with it. Give --angles FROM:TO or a file."},
    {"angles-unusable",
     "The angles in the file cannot be used: their number differs from that of the views, some are not numbers, or "
     "they "
     "cannot be read. Reconstruction needs one angle for each view. Give --angles FROM:TO or a file."},
    {"axes-order",
     "Every view of an object holds the same mass, so the sums of its line integrals are equal. Here the sums over the "
     "columns are, and those over the views are not: the axes are in another order than they are read, as in arrays "
     "(x, y, theta) or sinograms (column, view). Store [view][row][column]: in numpy transpose(2, 1, 0), or .T of a "
     "sinogram."},
    {"axis-leans", "The rotation axis is not parallel to the columns of the detector. With one column for all rows, "
                   "slices far from the "
                   "middle are blurred. Give --tilt with the printed value."},
    {"axis-outside", "The file states a rotation axis outside the detector. Such a number is usually a default, or has "
                     "another unit. It is "
                     "not used, and the axis is searched for. Give --center COLUMN when the axis is known."},
    {"beam-drift",
     "The brightness at one edge of the detector changes from view to view. If air is there, the beam was not "
     "constant, and "
     "all values are wrong by the logarithm of that change. Give --air with a region that is air in all views."},
    {"beam-level", "The brightness at one edge of the detector differs from that of the flat fields. If air is there, "
                   "the flats do not "
                   "match the scan, and all line integrals are off by a constant. Give --air with a region that is air "
                   "in all views."},
    {"being-written", "Another process has the HDF5 file open and adds to it, as detectors do (SWMR). What was there "
                      "when it was opened is read: "
                      "views that come later are left out, and angles or flats may not be there yet. Run again when "
                      "the file is complete."},
    {"beyond-detector",
     "The detector is turned about the beam, so rows of the reconstructed slices leave it on one side. The missing "
     "part was "
     "continued as --pad says, and values of these slices are less exact. Leave the slices out by --slices."},
    {"beyond-volume", "Rays that meet no voxel measured attenuation. The object is larger than the volume, or the "
                      "geometry is wrong. The "
                      "method puts what lies outside into the voxels that there are, mostly at the rim. Give a larger "
                      "--size (or --voxel), "
                      "and check the axis or the geometry."},
    {"bright-air", "Air is brighter in the views than the flat fields say: the beam, the exposure or the detector "
                   "changed between them. "
                   "All line integrals are too small by the logarithm of that factor, and values of the volume are too "
                   "low. --air auto "
                   "measures the open beam in each view; 99.9% takes the brightest pixels where no columns stay free. "
                   "Or give flats that "
                   "belong to the scan."},
    {"bright-object",
     "Many rows are brighter than open beam, so their line integrals are negative. No object does that. The sign may "
     "be "
     "wrong (ln instead of -ln), the values may be of another quantity, or the flats may not belong to the scan. Check "
     "--quantity, --flats and --air."},
    {"broken-links", "The HDF5 file has links to files or objects that are not there. Data behind them cannot be used. "
                     "Put the linked files "
                     "where the file expects them, or give --dataset."},
    {"center-cone",
     "The rotation axis was found with methods for parallel rays. In a cone-beam scan that is exact only near the "
     "middle "
     "row and with a narrow fan. Over a full turn the errors of the fan cancel; over less than a turn the axis may be "
     "off by "
     "a pixel or two. Check the result with a reconstruction, and use the geometry file where there is one."},
    {"center-doubt",
     "The methods that find the rotation axis disagree, or are not sure. A wrong axis doubles edges and bends small "
     "details "
     "into arcs. Reconstruct one slice for a range of columns with qb fbp --center A:B:STEP and choose the sharpest."},
    {"checkpoint-stopped", "The state of the reconstruction could not be kept, so no more checkpoints are written. The "
                           "run itself goes on and its "
                           "result is not affected. If it is interrupted, --resume can go on from the last checkpoint "
                           "that was written, if any. "
                           "The warning says what was wrong: make room on the disk, or give the folder another name."},
    {"collimation", "The RTK geometry says that a collimator covered parts of the detector. quickbeam uses all pixels. "
                    "Pixels behind the "
                    "jaws look like very dense matter. Cut them off, or set them to NaN."},
    {"column-ends", "The first or last rows of the detector see matter, so the object goes on above or below. "
                    "Iterative methods put what "
                    "lies beyond the volume into its end slices, which become much too bright. A taller volume has a "
                    "place for it: give the "
                    "printed --size, and do not use its end slices."},
    {"counts-negative",
     "A few counts are far below 0, which no detector gives. Most likely unsigned counts were stored as signed "
     "numbers: "
     "of 16 bits all above 32767 becomes negative. Values of the image are wrong there. --unsigned reads them as they "
     "were meant. Where most counts are so, the scan is refused."},
    {"darks-twice", "Counts lie far below the dark fields, which no detector gives. Most likely the dark was "
                    "subtracted from the views "
                    "already, and would be subtracted again. Dense parts then come out too dense. --darks none takes "
                    "the dark as 0. If "
                    "the flats still hold the dark, subtract it from them, too."},
    {"dead-flat",
     "Some pixels have no flat field that is brighter than the dark field. They cannot be divided by it, so they count "
     "as "
     "dead. fbp and fdk take their values from the neighbours; methods with weights leave them out. A few do no harm."},
    {"detector-flip", "An NXtomo states that its images are mirrored: x_flipped for the columns, y_flipped for the "
                      "rows. They are read in reverse then, so "
                      "that the volume is not a mirror image, and columns (--center) count from the other side. A "
                      "rotation of 180 degrees under transformations "
                      "is not undone, as programs mean different things by it: compare the volume with the object."},
    {"detector-offset-stated",
     "A MetaImage states by Offset where its first pixel lies, and so where the middle of its images lies in mm. RTK "
     "and "
     "programs built on ITK mean by that where the detector lies relative to the principal ray. It is taken so unless "
     "--detector-offset is given. A geometry file counts more: there the offset of the images is not added. If the "
     "entry means "
     "nothing, --detector-offset 0,0 ignores it."},
    {"device-unused", "A graphics processor was found but cannot be used, for the reason that is given. The job runs "
                      "on the CPU and takes "
                      "longer. Install what is missing, or give --device cpu to accept it."},
    {"far-values",
     "A few line integrals are far from all others, as from hot pixels, gamma hits or faulty pixels. They count in the "
     "image "
     "as they are, and make streaks. Set them to NaN, or give weights (--weights FILE) that are 0 there."},
    {"few-views",
     "Views lie many degrees apart. Each view leaves streaks, and the object is hidden by them. Use more views, or an "
     "iterative method (sirt, cgls, mbir)."},
    {"fields-exchanged", "Every flat field is darker than every dark field. That cannot be, so flats are taken as "
                         "darks and darks as flats. Correct the "
                         "file or the options --flats and --darks. --keep-all-fields takes them as they are called."},
    {"fields-unusable",
     "The file has flat or dark fields, but they cannot be used for the reason that is given. For line integrals or "
     "transmissions they are not needed. For counts give --flats and --darks."},
    {"fields-unused", "Flat or dark fields were given, but the values are not counts, so the fields have no effect. If "
                      "the values are counts, "
                      "say so with --quantity counts."},
    {"file-missing", "The files of a scan are counted by a number in their names, and some numbers are not there. "
                     "Angles that are given as "
                     "FROM:TO are spread evenly over the files that are there, so those behind the gap belong to other "
                     "views. Find the missing "
                     "files, or give --angles as a list with one line for each file that is there."},
    {"flats-saturated", "Some pixels of the flat fields stand at the largest number that their type can hold: the "
                        "detector was saturated there, or "
                        "the pixels are marked as lost. How bright the beam was is not known there, so these pixels "
                        "count as not measured. Where they "
                        "are many, take flats with a shorter exposure, or give --air."},
    {"frame-turned", "The 3x4 matrices of the geometry file turn the source about x or y, while here the rotation axis "
                     "is z. The frame of the file was turned: the "
                     "warning says which axes of the file became x, y and z. Values are not affected. Volumes, "
                     "--offset and --like are in the turned frame."},
    {"frames-left-out", "Some frames or groups of the file are neither views nor flats nor darks by what the file says "
                        "of them (alignment images, "
                        "for example). They were left out. This is harmless unless they are the frames that you want: "
                        "then give --dataset."},
    {"geometry-units", "The distances give a geometry that no usual scanner has. Most often one of the lengths is in "
                       "another unit, such as "
                       "micrometres or metres. All lengths are in mm: check the distances and the pixel size."},
    {"half-precision",
     "Some filtered values are so large that half-precision storage on the device cannot hold them together with the "
     "small "
     "ones. Often hot pixels or spikes are the cause. Give the option that the message names, or remove the spikes."},
    {"hot-pixels",
     "Some detector pixels are brighter than the pixels next to them in most views, and their flat fields do not show "
     "it. Each one leaves a ring in its slice. --rings sort takes most of it away. Set such pixels to NaN in all views "
     "to have them left out."},
    {"image-key", "The image_key of the NXtomo file has unknown numbers, or another count than there are frames. "
                  "Frames with an unknown "
                  "key are left out. Check with qb info that the number of views is right."},
    {"kernel-accuracy", "The kernel that --kernel names is less exact than --accuracy asks for. It is used all the "
                        "same, because it was named. "
                        "Leave --kernel out to have the fastest kernel that keeps the accuracy."},
    {"kernel-cache",
     "Compiled kernels are not kept on the disk, so each start compiles them again. The reason is that the folder is "
     "not "
     "safe: it belongs to another user, or others may write to it. Follow the advice, or set QB_CACHE_DIR."},
    {"large-file-tree", "The HDF5 file has very many links or very deep groups, and only a part of them was searched "
                        "for a scan. Give --dataset "
                        "PATH to name the data."},
    {"less-memory", "There was less memory than planned. The job goes on with smaller pieces, with the same result but "
                    "slower. Free memory, "
                    "or give --max-ram or --max-vram to plan with less from the start."},
    {"limited-angle", "Some of the angles that the reconstruction needs were not measured. Edges along these "
                      "directions are blurred, and "
                      "values are too low if more than 25 degrees are missing. One step too few, as when the last view "
                      "was not taken, does no visible harm. Else check the angles, "
                      "or use an iterative method (sirt, tv, mbir)."},
    {"machine-unmeasured", "The speed of this machine could not be measured, so forecasts of time use listed speeds "
                           "and may be wrong by a factor. "
                           "Results are not affected."},
    {"matrix-cache", "The system matrix was not taken from --matrix-cache, or could not be left there. It was computed "
                     "instead: the result is "
                     "the same, only the start took longer. A cache is used only in a folder that belongs to you and "
                     "that nobody else may "
                     "write to, because its numbers steer the computation. Use a folder of your own, or chmod go-w."},
    {"mbir-not-converged", "Model-based reconstruction lowers a cost step by step. It stopped after the number of "
                           "steps that --equits allows, while the cost "
                           "was still falling; the message says by which share of itself it is forecast to fall yet. "
                           "The image is between its start and the "
                           "image that the data and the prior ask for: often streaks or shading are left. Give more "
                           "--equits, or --coarse 2, which settles "
                           "large structures first."},
    {"monitor-unusable", "An NXtomo states the beam's intensity for each frame (control/data), but some numbers for "
                         "views or flats are zero, "
                         "negative or no numbers. The intensities are therefore not corrected. If the beam changed "
                         "during the scan, all values "
                         "drift with it; --air scales each view by its open beam instead."},
    {"nan-slices", "Some values of the volume are NaN although nothing asked for NaN. The scan holds values that no "
                   "method can use, often "
                   "very large ones. Look at the other warnings, and at the scan with qb info."},
    {"narrow-volume", "The detector is to one side of the axis, and the full turn sees a circle that is wider than the "
                      "detector. The usual "
                      "volume is only as wide as the detector. Give the printed --size to have all of it."},
    {"negative-lines", "Many line integrals are negative, and voxels may not be, so they become zero. Most often the "
                       "sign is wrong, the values "
                       "are not line integrals, or the flats are darker than the views. Check --quantity, --flats and "
                       "--air. --no-positivity "
                       "allows negative voxels."},
    {"no-angles",
     "The scan has no angles that can be used: none are stored, their number is not that of the views, or their unit "
     "is not "
     "known. The warning says which. Give --angles FROM:TO or a file, or --angle-unit where only the unit is missing."},
    {"no-darks", "There are no dark fields, so the signal of the detector without beam is taken as 0. If it is not, "
                 "dense parts of the "
                 "object come out too transparent. Give --darks FILE where they were measured."},
    {"no-flats", "The values are counts, but there are no flat fields to divide by. Give --flats FILE, or --air with a "
                 "region that is "
                 "air in all views."},
    {"no-image-key", "The NXtomo file does not say which frames are flats, darks and projections. All frames are taken "
                     "as projections. If "
                     "some are flats or darks, the result is wrong: give --views, --flats and --darks."},
    {"no-pixel-size", "The size of a detector pixel is not known, so attenuation is per pixel and not per mm. The "
                      "image looks the same; only "
                      "the scale of its values is missing. Give --pixel-size MM."},
    {"no-voxel-size", "The size of a voxel is not known, so lengths are in voxels. Line integrals are right only if "
                      "the values of the volume "
                      "are attenuation per voxel. Give --voxel MM."},
    {"not-finite", "Some values of the data are NaN, infinite or so large that no beam and no object makes them: "
                   "transmissions above 1000, "
                   "line integrals beyond 1e12. qb sirt, cgls and mbir give them no weight. The other verbs "
                   "interpolate along the detector row, between the nearest good values; a row of one view without any "
                   "value is taken as air. "
                   "Many lost rows make values too low there: leave such views out by --exclude LIST."},
    {"not-projections",
     "The file says that its values are something else than projections, such as a volume or attenuation. They are "
     "read as "
     "projections all the same. Check that it is the right file; --quantity says what the values are."},
    {"odd-darks", "Some dark fields differ far from the others, as when the beam was on. They are left out of the "
                  "mean. --keep-all-fields keeps "
                  "them; --exclude-darks LIST leaves out others."},
    {"odd-flats", "Some flat fields differ far from the others, as when the shutter was closed or the sample was in "
                  "the beam. They are left out "
                  "of the mean. --keep-all-fields keeps them; --exclude-flats LIST leaves out others."},
    {"offset-short-scan", "The detector is to one side of the axis, which needs a full turn of views. The scan has "
                          "less, so only the circle that "
                          "the smaller side of the detector sees is complete. Values outside are too low."},
    {"old-parts", "A volume in parts was replaced by a volume in one file. The old parts are still in the folder and "
                  "take room. They can "
                  "be removed."},
    {"older-json", "An NPY or raw file has a .json beside it that says what its numbers are: units, quantity, pixel "
                   "size and angles. The data "
                   "were changed at least a minute after it was written. Where they are of another scan, what the "
                   ".json says of them is wrong: "
                   "remove it, or write both anew. Where they were only copied, nothing is wrong: touch the .json."},
    {"one-angle", "All views have the same angle, so they cannot be reconstructed. The angles in the file are probably "
                  "placeholders. Give "
                  "--angles FROM:TO or a file."},
    {"one-image",
     "The file holds a single two-dimensional image. Most often that is a sinogram, whose lines are the views of one "
     "detector "
     "row; it can also be one projection. Nothing in the file says which. Give --as sinogram or --as projections."},
    {"one-process",
     "The benchmark measures the exchange between processes, and there is only one. Start several with mpirun."},
    {"opaque-rays",
     "The largest line integrals mean that less than one photon in three million passes. Weights that follow the "
     "transmission are next to zero there, so these rays do not count. Most often the line integrals are scaled or in "
     "another unit. Scale them to -ln of the transmission, or give --weights unweighted."},
    {"other-quantity",
     "The size of the values and the shape of the rows, bright in air and dark inside, belong to another quantity than "
     "was "
     "stated. A wrong quantity makes all values of the volume wrong. Check --quantity (counts, transmission or "
     "line_integral). qb info also names scans so that every reconstruction refuses."},
    {"output-format", "The format of the output cannot hold everything that belongs to the scan, such as angles, flats "
                      "and darks. Write .h5, "
                      "or give the missing things by options when the scan is read."},
    {"outside-field", "Some voxels of the volume are not seen by all views. Their values are incomplete and often too "
                      "low or streaked. Make "
                      "the volume smaller (--size, --slices), or mark these voxels with --outside zero or nan."},
    {"pixel-size-differs",
     "The pixel size of the command line is more than 50 times larger or smaller than that of the file. It is taken as "
     "given, in mm. "
     "If it was meant in m or um, values and sizes are wrong by that factor. Give it in mm, or leave the option out."},
    {"pixel-size-unusable", "The file states a pixel size that cannot be used: it has no unit of length, or is not a "
                            "positive number. The pixel "
                            "size is unknown. Give --pixel-size MM."},
    {"range-clamped", "Some values lie outside the range that integers or float16 of the output can hold. They were "
                      "set to the nearest end of "
                      "the range. Give --range LO,HI, or write float32."},
    {"repeated-view", "The last view has the angle of the first one, half a turn or a turn later. Both are used with "
                      "half the weight. Nothing "
                      "needs to be done where the scan did turn so far. Where its last view was taken one step "
                      "earlier, the angles are stated "
                      "wrongly and the image is blurred: --angles FROM:TO leaves TO out."},
    {"row-ends", "Many detector rows do not reach the level of air at their ends. Either the object is wider than the "
                 "detector, and the "
                 "values are wrong by what was cut off, most at the rim. Then use the printed option. Or air does not "
                 "read 0, because "
                 "the flats do not match the scan or --quantity is wrong. Then check --flats, --quantity and --air."},
    {"rows-lost", "Some detector rows were never measured: their pixels are dead in the flats, or NaN or saturated in "
                  "every view. In parallel "
                  "beam the slices of these rows are NaN in the volume. In cone beam voxels near them are seen by "
                  "fewer rays: qb sirt and cgls give "
                  "the lost rays no weight, qb fdk takes them as air, so values near these rows are too low. Leave "
                  "such slices out by --slices."},
    {"rtk-element", "The RTK geometry file has an element that quickbeam does not know. It was not used. If it moves "
                    "the source or the "
                    "detector, the geometry is wrong: check it with qb info -g FILE."},
    {"sample-motion",
     "An NXtomo states that the sample was moved from view to view (sample/x_translation and its like). Reconstruction "
     "takes "
     "it as standing still, so what moved is blurred or doubled, by as many pixels as are said. Reconstruct views "
     "between "
     "which it stood still (--views), or shift the views before. A geometry file with a matrix or vectors per view can "
     "describe the motion: qb fdk, sirt and cgls take it (-g)."},
    {"saturated", "Some counts stand at the largest number that their type can hold, or many stand at one largest "
                  "value: the detector was "
                  "saturated, or these pixels are marked as lost. At the type's maximum they count as not measured: qb "
                  "sirt, cgls and mbir give them no weight, "
                  "the others interpolate along the row, and take air where a row ends with them. A plateau at a lower "
                  "value is not mended: "
                  "values of thin parts come out wrong, so take a shorter exposure."},
    {"scaled-values", "The file states that its values are the stored numbers times a slope plus an offset: "
                      "ElementToIntensityFunctionSlope and "
                      "-Offset of MetaImage, scale_factor and add_offset of HDF5. They are applied on reading, and the "
                      "values are 32-bit floats "
                      "from then on. Where the file is wrong about that, remove these entries from it."},
    {"scan-unusable",
     "The scan cannot be used, for the reason that is given: no view of it holds anything, or its numbers cannot be "
     "what "
     "they are said to be. Look at the file with another program: was it written to its end, is the dataset the right "
     "one, was the shutter open, is the type of its numbers right?"},
    {"several-scans",
     "The file holds more than one scan, and the named one is read. Give --dataset to read another one."},
    {"sigma-scale", "The value of a sigma parameter is far from what the data suggest, often because of other units. "
                    "The image becomes "
                    "flat, or full of noise. Leave the option out, or give a value within the printed range."},
    {"simulate-saturated", "Some simulated counts exceed the largest 16-bit number and were clipped. Such a scan has "
                           "wrong values in air. Give "
                           "fewer --photons."},
    {"sinogram-order", "The file says that its first axis is vertical, so its images are sinograms. They are read as "
                       "projections unless --as "
                       "sinogram is given."},
    {"slice-spacing",
     "The parameters state another distance between slices than between channels. quickbeam uses the distance between "
     "channels for both. Lengths along the axis are scaled by the ratio."},
    {"slow-transfers", "Memory that the device can read directly could not be locked, for the reason that is given. "
                       "Transfers are slower; the "
                       "result is the same. Raise the limit of locked memory (ulimit -l)."},
    {"source-path", "The source does not move on a circle, and FDK is made for circles. --force computes a result all "
                    "the same, and its "
                    "values are wrong. Use sirt or cgls for such a path."},
    {"steep-rays", "The rays cross the volume far from the plane in which the source turns, as in laminography. FDK is "
                   "exact only near "
                   "that plane: values are blurred along the axis. Use sirt or cgls for better values."},
    {"stuck-pixels",
     "Some detector pixels hold the same value in all views, unlike the pixels next to them: they are hot or dead. "
     "They "
     "count as not measured: qb sirt, cgls and mbir give them no weight, the others interpolate along the row. A few "
     "views are looked at. A pixel whose value changes a little is not found so."},
    {"transmission-floor",
     "Some transmissions were zero, negative or very small, so their logarithm has no value or a very large one. They "
     "were "
     "raised to the floor (--transmission-floor) before the logarithm. A few such values do no harm. Many of them mean "
     "that "
     "the object is too dense for the energy, or that flats and darks do not belong to this scan."},
    {"tune-candidate", "A variant of a kernel failed or was not exact enough on this device, and is left out. Tuning "
                       "goes on with the others. "
                       "It may hint at a fault of the driver."},
    {"tuning-file", "The file of measured speeds cannot be read, for the reason that is given. Plans use listed speeds "
                    "instead. Remove the "
                    "file, or run qb tune again."},
    {"tuning-lock", "The file of measured speeds is guarded by a lock, and another process held it for several "
                    "seconds, perhaps one that was "
                    "stopped. The file was written without the lock, so measurements of the other process may be lost. "
                    "The result of this "
                    "run is not affected."},
    {"two-angles", "The scan and the geometry file state different angles. The angles of the geometry file are used. "
                   "Check that the two "
                   "files belong together."},
    {"two-geometries", "The scan names a geometry, and --sod and --sdd were given as well. The options are used. Leave "
                       "them out to use the "
                       "geometry of the file."},
    {"uneven-angles", "The steps between the angles differ. That is right for golden-ratio or bad-view scans, and each "
                      "view is weighted by "
                      "its spacing. If the scan was even, check the angles."},
    {"unmapped-images", "The data are a virtual HDF5 dataset: its images lie in other files. To some images no file "
                        "was mapped, as when a scan "
                        "was stopped early. Other programs read them as zeros or as another fill value. They are not "
                        "read here: leave them out "
                        "with --views, or add the files and map them."},
    {"unwritten-chunks", "Parts of the HDF5 data were never written, so they read as a fill value, mostly 0. The scan "
                         "was interrupted or copied "
                         "while it was written. Views or rows without data are wrong."},
    {"views-blank",
     "Some views are as dark as the dark fields: the shutter was closed or the beam was off. They are left out, and "
     "the other "
     "views take their weight, so values stay right. A gap of many views in a row takes away what only these saw. "
     "--keep-all-views keeps them; --exclude LIST leaves out others."},
    {"views-constant",
     "Some views hold the same number everywhere, as datasets do where nothing was written. They are left out, and the "
     "other views "
     "take their weight. Views of air alone are kept where the views around them are mostly air. Look whether the file "
     "was written to its end and whether all files behind a virtual dataset are there."},
    {"views-not-numbers", "Some views hold nothing but NaN or infinite values. They are left out, and the other views "
                          "take their weight, so values stay "
                          "right. A gap of many views in a row takes away what only these saw."},
    {"views-saturated", "Nearly all of some views stands at the largest number that their type can hold: the detector "
                        "was saturated, or they were "
                        "marked as lost. They are left out, and the other views take their weight."},
    {"volume-hounsfield",
     "The values of the volume look like Hounsfield units, in which air is -1000 and water is 0. Projecting them as "
     "attenuation gives negative line integrals. Give --hu MU_WATER, the attenuation of water in 1/mm."},
    {"zero-pixels", "Some pixels are exactly 0. With counts that is a dead pixel, a masked region or no beam at all. "
                    "fbp and fdk raise them "
                    "to the floor before the logarithm, which makes streaks. Mask them with NaN."},
    {"zingers", "Single pixels are much brighter than their neighbours, as X-rays that hit the camera itself make "
                "them. Only a few rows "
                "are looked at, and the number is carried over to the whole scan. Each one leaves a streak or a bright "
                "point in its "
                "slice. --zingers 8 replaces single pixels that are brighter than their neighbours by 8 standard "
                "deviations of the "
                "counts; zingers in flats of two or more frames are left out anyway."},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const char *qb_warning_code(size_t index) { return index < ROWS ? rows[index].code : NULL; }

const char *qb_warning_text(const char *code) {
    for (size_t i = 0; code && i < ROWS; i++)
        if (strcmp(rows[i].code, code) == 0) return rows[i].text;
    return NULL;
}
