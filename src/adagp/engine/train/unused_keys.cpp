#include "adagp/engine/train/unused_keys.h"

#include <algorithm>
#include <functional>

#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/models/model.h"

namespace adagp::train {
namespace {

// "head ema." names the key `head` and all keys that begin with `ema.`.
bool names(const std::string& list, const std::string& key) {
  const auto parts = core::split(list, ' ');
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return part == key || (part.ends_with('.') && key.starts_with(part));
  });
}

bool one_of(const std::string& name, const std::string& list) {
  const auto parts = core::split(list, ' ');
  return std::find(parts.begin(), parts.end(), name) != parts.end();
}

// What a method reads of the keys that are not for all methods.
std::string read_by(const config::RunConfig& config, const std::string& method) {
  const method::MethodEntry entry = method::find_method(method);
  std::string keys = entry.reads;
  if (entry.cheap == method::Cheap::kScheduled) keys += " schedule";
  if (entry.predicts) keys += " predictor.";
  if (!entry.mixes) return keys;
  for (const std::string& step : entry.mixes(config)) {
    keys += " " + method::find_method(step).reads +
            (method::find_method(step).predicts ? " predictor." : "");
  }
  return keys;
}

std::string why_method(const config::RunConfig& config, const std::string& key) {
  bool special = names("schedule predictor.", key);
  for (const auto& entry : method::method_table()) special = special || names(entry.reads, key);
  const bool read = !special || names(read_by(config, config.method), key);
  return read ? "" : "method " + config.method;
}

// Keys that are read when one other key has one of some values.
struct Rule {
  const char* keys;
  const char* by;  // name of the other key
  std::string (*value)(const config::RunConfig&);
  const char* values;
};

std::string task_of(const config::RunConfig& config) {
  return models::task_name(models::find(config.model.name).task);
}

const std::vector<Rule>& rules() {
  const auto kind = [](const config::RunConfig& c) { return c.predictor.kind; };
  const auto signal = [](const config::RunConfig& c) { return c.modules.signal; };
  const auto compress = [](const config::RunConfig& c) { return c.compress.kind; };
  const auto policy = [](const config::RunConfig& c) { return c.policy.name; };
  const auto optimizer = [](const config::RunConfig& c) { return c.optim.name; };
  const auto precision = [](const config::RunConfig& c) { return c.precision; };
  const auto fast_rule = [](const config::RunConfig& c) { return c.fast.rule; };
  const auto model = [](const config::RunConfig& c) { return c.model.name; };
  const auto data = [](const config::RunConfig& c) { return c.data.name; };
  const auto crop = [](const config::RunConfig& c) { return c.augment.crop; };
  static const std::vector<Rule> table{
      {"predictor.channels predictor.pooled", "predictor.kind", kind, "shared"},
      {"predictor.remap_channels predictor.remap_outputs predictor.tail", "predictor.kind", kind,
       "remap"},
      {"predictor.mlp_hidden", "predictor.kind", kind, "mlp"},
      {"predictor.summary predictor.input", "predictor.kind", kind, "shared mlp remap"},
      {"predictor.target predictor.rms_decay predictor.lr predictor.milestones predictor.gamma",
       "predictor.kind", kind, "shared mlp remap dni"},
      {"predictor.forget", "predictor.kind", kind, "dfa dfa-random vt head-ridge"},
      {"predictor.ridge", "predictor.kind", kind, "dfa vt head-ridge"},
      {"predictor.head_features", "predictor.kind", kind, "head-ridge"},
      {"predictor.dni_hidden predictor.dni_label", "predictor.kind", kind, "dni"},
      {"modules.unlocked modules.shrink", "modules.signal", signal, "delayed replay"},
      {"modules.match", "modules.signal", signal, "critic"},
      {"compress.share", "compress.kind", compress, "top-k"},
      {"compress.rank", "compress.kind", compress, "power-sgd"},
      {"policy.peak", "policy.name", policy, "triangle one-cycle"},
      {"policy.every", "policy.name", policy, "step"},
      {"policy.gamma", "policy.name", policy, "step multi-step"},
      {"policy.milestones", "policy.name", policy, "multi-step"},
      {"policy.floor", "policy.name", policy, "cosine"},
      {"policy.div policy.final_div", "policy.name", policy, "one-cycle"},
      {"policy.warmup", "policy.name", policy, "inverse-sqrt constant cosine step multi-step"},
      {"policy.factor policy.patience policy.threshold policy.cooldown policy.min_lr policy.watch",
       "policy.name", policy, "plateau"},
      {"fast.", "precision", precision, "fast"},
      {"fast.alpha fast.beta fast.every", "fast.rule", fast_rule, "adaptive"},
      {"fast.mantissa", "fast.rule", fast_rule,
       "fixed temporal-low-to-high temporal-high-to-low layerwise-low-to-high "
       "layerwise-high-to-low"},
      {"optim.momentum optim.nesterov", "optim.name", optimizer, "sgd"},
      {"optim.beta1 optim.beta2 optim.eps", "optim.name", optimizer, "adam adamw"},
      {"model.backbone model.backbone_weights model.branch_blocks model.branch_width "
       "model.branch_side",
       "model.name", model, "duplex"},
      {"model.reversible", "model.name", model, "revnet44 revnet108 revnet18s duplex"},
      {"detection.", "task", task_of, "detection"},
      {"translation. model.width model.heads model.hidden model.encoder_layers "
       "model.decoder_layers model.longest model.dropout model.tied model.source_words "
       "model.target_words",
       "task", task_of, "translation"},
      {"data.mean data.std data.image_size augment.flip model.form", "task", task_of,
       "classification detection"},
      {"cpu.convolution", "task", task_of, "classification detection"},
      {"augment.crop augment.pad", "task", task_of, "classification"},
      {"augment.pad", "augment.crop", crop, "auto pad"},
      {"label_smoothing", "task", task_of, "classification translation"},
      {"data.voc_train data.voc_test data.bad_boxes", "data.name", data, "voc"},
      {"data.synthetic_size", "data.name", data, "synthetic"},
      {"data.synthetic_noise", "data.name", data, "synthetic synthetic-detection"},
      {"data.synthetic_train data.synthetic_test data.synthetic_seed", "data.name", data,
       "synthetic synthetic-detection synthetic-translation"},
      {"data.dir", "data.name", data,
       "cifar10 cifar100 image-folder packed voc multi30k "
       "parallel-text"},
  };
  return table;
}

