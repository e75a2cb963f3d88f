#include "adagp/lab/experiment/depthwise_bench.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/nn/depthwise.h"
#include "adagp/engine/run/precision.h"
#include "adagp/engine/train/build.h"
#include "adagp/gpu/cuda/conv/depthwise.h"
#include "adagp/gpu/device/choose_device.h"
#include "adagp/gpu/device/event_timer.h"
#include "adagp/gpu/device/graph.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/lab/experiment/machine_limits.h"
#include "adagp/lab/experiment/made_up_task.h"
#include "adagp/lab/experiment/peak_memory.h"
#include "adagp/results/report/table.h"

namespace adagp::experiment {
namespace {

constexpr int kLaunches = 10;  // of a product in one graph

bool is_depthwise(const layers::Row& row) {
  using Pair = std::array<int64_t, 2>;
  return layers::is_convolution(row) && row.groups == row.input[0] &&
         row.output[0] == row.input[0] && row.kernel == Pair{3, 3} && row.padding == Pair{1, 1} &&
         row.dilation == Pair{1, 1} && row.stride[0] == row.stride[1] &&
         cuda::depthwise_fits({1, row.input[1], row.input[2], row.input[0]},
                              static_cast<int>(row.stride[0]));
}

// Shapes in the order of the network, with how often they occur.
std::vector<DepthwiseTime> shapes_of(const layers::Table& table) {
  std::vector<DepthwiseTime> out;
  for (const layers::Row& row : table.rows) {
    if (!is_depthwise(row)) continue;
    const DepthwiseTime shape{row.input[0], row.input[1], row.input[2], row.stride[0]};
    const auto key = [](const DepthwiseTime& t) {
      return std::tuple(t.channels, t.height, t.width, t.stride);
    };
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const auto& other) { return key(other) == key(shape); });
    known == out.end() ? out.push_back(shape) : void(++known->times);
  }
  return out;
}

// A product that is run again and again: from a graph on a GPU, as it is on a CPU.
class Repeated {
 public:
  Repeated(const at::Device& device, std::function<void()> work)
      : device_(device), work_(std::move(work)) {
    work_();  // cuDNN chooses, memory is there
    work_();
    if (!device::Graph::possible(device_)) return;
    graph_.capture(device_, [this] {
      for (int i = 0; i < kLaunches; ++i) work_();
    });
    launches_ = kLaunches;
    graph_.replay();
  }
  void run() {
    if (launches_ == 1) return work_();
    graph_.replay();
  }
  int launches() const { return launches_; }

 private:
  at::Device device_;
  std::function<void()> work_;
  device::Graph graph_;
  int launches_ = 1;
};

double middle(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void time_both(DepthwiseTime& out, const at::Device& device, int repeats,
               const std::function<void()>& library, const std::function<void()>& own) {
  Repeated theirs(device, library), ours(device, own);
  device::EventTimer marks(device);
  marks.add();
  for (int i = 0; i < repeats; ++i) {
    theirs.run();
    marks.add();
    ours.run();
    marks.add();
  }
  const std::vector<double> seconds = marks.seconds();
  std::vector<double> of_theirs, of_ours;
  for (size_t i = 0; i + 1 < seconds.size(); i += 2) {
    of_theirs.push_back(seconds[i] / theirs.launches());
    of_ours.push_back(seconds[i + 1] / ours.launches());
  }
  out.library = middle(std::move(of_theirs));
  out.own = middle(std::move(of_ours));
}

// The three products of a shape.
std::vector<DepthwiseTime> time_shape(const DepthwiseTime& shape, int64_t batch,
                                      const at::Device& device, at::ScalarType type, int repeats) {
  const auto options = at::TensorOptions(device).dtype(type);
  const int64_t stride = shape.stride, channels = shape.channels;
  const cuda::Map from{batch, shape.height, shape.width, channels};
  const cuda::Map to = cuda::depthwise_output(from, static_cast<int>(stride));
  const auto random = [&](const cuda::Map& map) {
    return at::randn({map.batch, map.channels, map.height, map.width}, options)
        .contiguous(at::MemoryFormat::ChannelsLast);
  };
  const at::Tensor x = random(from), dy = random(to),
                   weight = at::randn({channels, 1, 3, 3}, options);
  const auto backward = [&](bool of_x) {
    at::convolution_backward(dy, x, weight, at::OptionalIntArrayRef(), {stride, stride}, {1, 1},
                             {1, 1}, false, {0, 0}, channels, {of_x, !of_x, false});
  };
  std::vector<DepthwiseTime> out;
  const auto add = [&](const char* pass, const std::function<void()>& library,
                       const std::function<void()>& own) {
    DepthwiseTime time = shape;
    time.pass = pass;
    time.bytes = static_cast<double>((from.count() + to.count()) * x.element_size());
    time_both(time, device, repeats, library, own);
    out.push_back(time);
  };
  add(
      "forward",
      [&] {
        at::conv2d(x, weight, {}, {stride, stride}, {1, 1}, {1, 1}, channels);
      },
      [&] { nn::depthwise_forward(x, weight, stride); });
  add(
      "input gradient", [&] { backward(true); },
      [&] { nn::depthwise_input_gradient(dy, weight, x, stride); });
  add(
      "weight gradient", [&] { backward(false); },
      [&] { nn::depthwise_weight_gradient(dy, x, weight, stride); });
  return out;
}

std::string shape_text(const DepthwiseTime& t) {
  return core::cat(t.height, "x", t.width, "x", t.channels, t.stride > 1 ? " / 2" : "");
}

}  // namespace

