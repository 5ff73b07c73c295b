# SPDX-License-Identifier: Apache-2.0
# Installation, and the package that find_package(nibble) reads.
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY NIBBLE_MODULES)
get_property(depends GLOBAL PROPERTY NIBBLE_MODULE_DEPENDS)

# nibble::nibble is everything.
add_library(nibble_all INTERFACE)
add_library(nibble::nibble ALIAS nibble_all)
target_link_libraries(nibble_all INTERFACE ${modules})
set_target_properties(nibble_all PROPERTIES EXPORT_NAME nibble)

# A consumer must find again what the static libraries link, and no more.
set(find_Threads::Threads "find_dependency(Threads)")
set(find_OpenMP::OpenMP_CXX "find_dependency(OpenMP COMPONENTS CXX)")
set(find_fmt::fmt "find_dependency(fmt)")
set(find_ZLIB::ZLIB "find_dependency(ZLIB)")
set(find_PNG::PNG "find_dependency(PNG)")
set(find_JPEG::JPEG "find_dependency(JPEG)")
set(find_DNNL::dnnl "find_dependency(dnnl)")
set(find_onnx_proto "find_dependency(Protobuf)\nfind_dependency(ONNX)")
set(find_CUDA::cudart_static "find_dependency(CUDAToolkit)")
set(find_CURL::libcurl "find_dependency(CURL)")
set(find_MPI::MPI_CXX "find_dependency(MPI COMPONENTS CXX)")
set(find_nlohmann_json::nlohmann_json "find_dependency(nlohmann_json)")
set(find_tomlplusplus::tomlplusplus "find_dependency(tomlplusplus)")
set(find_PkgConfig::xxhash
    "find_dependency(PkgConfig)\npkg_check_modules(xxhash REQUIRED QUIET IMPORTED_TARGET libxxhash)")
list(REMOVE_DUPLICATES depends)
set(NIBBLE_FIND_DEPENDENCIES "")
foreach(target IN LISTS depends)
  if(target MATCHES "^nibble::")
    continue()
  endif()
  if(NOT DEFINED find_${target})
    message(FATAL_ERROR "cmake/NibbleInstall.cmake does not know how a consumer finds ${target}")
  endif()
  string(APPEND NIBBLE_FIND_DEPENDENCIES "${find_${target}}\n")
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nibble)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/nibbleConfig.cmake.in
  ${PROJECT_BINARY_DIR}/nibbleConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nibbleConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)

install(TARGETS ${modules} nibble_all EXPORT nibbleTargets)
install(EXPORT nibbleTargets NAMESPACE nibble:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/nibbleConfig.cmake ${PROJECT_BINARY_DIR}/nibbleConfigVersion.cmake
  DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/nibble ${PROJECT_BINARY_DIR}/include/nibble
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/include/nibble.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
