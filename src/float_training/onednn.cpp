// SPDX-License-Identifier: Apache-2.0
// The one engine of oneDNN, and tensors described for it.
#include "float_training/onednn.h"

#include <dnnl_debug.h>
#include <sys/mman.h>

#include <utility>

#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/core/tensor.h"

namespace nibble::inline float_training {

void require_room() {
  // Far more than the code of a primitive takes, and for each thread the heap that malloc reserves
  // at the thread's first call: it may come between this check and oneDNN's.
  const std::size_t room = (std::size_t{32} << 20) + (std::size_t{64} << 20) * thread_count();
  void* address = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    const std::string mebibytes = std::to_string(room >> 20);
    throw Error("oneDNN", "free address space", "less than " + mebibytes + " MiB",
                mebibytes + " MiB or more for " + std::to_string(thread_count()) + " threads",
                ErrorKind::memory);
  }
  ::munmap(address, room);
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& cpu_stream() {
  thread_local dnnl::stream stream(cpu_engine());
  return stream;
}

dnnl::memory::desc picture_desc(std::int64_t images, const Shape& picture) {
  return {{images, picture[2], picture[0], picture[1]},
          dnnl::memory::data_type::f32,
          dnnl::memory::format_tag::nhwc};
}

dnnl::primitive_attr attributes() {
  require_room();
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void execute(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
             std::unordered_map<int, dnnl::memory> arguments) {
  thread_local Tensor scratch;
  const auto bytes = static_cast<std::int64_t>(scratchpad.get_size());
  if (bytes > 0) {
    if (scratch.elements() < bytes) scratch = Tensor(DType::u8, {bytes});
    arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad, cpu_engine(), scratch.data()));
  }
  primitive.execute(cpu_stream(), arguments);
  cpu_stream().wait();
}

void reorder(const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc desc(from, to, attributes());
  execute(dnnl::reorder(desc), desc.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

dnnl::memory borrow(const dnnl::memory::desc& desc, const float* data) {
  return {desc, cpu_engine(), const_cast<float*>(data)};
}

void fail_in_layer(const std::string& layer, const dnnl::error& error) {
  throw Error("oneDNN", "layer " + layer,
              std::string(error.what()) + " (" + dnnl_status2str(error.status) + ")", "success",
              error.status == dnnl_out_of_memory ? ErrorKind::memory : ErrorKind::internal);
}

}  // namespace nibble::inline float_training
