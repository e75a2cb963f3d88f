// top-k: of each tensor the numbers that are largest in magnitude, with their places.

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/rivals/options/options.h"
#include "adagp/rivals/parallel/compressors.h"

namespace adagp::parallel {
namespace {

class TopK : public Compressor {
 public:
  TopK(const config::RunConfig& config, comm::Group& group, const std::vector<optim::Param>& params)
      : Compressor(group, params), share_(config.parts.get<rivals::CompressOptions>().share) {
    if (!(share_ > 0 && share_ <= 1)) {
      throw UsageError(core::cat("compress.share = ", core::shortest(share_),
                                 ": expected more than 0 and at most 1"));
    }
  }

 protected:
  std::vector<Decoded> exchange(const std::vector<at::Tensor>& matrices,
                                const std::string& doing) override {
    std::vector<at::Tensor> own_places, own_values;
    for (const at::Tensor& matrix : matrices) {
      const at::Tensor row = matrix.view({-1});
      const at::Tensor places = std::get<1>(at::topk(row.abs(), count(row), 0, true, false));
      own_places.push_back(places.to(at::kInt));
      own_values.push_back(row.index_select(0, places));
    }
    if (matrices.empty()) return {};
    // One message: places and values have four bytes each.
    const at::Tensor message = at::cat({at::cat(own_places), at::cat(own_values).view(at::kInt)});
    std::vector<Decoded> out;
    for (const at::Tensor& matrix : matrices) {
      out.push_back({at::zeros_like(matrix), at::zeros_like(matrix)});
    }
    const auto messages = gather(message, doing);
    for (size_t r = 0; r < messages.size(); ++r) {
      const auto halves = messages[r].chunk(2);
      const at::Tensor places = halves[0], values = halves[1].contiguous().view(at::kFloat);
      int64_t offset = 0;
      for (size_t i = 0; i < matrices.size(); ++i) {
        const int64_t n = own_values[i].numel();
        const at::Tensor where = places.narrow(0, offset, n).to(at::kLong);
        const at::Tensor what = values.narrow(0, offset, n);
        offset += n;
        // Places are different within a message, and messages come in one order everywhere.
        out[i].mean.view({-1}).index_add_(0, where, what);
        if (static_cast<int>(r) == group().rank()) {
          out[i].kept.view({-1}).index_copy_(0, where, what);
        }
      }
    }
    for (Decoded& each : out) each.mean.div_(group().size());
    return out;
  }

 private:
  int64_t count(const at::Tensor& row) const {
    if (row.numel() > std::numeric_limits<int32_t>::max()) {
      throw UsageError("compress.kind = top-k: a tensor of more than 2^31 numbers; use power-sgd");
    }
    const auto wanted = std::ceil(share_ * static_cast<double>(row.numel()));
    return std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, row.numel());
  }

  double share_;
};

}  // namespace

std::unique_ptr<Compressor> make_top_k(const config::RunConfig& config, comm::Group& group,
                                       const std::vector<optim::Param>& params) {
  return std::make_unique<TopK>(config, group, params);
}

}  // namespace adagp::parallel
