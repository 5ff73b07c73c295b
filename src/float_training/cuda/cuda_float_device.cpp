// SPDX-License-Identifier: Apache-2.0
// Products on a GPU: parcels come up and go down on streams of their own, beside the one that
// computes, and are packed and unpacked there by the formats' own kernels.
#include "float_training/cuda/cuda_float_device.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "backend/cuda/device_lanes.h"
#include "cuda/driver.h"
#include "cuda/errors.h"
#include "cuda/event_spans.h"
#include "cuda/memory.h"
#include "float_training/cuda/float_products.h"
#include "nibble/kernels/device_quantize.h"

namespace nibble::inline float_training {
namespace {

constexpr std::int64_t kMostPixels = INT32_MAX;

// What the layers share. Memory is used again in the order of the stream that computes.
struct GpuWorker {
  explicit GpuWorker(int device) : queue(device), lanes(queue), pool(queue.place()) {
    pool.set_purpose("products of layers");
  }

  const cuda::Place& place() const { return queue.place(); }
  cuda::DeviceBuffer floats(std::int64_t count) {
    return pool.take(static_cast<std::size_t>(count) * sizeof(float));
  }
  // What is queued meanwhile has this name in a trace.
  template <class Work>
  void timed(const std::string& name, const Work& work) {
    if (spans != nullptr) spans->begin(name, {});
    work();
    if (spans != nullptr) spans->end();
  }

  cuda::DeviceQueue queue;
  cuda::DeviceLanes lanes;
  cuda::DevicePool pool;
  std::unique_ptr<cuda::EventSpans> spans;  // while somebody traces
};

cuda::FloatProductShape::Extent extent_of(const Extent2& extent) {
  return {static_cast<std::int32_t>(extent.y), static_cast<std::int32_t>(extent.x)};
}
cuda::FloatProductShape::Extent extent_of(const Shape& picture) {
  return extent_of(Extent2{picture[0], picture[1]});
}

cuda::FloatProductShape shape_of(const LayerSettings& settings) {
  if (const auto* conv = std::get_if<Conv2d>(&settings.node.op)) {
    const Shape& input = settings.inputs[0];
    return {.input = extent_of(input),
            .output = extent_of(settings.output),
            .kernel = extent_of(conv->kernel),
            .stride = extent_of(conv->stride),
            .padding = extent_of(conv->padding),
            .dilation = extent_of(conv->dilation),
            .groups = static_cast<std::int32_t>(conv->groups),
            .in = static_cast<std::int32_t>(input[2] / conv->groups),
            .out = static_cast<std::int32_t>(conv->channels / conv->groups)};
  }
  return {.in = static_cast<std::int32_t>(settings.inputs[0].elements()),
          .out = static_cast<std::int32_t>(settings.output.elements())};
}

// Codes and behind them, from a multiple of 16 bytes on, scales.
struct ParcelLayout {
  ParcelLayout(std::int64_t count, WireFormat wire)
      : shape{count}, sizes(device_encoded_sizes(shape, format_of(wire), false)) {
    constexpr std::size_t kGranule = 16;
    scales_at = (sizes.code_bytes + kGranule - 1) / kGranule * kGranule;
    bytes = scales_at + (sizes.has_scales ? scale_count() * sizeof(float) : 0);
  }
  std::size_t scale_count() const { return static_cast<std::size_t>(sizes.scales.elements()); }
  DeviceEncoded at(void* memory) const {
    auto* scales = reinterpret_cast<float*>(static_cast<std::byte*>(memory) + scales_at);
    return {.codes = {memory, sizes.code_type}, .scales = sizes.has_scales ? scales : nullptr};
  }

  Shape shape;
  DeviceEncodedSizes sizes;
  std::size_t scales_at = 0;
  std::size_t bytes = 0;
};

class CudaProducts final : public DeviceProducts {
 public:
  CudaProducts(GpuWorker& worker, const LayerSettings& settings, ProductType type)
      : worker_(worker),
        name_(settings.node.name),
        shape_(shape_of(settings)),
        type_(type),
        input_size_(settings.inputs[0].elements()),
        output_size_(settings.output.elements()) {}

  void put_weight(WireParcel weight) override { bring("weight", weight, type_, weight_); }
  void put_bias(WireParcel bias) override { bring("bias", bias, ProductType::fp32, bias_); }
  void put_input(WireParcel input) override { bring("input", input, type_, input_); }
  void put_error(WireParcel error) override { bring("error", error, type_, error_); }

