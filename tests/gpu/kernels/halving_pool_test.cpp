// halving_pool against its reference.

#include "adagp/gpu/cuda/conv/halving_pool.h"

#include "adagp/base/core/error.h"
#include "gpu/kernels/norm_fixture.h"

namespace adagp::test {
namespace {

using cuda::Map;
using cuda::Type;

class HalvingPool : public KernelTest {};

// The same additions in the same order: the same bits.
TEST_F(HalvingPool, SameBitsAsReference) {
  for (const Map& large : {Map{2, 8, 8, 64}, Map{3, 18, 6, 24}, Map{1, 2, 2, 8}, Map{4, 2, 10, 16},
                           Map{2, 32, 32, 128}, Map{5, 16, 16, 256}}) {
    const Map small{large.batch, large.height / 2, large.width / 2, large.channels};
    for (const Type type : {Type::kFloat, Type::kBFloat16}) {
      for (const bool gradient : {false, true}) {
        SCOPED_TRACE(describe(large, type) + (gradient ? " gradient" : ""));
        Bytes in(packed(activation(gradient ? small : large, 1), type));
        Bytes out(gradient ? 4 * in.host.size() : in.host.size() / 4);
        for (const bool kernel : {false, true}) {
          const cuda::HalvingPoolArgs args{type, large, gradient, in.at(kernel), out.at(kernel)};
          kernel ? cuda::halving_pool(args, nullptr) : cuda::reference::halving_pool(args);
        }
        EXPECT_TRUE(out.device.host() == out.host);
      }
    }
  }
}

TEST_F(HalvingPool, RefusesOtherMaps) {
  Bytes in(size_t{4096});
  for (const Map& map : {Map{1, 4, 4, 12}, Map{1, 3, 4, 8}, Map{1, 4, 5, 8}}) {
    EXPECT_THROW(cuda::halving_pool({Type::kFloat, map, false, in.at(true), in.at(true)}, nullptr),
                 Error);
  }
}

}  // namespace
}  // namespace adagp::test
