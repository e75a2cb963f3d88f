#include "adagp/lab/experiment/made_up_task.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/task/classification.h"

namespace adagp::experiment {
namespace {

task::TaskPtr made_up_sentences(config::RunConfig& config, const std::string& input) {
  config.data.name = "synthetic-translation";
  if (input.empty()) return task::open_translation(config);
  const auto size = layers::parse_input(input);
  if (!size.tokens()) {
    throw UsageError("--input " + input + ": network '" + config.model.name +
                     "' takes sentences: tokens:SRC,TGT, such as tokens:16,16");
  }
  const int64_t longest = config.model.transformer.longest;
  if (std::max(size.source, size.target) > longest) {
    throw UsageError(core::cat("--input ", input, ": the network takes at most ", longest,
                               " words; raise it by --set model.longest=..."));
  }
  return task::open_translation(config, {size.source, size.target});
}

}  // namespace

task::TaskPtr made_up_task(config::RunConfig& config, const std::string& input) {
  const models::Entry& entry = models::find(config.model.name);
  if (entry.task == models::TaskKind::kTranslation) return made_up_sentences(config, input);
  const auto size = layers::parse_input(input.empty() ? "cifar" : input, entry.image_size);
  if (size.tokens()) {
    throw UsageError("--input " + input + ": network '" + entry.name +
                     "' takes images: imagenet, cifar or HxW");
  }
  if (entry.task == models::TaskKind::kDetection) {
    if (size.height != size.width) {
      throw UsageError("--input " + input + ": network '" + entry.name + "' takes square images");
    }
    config.data.name = "synthetic-detection";
    config.data.image_size = size.height;
    return task::open_task(config);
  }
  data::Splits splits;
  splits.height = size.height;
  splits.width = size.width;
  const bool small = models::form_for(entry, size.height, size.width) == models::Form::kCifar;
  splits.classes.resize(config.model.classes > 0 ? static_cast<size_t>(config.model.classes)
                                                 : (small ? 10 : 1000));
  return task::classification(splits);
}

}  // namespace adagp::experiment
