# SPDX-License-Identifier: Apache-2.0
# The commit of the sources as a header, looked up at each build and written only where it changed.
#
#   nibble_add_commit_header(<target> <header>)    in a CMakeLists.txt
#   cmake -D SOURCE=… -D GIT=… -D HEADER=… -P NibbleCommit.cmake    at build time

function(nibble_add_commit_header target header)
  find_program(NIBBLE_GIT git NO_CMAKE_FIND_ROOT_PATH)
  add_custom_target(${target}
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D GIT=${NIBBLE_GIT}
            -D HEADER=${header} -P ${PROJECT_SOURCE_DIR}/cmake/NibbleCommit.cmake
    BYPRODUCTS ${header}
    COMMENT "Looking up the commit"
    VERBATIM)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

# "unknown" outside of a clone, and where the clone around is somebody else's.
set(commit "unknown")
if(GIT AND EXISTS ${SOURCE}/.git)
  set(ENV{GIT_OPTIONAL_LOCKS} 0)  # other git commands are not disturbed
  execute_process(
    COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE answer RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND answer MATCHES "^[0-9a-f]+(-dirty)?$")
    set(commit ${answer})
  endif()
endif()

configure_file(${CMAKE_CURRENT_LIST_DIR}/commit.h.in ${HEADER} @ONLY)
