// A map that several branches write into, against a concat.

#include "adagp/engine/nn/joined_map.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::nn {
namespace {

at::Tensor some_map(int64_t channels) {
  return at::randn({2, channels, 3, 4}).contiguous(at::MemoryFormat::ChannelsLast);
}

TEST(JoinedMap, IsAConcatWhereNoPartHasAPlace) {
  at::manual_seed(61);
  const at::Tensor a = some_map(3).requires_grad_(), b = some_map(5);
  JoinedMap map(8);
  const at::Tensor joined = map.join(0, {a, b});
  EXPECT_TRUE(at::equal(joined, at::cat({a, b}, 1)));
  EXPECT_TRUE(joined.requires_grad());
}

TEST(JoinedMap, PartsInTheirPlaceAreNotCopied) {
  at::manual_seed(62);
  const at::Tensor a = some_map(3), b = some_map(5), c = some_map(2);
  JoinedMap map(10);
  const at::Tensor places[] = {map.place(0, a), map.place(3, b), map.place(8, c)};
  places[0].copy_(a);
  places[1].copy_(b);
  places[2].copy_(c);
  for (const at::Tensor& place : places) EXPECT_EQ(device::pitch_of(place), 10);
  // As results of layers would be.
  at::Tensor parts[] = {places[0].variable_data().requires_grad_(),
                        places[1].variable_data().requires_grad_(),
                        places[2].variable_data().requires_grad_()};
  // The last two were joined before, as in a branch that forks at its end.
  const at::Tensor inner = map.join(3, {parts[1], parts[2]});
  EXPECT_TRUE(at::equal(inner, at::cat({b, c}, 1)));
  const at::Tensor joined = map.join(0, {parts[0], inner});
  EXPECT_EQ(joined.const_data_ptr(), places[0].const_data_ptr());
  EXPECT_TRUE(joined.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::equal(joined, at::cat({a, b, c}, 1)));

  const at::Tensor gradient = some_map(10);
  joined.backward(gradient);
  EXPECT_TRUE(at::equal(parts[0].grad(), gradient.narrow(1, 0, 3)));
  EXPECT_TRUE(at::equal(parts[1].grad(), gradient.narrow(1, 3, 5)));
  EXPECT_TRUE(at::equal(parts[2].grad(), gradient.narrow(1, 8, 2)));
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(map.join(0, {parts[0], inner}).requires_grad());
}

TEST(JoinedMap, RefusesPartsInThePlaceOfOthers) {
  const at::Tensor a = some_map(3), b = some_map(5);
  JoinedMap map(8);
  const at::Tensor first = map.place(0, a), second = map.place(3, b);
  EXPECT_NO_THROW(map.join(0, {first, second}));
  EXPECT_THROW(map.join(0, {second, first}), Error);
}

TEST(JoinedMap, RefusesWhatDoesNotGoIn) {
  JoinedMap map(8);
  map.place(0, some_map(5));
  EXPECT_THROW(map.place(4, some_map(5)), Error);
  EXPECT_THROW(map.place(5, at::randn({2, 3, 4, 4})), Error);
  EXPECT_THROW(map.place(5, some_map(3).to(at::kDouble)), Error);
}

}  // namespace
}  // namespace adagp::nn
