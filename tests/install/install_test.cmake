# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty prefix, builds the consumer against it with find_package, runs it.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})

# The programs that pages show have to compile and run as they stand: of a page the first in a language.
function(take_program page language file)
  set(fence "```${language}\n")
  file(READ ${DOCS_DIR}/${page} text)
  string(FIND "${text}" "${fence}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "docs/${page} shows no program in ${language}")
  endif()
  string(LENGTH "${fence}" length)
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE ${WORK_DIR}/pages/${file} "${text}")
endfunction()
take_program(formats/README.md cpp formats.cpp)
take_program(engine.md cpp engine.cpp)
take_program(engine.md c engine.c)
take_program(cpp.md cmake find.cmake)

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G Ninja
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${CXX_COMPILER} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    "-DCMAKE_C_FLAGS=${CXX_FLAGS}" -D EXAMPLES_DIR=${CMAKE_CURRENT_LIST_DIR}/../../examples
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix -D PAGES_DIR=${WORK_DIR}/pages)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)

function(expect_output name expected)
  execute_process(COMMAND ${WORK_DIR}/build/${name} WORKING_DIRECTORY ${WORK_DIR}
                  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${name} printed: got '${output}', expected '${expected}'")
  endif()
endfunction()
expect_output(consumer "nibble ${VERSION} (1, 3) 0.3125 -448 3.25\n")
expect_output(umbrella "")
expect_output(page_formats "")
if(NOT EXISTS ${WORK_DIR}/w8.npy)
  message(FATAL_ERROR "the program of docs/formats/README.md wrote no w8.npy")
endif()

run(${WORK_DIR}/build/make_model ${WORK_DIR}/rows.nib)
file(COPY_FILE ${WORK_DIR}/rows.nib ${WORK_DIR}/model.nib)
expect_output(page_engine_cpp "class 0\n")
expect_output(mine "class 0\n")
expect_output(page_engine_c "10 numbers, the first is 0\n")

# The examples answer alike, and nothing of training or of pictures comes with the engine.
foreach(example engine_cpp engine_c)
  execute_process(COMMAND ${WORK_DIR}/build/${example} ${WORK_DIR}/rows.nib
                  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  set(expected "rows: (8, 8, 1) i8 to (10,) i8\nclass 7\n")
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${example} printed: got '${output}', expected '${expected}'")
  endif()
  execute_process(COMMAND ${WORK_DIR}/build/${example} ${WORK_DIR}/missing.nib
                  RESULT_VARIABLE code ERROR_VARIABLE error)
  if(NOT code EQUAL 1 OR NOT error MATCHES "missing.nib")
    message(FATAL_ERROR "${example} without a model: got ${code} '${error}', expected 1 and its name")
  endif()
  execute_process(COMMAND ldd ${WORK_DIR}/build/${example}
                  OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  if(libraries MATCHES "lib(dnnl|mpi|open-rte|open-pal|curl|jpeg|png)[^ ]*")
    message(FATAL_ERROR "${example} needs ${CMAKE_MATCH_0}: nibble::engine must not\n${libraries}")
  endif()
endforeach()
