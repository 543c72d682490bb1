/* SPDX-License-Identifier: MIT */
/* Explanation of each warning, its importance and its remedy: shown by `qb help CODE` and in docs/warnings.md. */
#include "base/warning.h"

#include <string.h>

#include "quickbeam/env.h"

/* Sorted by code. The texts are short sentences for somebody who sees the warning for the first time. */
static const struct {
    const char *code, *text;
} rows[] = {
    {"air-for-flats",
     "The scan holds counts but no flat fields. The median of the --air region of each view is used as the open beam. "
     "Differences between pixels stay and become rings. Give --flats FILE where flats were measured."},
    {"air-level", "The region that --air names is much darker or brighter than the flat fields. An object in it makes "
                  "all values of the view too small. Choose a region that no view covers, or leave --air out."},
    {"alignment-frames", "Some frames are marked as alignment frames (image_key_control -1), taken to "
                         "check for movement. They are not used as projections."},
    {"angle-cap", "A range of angles was not measured. All values are too low by the share that is "
                  "named. --angle-weights auto bridges up to 25 degrees; beyond that sirt, tv and mbir do better."},
    {"angle-gap",
     "A range of angles was not measured, and no opposite ray makes up for it. The views on its two sides "
     "stand in, so mean values are right. Edges along the missing directions are blurred. More views, sirt, "
     "cgls, tv or mbir do better."},
    {"angle-jump",
     "The angles jump where the object turned on evenly: numbers wrapped, as beyond 255 in 8 bits, or the "
     "list is cut. Give the right ones by --angles."},
    {"angle-line", "A line before the numbers of an --angles file begins like a number, such as 1,5 or nan. It was "
                   "left out as a header, so angles may be shifted. Mend it, or put # in front."},
    {"angle-span",
     "Mass and width of the rows, or the first and last view, show another range of angles than stated. The image is "
     "doubled or smeared. Give --angles FROM:TO as the object turned; TO is the angle after the last view. Rarely a "
     "drift looks alike."},
    {"angle-steps", "Views half a turn apart are mirror images only if the angles between them differ from the stated "
                    "ones: frames were lost, or --angles is wrong."},
    {"angle-turns",
     "The angles cover more than four turns in small steps, or a step is more than a turn. Most often their unit is "
     "wrong. Look at them (qb info SCAN) and give --angle-unit, or choose one turn by --views."},
    {"angle-unit", "So many angles within so few degrees could be a turn in radians. They are taken as degrees. Give "
                   "--angle-unit rad or deg."},
    {"angles-guessed", "The file has no rotation_angle in the usual place. A dataset with a name for a rotation and "
                       "one number a view was used. Check it with qb info, or give --angles."},
    {"angles-misfit",
     "The centre of mass of each detector row should move as a sine of the angle, and does not: the image is blurred. "
     "The angles belong to other views, or the sample moved. Check --angles, and look at the views."},
    {"angles-unreadable", "The file has a list of angles that cannot be read, for the reason that is given. Give "
                          "--angles FROM:TO or a file."},
    {"angles-unusable", "The angles in the file cannot be used: another number than views, not finite, or unreadable. "
                        "Give --angles FROM:TO or a file."},
    {"axes-order", "A row must hold the same mass in every view; here it does not, as if the axes had another order. "
                   "Store [view][row][column] (numpy transpose), or give --as sinogram for [row][view][column]."},
    {"axes-turned", "A MetaImage (TransformMatrix) or NIfTI (sform) states that its axes are turned or mirrored. "
                    "Projections are taken "
                    "as they lie in the file. Mirror or turn the images first."},
    {"axis-differs",
     "Views from opposite sides are mirror images about the axis. They surely show it at another column than was "
     "stated, so the image is blurred or doubled. Give the printed option."},
    {"axis-leans", "The rotation axis is not parallel to the columns of the detector. Slices far from the middle are "
                   "blurred. Give --tilt as qb center measures it, else a geometry file."},
    {"axis-outside", "The file states a rotation axis outside the detector, usually a default or another unit. It is "
                     "not used, and the axis is searched for. Give --center COLUMN when it is known."},
    {"axis-sign", "Public readers of this scanner's files differ in the sign of the axis' place, and the views do not "
                  "tell which is right. If slices are doubled, give --detector-offset with the other sign."},
    {"beam-drift", "The brightness at one edge of the detector changes from view to view. If air is there, the beam "
                   "was not constant, and all values are wrong. Give --air with a region that is air in all views."},
    {"beam-level", "The brightness at one edge of the detector differs from that of the flats. If air is there, the "
                   "flats do not match. Give --air with a region that is air in all views."},
    {"being-written", "Another process is still writing the HDF5 file (SWMR). What was there when it was opened is "
                      "read; later views, angles or flats are missing. Run again when the file is complete."},
    {"beyond-detector",
     "The detector is turned about the beam, so rows of these slices leave it on one side. The missing part was "
     "continued as --pad says; values are less exact. Leave the slices out by --slices."},
    {"beyond-volume",
     "Rays that meet no voxel measured attenuation: the object is larger than the volume, or the geometry is wrong. "
     "What lies outside goes into voxels at the rim. Give a larger --size (or --voxel), and check the axis."},
    {"bright-air",
     "Air is brighter in the views than in the flats: beam, exposure or detector changed. All values of the volume are "
     "too small. --air auto measures the open beam in each view; --air 99.9% takes the brightest pixels."},
    {"bright-object",
     "Many rows are brighter than open beam, so their line integrals are negative. No object does that. The sign or "
     "the quantity may be wrong, or the flats belong to another scan. Check --quantity, --flats and --air."},
    {"broken-links", "The HDF5 file has links to files or objects that are not there. Data behind them cannot be used. "
                     "Put the linked files "
                     "where the file expects them, or give --dataset."},
    {"camera-part", "A part of the camera's pixels was read out. The file does not say where the middle of the camera "
                    "is among them, so the axis or the beam's plane may be off. qb center measures it."},
    {"center-cone",
     "The scan is a cone beam of unknown source and detector, so that its rows were taken for parallel rays. The axis "
     "may be off by a part of a pixel, over less than a turn by more. --sod and --sdd make it exact."},
    {"center-doubt",
     "The methods that find the axis disagree, or are not sure. A wrong axis doubles edges. Reconstruct one slice for "
     "a range of columns with qb fbp --center A:B:STEP and choose the sharpest."},
    {"center-edge", "The best axis lies at an end of the searched columns. The true one probably lies "
                    "beyond. Search others, or give --center auto."},
    {"center-shift", "Zeiss's software found the axis off the middle. Programs do not agree on which side its "
                     "CenterShift means. Run qb center "
                     "and give what it prints."},
    {"checkpoint-stopped",
     "The state of the run could not be kept, so no more checkpoints are written. The result is not affected. --resume "
     "goes on from the last checkpoint. Make room on the disk, or write to another folder."},
    {"collimation", "The RTK geometry says that a collimator covered parts of the detector, where pixels look like "
                    "dense matter. Set them to NaN."},
    {"colour-images", "The TIFF images have colours. Where all colours are alike, nothing is lost. A camera's colours "
                      "have other counts: save the one that measures."},
    {"column-ends",
     "The first or last rows of the detector see matter, so the object goes on above or below. Iterative methods but "
     "mbir put it into the end slices, which become much too bright. Give the printed --size, and do not use its end "
     "slices."},
    {"connected-scans",
     "The object was taken in several scans above one another. Only the named one is reconstructed."},
    {"counts-negative", "A few counts are far below 0, which no detector gives. Most likely unsigned counts were "
                        "stored as signed numbers. Values are wrong there. --unsigned reads them as they were meant."},
    {"darks-twice",
     "Counts lie far below the dark fields. Most likely the dark was subtracted already, and dense parts come out too "
     "dense. --darks none takes the dark as 0. If the flats still hold the dark, subtract it from them, too."},
    {"dead-flat", "Some pixels have no flat that is brighter than the dark: they are dead. fbp and fdk take their "
                  "values from the neighbours; methods with weights leave them out. A few do no harm."},
    {"dead-part",
     "A part of the detector has beam in the flats but none in any view, or one value in all: a module stopped, or "
     "something covers it. It counts as not measured. fbp and fdk fill it from the sides, wrongly where it is wide; "
     "over "
     "360 degrees sirt, cgls and mbir do without."},
    {"detector-before-axis",
     "By the geometry rays meet the detector before the axis. The source has the wrong sign, or distances "
     "were exchanged."},
    {"detector-flip", "An NXtomo states that its images are mirrored (x_flipped, y_flipped). They are read in reverse; "
                      "--center counts from the other side. A rotation under transformations is not undone."},
    {"detector-height",
     "A plane through the sources of two views holds the same mass in both, and does only with the detector at another "
     "height. Slices off the "
     "middle are blurred towards the rim. Correct V of --detector-offset U,V, or the geometry file."},
    {"detector-offset-stated", "A MetaImage states by Offset where its images lie, in mm. As in RTK and ITK, it is "
                               "taken for the detector's place relative to the principal ray, unless --detector-offset "
                               "or a geometry file is given. --detector-offset 0,0 ignores it."},
    {"detector-turned",
     "A plane through the sources of two views holds the same mass in both, and does only with the detector turned in "
     "its "
     "plane. Slices are blurred, more above and below the middle. Give --tilt, or mend the geometry file."},
    {"device-unused", "A graphics processor was found but cannot be used, for the reason that is given. The job runs "
                      "on the CPU. Install what is missing, or give --device cpu."},
    {"exposures-differ", "Times are not applied: some detectors store rates. If both are counts, give --air."},
    {"fan-width",
     "Opposite rays of a turn agree much better if the fan is wider or narrower than stated. The distance "
     "from source to detector, or the pixel size, is wrong, and so are values and sizes. --sdd counts from "
     "the source, not from the axis."},
    {"far-values", "A few line integrals are far from all others, as from hot pixels. They make streaks. Set them to "
                   "NaN, or give --weights FILE with 0 there."},
    {"few-views",
     "Views lie many degrees apart. Each view leaves streaks, and the object is hidden by them. Use more views, or an "
     "iterative method (sirt, cgls, mbir)."},
    {"fields-are-views",
     "Frames that --flats or --darks names are views of the scan. Divided by them, the object cancels. Name the open "
     "beam. If some images of one dataset are flats, leave them out by --views, and the others by --exclude-flats."},
    {"fields-exchanged", "Every flat is darker than every dark, so flats are taken as darks and darks as flats. "
                         "Correct the file or --flats and --darks. --keep-all-fields takes them as they are called."},
    {"fields-unusable", "The file has flat or dark fields that cannot be used, for the reason that is given. Line "
                        "integrals and transmissions need none. For counts give --flats and --darks."},
    {"fields-unused", "Flat or dark fields were given, but the values are not counts, so the fields have no effect. If "
                      "the values are counts, "
                      "say so with --quantity counts."},
    {"file-missing",
     "Some numbers in the names of a series are missing. Angles FROM:TO are spread evenly over the files that are "
     "there, so later ones belong to other views. Find the files, or list the angles in a file."},
    {"flat-zingers", "Pixels of the flats are much brighter than their neighbours, but not in the views: an X-ray hit "
                     "the camera. Take two flats or more, or give --rings all."},
    {"flats-constant",
     "The scan has no flats, only a number for them: differences between pixels become rings. Give --flats."},
    {"flats-differ", "In parts of the image some flats have much less beam than others: the object was in them, or the "
                     "beam moved. --exclude-flats leaves them out."},
    {"flats-elsewhere", "The views show the pattern of the flats shifted or flipped, so it stays as rings. Flip or "
                        "shift the flats, or take them anew."},
    {"flats-saturated",
     "Some pixels of the flats stand at the largest number of their type: the detector was saturated. They count as "
     "not measured. Where they are many, take flats with a shorter exposure, or give --air."},
    {"frame-turned",
     "The 3x4 matrices of the geometry file turn the source about x or y, while here the axis is z. The frame was "
     "turned as the warning says. Values are not affected; volumes, --offset and --like are in the turned frame."},
    {"frames-left-out", "Some frames of the file are neither views nor flats nor darks, and were left out. If they are "
                        "the frames that you want, give --dataset."},
    {"geometry-units", "The distances give a geometry that no usual scanner has. Most often a length is in another "
                       "unit than mm. Check the distances and the pixel size."},
    {"half-precision",
     "Some filtered values are so large that half precision on the device cannot hold them together with the small "
     "ones, often because of spikes. Give the option that is named, or remove the spikes."},
    {"hardening-lowers", "A hardened beam shows thick parts too thin, so a table must raise large line integrals more "
                         "than small ones. This one does "
                         "the opposite. Its first column is measured, its second true."},
    {"hardening-poor",
     "The scan's line integrals do not follow one curve of the path through the object. It may be of several "
     "materials, or go beyond the detector. Look at slices with and without --hardening before using the numbers."},
    {"hardening-turns", "The curve of --hardening rises to a largest value, then falls. Line integrals reach that "
                        "value, so dense parts come out too thin. Give A of 0 or more."},
    {"hot-pixels", "Some detector pixels are brighter than those next to them in most views, and their flats do not "
                   "show it. Each leaves a ring. --rings all takes most of it away; NaN leaves them out."},
    {"image-channels", "ImageJ or OME say that a stack has several channels, such as two energies. All images are read "
                       "as one scan. Save the channel that is meant."},
    {"image-convention", "The images state that 0 is white, or another orientation, which is not applied. Where line "
                         "integrals are negative, invert them; give --flip or --rotate."},
    {"image-grid",
     "The file of --start, --prox or --reference states another voxel size or place than the volume to be "
     "made. Give both the same --size, --voxel and --slices."},
    {"image-key", "The image_key of the NXtomo file has unknown numbers, or another count than frames. Frames with an "
                  "unknown key are left out. Check the number of views with qb info."},
    {"image-misfit",
     "Line integrals of the image of --start, --prox or --reference do not fit the scan, and do with what "
     "is named: another unit, axis order or place."},
    {"kernel-accuracy", "The kernel of --kernel is less exact than --accuracy asks for. It is used because it was "
                        "named. Leave --kernel out for the fastest kernel that keeps the accuracy."},
    {"kernel-cache", "Compiled kernels are not kept, so each start compiles them again: the folder belongs to another "
                     "user, or others may write to it. Follow the advice, or set QB_CACHE_DIR."},
    {"large-file-tree", "The HDF5 file has very many links or very deep groups, and only a part of them was searched "
                        "for a scan. Give --dataset "
                        "PATH to name the data."},
    {"less-memory", "There was less memory than planned. The job goes on with smaller pieces, more slowly, to the same "
                    "result. Free memory, or give --max-ram or --max-vram."},
    {"limited-angle", "Some of the angles that are needed were not measured. Edges along these directions are blurred; "
                      "values are too low if more than 25 degrees are missing. One step too few does no visible harm. "
                      "Else check the angles, or use sirt, tv or mbir."},
    {"machine-unmeasured", "The speed of this machine could not be measured, so forecasts of time use listed speeds "
                           "and may be wrong by a factor. "
                           "Results are not affected."},
    {"margins-empty", "Columns at the ends hold 0 in all views, but the object goes on there. They count as not "
                      "measured; --pad begins at the last measured column."},
    {"matrix-cache", "The system matrix could not be read from --matrix-cache or left there. It was computed instead, "
                     "with the same result. The folder must be yours, and nobody else may write to it: chmod go-w."},
    {"mbir-not-converged", "Model-based reconstruction stopped after --equits, while its cost was still falling by the "
                           "share that is named. The image is between its start and its end: often streaks or shading "
                           "are left. Give more --equits, or --coarse 2, which settles large structures first."},
    {"metadata-unusable",
     "The file states a number, flag or mask that cannot be used: NaN, negative, of an unknown unit or another size, "
     "or not one for each frame. It is left out. Mend the file, or give the option of that name."},
    {"monitor-unusable", "The beam's intensity of each frame, in control/data of an NXtomo or as counts in a log, has "
                         "numbers that are zero, "
                         "negative or missing, so it is not used. --air scales each view by its open beam instead."},
    {"nan-slices", "Some values of the volume are NaN. The scan holds values that no method can use, often very large "
                   "ones. Look at the other warnings, and at the scan with qb info."},
    {"narrow-volume", "A full turn with the detector to one side of the axis sees a circle wider than the detector. "
                      "The usual volume is only as wide as the detector. Give the printed --size to have all of it."},
    {"negative-lines",
     "Most of the line integrals are negative, which no object makes. Most often the sign, the quantity or the flats "
     "are wrong. mbir and --nonneg set negative voxels to 0. Check --quantity, --flats and --air."},
    {"no-angles", "The scan has no angles that can be used, for the reason that is given. Give --angles FROM:TO or a "
                  "file, or --angle-unit where only the unit is missing."},
    {"no-darks", "There are no dark fields, so the dark is taken as 0. If it is not, dense parts come out too "
                 "transparent. Give --darks FILE where they were measured."},
    {"no-dense-part",
     "Of the draft of --hardening two: no voxel lies above the value that parts both materials, or most "
     "do: one material is corrected. Look at its values (--hardening spectrum:) and give above:MU."},
    {"no-flats", "The values are counts, but there are no flat fields to divide by. Give --flats FILE, or --air with a "
                 "region that is "
                 "air in all views."},
    {"no-image-key", "The NXtomo file does not say which frames are flats, darks and projections: all are taken as "
                     "projections. If that is wrong, give --views, --flats and --darks."},
    {"no-pixel-size", "The size of a detector pixel is not known, so attenuation is per pixel and not per mm. Only the "
                      "scale of the values is missing. Give --pixel-size MM."},
    {"no-voxel-size", "The size of a voxel is not known, so lengths are in voxels. Line integrals are right only if "
                      "the values of the volume "
                      "are attenuation per voxel. Give --voxel MM."},
    {"not-finite",
     "Some values are NaN, infinite or impossible: transmissions beyond 1000, line integrals far beyond the others. "
     "Iterative methods give them no weight; others interpolate along the row. A row without values becomes air."},
    {"not-projections", "The file says that its values are no projections, but a volume or attenuation, say. They are "
                        "read as projections. Check that it is the right file; --quantity says what the values are."},
    {"object-tilt", "The scanner's settings state tilts of the detector, which are not applied: slices far from the "
                    "beam's plane are blurred. Give a geometry file (-g)."},
    {"odd-darks", "Some dark fields differ far from the others, as when the beam was on. They are left out of the "
                  "mean. --keep-all-fields keeps "
                  "them; --exclude-darks LIST leaves out others."},
    {"odd-flats", "Some flats differ far from the others, as when the shutter was closed. They are left out of the "
                  "mean. --keep-all-fields keeps them; --exclude-flats LIST leaves out others."},
    {"offset-short-scan", "A detector to one side of the axis needs a full turn. The scan has less, so only the circle "
                          "that the smaller side sees is complete. Values outside are too low."},
    {"old-parts",
     "A volume in parts was replaced by a volume in one file. The old parts take room and can be removed."},
    {"older-json", "The .json next to a data file was written for other numbers, or a minute before the data. If they "
                   "are of another scan, remove it. If they were only copied, touch it."},
    {"one-angle", "All views have the same angle, so they cannot be reconstructed. Give --angles FROM:TO or a file."},
    {"one-image", "The file holds a single two-dimensional image: a sinogram of one detector row, or one projection. "
                  "Give --as sinogram or --as projections."},
    {"one-process",
     "The benchmark measures the exchange between processes, and there is only one. Start several with mpirun."},
    {"opaque-rays", "The largest line integrals mean that less than one photon in three million passes; weights that "
                    "follow the transmission are next to zero. Most often they are scaled. Scale them to -ln of the "
                    "transmission, or give --weights unweighted."},
    {"open-beam-saturated",
     "Open beam is the largest number of the images' type, and brighter pixels were cut off. Thin parts of the object "
     "look too dense. Scan with less exposure, or give --air with a region that is air in all views."},
    {"opposite-views", "Parallel rays from opposite sides see the same, so views half a turn apart are mirror images. "
                       "For no axis are these. Check --angles and --center; or the object moved."},
    {"other-quantity",
     "The values and the shape of the rows (bright in air, dark inside) belong to another quantity than was stated. "
     "All values of the volume are then wrong. Check --quantity (counts, transmission or line_integral)."},
    {"output-format", "The format of the output cannot hold angles, flats or darks of the scan. Write .h5, or give "
                      "them by options when the scan is read."},
    {"outside-field", "Some voxels are not seen by all views. Their values are incomplete, often too low or streaked. "
                      "Make the volume smaller (--size, --slices), or mark them with --outside zero or nan."},
    {"phase-beam",
     "--energy or --distance differs by more than 1 % from the scan's, and is taken. Phase retrieval blurs too much or "
     "too little if it is wrong, for example in eV or m. Leave it out to take the scan's."},
    {"pixel-ratio", "A SkyScan file states that pixels are not square, but not which side is longer. They are taken as "
                    "square. If the object appears stretched, give --pixel-size U,V."},
    {"pixel-size-differs",
     "--pixel-size is more than 4.5 times larger or smaller than in the file. It is taken, in mm. "
     "If m or um was meant, values and sizes are wrong by that factor."},
    {"pixel-size-odd", "Pixels above 50 mm or below 1 nm are taken, but no detector has them. Most often the unit is "
                       "wrong. Give --pixel-size in mm."},
    {"pixel-size-unusable", "The file states a pixel size without a known unit of length, or that is not a positive "
                            "number. The pixel size is unknown. Give --pixel-size MM."},
    {"project-ends", "Rays pass beyond the middle of the first or last slice, where the object is cut off. Values "
                     "there fall to 0. Give a taller volume or fewer rows."},
    {"random-movement", "The scanner moved the object between views to blur rings. Where edges look doubled, let the "
                        "scanner's program undo the shifts first."},
    {"range-clamped", "Values outside the range of the output's integers or float16 were set to its nearest end. Give "
                      "--range LO,HI, or write float32."},
    {"repeated-view",
     "The last view has the angle of the first one, half a turn or a turn later. Both have half the weight. If the "
     "last view was one step earlier, the image is blurred: --angles FROM:TO leaves TO out."},
    {"row-ends", "Many detector rows do not reach the level of air at their ends. If the object is wider than the "
                 "detector, values are wrong, most at the rim: use the printed option. If air does not read 0, check "
                 "--flats, --quantity and --air."},
    {"row-order",
     "Public readers of this scanner's files differ in the order of the rows, or ignore a stated orientation. Images "
     "are read as stored, from the top. If the volume is a mirror image of the object, or turned, give --flip or "
     "--rotate."},
    {"rows-interlaced", "Even and odd rows show the object at two moments, as interlaced cameras do. Every second "
                        "slice is turned by a step. Write the "
                        "rows of one moment as one view."},
    {"rows-lost", "Some detector rows were never measured: dead in the flats, NaN or saturated in every view. "
                  "Slices that mostly they see are NaN; in qb fdk their neighbours are too low. Leave them out by "
                  "--slices."},
    {"rows-shift", "The means of rows shift along the axis: the object slipped or drifted, and slices are mixed. "
                   "Reconstruct each part by --views."},
    {"rtk-element", "The RTK geometry file has an element that is not known and was not used. If it moves the source "
                    "or the detector, the geometry is wrong: check it with qb info -g FILE."},
    {"sample-motion",
     "An NXtomo states that the sample was moved (sample/x_translation and its like). This is not corrected: the image "
     "is blurred. Give --shifts motors:U,V with the axes along columns and rows, or choose --views between moves."},
    {"saturated", "Counts at their type's largest number count as not measured: iterative methods give them no weight, "
                  "others interpolate along the row. A plateau at a lower value is not mended: expose shorter."},
    {"scaled-values", "The file states a slope and an offset for its stored numbers (ElementToIntensityFunctionSlope "
                      "of MetaImage, scale_factor and add_offset of HDF5, ImageJ's calibration). They are applied on "
                      "reading; the values are "
                      "floats from then on. If they are wrong, remove these entries."},
    {"scan-scaled", "A program scaled the whole scan to 0..1, mostly for display. Air is no longer 1, or 0, so "
                    "attenuation is wrong by "
                    "a factor and an offset. Give the values as they were before."},
    {"scan-stopped", "A scan ended before all of its images were taken. Those that are there are used. Angles "
                     "may be missing at the end."},
    {"scan-unusable",
     "The scan cannot be used, for the reason that is given. Look at the file with another program: was it written to "
     "its end, is the dataset the right one, was the shutter open, is the type of its numbers right?"},
    {"several-scans",
     "The file holds more than one scan, and the named one is read. Give --dataset to read another one."},
    {"several-turns", "The scanner's settings state more than one turn, and a circle is assumed: of a helix, the "
                      "volume is blurred along the axis. Give a geometry file (-g) then."},
    {"sigma-scale", "A sigma is far from what the data suggest, often because of other units. The image becomes flat, "
                    "or noisy. Leave the option out, or give a value within the printed range."},
    {"simulate-saturated", "Some simulated counts exceed the largest 16-bit number and were clipped. Such a scan has "
                           "wrong values in air. Give "
                           "fewer --photons."},
    {"sinogram-order", "The file says that its first axis is vertical, so its images are sinograms. They are read as "
                       "projections unless --as "
                       "sinogram is given."},
    {"slice-spacing",
     "The parameters state another distance between slices than between channels. quickbeam uses the distance between "
     "channels for both. Lengths along the axis are scaled by the ratio."},
    {"slices-between-rows",
     "The slices are as far apart as detector rows, but lie between them. A row sees the mean of two slices, so "
     "neighbouring values can alternate. Give the --size or --offset that is named."},
    {"slow-transfers", "Memory that the device can read directly could not be locked, for the reason that is given. "
                       "Transfers are slower; the "
                       "result is the same. Raise the limit of locked memory (ulimit -l)."},
    {"source-path", "The source does not move on a circle, and FDK is made for circles. --force computes a result all "
                    "the same, and its "
                    "values are wrong. Use sirt or cgls for such a path."},
    {"steep-rays", "Rays cross the volume far from the plane in which the source turns, as in laminography. FDK is "
                   "exact only near that plane: values are blurred along the axis. Use sirt or cgls."},
    {"stuck-pixels", "Some detector pixels hold the same value in all views, unlike those next to them. They count as "
                     "not measured: iterative methods give them no weight, the others interpolate along the row. A "
                     "pixel whose value changes a little is not found."},
    {"sums-swing",
     "Parallel rays through a row hold the same mass in every view. Where sums change, numbers are no line integrals "
     "(a picture's gamma), or the beam is hardened (--hardening). A factor in all values, as of log10, does not show."},
    {"transmission-floor", "Some transmissions were zero, negative or very small, and were raised to "
                           "--transmission-floor before the logarithm. A few do no harm. Many mean that the object is "
                           "too dense for the energy, or that flats and darks belong to another scan."},
    {"tune-candidate", "A variant of a kernel failed or was not exact enough on this device, and is left out. Tuning "
                       "goes on with the others. "
                       "It may hint at a fault of the driver."},
    {"tuning-file", "The file of measured speeds cannot be read, for the reason that is given. Plans use listed speeds "
                    "instead. Remove the "
                    "file, or run qb tune again."},
    {"tuning-lock",
     "Another process held the lock of the file of measured speeds for several seconds. The file was written without "
     "the lock, so its measurements may be lost. The result of this run is not affected."},
    {"turn-sense",
     "Rays from opposite sides of a cone beam agree better if the views go round the other way. The image is blurred "
     "and mirrored. Give --angles with the other sign, such as 0:-360, or unmirrored images."},
    {"two-angles", "Two files state different angles. The message says which are used: of a geometry file and a scan, "
                   "those of the geometry file. Check that the files belong together, or give --angles."},
    {"two-geometries", "The scan names a geometry, and --sod and --sdd were given as well. The options are used. Leave "
                       "them out to use the "
                       "geometry of the file."},
    {"uneven-angles", "The steps between the angles differ. That is right for golden-ratio or bad-view scans, and each "
                      "view is weighted by "
                      "its spacing. If the scan was even, check the angles."},
    {"unmapped-images",
     "The data are a virtual HDF5 dataset, and no file was mapped to some of its images. Other programs read them as "
     "zeros. Here they are not read: leave them out with --views, or map the files."},
    {"unwritten-chunks", "Parts of the HDF5 or Zarr data were never written, so they read as a fill value, mostly 0: "
                         "the scan or a copy was interrupted."},
    {"view-gains",
     "At one view all pixels change by one factor, and later back: these views have another gain or exposure. Values "
     "are wrong, with streaks. --air auto mends counts that show air; else scale these views, or --exclude them."},
    {"view-network",
     "qb view listens where other machines can reach it. Who has the address with its token can look at "
     "the files, and who watches the network can read both. Leave --listen out, and reach it by ssh -L."},
    {"views-blank", "Some views are as dark as the dark fields: the shutter was closed. They are left out, and the "
                    "other views take their weight. A long gap takes away what only these saw. --keep-all-views keeps "
                    "them; --exclude LIST leaves out others."},
    {"views-constant",
     "Some views hold the same number everywhere, as where nothing was written. They are left out, and the other views "
     "take their weight. Check that the file, and all files behind a virtual dataset, are complete."},
    {"views-covered",
     "In some views something opaque reaches into the image from one side, such as a pillar of a loading "
     "frame. It makes strong streaks. Leave the views out by --exclude."},
    {"views-jump",
     "From one view to the next the image changes many times as much as before and after. Views are missing "
     "or exchanged there, or the object slipped, so the volume is blurred. Look at these views; give --angles or "
     "--exclude."},
    {"views-mirrored", "Neighbouring views are mirror images, as when a camera flips every second one. The volume is "
                       "useless. Flip them back, or choose every second view by --views."},
    {"views-not-numbers", "Some views hold nothing but NaN or infinite values. They are left out, and the other views "
                          "take their weight. A long gap takes away what only these saw."},
    {"views-open", "Views of open beam lie between views of an object: flats among the views. They are left out; "
                   "--exclude leaves out others."},
    {"views-repeated", "Views hold the numbers of the view before: stage or camera stood still. Each is taken at its "
                       "own angle, which blurs the volume."},
    {"views-saturated", "Nearly all of some views stands at the largest number of their type: the detector was "
                        "saturated. They are left out, and the other views take their weight."},
    {"views-scaled",
     "A program scaled every view by its own range, so values are lost. Give the views as they were before."},
    {"volume-hounsfield",
     "The values of the volume look like Hounsfield units (air -1000, water 0). Projected as attenuation they give "
     "negative line integrals. Give --hu MU_WATER, the attenuation of water in 1/mm."},
    {"volume-not-finite", "Rays through voxels that are NaN or infinite are NaN. Replace them, as by 0."},
    {"way-shown",
     "Public readers of this scanner's files differ in the sense of rotation or in the axis' place. The one that fits "
     "the views was taken: each ray is measured twice in a turn. --angles and --detector-offset give another."},
    {"zero-pixels", "Some pixels are exactly 0: with counts a dead pixel, a masked region or no beam. fbp and fdk "
                    "raise them to the floor before the logarithm, which makes streaks. Mask them with NaN."},
    {"zingers",
     "Single pixels or pairs are much brighter than their neighbours, as X-rays that hit the camera make them. Each "
     "leaves a streak. --zingers 8 replaces them; in flats of two or more frames they are left out anyway."},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const char *qb_warning_code(size_t index) { return index < ROWS ? rows[index].code : NULL; }

const char *qb_warning_text(const char *code) {
    for (size_t i = 0; code && i < ROWS; i++)
        if (strcmp(rows[i].code, code) == 0) return rows[i].text;
    return NULL;
}
