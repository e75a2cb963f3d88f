#include "adagp/engine/layers/zoo_tables.h"

#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::layers {
namespace {

constexpr int64_t kImagenetClasses = 1000, kCifarClasses = 10, kCocoClasses = 80, kVocClasses = 20;
// Multi30k, English to German: words that occur at least twice in the training text, with the four
// marks; sentences have 13 and 12 words in the mean and are filled up to a multiple of 8.
constexpr int64_t kEnglishWords = 5921, kGermanWords = 7859;
constexpr const char* kSentences = "tokens:16,16";

}  // namespace

Usual usual(const models::Entry& entry) {
  Usual out;
  out.options.form = entry.default_form;
  switch (entry.task) {
    case models::TaskKind::kTranslation:
      out.options.transformer.source_words = kEnglishWords;
      out.options.transformer.target_words = kGermanWords;
      out.input = kSentences;
      break;
    case models::TaskKind::kDetection:
      out.options.classes = kCocoClasses;
      out.input = "imagenet";
      break;
    case models::TaskKind::kClassification: {
      const bool large = entry.default_form == models::Form::kImagenet;
      out.options.classes = large ? kImagenetClasses : kCifarClasses;
      out.input = large ? "imagenet" : "cifar";
    }
  }
  return out;
}

std::vector<ZooTable> zoo_tables() {
  const nn::ShapeOnlyScope shapes;
  std::vector<ZooTable> tables;
  const auto add = [&](const models::Entry& entry, const std::string& data, const Usual& how) {
    const auto net = models::build(entry.name, how.options);
    tables.push_back(
        {entry.name + "-" + data, from_model(*net, entry.name, how.input, Operations::kAll)});
  };
  for (const models::Entry& entry : models::registry()) {
    Usual how = usual(entry);
    if (entry.task == models::TaskKind::kTranslation) {
      add(entry, "multi30k", how);
    } else if (entry.task == models::TaskKind::kDetection) {
      how.options.classes = kVocClasses;
      how.input = core::cat(entry.image_size, "x", entry.image_size);
      add(entry, "voc", how);
    } else {
      if (how.input == "imagenet") add(entry, "imagenet", how);
      how.options.form = models::Form::kCifar;
      how.options.classes = kCifarClasses;
      how.input = "cifar";
      add(entry, "cifar", how);
    }
  }
  return tables;
}

}  // namespace adagp::layers
