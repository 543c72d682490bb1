# SPDX-License-Identifier: MIT
# cmake -D OUT=file.c -D SOURCES=a.cl;b.cu -P embed-kernels.cmake
# Writes the kernel sources as C texts, so that the library needs no files when it runs.
set(text "/* Made by embed-kernels.cmake from src/kernels/. */\n#include \"device/sources.h\"\n\n")
set(table "")
set(index 0)
list(SORT SOURCES)
include(${CMAKE_CURRENT_LIST_DIR}/c-text.cmake)
foreach(source ${SOURCES})
  get_filename_component(name ${source} NAME)
  qb_c_text(${source} literal)
  string(APPEND text "static const char source_${index}[] =\n${literal};\n")
  string(APPEND table "    {\"${name}\", source_${index}},\n")
  math(EXPR index "${index} + 1")
endforeach()
string(APPEND text "\nconst qb__kernel_source qb__kernel_sources[] = {\n${table}    {0, 0}};\n")
file(WRITE ${OUT} "${text}")
