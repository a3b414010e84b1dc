# MLIR, LLVM and lld 22 as Debian packages them. Everything links libMLIR.so
# and libLLVM.so; a static MLIR library beside them would register every
# option and TypeID twice, so none is ever named.
# SPDX-License-Identifier: Apache-2.0

set(GPT2_LLVM_PACKAGES
    "libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools liblld-22-dev")

find_program(GPT2_LLVM_CONFIG llvm-config-22)
if(NOT GPT2_LLVM_CONFIG)
  gpt2_missing("MLIR 22 (llvm-config-22)" "${GPT2_LLVM_PACKAGES}")
endif()
execute_process(COMMAND "${GPT2_LLVM_CONFIG}" --prefix
                OUTPUT_VARIABLE GPT2_LLVM_PREFIX
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${GPT2_LLVM_CONFIG}" --bindir
                OUTPUT_VARIABLE GPT2_LLVM_BINDIR
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

foreach(package mlir lld)
  if(NOT EXISTS "${GPT2_LLVM_PREFIX}/lib/cmake/${package}")
    gpt2_missing("${package} 22" "${GPT2_LLVM_PACKAGES}")
  endif()
endforeach()
set(MLIR_DIR "${GPT2_LLVM_PREFIX}/lib/cmake/mlir")
set(LLD_DIR "${GPT2_LLVM_PREFIX}/lib/cmake/lld")
find_package(MLIR 22.1 REQUIRED CONFIG)
find_package(LLD REQUIRED CONFIG)
foreach(tool mlir-tblgen FileCheck not split-file lit)
  if(NOT EXISTS "${GPT2_LLVM_BINDIR}/${tool}")
    gpt2_missing("${tool} 22" "${GPT2_LLVM_PACKAGES}")
  endif()
endforeach()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${GPT2_LLVM_PREFIX}")

set(MLIR_LINK_MLIR_DYLIB ON)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# tablegen() reads the directory property, so these are set for all folders.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS}
                    ${LLD_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")

add_library(gpt2_mlir INTERFACE)
target_compile_definitions(gpt2_mlir INTERFACE ${llvm_definitions})
target_link_libraries(gpt2_mlir INTERFACE MLIR LLVM)

# lld in process: static archives of lld itself over the LLVM dylib.
add_library(gpt2_lld INTERFACE)
target_link_libraries(gpt2_lld INTERFACE lldELF lldCommon gpt2_mlir)
