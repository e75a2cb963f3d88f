#pragma once
// The score of weights that were saved, in a run folder or as a safetensors file.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/files.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/task/task.h"

namespace adagp::experiment {

struct SavedWeights {
  core::fs::path file;
  io::TensorFile content;
  // As in training where `file` is part of a run, and as the file's metadata says; defaults where
  // neither says anything. The network's name may be empty.
  config::RunConfig config;
};

// `what`: a run folder or a safetensors file. `best`: a run's best weights instead of its last.
// Throws DataError.
SavedWeights open_weights(const core::fs::path& what, bool best = false);

// Prepares a configuration that was made from `weights.config`: form and classes that nobody named
// come from the shapes of the weights. Throws UsageError when the network has no name.
void complete_config(config::RunConfig& config, const SavedWeights& weights);

struct EvaluateOptions {
  bool train_split = false;  // the training data, in order and not augmented
  bool keep_logits = false;  // of classification only
};

struct RunEvaluation {
  std::string model, data;
  std::string unit;                   // what an example is: "images"
  std::vector<task::Figure> figures;  // of the task, in its order
  task::Evaluation evaluation;

  std::string text() const;  // one line
  nlohmann::json to_json() const;
};

// `config` from complete_config(). Warns when the normalisation of the images had to be guessed.
// Throws UsageError, DataError for weights of other data or another network, DivergedError naming
// the layer when the network's outputs are not finite.
RunEvaluation evaluate_run(config::RunConfig config, const SavedWeights& weights,
                           const EvaluateOptions& options = {});

}  // namespace adagp::experiment
