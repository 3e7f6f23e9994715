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
  if(MINITORCH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${MINITORCH_CCACHE})
  endif()
endif()

add_library(minitorch_programs INTERFACE)
target_link_libraries(minitorch_programs INTERFACE minitorch::minitorch)
target_compile_options(minitorch_programs INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  $<$<BOOL:${MINITORCH_WERROR}>:-Werror> $<$<CONFIG:Release>:-O2>)

# The same for programs with tensors in them, which compile faster with what minitorch::compiled holds ready.
add_library(minitorch_tensor_programs INTERFACE)
target_link_libraries(minitorch_tensor_programs INTERFACE minitorch_programs)
if(MINITORCH_COMPILED)
  target_link_libraries(minitorch_tensor_programs INTERFACE minitorch_compiled)
  target_compile_options(minitorch_tensor_programs INTERFACE -include minitorch/compiled.hpp)
endif()

# minitorch_program(NAME SOURCE...): one program with these flags.
function(minitorch_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE minitorch_programs)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
