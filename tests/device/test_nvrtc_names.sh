#!/bin/sh
# SPDX-License-Identifier: MIT
# test_nvrtc_names.sh NVRTCCHECK: a name that no source has is a failure, also beside one that is there,
# and all names are told.
said=$("$1" device_probe.cl nonsense.cl 2>&1)
code=$?
echo "$said"
test $code = 2 || exit 1
echo "$said" | grep -q "no source nonsense.cl" || exit 1
echo "$said" | grep -q "no source device_probe.cl" && exit 1
test "$(echo "$said" | grep -c "^  .*\.c[lu]$")" -gt 5
