#include "adagp/gpu/cuda/data/shrink.h"
#include "adagp/gpu/cuda/bf16.h"

namespace adagp::cuda {
namespace {

// Old pixels first .. end that new pixel `i` of `fewer` covers.
struct Covered {
  int64_t first, end;
};
Covered covered(int64_t i, int64_t many, int64_t fewer) {
  return {i * many / fewer, ((i + 1) * many + fewer - 1) / fewer};
}

}  // namespace

void reference::shrink(const ShrinkArgs& args) {
  int64_t at = 0;
  for (int64_t b = 0; b < args.batch; ++b) {
    for (int64_t y = 0; y < args.out_height; ++y) {
      const Covered rows = covered(y, args.height, args.out_height);
      for (int64_t x = 0; x < args.out_width; ++x) {
        const Covered columns = covered(x, args.width, args.out_width);
        for (int64_t c = 0; c < 3; ++c) {
          float sum = 0;
          for (int64_t row = rows.first; row < rows.end; ++row) {
            for (int64_t column = columns.first; column < columns.end; ++column) {
              const int64_t pixel = (b * args.height + row) * args.width + column;
              sum += load_as_float(args.in, args.type, pixel * 3 + c);
            }
          }
          const auto count =
              static_cast<float>((rows.end - rows.first) * (columns.end - columns.first));
          store_from_float(args.out, args.type, at++, sum / count);
        }
      }
    }
  }
}

}  // namespace adagp::cuda
