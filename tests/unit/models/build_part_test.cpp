// A process with a part of a network has the values that the whole network has.

#include "adagp/engine/models/build_part.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/values_elsewhere.h"

namespace adagp::models {
namespace {

at::Tensor generator_state() {
  return at::detail::getDefaultCPUGenerator().get_state();
}

// A matrix of four rows, or a kernel of 3x3: as many numbers as a network's smallest and largest.
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

TEST(BuildPart, HasTheWholeNetworksValues) {
  for (const Entry& entry : registry()) {
    const Options options = small(entry);
    at::manual_seed(3);
    const auto whole = build(entry.name, options);
    const at::Tensor state = generator_state();
    std::set<std::string> half;
    int number = 0;
    for (const auto& item : whole->named_parameters()) {
      if (number++ % 2 == 0) half.insert(item.key());
    }
    at::manual_seed(3);
    const auto part =
        build_part(entry.name, options, [&](const auto& name) { return half.contains(name); });
    EXPECT_TRUE(generator_state().equal(state)) << entry.name;
    const auto values = whole->named_parameters();
    for (const auto& item : part->named_parameters()) {
      const at::Tensor& there = values[item.key()];
      EXPECT_EQ(item.value().sizes(), there.sizes()) << entry.name << " " << item.key();
      EXPECT_EQ(item.value().requires_grad(), there.requires_grad()) << item.key();
      const bool here = half.contains(item.key()) || there.dim() < 2;
      EXPECT_EQ(nn::has_values(item.value()), here) << entry.name << " " << item.key();
      if (here) {
        EXPECT_TRUE(item.value().equal(there)) << entry.name << " " << item.key();
      }
    }
    const auto buffers = whole->named_buffers();
    for (const auto& item : part->named_buffers()) {
      EXPECT_TRUE(item.value().equal(buffers[item.key()])) << entry.name << " " << item.key();
    }
  }
}

}  // namespace
}  // namespace adagp::models
