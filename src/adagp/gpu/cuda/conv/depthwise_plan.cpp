#include "adagp/gpu/cuda/conv/depthwise_plan.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::cuda {
namespace depthwise {
namespace {

// Two or three blocks run on each of 132 multiprocessors at once. Those of a gather come in four
// waves, so that an uneven end costs little; each sum of the reduction is read again, so one wave.
constexpr int64_t kGatherBlocks = 4 * 2 * 132;
constexpr int64_t kReduceBlocks = 3 * 132;

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Of the map, shared among about `blocks` blocks; their number is written there.
Tiles tiles_of(const Map& map, int tile_rows, int tile_columns, const Lanes& lanes, int64_t most,
               int& blocks) {
  const int64_t columns = ceil_div(map.width, tile_columns), rows = ceil_div(map.height, tile_rows);
  Tiles out;
  out.height = static_cast<int>(map.height);
  out.width = static_cast<int>(map.width);
  out.columns = plan::divider(columns);
  out.rows = plan::divider(rows);
  out.count = static_cast<uint32_t>(map.batch * rows * columns);
  // Steps in which each of a block's rows of threads takes a tile.
  const int64_t steps = ceil_div(out.count, lanes.rows);
  const int64_t each = ceil_div(steps * lanes.parts, most);
  out.piece = static_cast<uint32_t>(each * lanes.rows);
  blocks = static_cast<int>(ceil_div(steps, each));
  return out;
}

void check(const DepthwiseArgs& args) {
  plan::check_map(args.map, "depthwise convolution");
  if (depthwise_fits(args.map, args.stride)) return;
  throw Error(core::cat("depthwise convolution of ", args.map.channels, " channels, stride ",
                        args.stride, ": the kernels take multiples of ", kLanes,
                        " and strides 1 and 2; use at::conv2d"));
}

Gather plan_gather(const DepthwiseArgs& args, Pass pass) {
  check(args);
  const bool forward = pass == Pass::kForward;
  const Map out_map = depthwise_output(args.map, args.stride);
  const Map& from = forward ? args.map : out_map;
  const Map& to = forward ? out_map : args.map;
  Gather out;
  out.from = forward ? args.x : args.dy;
  out.weight = args.weight;
  out.to = forward ? args.y : args.dx;
  out.from_height = static_cast<int>(from.height);
  out.from_width = static_cast<int>(from.width);
  out.lanes = lanes(to.channels, Gather::kThreads, Gather::kWidest);
  out.tiles = tiles_of(to, rows_of(pass, args.stride), columns_of(args.type), out.lanes,
                       kGatherBlocks, out.blocks);
  return out;
}

}  // namespace

Lanes lanes(int64_t channels, int threads, int widest) {
  const int64_t vectors = channels / kLanes;
  Lanes out;
  out.channels = static_cast<int>(channels);
  out.parts = static_cast<int>(ceil_div(vectors, widest));
  out.width = static_cast<int>(ceil_div(vectors, out.parts));
  out.rows = threads / out.width;
  return out;
}

Gather plan_forward(const DepthwiseArgs& args) {
  return plan_gather(args, Pass::kForward);
}

Gather plan_input_gradient(const DepthwiseArgs& args) {
  return plan_gather(args, Pass::kInputGradient);
}

Reduce plan_weight_gradient(const DepthwiseArgs& args) {
  check(args);
  Reduce out;
  out.x = args.x;
  out.dy = args.dy;
  out.sums = args.workspace;
  out.dweight = args.dweight;
  out.x_height = static_cast<int>(args.map.height);
  out.x_width = static_cast<int>(args.map.width);
  out.lanes = lanes(args.map.channels, Reduce::kThreads, Reduce::kWidest);
  out.tiles =
      tiles_of(depthwise_output(args.map, args.stride), rows_of(Pass::kForward, args.stride),
               columns_of(args.type), out.lanes, kReduceBlocks, out.chunks);
  return out;
}

}  // namespace depthwise

Map depthwise_output(const Map& map, int stride) {
  return {map.batch, (map.height - 1) / stride + 1, (map.width - 1) / stride + 1, map.channels};
}

bool depthwise_fits(const Map& map, int stride) {
  return map.channels > 0 && map.channels % depthwise::kLanes == 0 && map.count() > 0 &&
         (stride == 1 || stride == 2);
}

int64_t depthwise_workspace(Type type, const Map& map, int stride) {
  DepthwiseArgs args;
  args.type = type;
  args.map = map;
  args.stride = stride;
  return int64_t{depthwise::plan_weight_gradient(args).chunks} * depthwise::kTaps * map.channels;
}

}  // namespace adagp::cuda
