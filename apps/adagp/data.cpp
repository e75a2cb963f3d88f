// adagp data info|make|pack: looks at data sets and writes them in other formats.

#include <array>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/data/sets/voc.h"
#include "adagp/engine/data/sets/write.h"
#include "adagp/results/report/table.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct DataFlags {
  data::Config config;
  int64_t size = 0;
  bool json = false;
  std::string output, format = "folder";
};

void add_common(CLI::App& command, DataFlags& flags) {
  const std::string names = core::join(core::names_of(data::registry()), ", ");
  auto& c = flags.config;
  add_shown(command, "--data", c.name, "Data set: " + names);
  command.add_option("--data-dir", c.dir, "Folder or file of the data set (not for synthetic)");
  add_number(command, "--limit", c.limit, "At most this many training images, spread over classes",
             0);
  add_number(command, "--test-limit", c.test_limit, "At most this many test images", 0);
  add_number(command, "--size", flags.size,
             "Side of the images in pixels: generated (synthetic) or resized to", 0);
  auto* synthetic = command.add_option_group("synthetic");
  const auto number = [&](const char* name, int64_t& value, const char* about, int64_t least,
                          int64_t most = kMostWhole) {
    add_number(*synthetic, name, value, about, least, most)->capture_default_str();
  };
  number("--train", c.synthetic_train, "Training images", 1);
  number("--test", c.synthetic_test, "Test images", 1);
  number("--seed", c.synthetic_seed, "Seed of the generated images", 0,
         std::numeric_limits<int64_t>::max());
  add_number(*synthetic, "--noise", c.synthetic_noise, "Noise in the generated images; 0 = none", 0,
             data::kMostNoise)
      ->capture_default_str();
}

data::Splits open_data(DataFlags& flags) {
  if (flags.size != 0) {
    (flags.config.name == "synthetic" ? flags.config.synthetic_size : flags.config.image_size) =
        flags.size;
  }
  return data::open(flags.config);
}

std::vector<int64_t> count_classes(const data::Dataset& half, size_t classes) {
  std::vector<int64_t> counts(classes);
  for (const int64_t label : half.labels()) ++counts.at(static_cast<size_t>(label));
  return counts;
}

nlohmann::ordered_json describe(const data::Splits& splits, const DataFlags& flags) {
  const auto train = count_classes(*splits.train, splits.classes.size());
  const auto test = count_classes(*splits.test, splits.classes.size());
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (size_t i = 0; i < splits.classes.size(); ++i) {
    classes.push_back({{"name", splits.classes[i]}, {"train", train[i]}, {"test", test[i]}});
  }
  return {{"data", flags.config.name},   {"train", splits.train->size()},
          {"test", splits.test->size()}, {"height", splits.height},
          {"width", splits.width},       {"in_memory", splits.train->resident().defined()},
          {"mean", splits.mean},         {"std", splits.std},
          {"classes", classes}};
}

std::string three(const std::vector<double>& values) {
  std::vector<std::string> parts;
  for (const double value : values) parts.push_back(core::fixed(value, 4));
  return core::join(parts, ", ");
}

bool has_boxes(const DataFlags& flags) {
  return data::find(flags.config.name).task() == "detection";
}

// There is nothing to show or write of sentences.
void refuse_sentences(const DataFlags& flags) {
  if (data::find(flags.config.name).task() != "translation") return;
  std::vector<std::string> sets;
  for (const auto& entry : data::registry()) {
    if (entry.task() != "translation") sets.push_back(entry.name);
  }
  throw UsageError("data set '" + flags.config.name +
                   "' is sentences; 'adagp data' knows images: " + core::join(sets, ", ") +
                   ". To see whether a text can be used: adagp train " +
                   "--model transformer --data " + flags.config.name + " --dry-run" +
                   data::without_files(flags.config.name));
}

data::DetectionSplits open_boxes(DataFlags& flags) {
  if (flags.size != 0) flags.config.image_size = flags.size;
  return data::open_detection(flags.config);
}

