# Finds every dependency or stops with the package that holds it.
# SPDX-License-Identifier: Apache-2.0

# Stops the configuration with one message that names the fix.
function(gpt2_missing what packages)
  message(FATAL_ERROR "${what} not found: install it with `apt-get install "
                      "${packages}` or run tools/install-deps")
endfunction()

# find_package by its CMake configuration; PACKAGES is Debian's name for it.
macro(gpt2_find name packages)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    gpt2_missing("${name}" "${packages}")
  endif()
endmacro()

# ---- Runtime ---------------------------------------------------------------
find_package(Threads REQUIRED)
gpt2_find(nlohmann_json nlohmann-json3-dev CONFIG)
gpt2_find(CLI11 libcli11-dev CONFIG)
# Debian's oneDNN configuration insists on OpenCL, which its CPU part does not
# use, so the library is looked for directly.
find_path(GPT2_DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(GPT2_DNNL_LIBRARY dnnl)
mark_as_advanced(GPT2_DNNL_INCLUDE_DIR GPT2_DNNL_LIBRARY)
if(NOT GPT2_DNNL_INCLUDE_DIR OR NOT GPT2_DNNL_LIBRARY)
  gpt2_missing("oneDNN" libdnnl-dev)
endif()
gpt2_find(FlatBuffers libflatbuffers-dev CONFIG)
find_program(GPT2_FLATC flatc)
if(NOT GPT2_FLATC)
  gpt2_missing("flatc" flatbuffers-compiler)
endif()
find_package(PkgConfig QUIET)
if(NOT PkgConfig_FOUND)
  gpt2_missing("pkg-config" pkg-config)
endif()
pkg_check_modules(PCRE2 QUIET IMPORTED_TARGET libpcre2-8)
if(NOT PCRE2_FOUND)
  gpt2_missing("PCRE2 (libpcre2-8)" libpcre2-dev)
endif()

# Debian's oneDNN uses GNU OpenMP, so one OpenMP runtime serves both. The
# fuzzers read files only and are built by clang, which has no libgomp headers.
if(GPT2_BUILD_FUZZERS)
  find_package(OpenMP QUIET)
else()
  gpt2_find(OpenMP g++)
endif()

# One name per dependency, so that target lists read alike.
add_library(gpt2_json INTERFACE)
target_link_libraries(gpt2_json INTERFACE nlohmann_json::nlohmann_json)
add_library(gpt2_cli11 INTERFACE)
target_link_libraries(gpt2_cli11 INTERFACE CLI11::CLI11)
add_library(gpt2_onednn INTERFACE)
target_link_libraries(gpt2_onednn INTERFACE "${GPT2_DNNL_LIBRARY}")
target_include_directories(gpt2_onednn SYSTEM
                           INTERFACE "${GPT2_DNNL_INCLUDE_DIR}")
add_library(gpt2_flatbuffers INTERFACE)
target_link_libraries(gpt2_flatbuffers INTERFACE flatbuffers::flatbuffers)
add_library(gpt2_pcre2 INTERFACE)
target_link_libraries(gpt2_pcre2 INTERFACE PkgConfig::PCRE2)
add_library(gpt2_openmp INTERFACE)
if(OpenMP_CXX_FOUND)
  target_link_libraries(gpt2_openmp INTERFACE OpenMP::OpenMP_CXX)
endif()

# ---- CUDA: headers only, every CUDA library is loaded with dlopen ----------
set(GPT2_HAVE_CUDA 0)
if(NOT GPT2_ENABLE_CUDA STREQUAL "OFF")
  find_path(GPT2_CUDA_INCLUDE_DIR cuda.h
            HINTS ENV CUDA_HOME ENV CUDA_PATH
            PATHS /usr/local/cuda /usr/lib/cuda
            PATH_SUFFIXES include targets/x86_64-linux/include)
  mark_as_advanced(GPT2_CUDA_INCLUDE_DIR)
  if(GPT2_CUDA_INCLUDE_DIR
     AND EXISTS "${GPT2_CUDA_INCLUDE_DIR}/cublasLt.h"
     AND EXISTS "${GPT2_CUDA_INCLUDE_DIR}/nvrtc.h")
    set(GPT2_HAVE_CUDA 1)
  elseif(GPT2_ENABLE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "CUDA headers (cuda.h, cublasLt.h, nvrtc.h) not found: "
                        "install the CUDA toolkit, set CUDA_HOME, or configure "
                        "with -DGPT2_ENABLE_CUDA=OFF")
  endif()
endif()
# Links nothing; GPT2_HAVE_CUDA is 0 or 1 in every target that uses it.
add_library(gpt2_cuda_headers INTERFACE)
target_compile_definitions(gpt2_cuda_headers
                           INTERFACE GPT2_HAVE_CUDA=${GPT2_HAVE_CUDA})
target_link_libraries(gpt2_cuda_headers INTERFACE ${CMAKE_DL_LIBS})
if(GPT2_HAVE_CUDA)
  target_include_directories(gpt2_cuda_headers SYSTEM
                             INTERFACE "${GPT2_CUDA_INCLUDE_DIR}")
endif()
message(STATUS "CUDA backend: ${GPT2_HAVE_CUDA} "
               "(headers: ${GPT2_CUDA_INCLUDE_DIR})")

# ---- Tests -----------------------------------------------------------------
if(GPT2_BUILD_TESTS)
  gpt2_find(GTest "libgtest-dev libgmock-dev" CONFIG)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
endif()

# ---- Compiler --------------------------------------------------------------
if(GPT2_BUILD_COMPILER)
  include(Gpt2MLIR)
endif()
