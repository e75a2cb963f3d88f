// The norm kernels on some channels of a wider map, against their references on a copy.

#include "adagp/base/core/error.h"
#include "gpu/kernels/norm_layer.h"

namespace adagp::test {
namespace {

using cuda::Map;
using cuda::Type;

class NormPitch : public KernelTest {};

constexpr Type kTypes[] = {Type::kFloat, Type::kBFloat16};

// A map that is the first channels of a wider one, as a dense block has it.
std::vector<float> widened(const std::vector<float>& dense, const Map& map, int64_t pitch,
                           float beside) {
  std::vector<float> out(static_cast<size_t>(map.positions() * pitch), beside);
  for (int64_t i = 0; i < map.count(); ++i) {
    out[static_cast<size_t>(i / map.channels * pitch + i % map.channels)] =
        dense[static_cast<size_t>(i)];
  }
  return out;
}

struct Part {
  Map map;
  int64_t pitch;
};
const Part kParts[] = {{{16, 8, 8, 64}, 96},     {{32, 4, 4, 512}, 1024}, {{7, 5, 3, 40}, 56},
                       {{9, 6, 6, 24}, 27},      {{3, 32, 32, 96}, 256},  {{5, 7, 7, 10}, 16},
                       {{2, 16, 16, 2056}, 2064}};

TEST_F(NormPitch, StatisticsAndOutputEqualThoseOfACopy) {
  for (const Part& part : kParts) {
    for (const Type type : kTypes) {
      SCOPED_TRACE(describe(part.map, type));
      Layer layer(part.map, type);
      const std::vector<float> x = unpacked(layer.stats.x.host, type);
      const Device<uint8_t> wide(packed(widened(x, part.map, part.pitch, 1e9F), type));
      Bytes none(size_t{16}), y(layer.stats.x.host.size());
      cuda::reference::norm_apply(apply_args(layer, {true, false, false}, none, y, false));
      cuda::ApplyArgs a = apply_args(layer, {true, false, false}, none, y, true);
      a.x = wide.get(), a.pitch = part.pitch;
      cuda::norm_apply(a, nullptr);
      EXPECT_TRUE(y.device.host() == y.host);

      // Into some channels of a wider map, from a wide and from a dense one; the others stay.
      const std::vector<float> expected = unpacked(y.host, type);
      for (const bool from_wide : {true, false}) {
        const int64_t pitch = part.pitch + 8;
        const std::vector<float> before(static_cast<size_t>(part.map.positions() * pitch), 7.0F);
        const Device<uint8_t> to(packed(before, type));
        if (!from_wide) a.x = layer.stats.x.device.get(), a.pitch = 0;
        a.y = to.get(), a.y_pitch = pitch;
        cuda::norm_apply(a, nullptr);
        EXPECT_TRUE(to.host() == packed(widened(expected, part.map, pitch, 7.0F), type));
      }

      const Workspace workspace(cuda::stats_workspace(part.map, 8));
      StatsCase fresh(part.map, type);
      for (const bool summary : {false, true}) {
        cuda::StatsArgs stats = fresh.args(true, true, summary);
        stats.x = wide.get(), stats.pitch = part.pitch, stats.workspace = workspace.get();
        cuda::norm_stats(stats, nullptr);
        cuda::reference::norm_stats(fresh.args(false, true, summary));
        expect_close(fresh.mean.device.host(), fresh.mean.host, 1e-5, "mean");
        expect_close(fresh.inv_std.device.host(), fresh.inv_std.host, 1e-5, "inv_std");
        expect_close(fresh.running_var.device.host(), fresh.running_var.host, 1e-5, "variance");
      }
      expect_close(fresh.summary.device.host(), fresh.summary.host, 1e-5, "summary");
    }
  }
}

TEST_F(NormPitch, GradientEqualsThatOfACopyAndAddsAnother) {
  for (const Part& part : kParts) {
    for (const Type type : kTypes) {
      for (const bool plus : {false, true}) {
        SCOPED_TRACE(describe(part.map, type) + (plus ? " plus" : ""));
        BackwardCase c(part.map, type, {true, false, false});
        const std::vector<float> x = unpacked(c.layer.stats.x.host, type);
        const std::vector<float> other = normal(elements(part.map), 10, 0.0F);
        const int64_t other_pitch = part.pitch + 8;
        Bytes wide(packed(widened(x, part.map, part.pitch, 1e9F), type));
        Bytes more(packed(widened(other, part.map, other_pitch, 1e9F), type));
        const Workspace workspace(cuda::backward_workspace(part.map));
        for (const bool kernel : {false, true}) {
          cuda::NormBackwardArgs a = c.args(kernel, kernel ? workspace.get() : nullptr);
          a.x = wide.at(kernel), a.pitch = part.pitch;
          if (plus) a.plus = more.at(kernel), a.plus_pitch = other_pitch;
          kernel ? cuda::norm_backward(a, nullptr) : cuda::reference::norm_backward(a);
        }
        expect_equal_to_reference(c);
      }
    }
  }
}

// Where a branch's result lies in a concat, the gradient of the whole has its part's in it.
TEST_F(NormPitch, ReadsTheGradientOutOfAWiderOne) {
  for (const Part& part : kParts) {
    for (const Type type : kTypes) {
      for (const bool residual : {false, true}) {
        SCOPED_TRACE(describe(part.map, type) + (residual ? " residual" : ""));
        BackwardCase c(part.map, type, {true, residual, false});
        const std::vector<float> dy = unpacked(c.dy.host, type);
        Bytes wide(packed(widened(dy, part.map, part.pitch, 1e9F), type));
        const Workspace workspace(cuda::backward_workspace(part.map));
        for (const bool kernel : {false, true}) {
          cuda::NormBackwardArgs a = c.args(kernel, kernel ? workspace.get() : nullptr);
          a.dy = wide.at(kernel), a.dy_pitch = part.pitch;
          kernel ? cuda::norm_backward(a, nullptr) : cuda::reference::norm_backward(a);
        }
        expect_equal_to_reference(c);
      }
    }
  }
}

TEST_F(NormPitch, RefusesToReplaceAGradientThatIsNotDense) {
  BackwardCase c({2, 4, 4, 8}, Type::kFloat, {true, false, false});
  cuda::NormBackwardArgs args = c.args(true, nullptr);
  args.dy_pitch = 16, args.dx = const_cast<void*>(args.dy);
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
  args.dx = c.dx.at(true), args.dy_pitch = 4;  // positions would overlap
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
}

TEST_F(NormPitch, RefusesWhatItCannotAddOrPool) {
  BackwardCase c({2, 4, 4, 8}, Type::kFloat, {true, false, true});
  cuda::NormBackwardArgs args = c.args(true, nullptr);
  args.plus = args.dy;
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
  args.plus = nullptr, args.pitch = 16;
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
  args.pool = false, args.pitch = 4;  // positions would overlap
  EXPECT_THROW(cuda::norm_backward(args, nullptr), Error);
}

TEST_F(NormPitch, RefusesToPoolOrReplaceAPartOfAMap) {
  Layer layer({2, 4, 4, 8}, Type::kFloat);
  Bytes none(size_t{16}), y(layer.stats.x.host);
  cuda::ApplyArgs args = apply_args(layer, {true, false, true}, none, y, true);
  args.pitch = 16;
  EXPECT_THROW(cuda::norm_apply(args, nullptr), Error);
  args.pool = false, args.y = const_cast<void*>(args.x);
  EXPECT_THROW(cuda::norm_apply(args, nullptr), Error);
  BackwardCase c({2, 4, 4, 8}, Type::kFloat, {true, true, false});
  cuda::NormBackwardArgs backward = c.args(true, nullptr);
  backward.plus = backward.dy;
  EXPECT_THROW(cuda::norm_backward(backward, nullptr), Error);
}

}  // namespace
}  // namespace adagp::test
