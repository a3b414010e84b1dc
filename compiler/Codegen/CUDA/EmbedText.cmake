# Writes INPUT as a C++ raw string literal to OUTPUT.
# cmake -DINPUT=x.cuh -DOUTPUT=x.cuh.inc -P EmbedText.cmake
# SPDX-License-Identifier: Apache-2.0
file(READ "${INPUT}" text)
string(FIND "${text}" ")gpt2cuda\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${INPUT} holds the delimiter of the string literal")
endif()
file(WRITE "${OUTPUT}" "R\"gpt2cuda(${text})gpt2cuda\"\n")