  Arrival forward(const Slices& slices, WireFormat wire) override {
    const cuda::FloatProductShape shape = shape_for(slices);
    return ask("forward", slices.images * output_size_, wire, {}, [&](float* output) {
      const auto work = worker_.pool.take(cuda::forward_workspace(shape));
      cuda::forward(shape, type_, input_.as<float>(), weight_.as<float>(), bias_.as<float>(),
                    output, work.as<void>(), worker_.place());
    });
  }
  Arrival input_error(const Slices& slices, WireFormat wire, const RandomKey& draws) override {
    const cuda::FloatProductShape shape = shape_for(slices);
    QuantizeOptions options;
    if (wire == WireFormat::int8)
      options = {.rounding = parse_rounding("stochastic"), .random = draws};
    return ask("input error", slices.images * input_size_, wire, options, [&](float* input_error) {
      const auto work = worker_.pool.take(cuda::input_error_workspace(shape));
      cuda::input_error(shape, type_, error_.as<float>(), weight_.as<float>(), input_error,
                        work.as<void>(), worker_.place());
    });
  }
  Arrival weight_gradient(const Slices& slices, std::int64_t weights,
                          std::int64_t biases) override {
    const cuda::FloatProductShape shape = shape_for(slices);
    return ask("weight gradient", weights + biases, WireFormat::fp32, {}, [&](float* gradient) {
      const auto work = worker_.pool.take(cuda::weight_gradient_workspace(shape));
      cuda::weight_gradient(shape, type_, input_.as<float>(), error_.as<float>(), gradient,
                            work.as<void>(), worker_.place());
      if (biases == 0) return;
      const auto sums = worker_.pool.take(cuda::bias_gradient_workspace(shape));
      cuda::bias_gradient(shape, error_.as<float>(), gradient + weights, sums.as<void>(),
                          worker_.place());
    });
  }

 private:
  cuda::FloatProductShape shape_for(const Slices& slices) const {
    const std::int64_t pixels =
        std::max<std::int64_t>(std::int64_t{shape_.input.y} * shape_.input.x,
                               std::int64_t{shape_.output.y} * shape_.output.x);
    if (slices.images > kMostPixels / pixels)
      throw Error("place", "pixels of a batch in layer " + name_,
                  std::to_string(slices.images) + " images", "fewer than 2^31 in all",
                  ErrorKind::device);
    cuda::FloatProductShape shape = shape_;
    shape.images = static_cast<std::int32_t>(slices.images);
    return shape;
  }

  void bring(const char* what, const WireParcel& parcel, ProductType type, cuda::DeviceBuffer& to) {
    const cuda::DeviceGuard guard(worker_.place());
    const std::int64_t count = parcel.coded.codes.elements();
    const ParcelLayout layout(count, parcel.wire);
    to = worker_.floats(count);
    if (!parcel.is_finite) {  // all bits set is a NaN
      const auto stream = static_cast<cudaStream_t>(worker_.place().stream);
      return cuda::check("place", cudaMemsetAsync(to.as<void>(), 0xff, to.size(), stream));
    }
    cuda::UpPlace& landing = worker_.lanes.next(layout.bytes);
    std::byte* room = worker_.lanes.room(landing).data();
    std::memcpy(room, parcel.coded.codes.data(), parcel.coded.codes.bytes());
    if (layout.sizes.has_scales)
      std::memcpy(room + layout.scales_at, parcel.coded.scales.data(), parcel.coded.scales.bytes());
    worker_.lanes.send(landing);
    void* arrived = const_cast<void*>(worker_.lanes.use(landing));
    worker_.timed("unpack " + name_ + " " + what,
                  [&] { unpack_there(parcel, layout, arrived, type, to); });
  }

  void unpack_there(const WireParcel& parcel, const ParcelLayout& layout, void* arrived,
                    ProductType type, const cuda::DeviceBuffer& to) {
    if (parcel.wire == WireFormat::fp32) {
      worker_.queue.copy(to.as<void>(), arrived, parcel.coded.codes.bytes());
    } else {
      const Format& format = format_of(parcel.wire);
      const auto work = worker_.pool.take(device_decode_workspace(layout.shape, format, false));
      device_decode(layout.at(arrived), {to.as<void>(), DType::f32}, layout.shape, format,
                    work.as<void>(), worker_.place());
    }
    if (holds(type, parcel.wire)) return;
    const auto work = worker_.pool.take(device_quantize_workspace(layout.shape, format_of(type)));
    device_quantize({to.as<void>(), DType::f32}, {to.as<void>(), DType::f32}, layout.shape,
                    format_of(type), {}, work.as<void>(), worker_.place());
  }

