# SPDX-License-Identifier: MIT
# cmake -D OUT=file.c -D SOURCE=page.html -D NAME=report_page -P embed.cmake: the page as a C text of that name.
include(${CMAKE_CURRENT_LIST_DIR}/../../../scripts/c-text.cmake)
qb_c_text(${SOURCE} literal)
file(WRITE ${OUT} "extern const unsigned char ${NAME}[];\nconst unsigned char ${NAME}[] =\n${literal};\n")
