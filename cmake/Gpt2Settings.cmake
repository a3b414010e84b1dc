# Language, output folders, warnings, sanitizers and ccache.
# SPDX-License-Identifier: Apache-2.0

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(GPT2_CCACHE ccache)
mark_as_advanced(GPT2_CCACHE)
if(GPT2_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${GPT2_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${GPT2_CCACHE}")
endif()

add_compile_options(-Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of GCC 12 at -O2 and above in std::string, std::variant and
  # the LLVM containers.
  add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow
                      -Wno-array-bounds -Wno-restrict -Wno-dangling-pointer)
endif()
if(GPT2_WERROR)
  add_compile_options(-Werror)
endif()

if(GPT2_SANITIZE)
  add_compile_options(-fsanitize=${GPT2_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GPT2_SANITIZE})
endif()
if(GPT2_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "GPT2_BUILD_FUZZERS needs clang: configure with "
                        "`cmake --preset fuzz` (apt-get install clang-14 "
                        "libclang-rt-14-dev)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