  // `make` is given where its result belongs.
  template <class Make>
  Arrival ask(const char* what, std::int64_t count, WireFormat wire, const QuantizeOptions& options,
              const Make& make) {
    const ParcelLayout layout(count, wire);
    auto leaving = std::make_shared<cuda::DownParcel>(worker_.lanes, layout.bytes);
    worker_.timed(name_ + " " + what, [&] { pack_there(make, *leaving, layout, wire, options); });
    leaving->send();
    return std::async(std::launch::deferred, [leaving = std::move(leaving), layout, wire] {
      return opened(*leaving, layout, wire);
    });
  }

  template <class Make>
  void pack_there(const Make& make, cuda::DownParcel& leaving, const ParcelLayout& layout,
                  WireFormat wire, const QuantizeOptions& options) {
    if (wire == WireFormat::fp32) return make(static_cast<float*>(leaving.data()));
    const Format& format = format_of(wire);
    const std::int64_t count = layout.shape.elements();
    const cuda::DeviceBuffer values = worker_.floats(count);
    make(values.as<float>());
    const DeviceEncoded encoded = layout.at(leaving.data());
    const auto work =
        worker_.pool.take(device_encode_workspace(layout.shape, format, false, options));
    device_encode({values.as<void>(), DType::f32}, encoded, layout.shape, format, options,
                  work.as<void>(), worker_.place());
    if (wire == WireFormat::int8)
      cuda::mark_not_finite(values.as<float>(), static_cast<std::size_t>(count), encoded.scales,
                            worker_.place());
  }

  static WireParcel opened(cuda::DownParcel& leaving, const ParcelLayout& layout, WireFormat wire) {
    const auto* bytes = static_cast<const std::byte*>(leaving.wait());
    WireParcel parcel{.wire = wire, .coded = {}};
    const DType type = wire == WireFormat::fp32 ? DType::f32 : layout.sizes.code_type;
    parcel.coded.codes = Tensor(type, layout.shape);
    std::memcpy(parcel.coded.codes.data(), bytes, parcel.coded.codes.bytes());
    if (layout.sizes.has_scales) {
      parcel.coded.scales = Tensor(DType::f32, layout.sizes.scales);
      std::memcpy(parcel.coded.scales.data(), bytes + layout.scales_at,
                  parcel.coded.scales.bytes());
      parcel.is_finite = !std::isnan(parcel.coded.scales.as<float>()[0]);
    }
    return parcel;
  }

  GpuWorker& worker_;
  std::string name_;
  cuda::FloatProductShape shape_;
  ProductType type_;
  std::int64_t input_size_;
  std::int64_t output_size_;
  cuda::DeviceBuffer weight_;
  cuda::DeviceBuffer bias_;  // empty: none
  cuda::DeviceBuffer input_;
  cuda::DeviceBuffer error_;
};

class CudaFloatDevice final : public FloatDevice {
 public:
  explicit CudaFloatDevice(std::string_view name)
      : name_(name), worker_(cuda::usable_device(name)) {}
  std::string name() const override { return name_; }
  std::string identity() const override {
    return name_ + " " + cuda::hardware_of(worker_.place().device);
  }
  std::int64_t free_bytes() const override { return cuda::free_bytes(worker_.place()); }
  std::unique_ptr<DeviceProducts> products(const LayerSettings& settings,
                                           ProductType type) override {
    return std::make_unique<CudaProducts>(worker_, settings, type);
  }
  void set_trace(StepTrace* trace) override {
    worker_.lanes.set_trace(trace);
    worker_.spans.reset();
    if (trace != nullptr)
      worker_.spans = std::make_unique<cuda::EventSpans>(worker_.place(), *trace);
  }

 private:
  std::string name_;
  GpuWorker worker_;
};

}  // namespace

std::unique_ptr<FloatDevice> make_cuda_float_device(std::string_view name) {
  return std::make_unique<CudaFloatDevice>(name);
}

}  // namespace nibble::inline float_training
