// How fast each kernel is, beside what the memory allows: one line per kernel and shape of a
// network. Launches are replayed from a graph, so that no time is the host's.
//
//   bench_kernels [vgg13_bn|resnet18|resnet50] [batch]

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "adagp/gpu/cuda/data/augment.h"
#include "adagp/gpu/cuda/loss.h"
#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/cuda/optim/optim.h"
#include "adagp/gpu/cuda/predictor/predictor.h"
#include "adagp/gpu/cuda/predictor/train_plan.h"

namespace {

using namespace adagp::cuda;

constexpr int kLaunches = 20, kReplays = 10;

void must(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
  std::exit(1);
}

template <typename T>
T* device_memory(int64_t count) {
  void* out = nullptr;
  must(cudaMalloc(&out, static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(T)));
  must(cudaMemset(out, 0, static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(T)));
  return static_cast<T*>(out);
}

// A convolution followed by a norm: how often it occurs, its map, the weights of a filter.
struct Layer {
  int times;
  int64_t side, channels, cols;
  bool pool = false;
};

std::vector<Layer> layers_of(const std::string& model) {
  if (model == "vgg13_bn") {
    return {{1, 32, 64, 27},   {1, 32, 64, 576, true},  {1, 16, 128, 576}, {1, 16, 128, 1152, true},
            {1, 8, 256, 1152}, {1, 8, 256, 2304, true}, {1, 4, 512, 2304}, {1, 4, 512, 4608, true},
            {1, 2, 512, 4608}, {1, 2, 512, 4608, true}};
  }
  if (model == "resnet18") {
    return {{1, 32, 64, 27},   {4, 32, 64, 576},  {1, 16, 128, 576}, {3, 16, 128, 1152},
            {1, 16, 128, 64},  {1, 8, 256, 1152}, {3, 8, 256, 2304}, {1, 8, 256, 128},
            {1, 4, 512, 2304}, {3, 4, 512, 4608}, {1, 4, 512, 256}};
  }
  return {{1, 32, 64, 27},   {3, 32, 64, 576},  {1, 32, 64, 64},    {2, 32, 64, 256},
          {4, 32, 256, 64},  {1, 32, 128, 256}, {4, 16, 128, 1152}, {3, 16, 128, 512},
          {4, 16, 512, 128}, {1, 16, 512, 256}, {1, 16, 256, 512},  {6, 8, 256, 2304},
          {5, 8, 256, 1024}, {6, 8, 1024, 256}, {1, 8, 1024, 512},  {1, 8, 512, 1024},
          {3, 4, 512, 4608}, {2, 4, 512, 2048}, {3, 4, 2048, 512},  {1, 4, 2048, 1024}};
}

class Bench {
 public:
  Bench() {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    bandwidth_ = memory_bandwidth(0);
    std::printf("%s, %.2f TB/s by its data sheet\n", device_name(0).c_str(), bandwidth_ / 1e12);
    std::printf("%-34s %5s %9s %9s %7s %6s\n", "kernel", "times", "us", "MB", "TB/s", "share");
  }

  void line(const std::string& name, int times, double bytes,
            const std::function<void(Stream)>& launch) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    launch(stream_);
    must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kLaunches; ++i) launch(stream_);
    must(cudaStreamEndCapture(stream_, &graph));
    must(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t begin = nullptr, end = nullptr;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    std::vector<double> found;
    for (int i = 0; i <= kReplays; ++i) {
      must(cudaEventRecord(begin, stream_));
      must(cudaGraphLaunch(exec, stream_));
      must(cudaEventRecord(end, stream_));
      must(cudaEventSynchronize(end));
      float ms = 0;
      must(cudaEventElapsedTime(&ms, begin, end));
      if (i > 0) found.push_back(1e3 * ms / kLaunches);
    }
    std::sort(found.begin(), found.end());
    const double us = found[found.size() / 2];
    std::printf("%-34s %5d %9.2f", name.c_str(), times, us);
    if (bytes > 0) {
      std::printf(" %9.2f %7.2f %5.0f%%", bytes / 1e6, bytes / us / 1e6,
                  100 * bytes / us * 1e6 / bandwidth_);
    }
    std::printf("\n");
    total_[name.substr(0, name.find(' '))] += times * us;
    must(cudaGraphExecDestroy(exec));
    must(cudaGraphDestroy(graph));
  }

  void totals() const {
    std::printf("\nall of a kind in one step, us:");
    for (const auto& [name, us] : total_) std::printf("  %s %.1f", name.c_str(), us);
    std::printf("\n");
  }

 private:
  cudaStream_t stream_ = nullptr;
  double bandwidth_ = 0;
  std::map<std::string, double> total_;
};