// Pictures, and objects per class.
int print_boxes(DataFlags& flags) {
  const data::DetectionSplits splits = open_boxes(flags);
  std::vector<std::array<int64_t, 2>> objects(splits.classes.size());
  for (const size_t half : {0U, 1U}) {
    const data::DetectionSet& set = half == 0 ? *splits.train : *splits.test;
    for (int64_t i = 0; i < set.size(); ++i) {
      for (const auto& o : set.objects(i)) ++objects.at(static_cast<size_t>(o.label))[half];
    }
  }
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  report::Table table({"<class", "train", "test"});
  for (size_t i = 0; i < splits.classes.size(); ++i) {
    const auto [train, test] = objects[i];
    classes.push_back({{"name", splits.classes[i]}, {"train", train}, {"test", test}});
    table.add_row({splits.classes[i], core::grouped(train), core::grouped(test)});
  }
  if (flags.json) {
    const nlohmann::ordered_json info{
        {"data", flags.config.name}, {"train", splits.train->size()}, {"test", splits.test->size()},
        {"size", splits.size},       {"mean", splits.mean},           {"std", splits.std},
        {"objects", classes}};
    core::print_data(info.dump(2) + "\n");
    return 0;
  }
  core::print(core::cat(flags.config.name, ": ", core::grouped(splits.train->size()),
                        " training and ", core::grouped(splits.test->size()),
                        " test images, seen at ", splits.size, "x", splits.size,
                        "; objects per class:\n", table.console()));
  return 0;
}

int print_info(DataFlags& flags) {
  refuse_sentences(flags);
  if (has_boxes(flags)) return print_boxes(flags);
  const data::Splits splits = open_data(flags);
  const auto info = describe(splits, flags);
  if (flags.json) {
    core::print_data(info.dump(2) + "\n");
    return 0;
  }
  core::print(core::cat(flags.config.name, ": ", core::grouped(splits.train->size()),
                        " training and ", core::grouped(splits.test->size()), " test images, ",
                        splits.height, "x", splits.width, ", ", splits.classes.size(), " classes, ",
                        splits.train->resident().defined() ? "in memory" : "decoded on demand",
                        "\nmean ", three(splits.mean), "  std ", three(splits.std), "\n"));
  report::Table table({"<class", "train", "test"});
  for (const auto& row : info["classes"]) {
    table.add_row({row["name"], core::grouped(row["train"]), core::grouped(row["test"])});
  }
  core::print(table.console());
  return 0;
}

int make_data(DataFlags& flags) {
  refuse_sentences(flags);
  if (has_boxes(flags)) {
    if (flags.format != "folder") {
      throw UsageError("data set '" + flags.config.name + "' has boxes, which the format '" +
                       flags.format + "' cannot hold; leave --format out for a Pascal VOC folder");
    }
    const data::DetectionSplits splits = open_boxes(flags);
    data::write_voc(splits, flags.output);
    core::log_info(core::cat("wrote ", splits.train->size(), " training and ", splits.test->size(),
                             " test images with boxes to ", flags.output, "/VOCdevkit"));
    return 0;
  }
  using Write = void (*)(const data::Splits&, const std::string&);
  constexpr std::pair<const char*, Write> kFormats[] = {{"folder", data::write_folder},
                                                        {"cifar10", data::write_cifar10},
                                                        {"packed", data::write_packed}};
  const Write write = core::find_named(kFormats, flags.format, "unknown format").second;
  const data::Splits splits = open_data(flags);
  write(splits, flags.output);
  core::log_info(core::cat("wrote ", splits.train->size(), " training and ", splits.test->size(),
                           " test images to ", flags.output));
  return 0;
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  auto* data = app.add_subcommand("data", "Look at data sets and write them in other formats");
  data->require_subcommand(1);
  const auto flags = std::make_shared<DataFlags>();

  auto* info = data->add_subcommand("info", "Sizes, classes, images per class, mean and deviation");
  add_common(*info, *flags);
  info->add_flag("--json", flags->json, "One JSON object on stdout");
  info->callback([flags, &action] { action = [flags] { return print_info(*flags); }; });

  auto* make = data->add_subcommand("make", "Write a data set as files");
  add_common(*make, *flags);
  make->add_option("-o,--output", flags->output, "Folder to write (packed: file)")->required();
  add_shown(*make, "--format", flags->format,
            "folder (PNG files), cifar10 (binary, 32x32), packed (safetensors); "
            "sets with boxes are written as a Pascal VOC folder");
  make->callback([flags, &action] { action = [flags] { return make_data(*flags); }; });

  auto* pack = data->add_subcommand("pack", "Write a data set as one safetensors file");
  add_common(*pack, *flags);
  pack->add_option("-o,--output", flags->output, "File to write")->required();
  pack->callback([flags, &action] {
    flags->format = "packed";
    action = [flags] { return make_data(*flags); };
  });
}

}  // namespace adagp::apps
