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
"$qb" fbp demo/scan.h5 -o demo/volume.h5 --center auto --filter hann --window 0,0.09 --preview demo/slice.png
echo "4. how far it is from the truth"
"$qb" compare demo/volume.h5 demo/truth.h5
echo "5. a measured scan: a tooth of 181 views; its axis, too, is found by itself (it is at column 296.0)"
"$qb" fbp tests/data/tooth_dxchange/tooth.h5 -o demo/tooth.h5 --center auto --filter parzen --preview demo/tooth.png
echo
echo "The volumes are demo/volume.h5 and demo/tooth.h5, their middle slices the pictures demo/slice.png and demo/tooth.png"
