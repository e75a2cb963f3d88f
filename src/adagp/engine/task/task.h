#pragma once
// A kind of problem: its data, what its networks take and give, its loss, and how success is
// measured. The trainer, the methods and the predictor know nothing else of it.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/data/stream/batch.h"
#include "adagp/engine/data/stream/planner.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/task/running_metrics.h"

namespace adagp::task {

using Metadata = std::map<std::string, std::string>;

struct Loss {
  at::Tensor value;  // the mean over what is counted (examples, words), a scalar on the device
  // Of the first output, where a kernel made it; undefined: `value` has a graph of its own.
  at::Tensor gradient;
};

struct LossRequest {
  bool training = true;  // with label smoothing and the like
  bool gradient = true;  // somebody will go backward from it
  // Where each example's loss is written: in `table`, float [N], at `rows`, int64 [B], both
  // contiguous and on the outputs' device. As Task::losses() has it; undefined: nowhere. Only where
  // plans_epochs().
  at::Tensor table = {}, rows = {};

  bool keeps() const { return table.defined() && rows.defined(); }
};

struct Evaluation {
  double loss = 0;
  // By name, in the units of Task::figures(). A figure that was not asked for is missing.
  std::map<std::string, double> figures;
  int64_t examples = 0;
  at::Tensor logits;  // [N, classes] on the CPU, when asked for
};

struct EvaluationRequest {
  bool thorough = true;  // also the figures that take long (BLEU, mAP)
  bool keep_logits = false;
};

// Shown each batch of an evaluation with the network's outputs.
using See = std::function<void(const data::Batch&, const models::Tensors&)>;
struct Seen {
  RunningMetrics::Values tally;
  int64_t examples = 0;
};
// The network to evaluate. Only forward_all() puts it into evaluation mode, for the time of the
// call.
struct EvaluatedNet {
  const config::RunConfig& config;
  models::Net& net;
  at::Device device;
  // Forward passes over one epoch of a source, with loss and running figures.
  std::function<Seen(data::BatchSource&, const See&)> forward_all;
};

// One number of an evaluation.
struct Figure {
  std::string name;   // "top1": key in summary.json and metrics.jsonl
  std::string label;  // "top-1"
  bool percent = true;
};

// What batches are for.
enum class Use {
  kTrain,         // training data, shuffled and augmented, whole batches only
  kTest,          // test data, in an order of its own that never changes
  kTrainInOrder,  // training data as if it were test data
};

class Task {
 public:
  virtual ~Task() = default;

  virtual models::TaskKind kind() const = 0;
  virtual std::string unit() const { return "images"; }  // what an example is
  // The first is what runs are compared by and the best weights are chosen by: every evaluation has
  // it, thorough or not, and higher is better.
  virtual const std::vector<Figure>& figures() const = 0;
  // What RunningMetrics::first and ::five count in training, as a word for the progress line;
  // empty: nothing.
  virtual std::string running_figure() const { return "top1"; }

  // Fills in what the data decides (form, classes, crop, vocabulary) and refuses what cannot be.
  // Call once before anything below.
  virtual void resolve(config::RunConfig& config) const = 0;
  // How the network of a resolved configuration is built.
  virtual models::Options model_options(const config::RunConfig& config) const = 0;
  // "32x32" or "tokens:20,20": the typical input, for the layer table.
  virtual std::string input_name(const config::RunConfig& config) const = 0;

  // The side of the images that its networks see, where they are square and can be made smaller;
  // 0: there are none.
  virtual int64_t image_side(const config::RunConfig& config) const {
    (void)config;
    return 0;
  }

  virtual int64_t train_size() const = 0;
  virtual int64_t test_size() const = 0;
  using Skips = std::function<bool(int64_t epoch, int64_t position)>;  // see LoaderOptions
  // `plan` only where plans_epochs().
  virtual std::unique_ptr<data::BatchSource> batches(const config::RunConfig& config, Use use,
                                                     at::Device device, const Skips& skips = {},
                                                     const data::Planner& plan = {}) const = 0;
  // Whether its examples can be chosen and their losses told apart.
  virtual bool plans_epochs() const { return false; }
  // The loss of each example, float [B], without label smoothing and without a graph; only where
  // plans_epochs().
  virtual at::Tensor losses(const models::Tensors& outputs, const data::Tensors& targets) const;
  // Made-up examples of the usual shape, for warming up and timing.
  virtual data::Batch example(const config::RunConfig& config, int64_t count,
                              at::Device device) const = 0;

  // Added to the tally.
  virtual Loss loss(const config::RunConfig& config, RunningMetrics& tally,
                    const models::Tensors& outputs, const data::Tensors& targets,
                    const LossRequest& request) const = 0;

  // Over `source`, from its first batch on.
  virtual Evaluation evaluate(const EvaluatedNet& net, data::BatchSource& source,
                              const EvaluationRequest& request) const = 0;

  // What a weights file must know beside the network's names and shapes (sizes that no shape
  // shows, vocabularies, class names), for its metadata.
  virtual Metadata metadata(const config::RunConfig& config) const {
    (void)config;
    return {};
  }
  // Throws DataError when weights with this metadata were made for other data than this task's.
  virtual void check(const Metadata& metadata, const std::string& file) const {
    (void)metadata;
    (void)file;
  }
};

using TaskPtr = std::shared_ptr<const Task>;

// Opens the data set the configuration names. Throws UsageError for an unknown name (with the
// nearest), DataError for what is wrong with files.
std::shared_ptr<const Task> open_task(const config::RunConfig& config);

// One file each.
std::shared_ptr<const Task> open_classification(const config::RunConfig& config);
std::shared_ptr<const Task> open_detection(const config::RunConfig& config);
// Words of example()'s sentences; 0: as many as the average one of the data has.
struct SentenceLengths {
  int64_t source = 0, target = 0;
};
std::shared_ptr<const Task> open_translation(const config::RunConfig& config,
                                             const SentenceLengths& lengths = {});

}  // namespace adagp::task
