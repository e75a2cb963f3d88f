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
  // precision = fast: products in block floating point.
  struct Fast {
    std::string rule = "adaptive";
    int64_t mantissa = 4;
    double alpha = 0.6, beta = 0.3;
    std::string every = "100ba";
    std::string rounding = "stochastic";
    int64_t exponent_bits = 8;
    bool regroup = true;
  } fast;
  // Embedded DRAM that forgets: what is kept for the backward pass has bit errors.
  struct Edram {
    double error = 0;  // share of the values
  } edram;
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
  struct Selective {
    double share = 0.5;
    std::string rule = "top";
  } selective;
  int64_t partial_blocks = 1;
  struct Freeze {
    std::vector<double> at{0.5, 0.75};
    std::vector<int64_t> blocks{1, 2};
  } freeze;

  // Parts of the network that learn from signals of their own.
  struct Modules {
    int64_t count = 2;
    std::string signal = "delayed";  // auxiliary | delayed | replay | critic
    std::string match = "both";      // value | gradient | both
    bool unlocked = false;
    double shrink = 1;
  } modules;

  double xgrad_factor = 1;
  // Weights that fall back to their first values.
  struct DropBack {
    double keep = 0.1;
    double init_decay = 0.9;
    std::string threshold = "exact";  // exact | estimate
    std::string freeze = "0ep";       // 0ep = never
  } dropback;
  // What copies that share batches send each other instead of gradients.
  struct Compress {
    std::string kind = "none";  // none | top-k | power-sgd | sign
    double share = 0.01;
    int64_t rank = 2;
  } compress;

  double control_variate = 0.25;
  struct Automatic {
    std::vector<std::string> steps{"low-res",     "selective", "partial",
                                   "small-batch", "adagp",     "skip"};
    int64_t heldout = 1024;
    int64_t window = 40;
    int64_t pairs = 4;
    int64_t most = 4;
    double confidence = 0.95;
    double probe_share = 0.08;
    std::string clock = "measured";
  } automatic;

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
};

// The table of keys: recipes, --set, ADAGP_* and docs/configuration.md all come from it.
void bind(core::Binding& binding, RunConfig& config);

// Checks that need more than one key. Throws UsageError.
void validate(const RunConfig& config);

// Keys that do not change what is computed, so that a run may be resumed with other values.
const std::vector<std::string>& cosmetic_keys();

}  // namespace adagp::config
