// SPDX-License-Identifier: Apache-2.0
// An accelerator for machines that have none: the CPU's products on a thread of their own, over
// weights, inputs and errors of its own, which come and go as slowly as NIBBLE_PRETEND says.
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/pretend/pretend_pace.h"
#include "backend/pretend/pretend_room.h"
#include "backend/pretend/work_queue.h"
#include "float_training/float_device.h"
#include "float_training/product_passes.h"

namespace nibble::inline float_training {
namespace {

// All sessions of a process have the one device.
PretendRoom& room_of_device() {
  static PretendRoom room(0);
  room.resize(pretend_options().memory);
  return room;
}

// What the layers share.
struct PretendWorker {
  // On the worker's thread: what runs, and where that is to be seen.
  template <class Work>
  void timed(const std::string& track, const std::string& name, const Work& work) {
    if (trace == nullptr) return work();
    TraceSpan span{.track = track, .name = name, .begin = trace->now()};
    work();
    span.end = trace->now();
    tell(std::move(span));
  }
  // From the moment on when the numbers are there; tells when it ends.
  PretendClock::time_point send(PretendLane& lane, const std::string& direction,
                                const std::string& name, std::int64_t bytes) {
    const PretendLane::Copy copy = lane.send(pace.copy_time(static_cast<std::size_t>(bytes)));
    if (trace != nullptr) {
      const std::int64_t begin =
          trace->now() + std::chrono::nanoseconds(copy.begin - PretendClock::now()).count();
      tell({.track = "pretend copies " + direction,
            .name = name,
            .begin = begin,
            .end = begin + std::chrono::nanoseconds(copy.end - copy.begin).count(),
            .details = {
                {"bytes", std::to_string(bytes)}, {"direction", direction}, {"memory", "pinned"}}});
    }
    return copy.end;
  }
  void tell(TraceSpan span) {
    const std::lock_guard lock(spans_mutex);
    spans.push_back(std::move(span));
  }

  PretendOptions options = pretend_options();
  PretendPace pace{options};
  PretendRoom& room = room_of_device();
  PretendLane up;
  PretendLane down;
  BufferPool pool;
  StepTrace* trace = nullptr;  // set while the thread has nothing to do
  std::mutex spans_mutex;
  std::vector<TraceSpan> spans;
  WorkQueue queue;  // last: its thread uses the others
};

class PretendProducts final : public DeviceProducts {
 public:
  PretendProducts(PretendWorker& worker, const LayerSettings& settings, ProductType type)
      : worker_(worker),
        type_(type),
        name_(settings.node.name),
        passes_(make_product_passes(settings)),
        input_size_(settings.inputs[0].elements()),
        output_size_(settings.output.elements()) {}

  ~PretendProducts() override { worker_.queue.settle(); }

  void put_weight(WireParcel weight) override {
    bring("weight", std::move(weight), type_, weight_loan_, [this](Tensor values) {
      weight_.value = std::move(values);
      ++weight_.version;
    });
  }
  void put_bias(WireParcel bias) override {
    bring("bias", std::move(bias), ProductType::fp32, bias_loan_,
          [this](Tensor values) { bias_.value = std::move(values); });
  }
  void put_input(WireParcel input) override {
    bring("input", std::move(input), type_, input_loan_,
          [this](Tensor values) { input_ = std::move(values); });
  }
  void put_error(WireParcel error) override {
    bring("error", std::move(error), type_, error_loan_,
          [this](Tensor values) { error_ = std::move(values); });
  }

