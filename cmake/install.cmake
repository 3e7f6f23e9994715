# Installs the headers with a CMake package (find_package(minitorch)) and a pkg-config file.
# SPDX-License-Identifier: MIT
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/minitorch)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/minitorch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

target_include_directories(minitorch INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS minitorch EXPORT minitorch_targets)
set(arch_independent ARCH_INDEPENDENT)
if(MINITORCH_COMPILED)
  install(TARGETS minitorch_compiled EXPORT minitorch_targets)
  set(arch_independent)
endif()
install(EXPORT minitorch_targets NAMESPACE minitorch:: FILE minitorch-targets.cmake DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/minitorch-config.cmake.in ${PROJECT_BINARY_DIR}/minitorch-config.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/minitorch-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ${arch_independent})
install(FILES ${PROJECT_BINARY_DIR}/minitorch-config.cmake ${PROJECT_BINARY_DIR}/minitorch-config-version.cmake
        DESTINATION ${package_dir})

set(pkgconfig_openmp "")
if(minitorch_openmp)
  set(pkgconfig_openmp ${OpenMP_CXX_FLAGS})
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/minitorch.pc.in ${PROJECT_BINARY_DIR}/minitorch.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/minitorch.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
