#include "adagp/engine/step/session.h"

#include <algorithm>
#include <map>

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/log_once.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/values_elsewhere.h"
#include "adagp/engine/step/team.h"
#include "adagp/gpu/device/choose_device.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::step {

namespace {

// The optimizer keeps the copies equal to the weights and finds the gradients there.
void add_bf16_copies(const std::vector<nn::WeightLayer*>& layers,
                     std::vector<optim::Param>& params) {
  std::map<const void*, at::Tensor> copies;
  for (auto* layer : layers) {
    layer->make_bf16_copies();
    copies[layer->weight.unsafeGetTensorImpl()] = layer->bf16_weight;
    if (layer->bias.defined()) copies[layer->bias.unsafeGetTensorImpl()] = layer->bf16_bias;
  }
  for (auto& param : params) {
    const auto found = copies.find(param.value.unsafeGetTensorImpl());
    if (found != copies.end()) param.bf16_copy = found->second;
  }
}

// A process of a pipeline holds the values of its own stages alone.
void take_to_device(models::Net& net, const Team& team, at::Device device) {
  if (!team.splits_layers()) {
    net.to(device);
    return;
  }
  for (auto& item : net.named_parameters()) {
    at::Tensor& value = item.value();
    if (team.owns(item.key())) {
      value.set_data(value.to(device));
    } else {
      nn::drop_values(value, device);
    }
  }
  for (auto& item : net.named_buffers()) item.value().set_data(item.value().to(device));
}

// cpu.convolution
bool computes_contiguous(const config::RunConfig& config, at::Device device) {
  if (config.cpu.convolution != "contiguous") return false;
  if (device.is_cpu()) return true;
  core::warn_once(
      "cpu.convolution = contiguous is for CPUs, and the device is a GPU: cuDNN chooses there by "
      "itself");
  return false;
}

std::vector<PartMaker>& makers() {
  static std::vector<PartMaker> list;
  return list;
}

}  // namespace

void add_part_maker(PartMaker maker) {
  makers().push_back(maker);
}

const std::vector<PartMaker>& part_makers() {
  return makers();
}

void Session::check_intact() const {
  if (broken.empty()) return;
  throw Error(broken + "; training cannot go on: start again from the last checkpoint");
}

bool Session::is_head(size_t layer) const {
  return std::find(heads.begin(), heads.end(), layer) != heads.end();
}

bool Session::can_work_beside() const {
  return predictor && predictor->predicts_early() && !activations && !team->splits_layers() &&
         optimizer->kernels();
}

Session make_session(const config::RunConfig& config, std::shared_ptr<const task::Task> task,
                     std::shared_ptr<models::Net> net, std::shared_ptr<Team> team) {
  Session s;
  s.team = team ? std::move(team) : std::make_shared<SoloTeam>();
  s.task = std::move(task);
  s.config = config;
  s.device = device::choose_device(config.device);
  s.bf16 = config.precision == "bf16";
  s.head = config.head == "exact"    ? Head::kExact
           : config.head == "frozen" ? Head::kFrozen
                                     : Head::kPredicted;
  if (s.bf16 && !s.device.is_cuda()) {
    throw UsageError(
        "precision bf16 needs a GPU, and the device is the CPU; use fp32, or go on where the run "
        "began");
  }
  at::globalContext().setDeterministicCuDNN(config.deterministic);
  at::globalContext().setBenchmarkCuDNN(!config.deterministic);
  at::globalContext().setDeterministicAlgorithms(config.deterministic, true);

  // Recorded passes end before gradients are exchanged.
  const bool beside = !config.graphs || !s.team->unrecorded().empty();
  device::use_own_stream(
      s.device, !s.team->solo() && beside ? device::Priority::kLow : device::Priority::kHigh);
  if (const auto why = device::why_no_kernels(s.device); !why.empty()) {
    core::log_warning(core::cat("slower than it could be: ", why));
  }
  device::wake(s.device);
  s.tally = task::RunningMetrics(s.device, device::has_kernels(s.device));
  s.net = std::move(net);
  take_to_device(*s.net, *s.team, s.device);
  std::vector<optim::Param> params;
  for (auto& item : s.net->named_parameters()) {
    at::Tensor& value = item.value();
    if (!nn::has_values(value)) continue;
    // Channels-last is the fast layout of convolutions on both kinds of device.
    if (value.dim() == 4) value.set_data(value.contiguous(at::MemoryFormat::ChannelsLast));
    const bool moves = value.requires_grad();
    if (moves && s.team->owns(item.key())) params.push_back({item.key(), value});
  }
  std::vector<nn::WeightLayer*> all = nn::collect(*s.net);
  std::vector<nn::WeightLayer*> here;
  const bool contiguous = computes_contiguous(config, s.device);
  for (auto* layer : all) {
    // Of a session before this one: its optimizer alone knew where the gradients are.
    layer->rule = nullptr;
    layer->drop_bf16_copies();
    layer->compute_contiguous(contiguous);
    layer->own_kernels = config.own_kernels && device::has_kernels(s.device);
    if (!s.team->owns(layer->path() + "." + layer->names().weight)) continue;
    here.push_back(layer);
    if (!layer->frozen()) s.layers.push_back(layer);
  }
  if (s.bf16) add_bf16_copies(here, params);
  for (const PartMaker make : part_makers()) {
    if (auto part = make(s)) s.parts.push_back(std::move(part));
  }
  s.optimizer = optim::make_optimizer(params, config.optim);
  for (const auto* layer : s.layers) {
    s.weight_slot.push_back(s.optimizer->index_of(layer->weight));
  }
  for (const std::string& path : s.net->heads()) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto* layer) { return layer->path() == path; });
    if (found == all.end()) {
      throw Error("the network's heads() name '" + path +
                  "', which is none of its tapped layers: return the path of its last adagp::nn "
                  "layer");
    }
    const auto own = std::find(s.layers.begin(), s.layers.end(), *found);
    if (own != s.layers.end()) s.heads.push_back(static_cast<size_t>(own - s.layers.begin()));
  }
  return s;
}

