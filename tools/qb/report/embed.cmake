# SPDX-License-Identifier: MIT
# cmake -D OUT=file.c -D SOURCE=page.html -D NAME=report_page -P embed.cmake: the page as a C text of that name.
file(READ ${SOURCE} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "extern const unsigned char ${NAME}[];\nconst unsigned char ${NAME}[] = {${bytes}0};\n")
