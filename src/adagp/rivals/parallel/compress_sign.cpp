// sign: of each number one bit, and of each tensor its mean magnitude.

#include <ATen/ATen.h>

#include "adagp/rivals/parallel/compressors.h"

namespace adagp::parallel {
namespace {

constexpr int64_t kBits = 8;

at::Tensor masks(const at::Tensor& like) {
  return at::tensor({1, 2, 4, 8, 16, 32, 64, 128}, at::kByte).to(like.device());
}

// [n] of truth values -> [ceil(n / 8)] bytes.
at::Tensor pack(const at::Tensor& bits) {
  const int64_t pad = (kBits - bits.numel() % kBits) % kBits;
  const at::Tensor padded = at::constant_pad_nd(bits.to(at::kByte), {0, pad});
  return (padded.view({-1, kBits}) * masks(bits)).sum(at::IntArrayRef{1}, false, at::kByte);
}

at::Tensor unpack(const at::Tensor& bytes, int64_t count) {
  return bytes.unsqueeze(1).bitwise_and(masks(bytes)).ne(0).view({-1}).narrow(0, 0, count);
}

class Sign : public Compressor {
 public:
  Sign(comm::Group& group, const std::vector<optim::Param>& params) : Compressor(group, params) {}

 protected:
  std::vector<Decoded> exchange(const std::vector<at::Tensor>& matrices,
                                const std::string& doing) override {
    if (matrices.empty()) return {};
    std::vector<at::Tensor> bytes, sizes;
    for (const at::Tensor& matrix : matrices) {
      bytes.push_back(pack(matrix.view({-1}).ge(0)));
      sizes.push_back(matrix.abs().mean());
    }
    const int64_t scales = 4 * static_cast<int64_t>(matrices.size());
    const at::Tensor message = at::cat({at::stack(sizes).view(at::kByte), at::cat(bytes)});
    std::vector<Decoded> out(matrices.size());
    const auto messages = gather(message, doing);
    for (size_t r = 0; r < messages.size(); ++r) {
      const at::Tensor scale = messages[r].narrow(0, 0, scales).clone().view(at::kFloat);
      int64_t offset = scales;
      for (size_t i = 0; i < matrices.size(); ++i) {
        const at::Tensor bits =
            unpack(messages[r].narrow(0, offset, bytes[i].numel()), matrices[i].numel());
        offset += bytes[i].numel();
        const at::Tensor size = scale.narrow(0, static_cast<int64_t>(i), 1);
        const at::Tensor decoded = at::where(bits, size, -size).view(matrices[i].sizes());
        out[i].mean = out[i].mean.defined() ? out[i].mean + decoded : decoded;
        if (static_cast<int>(r) == group().rank()) out[i].kept = decoded;
      }
    }
    for (Decoded& each : out) each.mean = each.mean / static_cast<double>(group().size());
    return out;
  }
};

}  // namespace

std::unique_ptr<Compressor> make_sign(const config::RunConfig&, comm::Group& group,
                                      const std::vector<optim::Param>& params) {
  return std::make_unique<Sign>(group, params);
}

}  // namespace adagp::parallel