void add_summaries(Session& s) {
  const predictor::SummaryForm form = predictor::summary_form(s.config.predictor);
  s.summaries = std::make_unique<predictor::Summaries>(s.layers, form.size, form.pooling);
  if (s.head != Head::kExact) return;
  for (const size_t head : s.heads) s.summaries->keep_input_of(head);
}

namespace {

// Kinds that look at activations need all of a batch's, of one pass, and the errors of classes.
void check_activations(const Session& s) {
  const std::string kind = "predictor.kind = " + s.config.predictor.kind;
  const std::string instead = "; use predictor.kind = shared";
  if (s.task->kind() != models::TaskKind::kClassification) {
    throw UsageError(kind + " needs the errors of class scores, and the task is " +
                     models::task_name(s.task->kind()) + instead);
  }
  if (!s.team->solo()) {
    throw UsageError(kind +
                     " keeps the tensors of whole batches in one process: leave out "
                     "--parallel" +
                     instead);
  }
  if (s.config.accumulate > 1) {
    throw UsageError(core::cat("accumulate = ", s.config.accumulate, ": ", kind,
                               " needs batches that run as a whole, accumulate = 1", instead));
  }
}

// What stands in for the activations is made in this process, from its part of a batch.
void check_input(const Session& s) {
  const std::string& input = s.config.predictor.input;
  if (input == "activations") return;
  if (!s.team->solo()) {
    throw UsageError("predictor.input = " + input +
                     " is an ablation in one process; leave out --parallel");
  }
  if (input == "labels" && s.task->kind() != models::TaskKind::kClassification) {
    throw UsageError("predictor.input = labels needs classes, and the task is " +
                     models::task_name(s.task->kind()) + "; use zeros or noise");
  }
}

}  // namespace

void add_predictor(Session& s, int64_t batches_per_epoch) {
  check_input(s);
  const auto seed = core::mix({static_cast<uint64_t>(s.config.seed), 0x707265646963ULL});
  predictor::PredictorSync sync;
  if (s.team->splits_layers()) {
    sync.all = nn::collect(*s.net);
    std::erase_if(sync.all, [](const nn::WeightLayer* layer) { return layer->frozen(); });
    sync.sum = [team = s.team](std::vector<at::Tensor>& tensors) {
      team->sum_over_stages(tensors);
    };
  }
  s.predictor =
      predictor::make_predictor(s.layers, s.config.predictor, seed, batches_per_epoch, sync);
  s.predictor_loss = at::zeros({}, s.summaries->rows().options());
  if (const predictor::Needs needs = s.predictor->needs(); needs.any()) {
    check_activations(s);
    s.activations = std::make_unique<predictor::Activations>(s.layers, needs);
  }
}

}  // namespace adagp::step
