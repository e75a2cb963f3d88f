// Averaged weights are put back, or the session trains no further.

#include "adagp/rivals/method/weight_average.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::method {
namespace {

TEST(WeightAverage, ThatCannotBePutBackIsAnError) {
  step::Session s = small::session(small::config("adagp"));
  WeightAverage average;
  average.add(s);
  at::Tensor weight = s.optimizer->params()[0].value;
  const auto look = [&] {
    WeightAverage::Scope scope(average, s);
    weight.set_data(at::zeros({weight.numel() + 1}));
    scope.end();
  };
  EXPECT_ANY_THROW(look());
  EXPECT_THROW(s.check_intact(), Error);
}

}  // namespace
}  // namespace adagp::method
