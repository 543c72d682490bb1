#!/bin/sh
# SPDX-License-Identifier: MIT
# test_headers.sh INCLUDE CC [CXX]: each public header compiles alone, and twice, as strict C11 and as C++11.
set -eu
include=$1 cc=$2 cxx=${3:-}
count=0
for header in "$include"/quickbeam/*.h; do
    name=quickbeam/$(basename "$header")
    text="#include \"$name\"
#include \"$name\"
int main(void) { return 0; }"
    echo "$text" | "$cc" -std=c11 -pedantic-errors -Wall -Wextra -Werror -I "$include" -x c -fsyntax-only -
    case $cxx in
    '' | *NOTFOUND) ;;
    *) echo "$text" | "$cxx" -std=c++11 -pedantic-errors -Wall -Wextra -Werror -I "$include" -x c++ \
        -fsyntax-only - ;;
    esac
    count=$((count + 1))
done
echo "$count headers"
[ "$count" -gt 10 ]
