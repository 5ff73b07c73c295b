# SPDX-License-Identifier: Apache-2.0
# One copy of the library for several programs (NIBBLE_SHARE_CODE): the command and the Python extensions of a wheel load
#   libnibble_kernels.so   formats and kernels: all that arrays need
#   libnibble.so           everything else, with what it asks of other packages
# instead of holding a copy each. A program names NIBBLE_SHARED or NIBBLE_SHARED_KERNELS before the modules it uses: what a
# shared library has, the linker does not take from archives that come after it. Without the option both are empty.

set(NIBBLE_SHARED)
set(NIBBLE_SHARED_KERNELS)
if(NOT NIBBLE_SHARE_CODE OR NIBBLE_HAS_CUDA OR NIBBLE_FORMATS_ONLY)
  return()
endif()

# nibble_add_shared(<file name> [AFTER <shared library that comes first>] MODULES nibble_<module> …); all of namespace nibble
# is visible, and calls inside of the library stay inside.
function(nibble_add_shared name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "AFTER" "MODULES")
  set(target ${name}_shared)
  set(symbols ${PROJECT_SOURCE_DIR}/cmake/shared_symbols.map)
  set(archives)
  foreach(module IN LISTS arg_MODULES)
    get_target_property(type ${module} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND archives $<TARGET_FILE:${module}>)
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${target}.cpp CONTENT "// All of it comes from archives.\n")
  add_library(${target} SHARED ${PROJECT_BINARY_DIR}/${target}.cpp)
  target_link_options(${target} PRIVATE
    LINKER:-Bsymbolic-functions,--as-needed,--version-script=${symbols}
    LINKER:--whole-archive ${archives} LINKER:--no-whole-archive)
  target_link_libraries(${target} PRIVATE ${arg_AFTER} ${arg_MODULES})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} LINK_DEPENDS ${symbols}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/libraries INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target} LIBRARY DESTINATION nibble/libraries COMPONENT python EXCLUDE_FROM_ALL)
endfunction()

set(kernel_modules nibble_core nibble_numerics nibble_laws nibble_cuda nibble_format_kernels nibble_integer_kernels)
get_property(modules GLOBAL PROPERTY NIBBLE_MODULES)
list(REMOVE_ITEM modules ${kernel_modules})
nibble_add_shared(nibble_kernels MODULES ${kernel_modules})
nibble_add_shared(nibble AFTER nibble_kernels_shared MODULES nibble_tasks nibble_placement ${modules})
set(NIBBLE_SHARED_KERNELS nibble_kernels_shared)
set(NIBBLE_SHARED nibble_shared nibble_kernels_shared)
