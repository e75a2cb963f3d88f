#include "adagp/engine/data/stream/resident.h"

#include <cstring>
#include <numeric>
#include <utility>

#include <ATen/ATen.h>

#include "adagp/gpu/device/kernels.h"

namespace adagp::data {
namespace {

// On a thread, or where none can be started when it is asked for.
constexpr auto kAhead = std::launch::async | std::launch::deferred;

}  // namespace

ResidentBatches::ResidentBatches(at::Tensor images, const std::vector<int64_t>& labels,
                                 const AugmentOptions& options, uint64_t seed, at::ScalarType dtype,
                                 Epochs epochs)
    : images_(std::move(images)),
      labels_(at::tensor(labels, at::kLong).to(images_.device())),
      options_(options),
      seed_(seed),
      dtype_(dtype),
      epochs_(epochs) {}

ResidentBatches::~ResidentBatches() {
  if (ahead_.valid()) ahead_.wait();
}

ResidentBatches::Plan ResidentBatches::plan(int64_t epoch, const Order& order) const {
  return data::windows(order(epoch), options_, seed_, epoch);
}

// What happens to every example of the data set, in its order.
ResidentBatches::Plan ResidentBatches::plan_of_all(int64_t epoch) const {
  std::vector<int64_t> all(static_cast<size_t>(images_.size(0)));
  std::iota(all.begin(), all.end(), 0);
  return data::windows(all, options_, seed_, epoch);
}

ResidentBatches::Plan ResidentBatches::late_plan(int64_t epoch, const Order& order) {
  const Plan all = ahead_.valid() && ahead_epoch_ == epoch ? ahead_.get() : plan_of_all(epoch);
  Plan out;
  for (const int64_t example : order(epoch)) out.push_back(all[static_cast<size_t>(example)]);
  return out;
}

void ResidentBatches::begin_epoch(int64_t epoch, const Order& order) {
  Plan now = epochs_ == Epochs::kLate                  ? late_plan(epoch, order)
             : ahead_.valid() && ahead_epoch_ == epoch ? ahead_.get()
                                                       : plan(epoch, order);
  const auto bytes = static_cast<int64_t>(now.size() * sizeof(cuda::Window));
  at::Tensor host = at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(true));
  std::memcpy(host.mutable_data_ptr(), now.data(), static_cast<size_t>(bytes));
  windows_ = host.to(images_.device(), /*non_blocking=*/true);
  epoch_ = epoch;
  if (epochs_ == Epochs::kAlike) return;
  ahead_epoch_ = epoch + 1;
  if (epochs_ == Epochs::kLate) {
    ahead_ = std::async(kAhead, [this, next = epoch + 1] { return plan_of_all(next); });
    return;
  }
  ahead_ = std::async(kAhead, [this, next = epoch + 1, order] { return plan(next, order); });
}

void ResidentBatches::make(int64_t epoch, int64_t begin, int64_t count, const Order& order,
                           at::Tensor& images, at::Tensor& labels) {
  if (epoch_ < 0 || (epoch_ != epoch && epochs_ != Epochs::kAlike)) begin_epoch(epoch, order);
  images = at::empty({count, 3, options_.height, options_.width}, images_.options().dtype(dtype_),
                     at::MemoryFormat::ChannelsLast);
  labels = at::empty({count}, labels_.options());
  cuda::AugmentArgs a;
  a.images = images_.const_data_ptr<uint8_t>();
  a.labels = labels_.const_data_ptr<int64_t>();
  a.windows = static_cast<const cuda::Window*>(windows_.const_data_ptr()) + begin;
  a.batch = count;
  a.height = options_.height;
  a.width = options_.width;
  set_normalisation(options_, a);
  a.type = device::type_of(images);
  a.out = images.mutable_data_ptr();
  a.out_labels = labels.mutable_data_ptr<int64_t>();
  cuda::augment(a, device::stream(images.device()));
}

}  // namespace adagp::data
