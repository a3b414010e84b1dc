# How this project declares libraries, tools, generated code and tests.
# SPDX-License-Identifier: Apache-2.0

include(GoogleTest)

# gpt2_add_subdirectories(dir...): adds each folder that has a CMakeLists.txt.
function(gpt2_add_subdirectories)
  foreach(dir IN LISTS ARGN)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${dir}/CMakeLists.txt")
      add_subdirectory(${dir})
    endif()
  endforeach()
endfunction()

# gpt2_add_library(name SOURCES ... [DEPS ...] [DEPENDS ...] [OPTIONS ...])
# A static library of the runtime (exceptions and RTTI on, no LLVM). DEPS are
# link libraries, DEPENDS targets that generate headers, OPTIONS compile flags.
function(gpt2_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;DEPENDS;OPTIONS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# gpt2_add_mlir_library(name SOURCES ... [DEPS ...] [DEPENDS ...] [OPTIONS ...]
#                       [EXCEPTIONS])
# A static library of the compiler over the MLIR and LLVM dylibs. LLVM is
# built without exceptions, so ours are off too unless EXCEPTIONS is given.
function(gpt2_add_mlir_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "SOURCES;DEPS;DEPENDS;OPTIONS"
                        ${ARGN})
  gpt2_add_library(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} gpt2_mlir
                   DEPENDS ${ARG_DEPENDS} OPTIONS ${ARG_OPTIONS})
  # MLIR's hooks name parameters that an override need not use.
  target_compile_options(${name} PRIVATE -Wno-unused-parameter)
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
endfunction()

# gpt2_add_tool(name SOURCES ... [DEPS ...] [OPTIONS ...]): build/bin/name.
function(gpt2_add_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;OPTIONS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  set_property(GLOBAL APPEND PROPERTY GPT2_TOOLS ${name})
endfunction()

# gpt2_tablegen(target file.td output "flags" [output "flags"]...)
# Generates build/<this folder>/<output> with mlir-tblgen and makes `target`
# stand for all of them.
function(gpt2_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(TABLEGEN_OUTPUT)
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs output flags)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    mlir_tablegen(${output} ${flags})
  endwhile()
  add_custom_target(${target} DEPENDS ${TABLEGEN_OUTPUT})
endfunction()

# gpt2_tablegen_doc(page file.td "flags"): one page of build/docs, made by the
# target `docs`.
function(gpt2_tablegen_doc page td flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  get_directory_property(includes INCLUDE_DIRECTORIES)
  list(TRANSFORM includes PREPEND -I)
  set(output "${PROJECT_BINARY_DIR}/docs/${page}.md")
  file(GLOB tds "${CMAKE_CURRENT_SOURCE_DIR}/*.td")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/docs"
    COMMAND mlir-tblgen ${flags} -I "${CMAKE_CURRENT_SOURCE_DIR}" ${includes}
            "${CMAKE_CURRENT_SOURCE_DIR}/${td}" -o "${output}"
    DEPENDS ${tds} VERBATIM)
  add_custom_target(doc-${page} DEPENDS "${output}")
  set_property(GLOBAL APPEND PROPERTY GPT2_DOC_PAGES ${page})
endfunction()

# The target `docs`: every page named with gpt2_tablegen_doc. It is quick, so a
# plain build makes it too.
function(gpt2_add_docs_target)
  get_property(pages GLOBAL PROPERTY GPT2_DOC_PAGES)
  list(TRANSFORM pages PREPEND doc- OUTPUT_VARIABLE targets)
  add_custom_target(docs ALL)
  if(targets)
    add_dependencies(docs ${targets})
  endif()
  if(GPT2_BUILD_TESTS AND pages)
    add_test(NAME docs
             COMMAND "${Python3_EXECUTABLE}"
                     "${PROJECT_SOURCE_DIR}/test/check_docs.py"
                     "${PROJECT_BINARY_DIR}/docs" ${pages})
    set_tests_properties(docs PROPERTIES LABELS docs)
  endif()
endfunction()

# gpt2_flatbuffer(target schema.fbs [flatc flags...])
# Generates build/<this folder>/<schema>_generated.h.
function(gpt2_flatbuffer target schema)
  get_filename_component(stem "${schema}" NAME_WE)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${stem}_generated.h")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${GPT2_FLATC}" --cpp --scoped-enums --require-explicit-ids ${ARGN}
            -o "${CMAKE_CURRENT_BINARY_DIR}"
            "${CMAKE_CURRENT_SOURCE_DIR}/${schema}"
    DEPENDS "${schema}" VERBATIM)
  add_custom_target(${target} DEPENDS "${output}")
endfunction()

# gpt2_add_unit_test(name SOURCES ... [DEPS ...] [COMPILER] [ARGS ...])
# A GoogleTest program in build/test/unit; every case is a ctest test of its
# own. COMPILER marks one that needs LLVM: it is left out with
# GPT2_BUILD_COMPILER=OFF.
function(gpt2_add_unit_test name)
  cmake_parse_arguments(ARG "COMPILER" "" "SOURCES;DEPS;ARGS" ${ARGN})
  if(ARG_COMPILER AND NOT GPT2_BUILD_COMPILER)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock
                        GTest::gtest_main)
  if(ARG_COMPILER)
    # Generated op builders name parameters that they do not use.
    target_compile_options(${name} PRIVATE -Wno-unused-parameter)
  endif()
  # Where a test finds its fixtures.
  target_compile_definitions(
    ${name} PRIVATE GPT2_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                    GPT2_BINARY_DIR="${PROJECT_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        "${PROJECT_BINARY_DIR}/test/unit")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       TEST_PREFIX "${name}." EXTRA_ARGS ${ARG_ARGS}
                       PROPERTIES LABELS unit TIMEOUT 600)
  set_property(GLOBAL APPEND PROPERTY GPT2_UNIT_TESTS ${name})
endfunction()

# gpt2_add_fuzzer(name SOURCES ... CORPUS dir [DEPS ...])
# A program in build/fuzz for one LLVMFuzzerTestOneInput. With
# GPT2_BUILD_FUZZERS it is a libFuzzer target, whose ctest replays the saved
# corpus and mutates it for some seconds; without, a unit test that replays.
function(gpt2_add_fuzzer name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  get_filename_component(corpus "${ARG_CORPUS}" ABSOLUTE)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        "${PROJECT_BINARY_DIR}/fuzz")
  if(GPT2_BUILD_FUZZERS)
    target_link_libraries(${name} PRIVATE -fsanitize=fuzzer)
    # New inputs go to the first folder, in the build tree.
    set(work "${PROJECT_BINARY_DIR}/fuzz/corpus/${name}")
    file(MAKE_DIRECTORY "${work}")
    add_test(NAME fuzz.${name}
             COMMAND ${name} -seed=1 -runs=2000000 -max_total_time=5
                     -rss_limit_mb=2048 -timeout=10 "${work}" "${corpus}")
    set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 300)
    set_property(GLOBAL APPEND PROPERTY GPT2_FUZZERS ${name})
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/test/fuzz/ReplayMain.cpp")
    add_test(NAME corpus.${name} COMMAND ${name} "${corpus}")
    set_tests_properties(corpus.${name} PROPERTIES LABELS unit TIMEOUT 300)
    set_property(GLOBAL APPEND PROPERTY GPT2_UNIT_TESTS ${name})
  endif()
endfunction()
