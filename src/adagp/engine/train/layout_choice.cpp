#include "adagp/engine/train/layout_choice.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/log_once.h"
#include "adagp/base/core/progress.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/nn/layout_search.h"
#include "adagp/engine/nn/products.h"
#include "adagp/engine/run/checkpoint.h"
#include "adagp/engine/run/environment.h"
#include "adagp/engine/step/team.h"
#include "adagp/gpu/device/choose_device.h"

namespace adagp::train {
namespace {

using TablePtr = std::shared_ptr<const nn::LayoutTable>;

class ShapeRecorder : public nn::TapSink {
 public:
  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor&) override {
    if (layer.info().kind != nn::LayerKind::kConv2d) return;
    found.emplace_back(layer.path(), nn::shape_of(layer.info(), input, layer.weight));
  }

  std::vector<std::pair<std::string, nn::ConvolutionShape>> found;
};

void attach(models::Net& net, const TablePtr& table) {
  for (nn::WeightLayer* layer : nn::collect(net)) layer->use_layouts(table);
}

TablePtr table_of(const run::LayoutRecord& record) {
  auto table = std::make_shared<nn::LayoutTable>();
  for (const run::MeasuredShape& one : record.shapes) table->add(one.shape, one.choices);
  return table;
}

TablePtr contiguous_table() {
  return std::make_shared<nn::LayoutTable>(nn::Layout::kContiguous);
}

// Batches as the method makes them.
BatchSizes batch_sizes(const step::Session& s, const method::Method& method) {
  const plan::BatchPlan& plan = method.batch_plan();
  const int64_t parts = s.config.accumulate * s.team->copies();
  const auto part = [&](int64_t examples) { return std::max<int64_t>(1, examples / parts); };
  BatchSizes out{{0, part(s.config.batch)}};
  for (const int64_t side : plan.image_sides) out[side] = part(s.config.batch);
  std::vector<int64_t> epochs = plan.turns_in(s.config.epochs);
  epochs.push_back(0);
  for (const int64_t epoch : epochs) {
    for (const auto phase : {schedule::Phase::kBackprop, schedule::Phase::kPredict}) {
      const plan::BatchShape shape = plan.at({epoch, s.config.epochs, phase});
      if (shape.examples > 0) out[shape.image_side] = part(shape.examples);
    }
  }
  return out;
}

void tell_choice(const run::LayoutRecord& record) {
  size_t other = 0;
  for (const run::MeasuredShape& one : record.shapes) {
    other += static_cast<size_t>(std::count_if(
        one.choices.begin(), one.choices.end(),
        [](const nn::LayoutChoice& choice) { return choice.chosen != nn::Layout::kChannelsLast; }));
  }
  core::log_info(core::cat("cpu.convolution: ", record.shapes.size(), " shapes; ", other, " of ",
                           record.shapes.size() * nn::kProducts.size(),
                           " products in contiguous memory"));
}

// A run that began on a CPU has its table; one that began on a GPU has had none.
void refuse_lost_table(const run::RunFolder& folder) {
  if (run::checkpoint_files(folder.file("checkpoint")).empty()) return;
  const auto environment = run::read_environment(folder.path());
  const auto device = environment.find("device");
  if (device == environment.end() || *device != "cpu") return;
  throw DataError(core::cat(folder.file(run::kLayoutFile).string(),
                            ": missing: the run began with measured convolutions and cannot go on "
                            "exactly without this table; put the file back, or start anew with "
                            "--overwrite"));
}

std::string leaders_record(step::Session& s, const method::Method& method,
                           const run::RunFolder* folder) {
  if (folder != nullptr && !folder->replaces()) {
    const core::fs::path file = folder->file(run::kLayoutFile);
    if (core::fs::exists(file)) {
      const std::string text = core::read_regular_file(file);
      run::layout_record(text, file.string());
      return text;
    }
    refuse_lost_table(*folder);
  }
  return to_text(measured_layouts(*s.net, s.config, *s.task, batch_sizes(s, method)));
}

}  // namespace

