#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/engine/task/yolo.h"

namespace adagp::task {
namespace {

// Objects looked at together when overlaps are taken: bounds the memory in a crowd.
constexpr int64_t kTogether = 8;

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& target) {
  return at::binary_cross_entropy_with_logits(logits, target, {}, {}, at::Reduction::None);
}

// [B, N, width] at [B, most] -> [B, most, width].
at::Tensor rows_at(const at::Tensor& flat, const at::Tensor& index) {
  return flat.gather(1, index.unsqueeze(2).expand({-1, -1, flat.size(2)}));
}

}  // namespace

Yolo::Responsible Yolo::responsible(const at::Tensor& objects, const models::Tensors& maps) const {
  const at::NoGradGuard no_grad;
  const Grid& g = grid(maps);
  const auto size = static_cast<double>(options_.size);
  Responsible out;
  out.valid = objects.select(2, 0) >= 0;  // [B, most]
  const at::Tensor none = out.valid.logical_not();
  // Where there is no object, a box of one pixel: nothing below may become infinite.
  const auto pixels = [&](int64_t column, double otherwise) {
    return (objects.select(2, column) * size).masked_fill_(none, otherwise);
  };
  const at::Tensor x = pixels(1, 0), y = pixels(2, 0);
  const at::Tensor width = pixels(3, 1), height = pixels(4, 1);
  const at::Tensor shared = at::minimum(width.unsqueeze(2), g.anchor_width) *
                            at::minimum(height.unsqueeze(2), g.anchor_height);  // [B, most, 9]
  const at::Tensor all = (width * height).unsqueeze(2) + g.anchor_width * g.anchor_height - shared;
  const at::Tensor best = (shared / all).argmax(2);  // [B, most]
  const auto of_best = [&](const at::Tensor& by_anchor) { return at::index(by_anchor, {best}); };

  const at::Tensor stride = of_best(g.anchor_stride), columns = of_best(g.columns);
  const at::Tensor column = at::minimum((x / stride).floor(), columns - 1);
  const at::Tensor row = at::minimum((y / stride).floor(), of_best(g.rows) - 1);
  const at::Tensor place = (row * columns + column) * 3 + of_best(g.first) + of_best(g.place);
  out.index = place.masked_fill(none, 0).to(at::kLong);
  out.x = (x / stride - column).clamp(0, 1);
  out.y = (y / stride - row).clamp(0, 1);
  out.width = (width / of_best(g.anchor_width)).log().masked_fill_(none, 0);
  out.height = (height / of_best(g.anchor_height)).log().masked_fill_(none, 0);
  return out;
}

at::Tensor Yolo::excused(const at::Tensor& flat, const Grid& g, const at::Tensor& objects) const {
  const at::NoGradGuard no_grad;
  const auto size = static_cast<double>(options_.size);
  const auto sides = boxes(flat, g);
  const at::Tensor area = (sides[2] - sides[0]) * (sides[3] - sides[1]);  // [B, N]
  at::Tensor over = at::zeros_like(area, at::kBool);
  for (int64_t first = 0; first < objects.size(1); first += kTogether) {
    const int64_t count = std::min(kTogether, objects.size(1) - first);
    const at::Tensor some = objects.narrow(1, first, count).unsqueeze(1) * size;  // [B, 1, n, 5]
    const at::Tensor half_width = some.select(3, 3) * 0.5, half_height = some.select(3, 4) * 0.5;
    const at::Tensor x = some.select(3, 1), y = some.select(3, 2);  // [B, 1, n]
    const auto overlap = [](const at::Tensor& low, const at::Tensor& high, const at::Tensor& from,
                            const at::Tensor& to) {
      return (at::minimum(high.unsqueeze(2), to) - at::maximum(low.unsqueeze(2), from))
          .clamp_min(0);
    };
    const at::Tensor shared = overlap(sides[0], sides[2], x - half_width, x + half_width) *
                              overlap(sides[1], sides[3], y - half_height, y + half_height);
    const at::Tensor all = area.unsqueeze(2) + half_width * half_height * 4 - shared;
    // Rows without an object have no area and share nothing.
    over.logical_or_((shared > all * options_.ignore).any(2));
  }
  return over;
}

at::Tensor Yolo::loss(const models::Tensors& maps, const at::Tensor& objects) const {
  const at::Tensor flat = flatten(maps);  // [B, N, 5 + C]
  const Responsible r = responsible(objects, maps);
  const at::Tensor weight = r.valid.to(at::kFloat);  // [B, most]

  const at::Tensor mine = rows_at(flat, r.index);  // [B, most, 5 + C]
  const at::Tensor balance = weight * (2 - objects.select(2, 3) * objects.select(2, 4));
  const at::Tensor centre =
      cross_entropy(mine.select(2, 0), r.x) + cross_entropy(mine.select(2, 1), r.y);
  const at::Tensor extent =
      (mine.select(2, 2) - r.width).square() * 0.5 + (mine.select(2, 3) - r.height).square() * 0.5;
  const at::Tensor label = objects.select(2, 0).clamp_min(0).to(at::kLong).unsqueeze(2);
  const at::Tensor said = mine.narrow(2, 5, options_.classes);
  const at::Tensor wanted = at::zeros_like(said).scatter_(2, label, 1.0);
  const at::Tensor kinds = cross_entropy(said, wanted).sum(2);

  // Rows without an object point at a place behind the last.
  const int64_t count = flat.size(1);
  const at::Tensor there = at::zeros({flat.size(0), count + 1}, flat.options().requires_grad(false))
                               .scatter_(1, r.index.masked_fill(r.valid.logical_not(), count), 1.0)
                               .narrow(1, 0, count);
  const at::Tensor excuse = excused(flat.detach(), grid(maps), objects).logical_and_(there == 0);
  const at::Tensor sight = cross_entropy(flat.select(2, 4), there).masked_fill(excuse, 0);

  const at::Tensor sum = (balance * (centre + extent)).sum() + (weight * kinds).sum() + sight.sum();
  return sum / static_cast<double>(flat.size(0));
}

at::Tensor Yolo::hits(const models::Tensors& maps, const at::Tensor& objects) const {
  const at::NoGradGuard no_grad;
  const Responsible r = responsible(objects, maps);
  const at::Tensor mine = rows_at(flatten(maps), r.index);
  const at::Tensor right =
      mine.narrow(2, 5, options_.classes).argmax(2) == objects.select(2, 0).to(at::kLong);
  const at::Tensor seen = mine.select(2, 4) > 0;
  return at::stack({(right & r.valid).sum(), (seen & r.valid).sum(), r.valid.sum()})
      .to(at::kDouble);
}

}  // namespace adagp::task