void norms(Bench& bench, const Layer& layer, int64_t batch) {
  const Map map{batch, layer.side, layer.side, layer.channels};
  const double bytes = 2.0 * static_cast<double>(map.count());
  const std::string shape = std::to_string(layer.side) + "x" + std::to_string(layer.side) + "x" +
                            std::to_string(layer.channels);
  auto* x = device_memory<uint16_t>(map.count());
  auto* y = device_memory<uint16_t>(map.count());
  auto* dx = device_memory<uint16_t>(map.count());
  auto* c = device_memory<float>(12 * layer.channels);
  const auto row = [&](int i) { return c + i * layer.channels; };
  StatsArgs s;
  s.x = x;
  s.type = Type::kBFloat16;
  s.map = map;
  s.weight = row(0);
  s.bias = row(1);
  s.running_mean = row(2);
  s.running_var = row(3);
  s.batches = device_memory<int64_t>(1);
  s.mean = row(4);
  s.inv_std = row(5);
  s.scale = row(6);
  s.shift = row(7);
  s.workspace = device_memory<uint8_t>(stats_workspace(map, 8));
  bench.line("stats " + shape, layer.times, bytes, [&](Stream to) { norm_stats(s, to); });
  s.cells = device_memory<float>(summary_cells(map, 8) * layer.channels);
  bench.line("stats+cells " + shape, layer.times, bytes, [&](Stream to) { norm_stats(s, to); });
  ApplyArgs a;
  a.x = x;
  a.type = Type::kBFloat16;
  a.map = map;
  a.scale = row(6);
  a.shift = row(7);
  a.relu = true;
  a.pool = layer.pool;
  a.y = y;
  const double out = layer.pool ? bytes / 4 : bytes;
  bench.line("apply " + shape, layer.times, bytes + out, [&](Stream to) { norm_apply(a, to); });
  NormBackwardArgs b;
  b.x = x;
  b.dy = y;
  b.type = Type::kBFloat16;
  b.map = map;
  b.relu = true;
  b.pool = layer.pool;
  b.mean = row(4);
  b.inv_std = row(5);
  b.scale = row(6);
  b.shift = row(7);
  b.dweight = row(8);
  b.dbias = row(9);
  b.dx = dx;
  b.workspace = device_memory<uint8_t>(backward_workspace(map));
  bench.line("backward " + shape, layer.times, 3 * bytes + 2 * out,
             [&](Stream to) { norm_backward(b, to); });
  for (void* p :
       {static_cast<void*>(x), static_cast<void*>(y), static_cast<void*>(dx), static_cast<void*>(c),
        static_cast<void*>(s.cells), static_cast<void*>(s.batches), s.workspace, b.workspace}) {
    must(cudaFree(p));
  }
}

