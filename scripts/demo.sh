#!/bin/sh
# SPDX-License-Identifier: MIT
# From nothing to a picture: demo.sh BUILD
set -eu
cd "$(dirname "$0")/.."
qb=$1/qb
mkdir -p demo
echo "1. simulate: Shepp-Logan, 400 views of 384 x 64, photon noise, flats, darks, rings, axis off by 7.3 columns"
"$qb" simulate shepp-logan -o demo/scan.h5 --views 400 --detector 384,64 --pixel-size 0.05 --attenuation 0.2 \
    --photons 40000 --rings 0.003 --center-offset 7.3 --seed 1 --truth demo/truth.h5
echo "2. what is in it"
"$qb" info demo/scan.h5
echo "3. reconstruct; the axis is found by itself (it is at column 198.8)"
"$qb" fbp demo/scan.h5 -o demo/volume.h5 --center auto --filter hann --preview demo/slice.png
echo "4. how far it is from the truth"
"$qb" compare demo/volume.h5 demo/truth.h5
echo
echo "The volume is demo/volume.h5, its middle slice is the picture demo/slice.png"