  Arrival forward(const Slices& slices, WireFormat wire) override {
    return ask("forward", [this, slices, wire] {
      Tensor output(DType::f32, {slices.images * output_size_});
      passes_->forward(pass_of(slices), input_.as<float>().data(),
                       {weight_, bias_.value.elements() > 0 ? &bias_ : nullptr},
                       output.as<float>().data());
      return pack(output.as<float>(), wire);
    });
  }
  Arrival input_error(const Slices& slices, WireFormat wire, const RandomKey& draws) override {
    return ask("input error", [this, slices, wire, draws] {
      Tensor input_error(DType::f32, {slices.images * input_size_});
      ProductsBack wanted = back();
      wanted.input_error = input_error.as<float>().data();
      passes_->backward(pass_of(slices), wanted);
      return pack(input_error.as<float>(), wire, draws);
    });
  }
  Arrival weight_gradient(const Slices& slices, std::int64_t weights,
                          std::int64_t biases) override {
    return ask("weight gradient", [this, slices, weights, biases] {
      Tensor gradients(DType::f32, {weights + biases});
      ProductsBack wanted = back();
      wanted.weight_gradient = gradients.as<float>().data();
      if (biases > 0) wanted.bias_gradient = wanted.weight_gradient + weights;
      passes_->backward(pass_of(slices), wanted);
      return pack(gradients.as<float>(), WireFormat::fp32);
    });
  }

 private:
  struct Sent {
    WireParcel parcel;
    PretendClock::time_point arrival;
  };

  Pass pass_of(const Slices& slices) const {
    return {.slices = slices, .is_training = true, .pool = &worker_.pool};
  }
  ProductsBack back() const {
    return {
        .input = input_.as<float>().data(), .error = error_.as<float>().data(), .weight = weight_};
  }

  // Given back first: the new tensor may take the place of the old one.
  template <class Use>
  void bring(const char* what, WireParcel parcel, ProductType type, PretendLoan& loan, Use use) {
    loan.release();
    loan = {worker_.room, parcel.coded.codes.elements() * static_cast<std::int64_t>(sizeof(float))};
    auto kept = std::make_shared<WireParcel>(std::move(parcel));
    const auto arrival = worker_.send(worker_.up, "up", name_ + " " + what, kept->bytes());
    worker_.queue.push([this, what, type, arrival, kept = std::move(kept), use = std::move(use)] {
      wait_until(arrival);
      Tensor values(DType::f32, {kept->coded.codes.elements()});
      worker_.timed("pretend", "unpack " + name_ + " " + what, [&] {
        unpack(*kept, values.as<float>());
        if (!holds(type, kept->wire)) quantize(values.view(), values.view(), format_of(type));
      });
      use(std::move(values));
    });
  }
  template <class Work>
  Arrival ask(const char* what, Work work) {
    auto task = std::make_shared<std::packaged_task<Sent()>>([this, name = name_ + " " + what,
                                                              work = std::move(work)] {
      Sent sent;
      worker_.timed("pretend", name, [&] { worker_.pace.operate([&] { sent.parcel = work(); }); });
      sent.arrival = worker_.send(worker_.down, "down", name, sent.parcel.bytes());
      return sent;
    });
    std::future<Sent> result = task->get_future();
    worker_.queue.push([task = std::move(task)] { (*task)(); });
    return std::async(std::launch::deferred, [result = std::move(result)]() mutable {
      Sent sent = result.get();
      wait_until(sent.arrival);
      return std::move(sent.parcel);
    });
  }

  PretendWorker& worker_;
  ProductType type_;
  std::string name_;
  PretendLoan weight_loan_, bias_loan_, input_loan_, error_loan_;
  // Of the worker's thread.
  std::unique_ptr<ProductPasses> passes_;
  std::int64_t input_size_;
  std::int64_t output_size_;
  LayerParameter weight_;
  LayerParameter bias_;  // empty: none
  Tensor input_;
  Tensor error_;
};

class PretendFloatDevice final : public FloatDevice {
 public:
  std::string name() const override { return "pretend"; }
  std::string identity() const override { return pretend_identity(worker_.options); }
  bool shares_host() const override { return true; }
  std::int64_t free_bytes() const override { return worker_.room.left(); }
  std::unique_ptr<DeviceProducts> products(const LayerSettings& settings,
                                           ProductType type) override {
    return std::make_unique<PretendProducts>(worker_, settings, type);
  }
  void set_trace(StepTrace* trace) override {
    worker_.queue.settle();
    for (TraceSpan& each : std::exchange(worker_.spans, {})) worker_.trace->add(std::move(each));
    worker_.trace = trace;
  }

 private:
  PretendWorker worker_;
};

}  // namespace

std::unique_ptr<FloatDevice> make_pretend_float_device() {
  return std::make_unique<PretendFloatDevice>();
}

}  // namespace nibble::inline float_training
