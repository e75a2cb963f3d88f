#include "adagp/engine/data/stream/loader.h"

#include <mutex>
#include <utility>

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/stream/batch_stream.h"
#include "adagp/engine/data/stream/resident.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::data {
namespace {

// All images are in memory and have the size the network sees, so a batch is one gather.
bool gathers(const Dataset& dataset, const AugmentOptions& augment) {
  const at::Tensor images = dataset.resident();
  return images.defined() && images.size(1) == augment.height && images.size(2) == augment.width &&
         !(augment.train && augment.crop == Crop::kResized);
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
  // Memory of batches that nobody holds any more, to be used again: fresh pages cost as much as
  // filling them.
  class BatchMemory {
   public:
    // Float, channels-last, not initialised.
    at::Tensor take(at::IntArrayRef shape) {
      const std::lock_guard lock(mutex_);
      for (const at::Tensor& one : kept_) {
        // No one else has the tensor, nor a view of it.
        if (one.use_count() == 1 && one.storage().use_count() == 1 && one.sizes() == shape) {
          return one;
        }
      }
      at::Tensor made =
          at::empty(shape, at::TensorOptions(at::kFloat), at::MemoryFormat::ChannelsLast);
      if (kept_.size() < kMost) kept_.push_back(made);
      return made;
    }

   private:
    static constexpr size_t kMost = 16;
    std::mutex mutex_;
    std::vector<at::Tensor> kept_;
  };

  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;
  at::Tensor images;  // u8 [N, H, W, 3] on the device when batches are gathered
  mutable BatchMemory memory;
  int64_t part = 0, parts = 1;  // which share of a batch is made
  StreamOptions order;
  std::unique_ptr<ResidentBatches> on_gpu;
  std::unique_ptr<BatchStream> stream;  // last: its threads use the rest

  // Page-locked when the values travel on to a GPU, so that no copy makes the host wait.
  at::TensorOptions host(at::ScalarType type) const {
    return at::TensorOptions(type).pinned_memory(options.device.is_cuda());
  }

  // A pure function of its arguments and what the constructor fixed: any thread may call it.
  Batch make(const std::vector<int64_t>& indices, int64_t epoch) const {
    Batch batch;
    batch.inputs = {images.defined()
                        ? augment_resident(images, indices, options.augment, options.seed, epoch)
                        : decode(indices, epoch)};
    batch.targets = {at::empty({static_cast<int64_t>(indices.size())}, host(at::kLong))};
    auto* label = batch.targets[0].mutable_data_ptr<int64_t>();
    for (const int64_t i : indices) *label++ = dataset->labels()[static_cast<size_t>(i)];
    return batch;
  }

  // One example as the network's size of bytes.
  void decode_one(int64_t index, int64_t epoch, uint8_t* out) const {
    const auto& augment = options.augment;
    const Occasion when{index, options.seed, epoch};
    const auto one = dataset->partial(
        index, [&](const io::ImageSize& whole) { return wanted(whole, augment, when); });
    augment_partial(one.pixels.const_data_ptr<uint8_t>(), one.decoded, augment, when, out);
  }

  at::Tensor decode(const std::vector<int64_t>& indices, int64_t epoch) const {
    const auto& augment = options.augment;
    const auto count = static_cast<int64_t>(indices.size());
    const int64_t pixels = augment.height * augment.width;
    if (options.device.is_cpu()) {
      at::Tensor batch = memory.take({count, 3, augment.height, augment.width});
      float* out = batch.mutable_data_ptr<float>();
      std::vector<uint8_t> bytes(static_cast<size_t>(pixels * 3));
      for (const int64_t i : indices) {
        decode_one(i, epoch, bytes.data());
        normalise_pixels(bytes.data(), pixels, augment, out);
        out += pixels * 3;
      }
      return batch;
    }
    // A GPU gets the bytes, a quarter of the floats, and normalises them itself.
    at::Tensor batch = at::empty({count, augment.height, augment.width, 3}, host(at::kByte));
    auto* out = batch.mutable_data_ptr<uint8_t>();
    for (const int64_t i : indices) {
      decode_one(i, epoch, out);
      out += pixels * 3;
    }
    return batch;
  }

  Batch delivered(Batch batch) const {
    if (options.device.is_cpu()) return batch;
    at::Tensor& pixels = batch.inputs[0];
    if (pixels.is_cpu()) {
      const bool bytes = pixels.scalar_type() == at::kByte;
      pixels = pixels.to(options.device, /*non_blocking=*/true);
      if (bytes) pixels = normalise(pixels, options.augment);
    }
    pixels = pixels.to(options.dtype);
    batch.targets[0] = batch.targets[0].to(options.device, /*non_blocking=*/true);
    return batch;
  }

  Batch make_on_gpu(const std::vector<int64_t>& indices, int64_t epoch, int64_t position) {
    Batch batch;
    batch.inputs.resize(1);
    batch.targets.resize(1);
    const auto count = static_cast<int64_t>(indices.size());
    // Without a plan all shares are equal.
    const EpochPlan::Part whole = options.plan
                                      ? options.plan(epoch)->batches[static_cast<size_t>(position)]
                                      : EpochPlan::Part{position * options.batch, count * parts};
    on_gpu->make(
        epoch, whole.share(part, parts).begin, count,
        [this](int64_t wanted) {
          return options.plan ? options.plan(wanted)->order : example_order(order, wanted);
        },
        batch.inputs[0], batch.targets[0]);
    return batch;
  }
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : impl_(std::make_unique<Impl>()) {
  Impl& s = *impl_;
  s.dataset = std::move(dataset);
  s.options = std::move(options);
  check(s.options.augment);
  s.order = {s.dataset->size(), s.options.batch,   s.options.shuffle,  s.options.drop_last,
             s.options.seed,    s.options.workers, s.options.prefetch, s.options.skips};
  s.order.plan = s.options.plan;
  whole_batches(s.order);  // refuses before anything is copied
  if (gathers(*s.dataset, s.options.augment)) {
    const at::Tensor images = s.dataset->resident();
    s.images = has_room(images, s.options.device) ? images.to(s.options.device) : images;
  }
  const bool on_gpu = s.images.defined() && !s.images.is_cpu();
  if (on_gpu) s.order.workers = 0;
  if (on_gpu && device::has_kernels(s.options.device)) {
    const bool alike = !s.options.shuffle && !s.options.augment.train;
    s.on_gpu = std::make_unique<ResidentBatches>(s.images, s.dataset->labels(), s.options.augment,
                                                 s.options.seed, s.options.dtype,
                                                 s.options.plan ? Epochs::kLate
                                                 : alike        ? Epochs::kAlike
                                                                : Epochs::kForeseen);
  }
  s.stream = std::make_unique<BatchStream>(
      s.order,
      [&s](const std::vector<int64_t>& indices, int64_t epoch, int64_t position) {
        return s.on_gpu ? s.make_on_gpu(indices, epoch, position) : s.make(indices, epoch);
      },
      [&s](Batch batch) { return s.on_gpu ? batch : s.delivered(std::move(batch)); });
}

Loader::~Loader() = default;

int64_t Loader::batches_per_epoch() const {
  return impl_->stream->batches_per_epoch();
}
void Loader::seek(int64_t epoch, int64_t position) {
  impl_->stream->seek(epoch, position);
}
Batch Loader::next() {
  return impl_->stream->next();
}
void Loader::skip() {
  impl_->stream->skip();
}
void Loader::only_part(int64_t part, int64_t parts) {
  impl_->stream->only_part(part, parts);
  impl_->part = part;
  impl_->parts = parts;
}

}  // namespace adagp::data
