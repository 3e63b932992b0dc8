# SPDX-License-Identifier: Apache-2.0
# A text file as a C++ string literal: cmake -DFROM=file -DTO=file.inc -P TextToString.cmake
file(READ ${FROM} text)
file(WRITE ${TO} "R\"text(${text})text\"\n")
