#include "adagp/engine/train/trace.h"

#include <array>

#include <ATen/ATen.h>

#include "adagp/base/core/duration.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/step/observe.h"
#include "adagp/engine/step/team.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::train {
namespace {

// [B, H, W, C]; the words of a sentence stand above each other.
at::Tensor in_nhwc(const at::Tensor& x, nn::LayerKind kind) {
  const at::Tensor values = x.detach();
  if (kind == nn::LayerKind::kConv2d) return values.permute({0, 2, 3, 1});
  return values.dim() == 1 ? values.view({1, 1, 1, -1})
                           : values.reshape({values.size(0), -1, 1, values.size(-1)});
}

// Where a hook sees the gradient of `output`. A linear layer of sentences gives a view of its
// product. What overwrites a view replaces its history and loses its hooks; those of the whole
// product stay.
at::Tensor gradient_holder(const at::Tensor& output) {
  if (!output.is_view() || !output.is_contiguous()) return output;
  const at::Tensor whole(output._base());
  return whole.numel() == output.numel() && whole.is_contiguous() ? whole : output;
}

}  // namespace

at::Tensor packed_nonzeros(const at::Tensor& values) {
  const int64_t size = values.size(-1), bytes = (size + 7) / 8;
  at::Tensor set = values.ne(0).to(at::kByte);
  if (size % 8 != 0) set = at::constant_pad_nd(set, {0, 8 * bytes - size});
  std::vector<int64_t> shape = values.sizes().vec();
  shape.back() = bytes;
  shape.push_back(8);
  const at::Tensor places =
      at::bitwise_left_shift(at::ones({8}, set.options()), at::arange(8, set.options()));
  return at::sum(set.reshape(shape).mul(places), {-1}, /*keepdim=*/false, at::kByte);
}

void TraceSink::begin_part() {
  names_ = {};
}

void TraceSink::on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                          const at::Tensor& output) {
  add(layer, names_.weight_layer(layers::row_path(layer)), 0, input, output);
}

void TraceSink::on_part(const nn::WeightLayer& layer, int64_t first, const at::Tensor& input,
                        const at::Tensor& output) {
  add(layer, names_.weight_part(layers::row_path(layer), std::to_string(first)), first, input,
      output);
}

void TraceSink::count(Operand& operand, const at::Tensor& values, const at::Tensor& kept) const {
  const at::Tensor nonzeros = values.count_nonzero();
  operand.nonzeros = operand.nonzeros.defined() ? operand.nonzeros + nonzeros : nonzeros;
  operand.values += values.numel();
  if (operand.bits.defined()) return;
  operand.bits = packed_nonzeros(kept);
  operand.channels = values.size(-1);
}

void TraceSink::add(const nn::WeightLayer& layer, const std::string& name, int64_t first,
                    const at::Tensor& input, const at::Tensor& output) {
  if (!output.requires_grad()) return;
  const nn::LayerKind kind = layer.info().kind;
  Use& use = uses_[name];
  const auto some = [this](const at::Tensor& values) {
    return values.slice(0, 0, std::min(examples_, values.size(0)));
  };
  {
    const at::NoGradGuard no_grad;
    const at::Tensor x = in_nhwc(input, kind);
    if (kept_examples_ == 0) kept_examples_ = std::min(examples_, x.size(0));
    count(use.x, x, some(x));
    if (!use.w.bits.defined()) {
      const at::Tensor w = layer.used_weight().detach().narrow(
          0, first, kind == nn::LayerKind::kConv2d ? output.size(1) : output.size(-1));
      const at::Tensor rows =
          kind == nn::LayerKind::kConv2d ? w.permute({0, 2, 3, 1}) : w.view({-1, 1, 1, w.size(1)});
      count(use.w, rows, rows);
    }
  }
  const std::vector<int64_t> shape = output.sizes().vec();
  gradient_holder(output).register_hook(
      [this, &use, kind, some, shape](const at::Tensor& gradient) {
        const at::NoGradGuard no_grad;
        const at::Tensor dy = in_nhwc(gradient.reshape(shape), kind);
        count(use.dy, dy, some(dy));
      });
}

