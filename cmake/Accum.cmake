# SPDX-License-Identifier: Apache-2.0
# How accumc's targets are made: warnings are errors, MLIR code shares one precompiled header.

set(ACCUM_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)
# What only assertions use is unused without them; the other builds tell what is unused in earnest.
set(ACCUM_WARNINGS_RELEASE -Wno-unused-variable -Wno-unused-const-variable -Wno-unused-function -Wno-unused-but-set-variable
                           -Wno-unused-lambda-capture)
list(APPEND ACCUM_WARNINGS "$<$<CONFIG:Release>:${ACCUM_WARNINGS_RELEASE}>")

separate_arguments(ACCUM_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")

set(ACCUM_UNITY 8 CACHE STRING "Files that are compiled at once: 1 is fastest after a change of one")

# Most of a file's compile time goes into headers and templates that the next one needs too.
function(accum_unity name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ACCUM_UNITY})
endfunction()

# Plain C++ library: accum_library(NAME SOURCES a.cpp ... [DEPS target ...]).
function(accum_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
  target_compile_options(${name} PRIVATE ${ACCUM_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  accum_unity(${name})
endfunction()

# The usage requirements of MLIR code.
add_library(AccumMLIR INTERFACE)
target_include_directories(AccumMLIR SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(AccumMLIR INTERFACE ${ACCUM_LLVM_DEFINITIONS})
# Of the static libraries only what is used gets into a package: 60 MB instead of 250. Then the linker, which programs are
# linked with, is inside too.
option(ACCUM_STATIC_LLVM "Link LLVM, MLIR and lld from static libraries" OFF)
if(ACCUM_STATIC_LLVM)
  file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  list(FILTER archives EXCLUDE REGEX "CAPI|Test")
  target_link_libraries(AccumMLIR INTERFACE
    ${LLVM_LIBRARY_DIR}/liblldELF.a ${LLVM_LIBRARY_DIR}/liblldCommon.a ${archives} z zstd tinfo xml2)
  target_link_options(AccumMLIR INTERFACE LINKER:--gc-sections LINKER:--as-needed LINKER:-z,defs)
else()
  target_link_libraries(AccumMLIR INTERFACE MLIR LLVM)
endif()

# One precompiled header for every MLIR file: halves a file's compile time.
file(WRITE ${CMAKE_BINARY_DIR}/accum_pch.cpp "// Carries the precompiled header.\n")
add_library(AccumPCH STATIC ${CMAKE_BINARY_DIR}/accum_pch.cpp)
target_link_libraries(AccumPCH PUBLIC AccumMLIR)
target_include_directories(AccumPCH PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(AccumPCH PRIVATE ${ACCUM_WARNINGS} -Xclang -fno-pch-timestamp)
target_precompile_headers(AccumPCH PRIVATE ${PROJECT_SOURCE_DIR}/cmake/MLIRPrecompiled.h)

# Library of MLIR code: as accum_library, plus MLIR and the precompiled header.
function(accum_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  accum_library(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} AccumMLIR)
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  target_precompile_headers(${name} REUSE_FROM AccumPCH)
endfunction()

# A RPATH, where the default is a RUNPATH: it also serves the libraries that a library beside the binary needs.
function(accum_relocatable name)
  target_link_options(${name} PRIVATE LINKER:--disable-new-dtags)
endfunction()

# Command-line tool, installed with the compiler, or with the runtime: accum_tool(NAME [RUNTIME] [FOR_USERS] SOURCES ...
# DEPS ...). FOR_USERS: with a man page and completions in share, made by what it says with --help.
find_program(ACCUM_PYTHON3 python3 REQUIRED)
function(accum_tool name)
  cmake_parse_arguments(ARG "RUNTIME;FOR_USERS" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_options(${name} PRIVATE ${ACCUM_WARNINGS})
  target_compile_definitions(${name} PRIVATE ACCUM_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  accum_relocatable(${name})
  accum_unity(${name})
  if(NOT ARG_FOR_USERS)
    install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT developer)
    return()
  endif()
  set(part compiler)
  if(ARG_RUNTIME)
    set(part runtime)
  endif()
  install(TARGETS ${name} EXPORT accum-${part} RUNTIME DESTINATION bin COMPONENT ${part})
  set(share ${PROJECT_BINARY_DIR}/share)
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${ACCUM_PYTHON3} ${PROJECT_SOURCE_DIR}/cmake/command-files $<TARGET_FILE:${name}> ${share})
  foreach(file man/man1/${name}.1.gz bash-completion/completions/${name} zsh/site-functions/_${name}
      fish/vendor_completions.d/${name}.fish)
    get_filename_component(folder ${file} DIRECTORY)
    install(FILES ${share}/${file} DESTINATION share/${folder} COMPONENT ${part})
  endforeach()
endfunction()

# GoogleTest executable, found by ./dev test under build/test/unit: accum_unit_test(NAME SOURCES ... DEPS ...).
function(accum_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_options(${name} PRIVATE ${ACCUM_WARNINGS})
  target_compile_definitions(${name} PRIVATE ACCUM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  accum_unity(${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()