std::vector<std::pair<std::string, nn::ConvolutionShape>> convolutions_of(
    models::Net& net, const config::RunConfig& config, const task::Task& task, int64_t side) {
  const std::string input = side == 0 ? task.input_name(config) : core::cat(side, "x", side);
  const at::NoGradGuard no_grad;
  nn::collect(net);
  ShapeRecorder recorder;
  try {
    const nn::TapScope taps(recorder);
    net.run(layers::shape_inputs(config.model.name, input));
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception&) {
    core::warn_once(core::cat("cpu.convolution: ", config.model.name,
                              " cannot run on shapes alone, so its convolutions are not known "
                              "before the run: all are computed channels-last"));
    return {};
  }
  return recorder.found;
}

int64_t examples_at_once(const config::RunConfig& config) {
  return std::max<int64_t>(1, config.batch / config.accumulate);
}

run::LayoutRecord measured_layouts(models::Net& net, const config::RunConfig& config,
                                   const task::Task& task, const BatchSizes& sizes) {
  const core::fs::path file = run::layout_cache_file();
  const run::LayoutRecord known = run::read_layout_cache(file);
  run::LayoutRecord out = run::this_machine(), fresh = out;
  std::vector<run::MeasuredShape> missing;
  for (const auto& [side, examples] : sizes) {
    for (const auto& [name, shape] : convolutions_of(net, config, task, side)) {
      if (out.find(examples, shape) != nullptr) continue;
      const run::MeasuredShape* before = known.find(examples, shape);
      if (before == nullptr) missing.push_back({examples, shape});
      out.shapes.push_back(before == nullptr ? missing.back() : *before);
    }
  }
  if (missing.empty()) return out;
  core::log_info(core::cat("cpu.convolution: measuring ", missing.size(),
                           " shapes of convolutions, once for this machine"));
  core::Progress progress;
  for (run::MeasuredShape& one : out.shapes) {
    if (known.find(one.examples, one.shape) != nullptr) continue;
    if (const int signal = core::pending_signal(); signal != 0) {
      run::add_to_layout_cache(file, fresh);
      throw Interrupted("interrupted while convolutions were measured", signal);
    }
    progress.show("measuring " + nn::describe(one.shape),
                  static_cast<double>(fresh.shapes.size()) / static_cast<double>(missing.size()));
    one.choices = nn::search_layouts(one.shape, one.examples);
    fresh.shapes.push_back(one);
  }
  run::add_to_layout_cache(file, fresh);
  return out;
}

bool chooses_layouts(const config::RunConfig& config) {
  if (config.cpu.convolution == "channels-last") return false;
  if (device::choose_device(config.device).is_cpu()) return true;
  core::warn_once("cpu.convolution = " + config.cpu.convolution +
                  " is for CPUs, and the device is a GPU: cuDNN chooses there by itself");
  return false;
}

void use_layouts(step::Session& s, const method::Method& method, const run::RunFolder* folder) {
  s.layouts = nullptr;
  TablePtr table;
  if (chooses_layouts(s.config) && s.config.cpu.convolution == "contiguous") {
    table = contiguous_table();
  } else if (chooses_layouts(s.config)) {
    std::string text = s.team->leads() ? leaders_record(s, method, folder) : "";
    s.team->wait_for_leader();  // measuring may take longer than a message may
    text = s.team->spread(text);
    s.layouts = std::make_shared<run::LayoutRecord>(run::layout_record(text, "the leader"));
    if (s.team->leads()) tell_choice(*s.layouts);
    table = table_of(*s.layouts);
  }
  attach(*s.net, table);
}

task::NetMaker with_layouts(const config::RunConfig& config, const task::TaskPtr& task,
                            const task::NetMaker& make_net) {
  if (!chooses_layouts(config)) return make_net;
  return [config, task, make_net, table = TablePtr()]() mutable {
    const auto net = make_net();
    if (!table && config.cpu.convolution == "contiguous") table = contiguous_table();
    if (!table) {
      table = table_of(measured_layouts(*net, config, *task, {{0, examples_at_once(config)}}));
    }
    attach(*net, table);
    return net;
  };
}

}  // namespace adagp::train
