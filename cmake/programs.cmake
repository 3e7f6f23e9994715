# How our own programs are built: flags that never reach a consumer.
# SPDX-License-Identifier: MIT
include_guard()

# -Werror only with the compilers the project is checked with: newer ones may know new warnings.
set(werror OFF)
if(PROJECT_IS_TOP_LEVEL AND "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" MATCHES "^(GNU 12|Clang 14)\\.")
  set(werror ON)
endif()
option(MINITORCH_WERROR "Treat warnings in our own programs as errors" ${werror})

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
  endif()
  find_program(MINITORCH_CCACHE ccache)
  if(MINITORCH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)  # what it asks for before it keeps what used a precompiled header
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${MINITORCH_CCACHE})
  endif()
endif()

add_library(minitorch_programs INTERFACE)
target_link_libraries(minitorch_programs INTERFACE minitorch::minitorch)
target_compile_options(minitorch_programs INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  $<$<BOOL:${MINITORCH_WERROR}>:-Werror> $<$<CONFIG:Release>:-O2>)

# minitorch_precompile(NAME HEADER...): the target NAME, whose precompiled headers others reuse.
function(minitorch_precompile name)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "// Generated: what its precompiled headers belong to.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE minitorch_programs)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
if(MINITORCH_COMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # clang's would not survive a cache of compilations
  minitorch_precompile(minitorch_precompiled <minitorch/compiled.hpp>)
  minitorch_precompile(minitorch_precompiled_parallel <minitorch/compiled.hpp> <minitorch/parallel.hpp>)
endif()

# minitorch_uses_tensors(TARGET [PRECOMPILED]): the flags of minitorch_programs for a target with tensors in it, which compiles faster
# with what minitorch::compiled holds ready, and with the headers of that target of minitorch_precompile where there is one.
function(minitorch_uses_tensors target)
  target_link_libraries(${target} PUBLIC minitorch_programs)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(MINITORCH_COMPILED)
    target_link_libraries(${target} PUBLIC minitorch_compiled)
    if(ARGN AND TARGET "${ARGN}")
      target_precompile_headers(${target} REUSE_FROM ${ARGN})
    else()
      target_compile_options(${target} PRIVATE -include minitorch/compiled.hpp)
    endif()
  endif()
endfunction()

# minitorch_program(NAME SOURCE...): one program with these flags.
function(minitorch_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE minitorch_programs)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
