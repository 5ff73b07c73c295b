# SPDX-License-Identifier: Apache-2.0
# The host's fmt, xxHash, nlohmann-json, toml++ and CLI11 used as headers only. Cross builds then need no
# library of the other architecture; a wheel needs none at run time, and the formats alone only three of the five.
# In cross builds the host's include folder itself must stay out of the search (its C headers are the host's),
# so the build folder holds links to them. A bare machine with a GPU has them from tools/gpu_pack.

set(host_headers ${PROJECT_BINARY_DIR}/host-headers)
file(MAKE_DIRECTORY ${host_headers})
set(headers_fmt fmt)
set(headers_xxHash xxhash.h)
set(headers_nlohmann-json nlohmann)
set(headers_toml++ toml++)
set(headers_CLI11 CLI)
set(libraries fmt xxHash nlohmann-json)
if(NOT NIBBLE_FORMATS_ONLY)
  list(APPEND libraries toml++ CLI11)
endif()
foreach(library IN LISTS libraries)
  set(entry ${headers_${library}})
  find_file(NIBBLE_HOST_${library} ${entry}
            PATHS /usr/local/include /usr/include ${PROJECT_SOURCE_DIR}/gpu-pack/include
            NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  if(NOT NIBBLE_HOST_${library})
    message(FATAL_ERROR "the headers of ${library} are missing (${entry}); tools/setup installs them")
  endif()
  file(CREATE_LINK ${NIBBLE_HOST_${library}} ${host_headers}/${entry} SYMBOLIC)
  nibble_report(${library} TRUE "" "headers of the host")
endforeach()

function(nibble_add_header_target name)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} SYSTEM INTERFACE ${host_headers})
  target_compile_definitions(${name} INTERFACE ${ARGN})
endfunction()

nibble_add_header_target(fmt::fmt FMT_HEADER_ONLY=1)
nibble_add_header_target(PkgConfig::xxhash XXH_INLINE_ALL)
nibble_add_header_target(nlohmann_json::nlohmann_json)
nibble_add_header_target(tomlplusplus::tomlplusplus)
nibble_add_header_target(CLI11::CLI11)
