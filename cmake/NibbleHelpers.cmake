# SPDX-License-Identifier: Apache-2.0
# The functions that every CMakeLists.txt of the tree uses.
#
#   nibble_add_module(core [COMPUTES] [INTERNAL] SOURCES a.cpp … DEPENDS nibble::x … PRIVATE_DEPENDS fmt::fmt …)
#   nibble_add_isa_sources(nibble_format_kernels ISA avx2 FILES quantize/x86_avx2.cpp …)
#   nibble_add_cuda_sources(nibble_format_kernels FILES quantize/cuda/round.cu …)  nibble_add_wgmma_sources(…)
#   nibble_embed_texts(nibble_graph FUNCTION network_texts FILES a.toml …)
#   nibble_add_test(core_test SOURCES a_test.cpp … DEPENDS nibble::core LABELS quick)
#   nibble_add_gpu_test(name_test SOURCES … DEPENDS …)  nibble_add_gpu_bench(name_bench …)  nibble_use_still_gpu(test)
#   nibble_add_python_test(name SCRIPT x.py ARGS … LABELS quick [ORACLES])
#   nibble_add_bench(formats_bench SOURCES formats_bench.cpp DEPENDS nibble::format_kernels)
#   nibble_add_fuzzer(npy_fuzz SOURCES npy_fuzz.cpp DEPENDS nibble::core)

# What all code of the project is compiled with. Contraction would change bits between machines.
function(nibble_set_options target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set(options
    -ffp-contract=off -fno-fast-math
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<BOOL:${NIBBLE_WERROR}>:-Werror>)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${options}>")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  if(CMAKE_UNITY_BUILD)
    nibble_group_sources(${target})
  endif()
endfunction()

# Unity builds: the sources of one folder are compiled together, CMAKE_UNITY_BUILD_BATCH_SIZE at a time, so that headers are
# read once for all of them. Sources with flags of their own (instruction sets, CUDA) stay alone.
# -Wsubobject-linkage takes the anonymous namespaces of such a batch for those of a header.
function(nibble_group_sources target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    if(NOT folder OR IS_ABSOLUTE "${folder}")
      cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    endif()
    string(MAKE_C_IDENTIFIER ${folder} folder)
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR batch "${count_${folder}} / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

# Headers that nearly every test reads, precompiled once for all of them, which have the same flags. Not beside a compiler
# cache: it would keep nothing of such compilations.
function(nibble_share_test_headers target)
  get_target_property(sources ${target} SOURCES)
  if(CMAKE_CXX_COMPILER_LAUNCHER OR sources MATCHES "\\.c(;|$)")  # C would want its own
    return()
  endif()
  if(NOT TARGET nibble_test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "int main() {}\n")
    add_executable(nibble_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cpp)
    nibble_set_options(nibble_test_headers)
    target_compile_options(nibble_test_headers PRIVATE ${NIBBLE_TEST_OPTIONS})
    target_link_libraries(nibble_test_headers PRIVATE GTest::gmock)
    target_precompile_headers(nibble_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>
      <algorithm> <array> <cmath> <filesystem> <fstream> <functional> <map> <optional> <random> <span> <string> <variant> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM nibble_test_headers)
endfunction()

# A static library nibble_<name> known as nibble::<name>; one without sources has headers only. COMPUTES: its loops are
# worth -O3 in release builds; what does not compute is compiled with NIBBLE_LIGHT_OPTIONS. INTERNAL: not installed.
function(nibble_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPUTES;INTERNAL" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  set(target nibble_${name})
  set(reach INTERFACE)
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    nibble_set_options(${target})
    if(arg_COMPUTES)
      target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O3>)
    else()
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${NIBBLE_LIGHT_OPTIONS}>)
    endif()
    set(reach PUBLIC)
  else()
    add_library(${target} INTERFACE)
  endif()
  add_library(nibble::${name} ALIAS ${target})
  target_compile_features(${target} ${reach} cxx_std_20)
  target_include_directories(${target} ${reach}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${reach} ${arg_DEPENDS})
  if(arg_SOURCES)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_DEPENDS})
  endif()
  if(arg_INTERNAL)
    return()
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY NIBBLE_MODULES ${target})
  set_property(GLOBAL APPEND PROPERTY NIBBLE_MODULE_DEPENDS ${arg_DEPENDS} ${arg_PRIVATE_DEPENDS})
endfunction()

