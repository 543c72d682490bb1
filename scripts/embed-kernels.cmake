# SPDX-License-Identifier: MIT
# cmake -D OUT=file.c -D SOURCES=a.cl;b.cu -P embed-kernels.cmake
# Writes the kernel sources as C arrays, so that the library needs no files when it runs.
set(text "/* Made by embed-kernels.cmake from src/kernels/. */\n#include \"device/sources.h\"\n\n")
set(table "")
set(index 0)
list(SORT SOURCES)
foreach(source ${SOURCES})
  get_filename_component(name ${source} NAME)
  file(READ ${source} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "static const unsigned char source_${index}[] = {${bytes}0};\n")
  string(APPEND table "    {\"${name}\", (const char *)source_${index}},\n")
  math(EXPR index "${index} + 1")
endforeach()
string(APPEND text "\nconst qb__kernel_source qb__kernel_sources[] = {\n${table}    {0, 0}};\n")
file(WRITE ${OUT} "${text}")
