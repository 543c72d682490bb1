# SPDX-License-Identifier: MIT
# qb_c_text(FILE RESULT): a text file as a literal of C, which a compiler reads thirty times faster than numbers.
function(qb_c_text file result)
  file(READ ${file} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "?" "\\?" text "${text}") # no trigraphs
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()
