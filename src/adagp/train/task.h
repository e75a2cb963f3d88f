#pragma once
// A kind of problem: its data, what its networks take and give, its loss, and how success is
// measured. The trainer, the methods and the predictor know nothing else of it.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adagp/data/batch.h"
#include "adagp/data/epoch_plan.h"
#include "adagp/models/model.h"
#include "adagp/train/config.h"
#include "adagp/train/tally.h"

namespace adagp::train {

struct Session;
class StepGraph;
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
  // What Tally::first and ::five count in training, as a word for the progress line; empty:
  // nothing.
  virtual std::string running_figure() const { return "top1"; }

  // Fills in what the data decides (form, classes, crop, vocabulary) and refuses what cannot be.
  // Call once before anything below.
  virtual void resolve(Config& config) const = 0;
  // How the network of a resolved configuration is built.
  virtual models::Options model_options(const Config& config) const = 0;
  // "32x32" or "tokens:20,20": the typical input, for the layer table.
  virtual std::string input_name(const Config& config) const = 0;

  // The side of the images that its networks see, where they are square and can be made smaller;
  // 0: there are none.
  virtual int64_t image_side(const Config& config) const {
    (void)config;
    return 0;
  }

  virtual int64_t train_size() const = 0;
  virtual int64_t test_size() const = 0;
  using Skips = std::function<bool(int64_t epoch, int64_t position)>;  // see LoaderOptions
  // `plan` only where plans_epochs().
  virtual std::unique_ptr<data::BatchSource> batches(const Config& config, Use use,
                                                     at::Device device, const Skips& skips = {},
                                                     const data::Planner& plan = {}) const = 0;
  // Whether its examples can be chosen and their losses told apart.
  virtual bool plans_epochs() const { return false; }
  // The loss of each example, float [B], without label smoothing and without a graph; only where
  // plans_epochs().
  virtual at::Tensor losses(const models::Tensors& outputs, const data::Tensors& targets) const;
  // Made-up examples of the usual shape, for warming up and timing.
  virtual data::Batch example(const Config& config, int64_t count, at::Device device) const = 0;

  // Added to the tally.
  virtual Loss loss(const Config& config, Tally& tally, const models::Tensors& outputs,
                    const data::Tensors& targets, const LossRequest& request) const = 0;

  // Of the session's network over `source`, from its first batch on. `graph`, when not null, serves
  // the batches of equal shape.
  virtual Evaluation evaluate(Session& session, data::BatchSource& source, StepGraph* graph,
                              const EvaluationRequest& request) const = 0;

  // What a weights file must know beside the network's names and shapes (sizes that no shape
  // shows, vocabularies, class names), for its metadata.
  virtual Metadata metadata(const Config& config) const {
    (void)config;
    return {};
  }
  // Throws DataError when weights with this metadata were made for other data than this task's.
  virtual void check(const Metadata& metadata, const std::string& file) const {
    (void)metadata;
    (void)file;
  }
};

// Opens the data set the configuration names. Throws UsageError for an unknown name (with the
// nearest), DataError for what is wrong with files.
std::shared_ptr<const Task> open_task(const Config& config);

// Forward passes in evaluation mode over one epoch of `source`, with loss and running figures;
// `see` is shown each batch with its outputs.
using See = std::function<void(const data::Batch&, const models::Tensors&)>;
struct Seen {
  Tally::Values tally;
  int64_t examples = 0;
};
Seen forward_all(Session& session, data::BatchSource& source, StepGraph* graph, const See& see);

// One file each.
std::shared_ptr<const Task> open_classification(const Config& config);
std::shared_ptr<const Task> open_detection(const Config& config);
// Words of example()'s sentences; 0: as many as the average one of the data has.
struct SentenceLengths {
  int64_t source = 0, target = 0;
};
std::shared_ptr<const Task> open_translation(const Config& config,
                                             const SentenceLengths& lengths = {});

}  // namespace adagp::train
