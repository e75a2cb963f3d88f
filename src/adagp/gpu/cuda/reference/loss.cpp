#include <cmath>
#include <limits>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/loss.h"

namespace adagp::cuda {
namespace {

struct Row {
  double loss = 0;
  bool first = false, five = false;
};

struct Softmax {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0;    // of exp(x - largest)
  double below = 0;  // sum of x - largest
};

Softmax softmax_of(const LossArgs& args, int64_t start) {
  Softmax out;
  for (int64_t c = 0; c < args.classes; ++c) {
    // Passes over NaN, as std::fmax does, which g++ 12 cannot compile here for aarch64 at -O3.
    const double x = load_as_float(args.logits, args.type, start + c);
    out.largest = x > out.largest ? x : out.largest;
  }
  for (int64_t c = 0; c < args.classes; ++c) {
    const double x = load_as_float(args.logits, args.type, start + c) - out.largest;
    out.sum += std::exp(x);
    out.below += x;
  }
  return out;
}

Row rank_of_label(const LossArgs& args, int64_t start, int64_t label) {
  const float own = load_as_float(args.logits, args.type, start + label);
  int64_t ahead = 0;
  bool nan = false;
  for (int64_t c = 0; c < args.classes; ++c) {
    const float x = load_as_float(args.logits, args.type, start + c);
    ahead += x > own || (x == own && c < label);
    nan = nan || std::isnan(x);
  }
  return {0, !nan && ahead == 0, !nan && ahead < 5};
}

Row row_loss(const LossArgs& args, int64_t row) {
  const int64_t start = row * args.classes, label = args.labels[row];
  const bool known = label >= 0 && label < args.classes;
  const Softmax softmax = softmax_of(args, start);
  Row out = known ? rank_of_label(args, start, label) : Row{};
  const double own = known ? load_as_float(args.logits, args.type, start + label)
                           : std::numeric_limits<double>::quiet_NaN();
  const double plain = std::log(softmax.sum) - (own - softmax.largest);
  if (args.table != nullptr) args.table[args.rows[row]] = static_cast<float>(plain);
  out.loss = (1.0 - args.smoothing) * plain;
  if (args.smoothing > 0) {
    out.loss += args.smoothing *
                (std::log(softmax.sum) - softmax.below / static_cast<double>(args.classes));
  }
  if (args.gradient == nullptr) return out;
  for (int64_t c = 0; c < args.classes; ++c) {
    const double x = load_as_float(args.logits, args.type, start + c);
    const double target = (c == label ? 1.0 - args.smoothing : 0.0) +
                          args.smoothing / static_cast<double>(args.classes);
    const double value = std::exp(x - softmax.largest) / softmax.sum - target;
    store_from_float(args.gradient, args.type, start + c,
                     static_cast<float>(value / static_cast<double>(args.batch)));
  }
  return out;
}

}  // namespace

void reference::softmax_loss(const LossArgs& args) {
  double sum = 0, first = 0, five = 0;
  for (int64_t row = 0; row < args.batch; ++row) {
    const Row one = row_loss(args, row);
    sum += one.loss;
    first += one.first ? 1 : 0;
    five += one.five ? 1 : 0;
  }
  *args.loss = static_cast<float>(sum / static_cast<double>(args.batch));
  if (args.meters == nullptr) return;
  args.meters[0] += sum;
  args.meters[1] += first;
  args.meters[2] += five;
  args.meters[3] += static_cast<double>(args.batch);
}

}  // namespace adagp::cuda
