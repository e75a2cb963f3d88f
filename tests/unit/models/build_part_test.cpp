// A process with a part of a network has the values that the whole network has.

#include "adagp/engine/models/build_part.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "adagp/base/core/text.h"
#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/values_elsewhere.h"

namespace adagp::models {
namespace {

at::Tensor generator_state() {
  return at::detail::getDefaultCPUGenerator().get_state();
}

// Four times `count` numbers: fewer than the 16 that ATen draws at a time, with a rest of fewer,
// and several pieces of what is drawn to be forgotten.
TEST(InitialValues, ThoseOfOthersAreDrawnAndForgotten) {
  for (const int64_t count : {1, 2, 15, 16, 17, 100, 1 << 16, (1 << 17) - 1, 1 << 17, 200003}) {
    for (const bool normal : {false, true}) {
      const auto after = [&](at::Tensor& parameter) {
        at::manual_seed(5);
        if (normal) {
          nn::draw_normal(parameter, 0, 0.1);
        } else {
          nn::draw_uniform(parameter, -1, 1);
        }
        return generator_state();
      };
      at::Tensor here = at::empty({count, 4});
      at::Tensor elsewhere = nn::shape_without_values({count, 4});
      EXPECT_TRUE(after(here).equal(after(elsewhere))) << count << " x 4, normal: " << normal;
      EXPECT_FALSE(nn::has_values(elsewhere));
      EXPECT_FALSE(here.isnan().any().item<bool>());
    }
  }
}

Options small(const Entry& entry) {
  const bool slim = entry.default_form == Form::kCifar || entry.task == TaskKind::kTranslation;
  return {entry.default_form, 10, slim ? 1 : 8};
}

std::set<std::string> every_second(const Net& net, int first) {
  std::set<std::string> names;
  int number = first;
  for (const auto& item : net.named_parameters()) {
    if (number++ % 2 == 0) names.insert(item.key());
  }
  return names;
}

// `part` was built for the parameters in `wanted`, and has vectors and buffers in any case.
void expect_values_of(const Net& whole, const Net& part, const std::set<std::string>& wanted) {
  const auto values = whole.named_parameters();
  for (const auto& item : part.named_parameters()) {
    const at::Tensor& there = values[item.key()];
    EXPECT_EQ(item.value().sizes(), there.sizes()) << item.key();
    EXPECT_EQ(item.value().requires_grad(), there.requires_grad()) << item.key();
    const bool here = wanted.contains(item.key()) || there.dim() < 2;
    EXPECT_EQ(nn::has_values(item.value()), here) << item.key();
    if (here) {
      EXPECT_TRUE(item.value().equal(there)) << item.key();
    }
  }
  const auto buffers = whole.named_buffers();
  for (const auto& item : part.named_buffers()) {
    EXPECT_TRUE(item.value().equal(buffers[item.key()])) << item.key();
  }
}

TEST(BuildPart, HasTheWholeNetworksValues) {
  for (const Entry& entry : registry()) {
    const Options options = small(entry);
    at::manual_seed(3);
    const auto whole = build(entry.name, options);
    const at::Tensor state = generator_state();
    for (const int first : {0, 1}) {
      SCOPED_TRACE(core::cat(entry.name, ", every second parameter from ", first));
      const std::set<std::string> half = every_second(*whole, first);
      at::manual_seed(3);
      const auto part =
          build_part(entry.name, options, [&](const auto& name) { return half.contains(name); });
      EXPECT_TRUE(generator_state().equal(state));
      expect_values_of(*whole, *part, half);
    }
  }
}

}  // namespace
}  // namespace adagp::models
