#pragma once
// Everything a training run is told. No torch here.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/config/data_options.h"
#include "adagp/base/config/duplex_options.h"
#include "adagp/base/config/optim_options.h"
#include "adagp/base/config/predictor_options.h"
#include "adagp/base/config/transformer_options.h"
#include "adagp/base/core/binding.h"
#include "adagp/base/core/parts.h"
#include "adagp/base/schedule/policy_config.h"

namespace adagp::config {

struct RunConfig {
  struct Model {
    std::string name = "vgg8s";
    std::string form = "auto";  // auto: by the size of the images
    int64_t classes = 0;        // 0 = the data set's
    int64_t width_divisor = 1;
    bool reversible = true;
    // Vocabularies of 0 words: the data set's.
    models::TransformerOptions transformer{.source_words = 0, .target_words = 0};
    models::DuplexOptions duplex;
    std::string backbone_weights;  // safetensors file of duplex's backbone
  } model;

  data::Config data;
  struct Augment {
    std::string crop = "auto";  // auto: pad for images of the network's size, else resized
    int64_t pad = 4;
    bool flip = true;
    int64_t workers = 1;
  } augment;

  struct Detection {
    std::vector<double> anchors;  // empty = the published ones, scaled to the images
    double ignore = 0.5;
    double confidence = 0.01;
    double nms = 0.45;
    double scale = 0.25;
    double shift = 0.1;
  } detection;

  struct Translation {
    std::string source = "en", target = "de";  // languages: endings of the file names
    std::string test = "val";
    int64_t min_frequency = 2;
    int64_t longest = 100;
    int64_t beam = 4;
    double length_penalty = 1;
  } translation;

  std::string method = "adagp";
  std::string schedule = "auto";
  std::string head = "predicted";  // predicted | exact | frozen
  int64_t epochs = 90;
  int64_t batch = 128;
  int64_t eval_batch = 500;
  std::string device = "auto";
  int64_t threads = 0;  // 0 = all cores
  std::string precision = "fp32";
  int64_t seed = 0;
  std::string weights;
  bool deterministic = false;
  bool graphs = true;
  struct Cpu {
    std::string convolution = "channels-last";  // channels-last | contiguous
  } cpu;
  bool own_kernels = true;

  optim::Config optim;
  schedule::PolicyConfig policy;
  double clip = 0;  // joint gradient norm; 0 = off
  int64_t accumulate = 1;
  double label_smoothing = 0;

  predictor::Config predictor;

  // Smaller images: for method low-res the first size, for progressive one for each share of the
  // epochs.
  struct LowRes {
    std::vector<int64_t> sizes;  // empty = a half, three quarters and the whole of the images' side
    std::vector<double> shares{0.4, 0.3, 0.3};
    bool scale_batch = true;
    double scale_lr = 1;
    bool move_statistics = false;
  } low_res;
  // Rules for the examples of an epoch.
  double select_anneal = 0.125;
  double stored_loss_power = 1;
  double infobatch_prune = 0.5;
  struct Freeze {
    std::vector<double> at{0.5, 0.75};
    std::vector<int64_t> blocks{1, 2};
  } freeze;

  double ema_decay = 0.9;
  double small_batch = 0.25;
  std::string equal_time_reference;  // run folder whose seconds are the budget
  int64_t equal_time_batches = 0;    // the budget; 0 = from the reference

  std::string probe_every = "20ba";  // of BP batches; 0ba = never
  std::string checkpoint_every = "1ep";
  std::string log_every = "50ba";
  double loss_limit = 1e4;
  // Which operands of the layers' products are zero, for the simulator.
  struct Trace {
    std::string every = "0ep";  // whole epochs; 0ep = never
    int64_t examples = 8;
  } trace;

  core::Parts parts;  // of other libraries
};

// The table of keys: recipes, --set, ADAGP_* and docs/configuration.md all come from it.
void bind(core::Binding& binding, RunConfig& config);

// Checks that need more than one key. Throws UsageError.
void validate(const RunConfig& config);
// The checks of a run in one process.
void validate_alone(const RunConfig& config);

// Keys of another library, for the end of the table, and what it refuses.
struct MoreKeys {
  void (*bind)(core::Binding& binding, RunConfig& config);
  void (*validate)(const RunConfig& config);
  void (*validate_alone)(const RunConfig& config);
};
// Before the first bind().
void add_keys(const MoreKeys& keys);

// Keys that do not change what is computed, so that a run may be resumed with other values.
const std::vector<std::string>& cosmetic_keys();

}  // namespace adagp::config
