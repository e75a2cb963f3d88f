#include "adagp/teams/parallel/compressor.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/teams/parallel/buckets.h"

namespace adagp::parallel {
namespace {

double bytes_of(const at::Tensor& tensor) {
  return static_cast<double>(tensor.numel() * tensor.element_size());
}

}  // namespace

double bytes_of_sum(double bytes, int processes) {
  return 2.0 * (processes - 1) / processes * bytes;
}

double bytes_of_gather(double bytes, int processes) {
  return (processes - 1) * bytes;
}

Compressor::Compressor(comm::Group& group, const std::vector<optim::Param>& params)
    : group_(group) {
  for (size_t p = 0; p < params.size(); ++p) {
    const at::Tensor value = params[p].value.detach();
    (value.dim() < 2 ? whole_ : matrices_).push_back(p);
    if (value.dim() < 2) continue;
    names_.push_back(params[p].name);
    residuals_.push_back(at::zeros({value.size(0), value.numel() / value.size(0)},
                                   value.options().dtype(at::kFloat)));
  }
}

void Compressor::average(const std::vector<optim::Param>& params, const std::string& doing) {
  const at::NoGradGuard no_grad;
  if (!whole_.empty()) {
    std::vector<at::Tensor> rows;
    for (const size_t p : whole_) rows.push_back(gradient_of(params[p]).to(at::kFloat).clone());
    sum(rows, doing);
    for (size_t i = 0; i < whole_.size(); ++i) {
      gradient_of(params[whole_[i]]).copy_(rows[i].div_(group_.size()));
    }
  }
  std::vector<at::Tensor> sums;
  for (size_t i = 0; i < matrices_.size(); ++i) {
    const at::Tensor gradient = gradient_of(params[matrices_[i]]).to(at::kFloat);
    sums.push_back(gradient.reshape(residuals_[i].sizes()) + residuals_[i]);
  }
  const std::vector<Decoded> decoded = exchange(sums, doing);
  for (size_t i = 0; i < matrices_.size(); ++i) {
    residuals_[i] = sums[i] - decoded[i].kept;
    const at::Tensor gradient = gradient_of(params[matrices_[i]]);
    gradient.copy_(decoded[i].mean.view(gradient.sizes()));
  }
}

void Compressor::sum(std::vector<at::Tensor>& tensors, const std::string& doing) {
  for (const at::Tensor& tensor : tensors) bytes_ += bytes_of_sum(bytes_of(tensor), group_.size());
  group_.sum(tensors, doing);
}

std::vector<at::Tensor> Compressor::gather(const at::Tensor& row, const std::string& doing) {
  bytes_ += bytes_of_gather(bytes_of(row), group_.size());
  return group_.gather_rows(row, doing);
}

std::map<std::string, at::Tensor> Compressor::state() const {
  std::map<std::string, at::Tensor> out;
  for (size_t i = 0; i < names_.size(); ++i) out["residual." + names_[i]] = residuals_[i];
  return out;
}

void Compressor::load_state(const std::map<std::string, at::Tensor>& state) {
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto found = state.find("residual." + names_[i]);
    // A run that had fewer processes: this one has left nothing out yet.
    if (found == state.end()) continue;
    if (found->second.sizes() != residuals_[i].sizes()) {
      throw DataError("checkpoint: the residual of " + names_[i] + " has another shape");
    }
    residuals_[i].copy_(found->second);
  }
}

namespace {

std::vector<CompressorEntry>& kinds() {
  static std::vector<CompressorEntry> list;
  return list;
}

}  // namespace

void add_compressor(const CompressorEntry& entry) {
  kinds().push_back(entry);
}

std::string compressor_of(const config::RunConfig& config) {
  for (const CompressorEntry& kind : kinds()) {
    if (std::string asked = kind.asked(config); !asked.empty()) return asked;
  }
  return "";
}

std::unique_ptr<Compressor> make_compressor(const config::RunConfig& config, comm::Group& group,
                                            const std::vector<optim::Param>& params) {
  for (const CompressorEntry& kind : kinds()) {
    if (!kind.asked(config).empty()) return kind.make(config, group, params);
  }
  return nullptr;
}

}  // namespace adagp::parallel
