// SPDX-License-Identifier: Apache-2.0
// The one engine of oneDNN, and tensors described for it.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <string>
#include <unordered_map>

#include "nibble/core/shape.h"

namespace nibble::inline float_training {

// oneDNN writes code where it makes a primitive, and at the first matrix product of a kind; it does
// not survive that there is no memory for that. Throws where too little is left.
void require_room();

const dnnl::engine& cpu_engine();
dnnl::stream& cpu_stream();  // one a thread

// `images` examples of a picture (height, width, channels), NHWC in memory.
dnnl::memory::desc picture_desc(std::int64_t images, const Shape& picture);

// Of every primitive that is made: made on one thread they run on others, so each call brings its
// own scratch memory. Throws where too little memory is left to make one.
dnnl::primitive_attr attributes();

// Runs a primitive made with attributes(), with the calling thread's scratch memory, to its end.
void execute(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
             std::unordered_map<int, dnnl::memory> arguments);

// The same numbers in another layout.
void reorder(const dnnl::memory& from, const dnnl::memory& to);

// oneDNN takes no const pointers; what is an input is not written.
dnnl::memory borrow(const dnnl::memory::desc& desc, const float* data);

[[noreturn]] void fail_in_layer(const std::string& layer, const dnnl::error& error);

// Does work of a layer; what oneDNN throws becomes an Error that names it.
template <class Work>
void in_layer(const std::string& layer, const Work& work) {
  try {
    work();
  } catch (const dnnl::error& error) {
    fail_in_layer(layer, error);
  }
}

}  // namespace nibble::inline float_training
