#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/task/yolo.h"

namespace adagp::task {
namespace {

constexpr int64_t kScales = 3, kPerScale = 3;
constexpr double kLargest = 10;  // logarithm of a size relative to its anchor

}  // namespace

std::vector<double> published_anchors(int64_t size) {
  std::vector<double> anchors{10, 13, 16,  30,  33, 23,  30,  61,  62,
                              45, 59, 119, 116, 90, 156, 198, 373, 326};
  for (double& value : anchors) value *= static_cast<double>(size) / 416.0;
  return anchors;
}

Yolo::Yolo(YoloOptions options) : options_(std::move(options)) {
  bool positive = options_.anchors.size() == 2 * kScales * kPerScale;
  for (const double value : options_.anchors) positive = positive && value > 0;
  if (!positive) {
    throw UsageError(core::cat("detection.anchors: ", options_.anchors.size(),
                               " numbers, expected 18 above 0: width and height of nine boxes in "
                               "pixels, smallest first"));
  }
}

at::Tensor Yolo::flatten(const models::Tensors& maps) const {
  models::Tensors parts;
  for (const at::Tensor& map : maps) {
    parts.push_back(
        map.permute({0, 2, 3, 1}).reshape({map.size(0), -1, 5 + options_.classes}).to(at::kFloat));
  }
  return at::cat(parts, 1);
}

const Yolo::Grid& Yolo::grid(const models::Tensors& maps) const {
  if (maps.size() != kScales) {
    throw Error(core::cat("yolo: ", maps.size(), " maps, expected ", kScales));
  }
  std::string key = maps[0].device().str();
  for (const at::Tensor& map : maps) key += core::cat(" ", map.size(2), "x", map.size(3));
  const std::lock_guard lock(mutex_);
  auto& made = grids_[key];
  if (made) return *made;

  std::vector<float> column, row, stride, width, height;                        // by prediction
  std::vector<float> a_width, a_height, a_stride, columns, rows, first, place;  // by anchor
  for (size_t s = 0; s < kScales; ++s) {
    const int64_t across = maps[s].size(3), down = maps[s].size(2);
    const auto step = static_cast<float>(options_.size) / static_cast<float>(across);
    for (size_t a = 0; a < kPerScale; ++a) {
      const size_t anchor = 2 * (s * kPerScale + a);
      a_width.push_back(static_cast<float>(options_.anchors[anchor]));
      a_height.push_back(static_cast<float>(options_.anchors[anchor + 1]));
      a_stride.push_back(step);
      columns.push_back(static_cast<float>(across));
      rows.push_back(static_cast<float>(down));
      first.push_back(static_cast<float>(column.size()));
      place.push_back(static_cast<float>(a));
    }
    for (int64_t cell = 0; cell < down * across; ++cell) {
      for (size_t a = 0; a < kPerScale; ++a) {
        column.push_back(static_cast<float>(cell % across));
        row.push_back(static_cast<float>(cell / across));
        stride.push_back(step);
        width.push_back(a_width[s * kPerScale + a]);
        height.push_back(a_height[s * kPerScale + a]);
      }
    }
  }
  const auto on_device = [&](const std::vector<float>& values) {
    return at::tensor(values, at::kFloat).to(maps[0].device());
  };
  made = std::make_unique<const Grid>(
      Grid{on_device(column), on_device(row), on_device(stride), on_device(width),
           on_device(height), on_device(a_width), on_device(a_height), on_device(a_stride),
           on_device(columns), on_device(rows), on_device(first), on_device(place)});
  return *made;
}

std::array<at::Tensor, 4> Yolo::boxes(const at::Tensor& flat, const Grid& g) const {
  const at::Tensor x = (flat.select(2, 0).sigmoid() + g.column) * g.stride;
  const at::Tensor y = (flat.select(2, 1).sigmoid() + g.row) * g.stride;
  // Far larger than any image, and not yet infinite.
  const at::Tensor width = flat.select(2, 2).clamp_max(kLargest).exp() * g.width * 0.5;
  const at::Tensor height = flat.select(2, 3).clamp_max(kLargest).exp() * g.height * 0.5;
  return {x - width, y - height, x + width, y + height};
}

std::vector<std::vector<metrics::ScoredBox>> Yolo::answers(const models::Tensors& maps,
                                                           double least, int64_t most) const {
  const at::NoGradGuard no_grad;
  const at::Tensor flat = flatten(maps);  // [B, N, 5 + C]
  const auto sides = boxes(flat, grid(maps));
  const int64_t classes = options_.classes;
  const at::Tensor scores =
      (flat.select(2, 4).sigmoid().unsqueeze(2) * flat.narrow(2, 5, classes).sigmoid())
          .flatten(1);  // [B, N * C]
  const auto [top, where] = scores.topk(std::min(most, scores.size(1)), 1);
  const at::Tensor label = at::remainder(where, classes);
  const at::Tensor prediction = at::div(where, classes, "floor");
  models::Tensors columns{top, label.to(at::kFloat)};
  for (const at::Tensor& side : sides) {
    columns.push_back(side.gather(1, prediction).clamp(0, static_cast<double>(options_.size)));
  }
  const at::Tensor table = at::stack(columns, 2).cpu().contiguous();  // [B, most, 6]
  std::vector<std::vector<metrics::ScoredBox>> out(static_cast<size_t>(table.size(0)));
  const auto* row = table.const_data_ptr<float>();
  for (auto& image : out) {
    for (int64_t i = 0; i < table.size(1); ++i, row += 6) {
      if (!(row[0] > least)) continue;
      image.push_back({{row[2], row[3], row[4], row[5]}, static_cast<int64_t>(row[1]), row[0]});
    }
  }
  return out;
}

}  // namespace adagp::task
