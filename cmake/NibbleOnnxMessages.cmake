# SPDX-License-Identifier: Apache-2.0
# The messages of ONNX, made from libonnx-dev's onnx.proto for protobuf's small run time: a wheel then carries
# libprotobuf-lite alone, a fifth of libonnx_proto and libprotobuf, and no registry that another copy of protobuf in the
# same process could meet. Where protoc is, builds with NIBBLE_HEADERS_ONLY take them; others take libonnx's own.

set(NIBBLE_MAKES_ONNX_MESSAGES OFF)
if(NIBBLE_HEADERS_ONLY AND TARGET protobuf::libprotobuf-lite)
  find_program(NIBBLE_PROTOC protoc)
  find_path(NIBBLE_ONNX_PROTO_FOLDER onnx/onnx.proto)
  if(NIBBLE_PROTOC AND NIBBLE_ONNX_PROTO_FOLDER)
    set(NIBBLE_MAKES_ONNX_MESSAGES ON)
  endif()
endif()

# Adds them to a module in the folder that calls this, as what #include <onnx/onnx_pb.h> gives.
function(nibble_add_onnx_messages target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/messages)
  set(made ${folder}/onnx/onnx.pb.cc)
  file(CONFIGURE OUTPUT ${folder}/onnx/onnx_pb.h CONTENT "#include <onnx/onnx.pb.h>\n")
  add_custom_command(OUTPUT ${made} ${folder}/onnx/onnx.pb.h
    COMMAND ${NIBBLE_PROTOC} --proto_path=${NIBBLE_ONNX_PROTO_FOLDER} --cpp_out=${folder} onnx/onnx.proto
    DEPENDS ${NIBBLE_ONNX_PROTO_FOLDER}/onnx/onnx.proto VERBATIM)
  set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -w)
  target_sources(${target} PRIVATE ${made} ${folder}/onnx/onnx.pb.h)
  target_include_directories(${target} SYSTEM BEFORE PRIVATE ${folder})
  target_link_libraries(${target} PRIVATE protobuf::libprotobuf-lite)
endfunction()
