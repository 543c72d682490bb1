/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

const char *const fuzz_name = "json";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_geometry(data, size);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
#define HEAD "{\"quickbeam_geometry\": 1, \"units\": \"mm\", \"rows\": 6, \"columns\": 8, "
    static const char *const seeds[] = {
        HEAD "\"beam\": \"cone\", \"sod\": 100, \"sdd\": 150, \"pixel_size\": [0.5, 0.5], \"offset\": "
             "[1, 2], \"angles_degrees\": {\"from\": 0, \"to\": 360, \"count\": 4}}",
        HEAD "\"beam\": \"cone\", \"sod\": 1e2, \"sdd\": 150, \"pixel_size\": [0.5, 0.5], "
             "\"tilt_degrees\": [1, 2, 3], \"jitter\": [0.1, 0.2, 1, 30], \"angles_degrees\": [0, 90, "
             "180.5, -20], \"radius\": 150}",
        HEAD "\"beam\": \"parallel\", \"pixel_size\": [0.5, 0.5], \"center\": 3.25, "
             "\"angles_degrees\": [0, 45, 90]}",
        HEAD "\"beam\": \"cone\", \"comment\": [[[{}]]], \"views\": [{\"source\": [0, -9, 0], "
             "\"detector\": [-3, 5, -2], \"u\": [1, 0, 0], \"v\": [0, 0, 1]}]}",
    };
#undef HEAD
    static const char scenario[] =
        "{\"file\":{\"file_type\":\"CTSimU "
        "Scenario\"},\"geometry\":{\"source\":{\"type\":\"cone\",\"center\":{\"x\":0,\"y\":0,\"z\":"
        "{\"value\":0,\"drifts\":[{\"value\":[0,1,2],\"unit\":\"mm\"}]}},\"vector_u\":{\"x\":1,\"y\":0,\"z\":0},"
        "\"vector_w\":{\"x\":0,\"y\":"
        "1,\"z\":0}},\"stage\":{\"center\":{\"x\":0,\"y\":60,\"z\":0},\"vector_u\":{\"x\":1,\"y\":0,\"z\":0},\"vector_"
        "w\":{\"x\":0,\"y\":0,"
        "\"z\":1}},\"detector\":{\"center\":{\"x\":0,\"y\":9,\"z\":0,\"unit\":1},\"vector_u\":{\"x\":1,\"y\":0,\"z\":0}"
        ",\"vector_w\":{\"x\":0,"
        "\"y\":-1,\"z\":0},\"deviations\":[{\"type\":\"rotation\",\"axis\":\"w\",\"pivot\":{\"u\":1,\"v\":0,\"w\":0},"
        "\"amount\":{\"value\":2,"
        "\"unit\":\"deg\"}},{\"type\":\"translation\",\"axis\":{\"x\":1,\"y\":1,\"z\":0},\"amount\":1}]}},\"detector\":"
        "{\"columns\":8,\"rows\":6,"
        "\"pixel_pitch\":{\"u\":{\"value\":500,\"unit\":\"um\"},\"v\":0.5}},\"acquisition\":{\"start_angle\":0,\"stop_"
        "angle\":360,\"direction\":"
        "\"CW\",\"number_of_projections\":4,\"pixel_binning\":{\"u\":2,\"v\":1}}}";
    if (index == 5) return fuzz_text_seed(scenario, path);
    if (index < 4) return fuzz_text_seed(seeds[index], path);
    return index == 4 && fuzz_geometry_seed(".json", path);
}
