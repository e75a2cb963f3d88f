// average_pool against its reference.

#include "adagp/gpu/cuda/conv/average_pool.h"

#include "adagp/base/core/error.h"
#include "gpu/kernels/norm_fixture.h"

namespace adagp::test {
namespace {

using cuda::Map;
using cuda::Type;

class AveragePool : public KernelTest {};

// The same additions in the same order: the same bits.
TEST_F(AveragePool, SameBitsAsReference) {
  for (const Map& map : {Map{2, 8, 8, 64}, Map{3, 17, 5, 24}, Map{1, 1, 1, 8}, Map{4, 1, 9, 16},
                         Map{2, 9, 1, 8}, Map{2, 32, 32, 192}, Map{2, 35, 35, 288}}) {
    for (const Type type : {Type::kFloat, Type::kBFloat16}) {
      for (const bool count_padding : {true, false}) {
        for (const bool gradient : {false, true}) {
          SCOPED_TRACE(describe(map, type) + (gradient ? " gradient" : ""));
          Bytes in(packed(activation(map, 1), type)), out(in.host.size());
          for (const bool kernel : {false, true}) {
            const cuda::AveragePoolArgs args{type,     map,           count_padding,
                                             gradient, in.at(kernel), out.at(kernel)};
            kernel ? cuda::average_pool(args, nullptr) : cuda::reference::average_pool(args);
          }
          EXPECT_TRUE(out.device.host() == out.host);
        }
      }
    }
  }
}

TEST_F(AveragePool, RefusesOtherChannels) {
  Bytes in(size_t{4096});
  EXPECT_THROW(
      cuda::average_pool({Type::kFloat, Map{1, 4, 4, 12}, true, false, in.at(true), in.at(true)},
                         nullptr),
      Error);
}

}  // namespace
}  // namespace adagp::test