void predictor(Bench& bench, const std::vector<Layer>& shapes) {
  std::vector<PredictedLayer> all;
  std::vector<ParamSlot> slots;
  std::vector<int> ids;
  int64_t rows = 0, weights = 0, widest = 0;
  const auto add = [&](int64_t filters, int64_t cols) {
    PredictedLayer layer;
    layer.first_row = rows;
    layer.rows = filters;
    layer.cols = cols;
    ParamSlot& slot = layer.slot;
    slot.count = filters * cols;
    slot.weight = device_memory<float>(slot.count);
    slot.first = device_memory<float>(slot.count);
    slot.low = device_memory<uint16_t>(slot.count);
    slot.gradient = device_memory<uint16_t>(slot.count);
    slot.gradient_type = Type::kBFloat16;
    slot.decay = 5e-4F;
    ids.push_back(static_cast<int>(all.size()));
    all.push_back(layer);
    slots.push_back(slot);
    rows += filters;
    weights += slot.count;
    widest = std::max(widest, cols);
  };
  for (const Layer& shape : shapes) {
    for (int i = 0; i < shape.times; ++i) add(shape.channels, shape.cols);
  }
  add(10, shapes.back().channels);

  const auto adam = [&](int64_t count) {
    ParamSlot slot;
    slot.weight = device_memory<float>(count);
    slot.first = device_memory<float>(count);
    slot.second = device_memory<float>(count);
    slot.steps = device_memory<float>(1);
    slot.count = count;
    return slot;
  };
  TrainArgs t;
  t.conv_weight = adam(144);
  t.conv_bias = adam(16);
  t.fc_weight = adam(widest * kFeatures);
  t.fc_bias = adam(widest);
  PredictorNet net;
  net.conv_weight = t.conv_weight.weight;
  net.conv_bias = t.conv_bias.weight;
  net.fc_weight = t.fc_weight.weight;
  net.fc_bias = t.fc_bias.weight;
  net.fc_low = device_memory<uint16_t>(widest * kFeatures);
  net.widest = widest;
  const auto count = static_cast<int64_t>(all.size());
  net.mean_square = device_memory<float>(count);
  net.scale = device_memory<float>(count);
  auto* summaries = device_memory<float>(64 * rows);
  auto* features = device_memory<uint16_t>(kFeatures * rows);
  auto* lr = device_memory<float>(1);

  std::vector<PoolArgs> pools;
  for (size_t i = 0, row = 0; i < shapes.size(); ++i) {
    for (int copy = 0; copy < shapes[i].times; ++copy) {
      const Map map{256, shapes[i].side, shapes[i].side, shapes[i].channels};
      pools.push_back(
          {device_memory<float>(summary_cells(map, 8) * map.channels), map, summaries + 64 * row});
      row += static_cast<size_t>(map.channels);
    }
  }
  bench.line("pool_cells", 1, static_cast<double>(rows) * 512, [&](Stream to) {
    pool_cells(pools.data(), static_cast<int64_t>(pools.size()), 8, to);
  });
  FeaturesArgs f{summaries, rows, &net, features};
  const double each = static_cast<double>(weights);
  bench.line("features", 1, static_cast<double>(rows) * (256 + 512),
             [&](Stream to) { predictor_features(f, to); });
  PredictArgs p;
  p.layers = all.data();
  p.ids = ids.data();
  p.count = count;
  p.net = &net;
  p.features = features;
  p.rule.lr = lr;
  bench.line("predict_update", 1, 18 * each, [&](Stream to) { predict_update(p, to); });
  // As in a step: each launch begins while the one before ends.
  bench.line("features_update", 1, 18 * each, [&](Stream to) {
    predictor_features(f, to);
    p.behind_features = true;
    predict_update(p, to);
  });
  UpdateRule rule;
  rule.lr = lr;
  bench.line("optimizer", 1, 20 * each, [&](Stream to) { update(slots.data(), count, rule, to); });
  t.layers = all.data();
  t.count = count;
  t.net = net;
  t.rule.kind = UpdateRule::Kind::kAdam;
  t.rule.lr = lr;
  t.summaries = summaries;
  t.features = features;
  t.rows = rows;
  t.seen = device_memory<uint8_t>(1);
  t.loss = device_memory<float>(1);
  t.block_memory = block_memory(0);
  t.workspace = device_memory<uint8_t>(train_workspace(all.data(), count, widest));
  // Gradients twice, errors written and read once, all bf16; Adam on the FC.
  bench.line("predictor_train", 1, 8 * each + 30.0 * static_cast<double>(widest * kFeatures),
             [&](Stream to) { predictor_train(t, to); });
  TrainPlan plan = train_plan(all.data(), count, widest, t.workspace);
  // Each launch again and again: only the time matters, the last one reads parameters too early.
  const auto part = [&](const char* name, void (*go)(const TrainArgs&, TrainPlan&, Stream)) {
    bench.line(name, 1, 0, [&, go](Stream to) { go(t, plan, to); });
  };
  part("train_squares", train_squares);
  part("train_errors", train_errors);
  part("train_products", train_products);
  part("train_steps", train_steps);
  bench.line("features_train", 1, 8 * each + 30.0 * static_cast<double>(widest * kFeatures),
             [&](Stream to) {
               predictor_features(f, to);
               t.behind_features = true;
               predictor_train(t, to);
             });
}

void small_ones(Bench& bench, int64_t batch) {
  LossArgs l;
  l.logits = device_memory<uint16_t>(batch * 10);
  l.type = Type::kBFloat16;
  l.labels = device_memory<int64_t>(batch);
  l.batch = batch;
  l.classes = 10;
  l.gradient = device_memory<uint16_t>(batch * 10);
  l.loss = device_memory<float>(1);
  l.meters = device_memory<double>(4);
  l.workspace = device_memory<uint8_t>(loss_workspace(batch));
  bench.line("loss", 1, 48.0 * static_cast<double>(batch), [&](Stream to) { softmax_loss(l, to); });
  AugmentArgs a;
  a.images = device_memory<uint8_t>(batch * 3072);
  a.labels = device_memory<int64_t>(batch);
  a.windows = device_memory<Window>(batch);
  a.batch = batch;
  a.height = a.width = 32;
  a.type = Type::kBFloat16;
  a.out = device_memory<uint16_t>(batch * 3072);
  a.out_labels = device_memory<int64_t>(batch);
  bench.line("augment", 1, 3.0 * 3072 * static_cast<double>(batch),
             [&](Stream to) { augment(a, to); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "vgg13_bn";
  const int64_t batch = argc > 2 ? std::atoll(argv[2]) : 256;
  if (const std::string why = unusable(0); !why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  Bench bench;
  const auto shapes = layers_of(model);
  for (const Layer& layer : shapes) norms(bench, layer, batch);
  predictor(bench, shapes);
  small_ones(bench, batch);
  bench.totals();
  return 0;
}