DepthwiseBench depthwise_bench(config::RunConfig config, const std::string& input, int repeats,
                               const report::MachineLimits& given) {
  const task::TaskPtr task = made_up_task(config, input);
  task->resolve(config);
  run::resolve_precision(config);
  train::set_threads(config);
  const at::Device device = device::choose_device(config.device);
  const auto net = task::build_net(config, *task);
  DepthwiseBench out;
  out.model = config.model.name;
  out.input = task->input_name(config);
  out.precision = config.precision;
  out.batch = config.batch;
  out.device = device_name(device);
  const auto shapes = shapes_of(layers::from_model(*net, out.model, out.input));
  if (shapes.empty()) {
    throw UsageError(core::cat("bench --depthwise: ", out.model,
                               " has no 3x3 depthwise convolution of a multiple of 8 channels; try "
                               "--model mobilenet_v2"));
  }
  if (!device.is_cpu() && !device::has_kernels(device)) {
    throw UsageError("bench --depthwise: " + device::why_no_kernels(device));
  }
  out.references = device.is_cpu();
  device::use_own_stream(device);
  at::globalContext().setBenchmarkCuDNN(!config.deterministic);
  at::globalContext().setDeterministicCuDNN(config.deterministic);
  const at::NoGradGuard no_grad;
  const auto type = config.precision == "bf16" ? at::kBFloat16 : at::kFloat;
  report::MachineLimits wanted = given;
  wanted.flops = 1;  // not asked for
  out.bytes_per_second = machine_limits(device, type, wanted).bytes;
  for (const DepthwiseTime& shape : shapes) {
    for (auto& time : time_shape(shape, out.batch, device, type, repeats)) out.rows.push_back(time);
  }
  return out;
}

std::string DepthwiseBench::text() const {
  report::Table table({{"input", report::Align::kLeft},
                       {"layers"},
                       {"product", report::Align::kLeft},
                       {"MB"},
                       {"limit us"},
                       {"library us"},
                       {"own us"},
                       {"own / library"},
                       {"own's share of the limit"}});
  const auto row = [&](const std::string& shape, int64_t layers_of_it, const std::string& pass,
                       double bytes, double library, double own) {
    const double limit = bytes / bytes_per_second;
    table.add_row({shape, std::to_string(layers_of_it), pass, core::fixed(bytes / 1e6, 2),
                   core::fixed(1e6 * limit, 2), core::fixed(1e6 * library, 2),
                   core::fixed(1e6 * own, 2), core::fixed(own / library, 3),
                   core::fixed(limit / own, 3)});
  };
  struct Sum {
    int64_t layers = 0;
    double bytes = 0, library = 0, own = 0;
  };
  std::map<std::string, Sum> sums;
  for (const DepthwiseTime& t : rows) {
    row(shape_text(t), t.times, t.pass, t.bytes, t.library, t.own);
    for (Sum* sum : {&sums[t.pass], &sums["all three"]}) {
      const auto n = static_cast<double>(t.times);
      sum->layers += t.times;
      sum->bytes += n * t.bytes, sum->library += n * t.library, sum->own += n * t.own;
    }
  }
  for (const char* pass : {"forward", "input gradient", "weight gradient", "all three"}) {
    const Sum& sum = sums[pass];
    row("a whole step", sum.layers, pass, sum.bytes, sum.library, sum.own);
  }
  return core::cat(model, ", batch ", batch, ", input ", input, ", ", precision, ", ", device, ", ",
                   core::fixed(bytes_per_second / 1e9, 1), " GB/s\n\n", table.console(),
                   references ? "\non a CPU the kernels' references run: their times say nothing "
                                "about the kernels\n"
                              : "");
}

nlohmann::json DepthwiseBench::to_json() const {
  nlohmann::json all = nlohmann::json::array();
  for (const DepthwiseTime& t : rows) {
    all.push_back({{"channels", t.channels},
                   {"height", t.height},
                   {"width", t.width},
                   {"stride", t.stride},
                   {"layers", t.times},
                   {"product", t.pass},
                   {"bytes", t.bytes},
                   {"limit_us", 1e6 * t.bytes / bytes_per_second},
                   {"library_us", 1e6 * t.library},
                   {"own_us", 1e6 * t.own}});
  }
  return {{"model", model},           {"input", input},
          {"batch", batch},           {"precision", precision},
          {"device", device},         {"bytes_per_second", bytes_per_second},
          {"references", references}, {"products", std::move(all)}};
}

}  // namespace adagp::experiment
