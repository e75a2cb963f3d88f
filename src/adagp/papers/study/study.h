#pragma once
// What `adagp simulate` runs: every combination of the values its flags name.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adagp/sim/accel/simulate.h"
#include "adagp/sim/accel/sweep.h"
#include "adagp/sim/layers/table.h"

namespace adagp::study {

constexpr int64_t kMostEpochs = 1'000'000, kMostExamples = 1'000'000'000'000;  // of an epoch

// Texts as given on the command line; empty = the default of the accelerator or of the mode.
struct Options {
  std::string models;               // names, or "all"
  std::string inputs = "imagenet";  // imagenet, cifar, cifar100, ...
  std::string table;                // a layer table (CSV) instead of a model
  std::string pt2;                  // a network that torch.export.save wrote instead of a model
  std::string onnx;                 // a network in an ONNX file instead of a model
  std::string topology;             // a SCALE-Sim topology instead of a model
  std::string topology_kind = "conv";
  std::vector<layers::Table> tables;  // in memory, instead of a model; outputs rounded by the rule
  accel::SizeRule tables_rule = accel::SizeRule::kFloor;
  std::string accelerators = "adagp-180";
  std::vector<std::string> settings;  // key=value of the accelerator
  std::string arrays, dataflows, batches;
  std::string designs = "baseline,low,efficient,max";
  std::string predictor_channels, predictor_pooled, predictor_summary;
  std::string predictor_kind = "shared";
  std::string predictor_order = "conv-pool", predictor_steps = "joint";  // of a run's predictor
  std::string schedule = "auto";
  int64_t epochs = 90;
  std::optional<int64_t> examples;  // of an epoch; known for the usual inputs
  bool inference = false;           // the forward pass alone
  bool products_only = false;       // no vector passes
  unsigned threads = 0;             // 0: all cores

  // The file of an exported network; "" when there is none.
  const std::string& exported() const { return pt2.empty() ? onnx : pt2; }
};

// One combination.
struct Case {
  std::string model, input, accelerator;
  int64_t batch = 1;
  predictor::Config predictor;
  const accel::Plan* plan = nullptr;
  const layers::Table* table = nullptr;
  layers::Missing missing{};  // of the network's MACs
};

struct Study {
  std::deque<layers::Table> tables;
  std::deque<accel::Plan> plans;
  std::vector<Case> cases;
  std::vector<accel::Point> points;         // as `cases`
  std::vector<accel::PointResult> results;  // as `cases`, after run()
  std::string batch_note;                   // of an exported network: which size was its batch
};

// Reads tables and makes the plans. Throws UsageError and DataError. A million combinations take
// seconds: `check` is called about every thousand, and what it throws ends the making.
Study make_study(const Options& options, const std::function<void()>& check = {});

// Simulates every case; `progress(done)` as in accel::sweep.
void run(Study& study, unsigned threads, const std::function<void(size_t)>& progress = {});

// Examples of an epoch, where the input's data set has a known number: CIFAR 50,000, ImageNet
// 1,281,167, Multi30k 29,000, Pascal VOC 2007+2012 trainval 16,551.
std::optional<int64_t> known_examples(const std::string& input);
// Throws UsageError for other inputs.
int64_t examples_of(const std::string& input);

// "12x15".
std::string array_text(const accel::Array& array);
// "16/4/8": channels, pooled side, summary side; "remap 64": channels.
std::string predictor_text(const predictor::Config& config);
// What tells a case from the others: its values in the dimensions of which there are several.
std::vector<std::string> labels(const Study& study);

}  // namespace adagp::study
