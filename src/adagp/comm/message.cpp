#include "adagp/comm/message.h"

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::comm {
namespace {

constexpr int64_t kMost = kTags - 1;  // tensors in a message
constexpr int64_t kDims = 6;
constexpr int64_t kEntry = 4 + kDims;  // type, gradient, channels-last, dimensions, sizes

at::Tensor empty_header() {
  return at::zeros({1 + kMost * kEntry}, at::kLong);
}

}  // namespace

TensorSpecs specs_of(const models::Tensors& tensors) {
  TensorSpecs specs;
  for (const at::Tensor& t : tensors) {
    specs.push_back({t.scalar_type(), t.requires_grad(),
                     t.suggest_memory_format() == at::MemoryFormat::ChannelsLast, t.sizes().vec()});
  }
  return specs;
}

void send_specs(const Route& line, const TensorSpecs& specs, Transfers& transfers) {
  if (std::ssize(specs) > kMost) {
    throw Error(core::cat(specs.size(), " tensors cross a cut of the network; at most ", kMost,
                          " can be sent"));
  }
  const at::Tensor header = empty_header();
  auto* h = header.mutable_data_ptr<int64_t>();
  *h++ = std::ssize(specs);
  for (const TensorSpec& form : specs) {
    if (std::ssize(form.sizes) > kDims) {
      throw Error(core::cat("a tensor of ", form.sizes.size(), " axes cannot be sent"));
    }
    h[0] = static_cast<int64_t>(form.type);
    h[1] = form.gradient ? 1 : 0;
    h[2] = form.channels_last ? 1 : 0;
    h[3] = std::ssize(form.sizes);
    std::copy(form.sizes.begin(), form.sizes.end(), h + 4);
    h += kEntry;
  }
  transfers.push_back(line.group.send(header, line.peer, line.tag, line.doing));
}

TensorSpecs receive_specs(const Route& line) {
  const at::Tensor header = empty_header();
  line.group.receive(header, line.peer, line.tag, line.doing)->wait();
  const auto* h = header.const_data_ptr<int64_t>();
  TensorSpecs specs(static_cast<size_t>(*h++));
  for (TensorSpec& form : specs) {
    form = {static_cast<at::ScalarType>(h[0]), h[1] != 0, h[2] != 0, {h + 4, h + 4 + h[3]}};
    h += kEntry;
  }
  return specs;
}

void send_tensors(const Route& line, const models::Tensors& tensors, Transfers& transfers) {
  int tag = line.tag;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor dense = tensor.detach().contiguous(tensor.suggest_memory_format());
    transfers.push_back(line.group.send(dense, line.peer, ++tag, line.doing));
  }
}

PendingReceive::PendingReceive(const Route& line, const TensorSpecs& specs, at::Device device) {
  int tag = line.tag;
  for (const TensorSpec& form : specs) {
    tensors_.push_back(at::empty(
        form.sizes, at::device(device).dtype(form.type),
        form.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous));
    gradient_.push_back(form.gradient);
    transfers_.push_back(line.group.receive(tensors_.back(), line.peer, ++tag, line.doing));
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
