#include "adagp/data/loader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "adagp/core/error.h"
#include "adagp/core/log.h"
#include "adagp/core/rng.h"
#include "adagp/core/text.h"
#include "adagp/data/prefetch.h"
#include "adagp/data/resident.h"
#include "adagp/device/kernels.h"

namespace adagp::data {
namespace {

using Place = std::pair<int64_t, int64_t>;  // epoch, position

// All images are in memory and have the size the network sees, so a batch is one gather.
bool gathers(const Dataset& dataset, const AugmentOptions& augment) {
  const at::Tensor images = dataset.resident();
  return images.defined() && images.size(1) == augment.height && images.size(2) == augment.width &&
         !(augment.train && augment.crop == "resized");
}

// Whether the images may stay on the device: at most half of what is free there.
bool has_room(const at::Tensor& images, const at::Device& device) {
  if (device.is_cpu()) return true;
  const auto memory = device::memory(device);
  if (memory.total == 0 || images.numel() <= memory.free / 2) return true;
  core::log_info(core::cat("data: ", core::human_bytes(static_cast<double>(images.numel())),
                           " of images stay on the host: the GPU has ",
                           core::human_bytes(static_cast<double>(memory.free)), " free"));
  return false;
}

}  // namespace

struct Loader::Impl {
  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;
  at::Tensor images;  // u8 [N, H, W, 3] on the device when batches are gathered
  int64_t batches = 0;
  Place at{0, 0};
  int64_t order_epoch = -1;
  std::vector<int64_t> order;
  std::unique_ptr<Prefetcher<Place, Batch>> ahead;
  std::unique_ptr<ResidentBatches> on_gpu;

  Place after(const Place& place) const {
    return place.second + 1 < batches ? Place{place.first, place.second + 1}
                                      : Place{place.first + 1, 0};
  }

  // A pure function of the epoch.
  std::vector<int64_t> order_of(int64_t epoch) const {
    const int64_t count = dataset->size();
    if (options.shuffle) {
      return core::permutation(count, core::mix({options.seed, static_cast<uint64_t>(epoch)}));
    }
    std::vector<int64_t> in_turn(static_cast<size_t>(count));
    std::iota(in_turn.begin(), in_turn.end(), 0);
    return in_turn;
  }

  std::vector<int64_t> indices_at(const Place& place) {
    const int64_t count = dataset->size();
    if (order_epoch != place.first && (options.shuffle || order.empty())) {
      order = order_of(place.first);
      order_epoch = place.first;
    }
    const int64_t begin = place.second * options.batch;
    const int64_t end = std::min(begin + options.batch, count);
    return {order.begin() + begin, order.begin() + end};
  }

  // Page-locked when the values travel on to a GPU, so that no copy makes the host wait.
  at::TensorOptions host(at::ScalarType type) const {
    return at::TensorOptions(type).pinned_memory(options.device.is_cuda());
  }

  // A pure function of its arguments and what the constructor fixed: any thread may call it.
  Batch make(const Place& place, std::vector<int64_t> indices) const {
    Batch batch;
    batch.epoch = place.first;
    batch.position = place.second;
    batch.images = images.defined() ? augment_resident(images, indices, options.augment,
                                                       options.seed, place.first)
                                    : decode(indices, place.first);
    batch.labels = at::empty({static_cast<int64_t>(indices.size())}, host(at::kLong));
    auto* label = batch.labels.mutable_data_ptr<int64_t>();
    for (const int64_t i : indices) *label++ = dataset->labels()[static_cast<size_t>(i)];
    batch.indices = std::move(indices);
    return batch;
  }

  at::Tensor decode(const std::vector<int64_t>& indices, int64_t epoch) const {
    const auto& augment = options.augment;
    at::Tensor pixels = at::empty(
        {static_cast<int64_t>(indices.size()), augment.height, augment.width, 3}, host(at::kByte));
    auto* out = pixels.mutable_data_ptr<uint8_t>();
    for (const int64_t i : indices) {
      const at::Tensor one = augment_one(dataset->image(i), i, augment, options.seed, epoch);
      std::memcpy(out, one.const_data_ptr<uint8_t>(), static_cast<size_t>(one.numel()));
      out += one.numel();
    }
    // A GPU gets the bytes, a quarter of the floats, and normalises them itself.
    return options.device.is_cpu() ? normalise(pixels, augment) : pixels;
  }

