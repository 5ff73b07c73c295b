# SPDX-License-Identifier: Apache-2.0
# Cross builds: the host's fmt, xxHash, nlohmann-json, toml++ and CLI11 used as headers only, so that no
# library of the other architecture is needed. The host's include folder itself must stay out of the search
# (its C headers are the host's), so the build folder holds links to the five of them.

set(cross_include ${PROJECT_BINARY_DIR}/host-headers)
file(MAKE_DIRECTORY ${cross_include})
set(headers_fmt fmt)
set(headers_xxHash xxhash.h)
set(headers_nlohmann-json nlohmann)
set(headers_toml++ toml++)
set(headers_CLI11 CLI)
foreach(library fmt xxHash nlohmann-json toml++ CLI11)
  set(entry ${headers_${library}})
  find_file(NIBBLE_HOST_${library} ${entry} PATHS /usr/local/include /usr/include
            NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(CREATE_LINK ${NIBBLE_HOST_${library}} ${cross_include}/${entry} SYMBOLIC)
  nibble_report(${library} TRUE "" "headers of the host")
endforeach()

function(nibble_add_header_target name)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} SYSTEM INTERFACE ${cross_include})
  target_compile_definitions(${name} INTERFACE ${ARGN})
endfunction()

nibble_add_header_target(fmt::fmt FMT_HEADER_ONLY=1)
nibble_add_header_target(PkgConfig::xxhash XXH_INLINE_ALL)
nibble_add_header_target(nlohmann_json::nlohmann_json)
nibble_add_header_target(tomlplusplus::tomlplusplus)
nibble_add_header_target(CLI11::CLI11)