constexpr const char* kReadByEvaluation =
    "model. data. detection. translation. eval_batch device threads precision fast. deterministic "
    "cpu.convolution own_kernels augment.workers";

}  // namespace

std::string why_unused(const config::RunConfig& config, const std::string& key) {
  if (std::string why = why_method(config, key); !why.empty()) return why;
  for (const Rule& rule : rules()) {
    if (!names(rule.keys, key)) continue;
    const std::string value = rule.value(config);
    if (!one_of(value, rule.values)) return core::cat(rule.by, " ", value);
  }
  return "";
}

std::string why_unused_in_evaluation(const config::RunConfig& config, const std::string& key) {
  if (!names(kReadByEvaluation, key)) {
    return key == "batch" ? "an evaluation: --set eval_batch=N" : "an evaluation";
  }
  return why_unused(config, key);
}

std::string unused_keys(const std::vector<GivenKey>& given,
                        const std::vector<config::RunConfig>& runs, WhyUnused why) {
  std::vector<std::pair<std::string, std::string>> found;  // reason, keys
  for (const auto& [key, where] : given) {
    std::vector<std::string> reasons;
    bool read = runs.empty();
    for (const config::RunConfig& run : runs) {
      const std::string reason = why(run, key);
      read = read || reason.empty();
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
        reasons.push_back(reason);
      }
    }
    if (read) continue;
    const std::string reason = core::join(reasons, ", ");
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const auto& entry) { return entry.first == reason; });
    if (same == found.end()) same = found.insert(found.end(), {reason, ""});
    same->second += (same->second.empty() ? "" : ", ") + where;
  }
  std::vector<std::string> sentences;
  for (const auto& [reason, keys] : found) sentences.push_back(keys + " (" + reason + ")");
  return sentences.empty() ? "" : "changes nothing here: " + core::join(sentences, "; ");
}

}  // namespace adagp::train