  Batch delivered(Batch batch) const {
    if (options.device.is_cpu()) return batch;
    if (batch.images.is_cpu()) {
      const bool bytes = batch.images.scalar_type() == at::kByte;
      batch.images = batch.images.to(options.device, /*non_blocking=*/true);
      if (bytes) batch.images = normalise(batch.images, options.augment);
    }
    batch.images = batch.images.to(options.dtype);
    batch.labels = batch.labels.to(options.device, /*non_blocking=*/true);
    return batch;
  }

  Batch make_on_gpu(const Place& place) {
    Batch batch;
    batch.epoch = place.first;
    batch.position = place.second;
    batch.indices = indices_at(place);
    on_gpu->make(
        place.first, place.second * options.batch, static_cast<int64_t>(batch.indices.size()),
        [this](int64_t epoch) { return order_of(epoch); }, batch.images, batch.labels);
    return batch;
  }

  void start(const Place& place) {
    if (ahead->has(place)) return;
    ahead->start(place,
                 [this, place, indices = indices_at(place)] { return make(place, indices); });
  }

  // Asks for the batch at `place` and for the following ones that will be wanted.
  void look_ahead(Place place) {
    start(place);
    const int64_t wanted = std::max(options.prefetch, options.workers);
    int64_t passed = 0;
    for (int64_t started = 0; started < wanted && passed < batches;) {
      place = after(place);
      if (options.skips && options.skips(place.first, place.second)) {
        ++passed;
        continue;
      }
      start(place);
      ++started;
    }
  }
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : impl_(std::make_unique<Impl>()) {
  auto& s = *impl_;
  s.dataset = std::move(dataset);
  s.options = std::move(options);
  check(s.options.augment);
  const int64_t count = s.dataset->size(), batch = s.options.batch;
  if (batch < 1) throw UsageError(core::cat("batch size ", batch, ", expected 1 or more"));
  s.batches = s.options.drop_last ? count / batch : (count + batch - 1) / batch;
  if (s.batches == 0) {
    throw UsageError(core::cat("data: ", count, " images do not fill one batch of ", batch,
                               "; lower the batch size or raise data.limit"));
  }
  if (gathers(*s.dataset, s.options.augment)) {
    const at::Tensor images = s.dataset->resident();
    s.images = has_room(images, s.options.device) ? images.to(s.options.device) : images;
  }
  const bool on_gpu = s.images.defined() && !s.images.is_cpu();
  if (on_gpu && device::kernels(s.options.device)) {
    s.on_gpu = std::make_unique<ResidentBatches>(s.images, s.dataset->labels(), s.options.augment,
                                                 s.options.seed, s.options.dtype,
                                                 !s.options.shuffle && !s.options.augment.train);
  }
  if (s.options.workers > 0 && !on_gpu) {
    s.ahead = std::make_unique<Prefetcher<Place, Batch>>(s.options.workers);
  }
}

Loader::~Loader() = default;

int64_t Loader::batches_per_epoch() const {
  return impl_->batches;
}

void Loader::seek(int64_t epoch, int64_t position) {
  auto& s = *impl_;
  if (epoch < 0 || position < 0 || position > s.batches) {
    throw Error(core::cat("data: no batch ", position, " in epoch ", epoch, ": an epoch has ",
                          s.batches, " batches"));
  }
  s.at = position == s.batches ? Place{epoch + 1, 0} : Place{epoch, position};
  if (s.ahead) s.ahead->clear();
}

Batch Loader::next() {
  auto& s = *impl_;
  const Place here = s.at;
  if (s.on_gpu) {
    s.at = s.after(here);
    return s.make_on_gpu(here);
  }
  if (!s.ahead) {
    Batch batch = s.delivered(s.make(here, s.indices_at(here)));
    s.at = s.after(here);
    return batch;
  }
  s.look_ahead(here);
  Batch batch = s.delivered(s.ahead->take(here));
  s.at = s.after(here);
  return batch;
}

void Loader::skip() {
  auto& s = *impl_;
  if (s.ahead) s.ahead->drop(s.at);
  s.at = s.after(s.at);
}

}  // namespace adagp::data