io::TensorMap TraceSink::tensors() const {
  std::vector<const Operand*> operands;
  std::vector<at::Tensor> counts, bits;
  for (const auto& [name, use] : uses_) {
    if (!use.dy.bits.defined()) continue;
    for (const Operand* operand : {&use.x, &use.dy, &use.w}) {
      operands.push_back(operand);
      counts.push_back(operand->nonzeros);
      bits.push_back(operand->bits.flatten());
    }
  }
  if (operands.empty()) return {};
  // Two copies from the device, not three for every layer.
  const at::Tensor all_counts = at::stack(counts).cpu(), all_bits = at::cat(bits).cpu();

  io::TensorMap out;
  int64_t first = 0;
  size_t next = 0;
  const auto take = [&](const std::string& name, float& share) {
    const Operand& operand = *operands[next];
    share = static_cast<float>(static_cast<double>(all_counts.const_data_ptr<int64_t>()[next]) /
                               static_cast<double>(operand.values));
    out[name] = all_bits.narrow(0, first, operand.bits.numel()).view(operand.bits.sizes());
    first += operand.bits.numel();
    ++next;
  };
  for (const auto& [name, use] : uses_) {
    if (!use.dy.bits.defined()) continue;
    std::array<float, 3> share{};
    take(name + "/x.bits", share[0]);
    take(name + "/dy.bits", share[1]);
    take(name + "/w.bits", share[2]);
    out[name + "/density"] = at::tensor(share);
    out[name + "/shape"] = at::tensor({use.x.channels, use.dy.channels, use.w.channels});
  }
  return out;
}

io::TensorMap trace_batch(step::Session& s, const data::Batch& batch, int64_t examples,
                          int64_t& kept_examples) {
  TraceSink sink(examples);
  step::observe_batch(s, batch, sink, [&] { sink.begin_part(); });
  kept_examples = sink.kept_examples();
  io::TensorMap out = sink.tensors();
  for (const auto& part : s.parts) part->trace(out, s);
  return out;
}

TraceWriter::TraceWriter(const step::Session& s)
    : every_(core::Duration::parse(s.config.trace.every).batches(1)) {
  if (every_ > 0 && !s.team->solo()) {
    throw UsageError("trace.every = " + s.config.trace.every +
                     ": traces are recorded in one process; leave out --parallel");
  }
}

bool TraceWriter::after(int64_t epoch, step::Session& s, const data::Batch& batch,
                        const run::RunFolder& folder) {
  if (every_ == 0 || (epoch + 1) % every_ != 0) return false;
  const std::string number = std::to_string(epoch + 1);
  std::string why;
  if (batch.empty()) {
    why = "no batch of this epoch was loaded";
  } else {
    try {
      int64_t examples = 0;
      const io::TensorMap tensors = trace_batch(s, batch, s.config.trace.examples, examples);
      const core::fs::path traces = folder.file("trace");
      core::make_folder(traces);
      const std::string zeros(number.size() < 3 ? 3 - number.size() : 0, '0');
      io::save_tensors(traces / ("e" + zeros + number + ".safetensors"), tensors,
                       {{"network", s.config.model.name},
                        {"input", s.task->input_name(s.config)},
                        {"epoch", number},
                        {"batch", std::to_string(batch.size())},
                        {"examples", std::to_string(examples)}},
                       core::Sync::kLater);
    } catch (const c10::OutOfMemoryError&) {
      why = "it does not fit the memory of " + s.device.str();
      device::empty_cache(s.device);
    } catch (const Error& error) {
      why = error.what();
    }
  }
  if (!why.empty() && !std::exchange(warned_, true)) {
    core::log_warning("trace of epoch " + number + " is left out, training goes on: " + why);
  }
  return true;
}

}  // namespace adagp::train
