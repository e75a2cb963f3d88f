#include "adagp/teams/comm/message.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/peer_error.h"

namespace adagp::comm {
namespace {

constexpr int64_t kMost = kTags - 1;  // tensors in a message
constexpr int64_t kDims = 6;
constexpr int64_t kEntry = 4 + kDims;  // type, gradient, channels-last, dimensions, sizes

at::Tensor empty_header() {
  return at::zeros({1 + kMost * kEntry}, at::kLong);
}

// The two layouts that a spec can name; a tensor of any other is sent as contiguous.
at::MemoryFormat layout_of(bool channels_last) {
  return channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}
bool is_channels_last(const at::Tensor& tensor) {
  return tensor.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
}

constexpr int64_t kMostBytes = int64_t{1} << 36;  // of a tensor between two processes: 64 GiB

[[noreturn]] void refuse(const Route& route, const std::string& what) {
  refuse_announced(route.doing, route.peer, what);
}

TensorSpec checked_spec(const Route& route, const int64_t* h) {
  const int64_t axes = h[3];
  if (axes < 0 || axes > kDims) {
    refuse(route, core::cat("a tensor of ", axes, " axes, expected 0 to ", kDims));
  }
  const std::vector<int64_t> sizes(h + 4, h + 4 + axes);
  check_announced(route.doing, route.peer, h[0], sizes);
  const TensorSpec spec{static_cast<at::ScalarType>(h[0]), h[1] != 0, h[2] != 0, sizes};
  if (spec.channels_last && axes != 4) {
    refuse(route, core::cat("a tensor of ", axes, " axes in channels-last, which has 4"));
  }
  if (spec.gradient && !at::isFloatingType(spec.type) && !at::isComplexType(spec.type)) {
    refuse(route, core::cat("a gradient of a tensor of type ", at::toString(spec.type)));
  }
  return spec;
}

}  // namespace

void refuse_announced(const std::string& doing, int peer, const std::string& what) {
  throw PeerError(core::cat(doing, ": rank ", peer, " announced ", what,
                            "; check that all processes run the same version of this program"));
}

void check_announced(const std::string& doing, int peer, int64_t type,
                     const std::vector<int64_t>& sizes) {
  const bool known = type >= 0 && type < static_cast<int64_t>(at::ScalarType::NumOptions) &&
                     type != static_cast<int64_t>(at::ScalarType::Undefined);
  if (!known) {
    refuse_announced(doing, peer, core::cat("a tensor of type ", type, ", which is none"));
  }
  const auto shape = [&] { return core::cat("a tensor of sizes ", at::IntArrayRef(sizes)); };
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
    refuse_announced(doing, peer, core::cat(shape(), ", where none may be below 0"));
  }
  // As if sizes of 0 were 1: LibTorch computes strides of empty tensors like this.
  auto bytes = static_cast<int64_t>(c10::elementSize(static_cast<at::ScalarType>(type)));
  for (const int64_t size : sizes) {
    if (std::max<int64_t>(size, 1) > kMostBytes / bytes) {
      refuse_announced(
          doing, peer,
          core::cat(shape(), ", more than ", core::human_bytes(static_cast<double>(kMostBytes))));
    }
    bytes *= std::max<int64_t>(size, 1);
  }
}

TensorSpecs specs_of(const models::Tensors& tensors) {
  TensorSpecs specs;
  for (const at::Tensor& t : tensors) {
    specs.push_back({t.scalar_type(), t.requires_grad(), is_channels_last(t), t.sizes().vec()});
  }
  return specs;
}

void send_specs(const Route& route, const TensorSpecs& specs, Transfers& transfers) {
  if (std::ssize(specs) > kMost) {
    throw Error(core::cat(specs.size(), " tensors cross a cut of the network; at most ", kMost,
                          " can be sent"));
  }
  const at::Tensor header = empty_header();
  auto* h = header.mutable_data_ptr<int64_t>();
  *h++ = std::ssize(specs);
  for (const TensorSpec& spec : specs) {
    if (std::ssize(spec.sizes) > kDims) {
      throw Error(core::cat("a tensor of ", spec.sizes.size(), " axes cannot be sent"));
    }
    h[0] = static_cast<int64_t>(spec.type);
    h[1] = spec.gradient ? 1 : 0;
    h[2] = spec.channels_last ? 1 : 0;
    h[3] = std::ssize(spec.sizes);
    std::copy(spec.sizes.begin(), spec.sizes.end(), h + 4);
    h += kEntry;
  }
  transfers.push_back(route.group.send(header, route.peer, route.tag, route.doing));
}

TensorSpecs receive_specs(const Route& route) {
  const at::Tensor header = empty_header();
  route.group.receive(header, route.peer, route.tag, route.doing)->wait();
  const auto* h = header.const_data_ptr<int64_t>();
  const int64_t count = *h++;
  if (count < 0 || count > kMost) {
    refuse(route, core::cat(count, " tensors, expected 0 to ", kMost));
  }
  TensorSpecs specs;
  for (int64_t i = 0; i < count; ++i, h += kEntry) specs.push_back(checked_spec(route, h));
  return specs;
}

void send_tensors(const Route& route, const models::Tensors& tensors, Transfers& transfers) {
  int tag = route.tag;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor dense = tensor.detach().contiguous(layout_of(is_channels_last(tensor)));
    transfers.push_back(route.group.send(dense, route.peer, ++tag, route.doing));
  }
}

PendingReceive::PendingReceive(const Route& route, const TensorSpecs& specs, at::Device device) {
  int tag = route.tag;
  for (const TensorSpec& spec : specs) {
    tensors_.push_back(
        at::empty(spec.sizes, at::device(device).dtype(spec.type), layout_of(spec.channels_last)));
    gradient_.push_back(spec.gradient);
    transfers_.push_back(route.group.receive(tensors_.back(), route.peer, ++tag, route.doing));
  }
}

models::Tensors PendingReceive::take(bool leaves) {
  for (auto& transfer : transfers_) transfer->wait();
  transfers_.clear();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (leaves && gradient_[i]) tensors_[i].requires_grad_();
  }
  return std::move(tensors_);
}

}  // namespace adagp::comm
