# SPDX-License-Identifier: Apache-2.0
# MLPerf's LoadGen as it is published, as the static library nibble_official_loadgen: from the package that tools/setup
# unpacks in .loadgen, or from a checkout of one's own (folder `loadgen` of mlcommons/inference).

set(NIBBLE_LOADGEN "" CACHE PATH "Folder of LoadGen's sources; empty: what tools/setup unpacked; OFF: none")
set(folder "${NIBBLE_LOADGEN}")
if(folder STREQUAL "" AND NOT CMAKE_CROSSCOMPILING)
  file(GLOB folder ${PROJECT_SOURCE_DIR}/.loadgen/mlcommons_loadgen-*/loadgen.cc)
  cmake_path(GET folder PARENT_PATH folder)
endif()
if(folder AND EXISTS ${folder}/loadgen.cc)
  file(STRINGS ${folder}/VERSION.txt version LIMIT_COUNT 1)
  # A checkout lacks two files that its own build makes; nothing is written into it.
  set(made ${PROJECT_BINARY_DIR}/loadgen)
  set(version_source ${folder}/generated/version_generated.cc)
  if(NOT EXISTS ${version_source})
    set(version_source ${made}/version_generated.cc)
    find_program(NIBBLE_PYTHON python3 REQUIRED)
    add_custom_command(OUTPUT ${version_source}
      COMMAND ${NIBBLE_PYTHON} ${folder}/version_generator.py ${version_source} ${folder}
      DEPENDS ${folder}/version_generator.py ${folder}/VERSION.txt VERBATIM)
  endif()
  if(NOT EXISTS ${folder}/mlperf_conf.h)
    file(READ ${folder}/mlperf.conf conf)
    file(CONFIGURE OUTPUT ${made}/mlperf_conf.h CONTENT "const char* mlperf_conf = R\"conf(@conf@)conf\";\n" @ONLY)
  endif()
  set(sources early_stopping issue_query_controller loadgen logging results test_settings_internal utils version)
  list(TRANSFORM sources REPLACE "(.+)" "${folder}/\\1.cc")
  add_library(nibble_official_loadgen STATIC EXCLUDE_FROM_ALL ${sources} ${version_source})
  target_include_directories(nibble_official_loadgen SYSTEM PUBLIC ${folder} PRIVATE ${made})
  target_compile_features(nibble_official_loadgen PRIVATE cxx_std_14)
  target_compile_options(nibble_official_loadgen PRIVATE -w ${NIBBLE_LIGHT_OPTIONS} -fno-sanitize=all)
  target_link_libraries(nibble_official_loadgen PUBLIC Threads::Threads)
  nibble_report(LoadGen TRUE "${version}" "nibble loadgen")
elseif(folder)
  message(FATAL_ERROR "NIBBLE_LOADGEN is ${folder}, where no loadgen.cc is")
else()
  nibble_report(LoadGen FALSE "" "nibble loadgen (tools/setup unpacks it)")
endif()