# Sources of one instruction set, <processor>_<isa>*.cpp, compiled with its flags; left out on other processors.
# tools/check_isa_objects.py finds their objects by these names.
function(nibble_add_isa_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ISA" "FILES")
  foreach(file IN LISTS arg_FILES)
    cmake_path(GET file FILENAME name)
    if(NOT name MATCHES "^(x86|arm)_${arg_ISA}[_.]")
      message(FATAL_ERROR "${file}: expected a source of ${arg_ISA} to be named <processor>_${arg_ISA}*.cpp")
    endif()
    if(NOT CMAKE_MATCH_1 STREQUAL NIBBLE_PROCESSOR)
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH file)
    target_sources(${target} PRIVATE ${file})
    # Headers that are precompiled for tests have other flags.
    set_source_files_properties(${file} TARGET_DIRECTORY ${target}
                                PROPERTIES COMPILE_OPTIONS "${NIBBLE_FLAGS_${arg_ISA}};${NIBBLE_ISA_OPTIONS}"
                                           SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endfunction()

# Sources of GPU kernels; left out without the CUDA toolkit (NIBBLE_HAS_CUDA says whether it is there).
# Contraction would change bits here too; constexpr functions of the standard library may run on the GPU.
function(nibble_add_cuda_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES")
  if(NOT NIBBLE_HAS_CUDA)
    return()
  endif()
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file)
    target_sources(${target} PRIVATE ${file})
    set_source_files_properties(${file} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS
      "--expt-relaxed-constexpr;-diag-suppress=554;-fmad=false;-ftz=false;-prec-div=true;-Xcompiler=-ffp-contract=off")
    if(NOT target MATCHES "_wgmma$")
      set_property(GLOBAL APPEND PROPERTY NIBBLE_CUDA_SOURCES ${file})  # for any architecture
    endif()
  endforeach()
endfunction()

# CUDA sources of nibble_X_cuda for Hopper alone, whatever the others are compiled for: wgmma is no part of PTX for all, it
# needs the architecture's own name.
function(nibble_add_wgmma_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES")
  string(REPLACE _cuda _wgmma objects ${target})
  add_library(${objects} OBJECT)
  target_compile_features(${objects} PRIVATE cxx_std_20)
  target_include_directories(${objects}
    PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  nibble_add_cuda_sources(${objects} FILES ${arg_FILES})
  set_target_properties(${objects} PROPERTIES CUDA_ARCHITECTURES 90a-real)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
endfunction()

# Texts of the tree as part of a library: `std::span<const EmbeddedText> nibble::<function>()`, which
# core/text_file.h explains, gives each file under its name without extension, in this order.
function(nibble_embed_texts target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FUNCTION" "FILES")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME module)
  set(code "// Made by nibble_embed_texts from files of the tree.\n#include \"core/text_file.h\"\n
namespace nibble::inline ${module} {\n\nstd::span<const EmbeddedText> ${arg_FUNCTION}();\n
std::span<const EmbeddedText> ${arg_FUNCTION}() {\n  static constexpr EmbeddedText kTexts[] = {\n")
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    cmake_path(GET file STEM LAST_ONLY name)
    file(READ ${file} text)
    string(APPEND code "      {\"${name}\", R\"nibble(${text})nibble\"},\n")
  endforeach()
  string(APPEND code "  };\n  return kTexts;\n}\n\n}  // namespace nibble::inline ${module}\n")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${arg_FUNCTION}.cpp)
  set(old "")
  if(EXISTS ${source})
    file(READ ${source} old)
  endif()
  if(NOT code STREQUAL old)
    file(WRITE ${source} "${code}")
  endif()
  target_sources(${target} PRIVATE ${source})
endfunction()

# A GoogleTest program; each of its tests is a ctest named <name without _test>.<Suite>.<Test>, or all are one ctest
# where NIBBLE_TESTS_BY_PROGRAM says so: 1,900 starts of sanitized programs take minutes.
# RapidCheck draws the same cases in every run, those of SEED; RC_PARAMS="seed=…" by hand draws others.
function(nibble_add_test name)
  if(NOT NIBBLE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SEED" "SOURCES;DEPENDS;LABELS")
  if(NOT arg_LABELS)
    set(arg_LABELS quick)
  endif()
  if(NOT arg_SEED)
    set(arg_SEED 20261115)
  endif()
  if(NIBBLE_QUICK_TESTS_ONLY AND NOT "quick" IN_LIST arg_LABELS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  nibble_set_options(${name})
  target_compile_options(${name} PRIVATE ${NIBBLE_TEST_OPTIONS})
  target_compile_definitions(${name} PRIVATE NIBBLE_CORPUS_DIR="${PROJECT_SOURCE_DIR}/tests/corpus")
  target_link_libraries(${name} PRIVATE
    ${arg_DEPENDS} GTest::gmock GTest::gtest_main rapidcheck rapidcheck_gtest)
  nibble_share_test_headers(${name})
  string(REGEX REPLACE "_test$" "" prefix ${name})
  set(all_in_one "")
  if(NIBBLE_TESTS_BY_PROGRAM)
    set(all_in_one "add_test(${prefix} \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}\")\nset(${name}_list ${prefix})\n")
  else()
    include(GoogleTest)
    gtest_discover_tests(${name} TEST_PREFIX "${prefix}." TEST_LIST ${name}_list DISCOVERY_TIMEOUT 60)
  endif()
  # PROPERTIES of gtest_discover_tests would drop all labels but the first.
  set(properties_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake)
  file(CONFIGURE OUTPUT ${properties_file} @ONLY CONTENT
    "@all_in_one@set_tests_properties(\${@name@_list} PROPERTIES LABELS \"@arg_LABELS@\" ENVIRONMENT RC_PARAMS=seed=@arg_SEED@)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties_file})
endfunction()

# A GoogleTest program for GPUs, one ctest; skipped (exit code 77) where there is none.
function(nibble_add_gpu_test name)
  if(NOT NIBBLE_BUILD_TESTS OR NOT NIBBLE_HAS_CUDA)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/src/cuda/test_main.cpp)
  nibble_set_options(${name})
  target_compile_options(${name} PRIVATE ${NIBBLE_LIGHT_OPTIONS})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} CUDA::cudart_static GTest::gmock GTest::gtest)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 RUN_SERIAL ON)
endfunction()

# Calls of CUDA's runtime go to src/cuda/test_still_gpu.cpp, one of the target's sources.
function(nibble_use_still_gpu target)
  foreach(function IN ITEMS
      DeviceGetAttribute EventCreateWithFlags EventDestroy EventQuery EventRecord EventSynchronize Free FreeHost
      FuncGetAttributes FuncSetAttribute GetDevice GetDeviceCount GetDeviceProperties GetDriverEntryPointByVersion
      GetLastError GraphDestroy GraphExecDestroy GraphInstantiate GraphLaunch GraphUpload HostAlloc LaunchKernelExC Malloc
      MallocHost MemGetInfo Memcpy MemcpyAsync MemsetAsync OccupancyMaxActiveBlocksPerMultiprocessor SetDevice
      StreamBeginCapture StreamCreateWithFlags StreamDestroy StreamEndCapture StreamSynchronize StreamWaitEvent)
    target_link_options(${target} PRIVATE LINKER:--wrap=cuda${function})
  endforeach()
endfunction()

# A bench that needs a GPU; `make gpu-test` runs it.
function(nibble_add_gpu_bench name)
  if(NOT NIBBLE_HAS_CUDA)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  nibble_set_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} CUDA::cudart_static fmt::fmt)
endfunction()

# A Python script as a test (exit code 77: skipped). ORACLES runs it with .venv, and reports it as
# skipped where that is missing.
function(nibble_add_python_test name)
  if(NOT NIBBLE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "ORACLES" "SCRIPT" "ARGS;LABELS")
  cmake_path(ABSOLUTE_PATH arg_SCRIPT)
  set(command ${NIBBLE_PYTHON} -B ${arg_SCRIPT} ${arg_ARGS})
  if(arg_ORACLES AND EXISTS ${NIBBLE_ORACLE_PYTHON})
    set(command ${NIBBLE_ORACLE_PYTHON} -B ${arg_SCRIPT} ${arg_ARGS})
  elseif(arg_ORACLES)
    set(command ${NIBBLE_PYTHON} -c "raise SystemExit(print('no .venv: run tools/setup') or 77)")
  endif()
  add_test(NAME ${name} COMMAND ${command})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77)
endfunction()

# A program that measures and checks what it measured; `make bench` builds and runs all of them.
function(nibble_add_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  nibble_set_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} fmt::fmt)
  set_property(GLOBAL APPEND PROPERTY NIBBLE_BENCHES ${name})
endfunction()

function(nibble_finish_benches)
  get_property(benches GLOBAL PROPERTY NIBBLE_BENCHES)
  set(commands COMMAND ${CMAKE_COMMAND} -E echo "No micro-benchmark in this build.")
  if(benches)
    set(commands)
    foreach(bench IN LISTS benches)
      list(APPEND commands COMMAND $<TARGET_FILE:${bench}>)
    endforeach()
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    add_custom_target(bench ${commands} USES_TERMINAL VERBATIM)
    if(benches)
      add_dependencies(bench ${benches})
    endif()
  endif()
endfunction()

# What modules link, a line each, for tools/check_links.py.
function(nibble_write_links file)
  get_property(modules GLOBAL PROPERTY NIBBLE_MODULES)
  set(text "")
  foreach(module IN LISTS modules)
    set(links ${module})
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(targets ${module} ${property})
      if(targets)
        list(APPEND links ${targets})
      endif()
    endforeach()
    list(TRANSFORM links REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
    list(TRANSFORM links REPLACE "^nibble::" "nibble_")
    list(REMOVE_DUPLICATES links)
    list(JOIN links " " links)
    string(APPEND text "${links}\n")
  endforeach()
  file(WRITE ${file} "${text}")
endfunction()

# A libFuzzer program <target>_fuzz of the source that has NIBBLE_FUZZ_TARGET(<target>); the library is instrumented by the
# flags of the fuzz preset.
function(nibble_add_fuzzer name)
  if(NOT NIBBLE_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} ${arg_SOURCES})
  nibble_set_options(${name})
  string(REGEX REPLACE "_fuzz$" "" target ${name})
  target_compile_definitions(${name} PRIVATE NIBBLE_FUZZ_PROGRAM="${target}")
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
