// PowerSGD (Vogels et al. 2019): a matrix M as the product of two thin ones, found by one step of
// power iteration that begins where the batch before ended.
//   P = mean of M Q;  P is orthogonalised;  Q = mean of M^T P;  decoded = P Q^T
// Both means are sums over the copies, so that the traffic does not grow with their number.

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/rivals/options/options.h"
#include "adagp/rivals/parallel/compressors.h"

namespace adagp::parallel {
namespace {

class PowerSgd : public Compressor {
 public:
  PowerSgd(const config::RunConfig& config, comm::Group& group,
           const std::vector<optim::Param>& params)
      : Compressor(group, params) {
    for (const size_t p : matrices()) {
      const at::Tensor value = params[p].value.detach();
      const int64_t rows = value.size(0), columns = value.numel() / rows;
      const int64_t rank =
          std::min({config.parts.get<rivals::CompressOptions>().rank, rows, columns});
      // The same numbers in every process.
      auto generator = at::make_generator<at::CPUGeneratorImpl>(
          core::mix({static_cast<uint64_t>(config.seed), 0x706f776572ULL, p}));
      q_.push_back(at::empty({columns, rank}, at::kFloat).normal_(0, 1, generator));
      q_.back() = q_.back().to(value.device());
    }
  }

  std::map<std::string, at::Tensor> state() const override {
    auto out = Compressor::state();
    for (size_t i = 0; i < q_.size(); ++i) out["q." + name(i)] = q_[i];
    return out;
  }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    Compressor::load_state(state);
    for (size_t i = 0; i < q_.size(); ++i) {
      const auto found = state.find("q." + name(i));
      if (found == state.end()) continue;
      if (found->second.sizes() != q_[i].sizes()) {
        throw DataError("checkpoint: PowerSGD's factor of " + name(i) + " has another shape");
      }
      q_[i].copy_(found->second);
    }
  }

 protected:
  std::vector<Decoded> exchange(const std::vector<at::Tensor>& matrices,
                                const std::string& doing) override {
    if (matrices.empty()) return {};
    const auto copies = static_cast<double>(group().size());
    std::vector<at::Tensor> p;
    for (size_t i = 0; i < matrices.size(); ++i) p.push_back(matrices[i].mm(q_[i]));
    sum(p, doing);
    // A factor does not matter to the directions; QR orders them as Gram and Schmidt do.
    for (at::Tensor& each : p) each = std::get<0>(at::linalg_qr(each)).contiguous();
    for (size_t i = 0; i < matrices.size(); ++i) q_[i] = matrices[i].t().mm(p[i]);
    sum(q_, doing);
    std::vector<Decoded> out;
    for (size_t i = 0; i < matrices.size(); ++i) {
      q_[i].div_(copies);
      const at::Tensor mean = p[i].mm(q_[i].t());
      out.push_back({mean, mean});
    }
    return out;
  }

 private:
  std::vector<at::Tensor> q_;  // by matrix: [columns, rank]
};

}  // namespace

std::unique_ptr<Compressor> make_power_sgd(const config::RunConfig& config, comm::Group& group,
                                           const std::vector<optim::Param>& params) {
  return std::make_unique<PowerSgd>(config, group, params);
}

}  // namespace adagp::parallel
