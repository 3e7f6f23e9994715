# minitorch::compiled, optional: the templates that include/minitorch/compiled/ declares extern, instantiated once.
# SPDX-License-Identifier: MIT
file(GLOB declarations CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/minitorch/compiled/*.hpp)
set(definitions)
foreach(header ${declarations})
  get_filename_component(name ${header} NAME_WE)
  file(READ ${header} text)
  string(REPLACE "extern template" "template" text "${text}")
  string(REPLACE "#pragma once\n" "#include <minitorch/compiled.hpp>  // what the other files define" text "${text}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/compiled/${name}.cpp CONTENT "${text}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  list(APPEND definitions ${PROJECT_BINARY_DIR}/compiled/${name}.cpp)
endforeach()

add_library(minitorch_compiled STATIC ${definitions})
add_library(minitorch::compiled ALIAS minitorch_compiled)
target_link_libraries(minitorch_compiled PUBLIC minitorch)
set_target_properties(minitorch_compiled PROPERTIES EXPORT_NAME compiled POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
if(PROJECT_IS_TOP_LEVEL)  # as our programs, and as every promise about it is checked
  target_compile_options(minitorch_compiled PRIVATE $<$<CONFIG:Release>:-O2>)
endif()
