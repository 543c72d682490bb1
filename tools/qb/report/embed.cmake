# SPDX-License-Identifier: MIT
# cmake -D OUT=file.c -D SOURCE=page.html -P embed.cmake: the page as the C text report_page.
file(READ ${SOURCE} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "extern const unsigned char report_page[];\nconst unsigned char report_page[] = {${bytes}0};\n")
