# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty prefix, builds the consumer against it with find_package, runs it.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G Ninja
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${CXX_COMPILER} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    "-DCMAKE_C_FLAGS=${CXX_FLAGS}" -D EXAMPLES_DIR=${CMAKE_CURRENT_LIST_DIR}/../../examples
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
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

run(${WORK_DIR}/build/make_model ${WORK_DIR}/rows.nib)

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
