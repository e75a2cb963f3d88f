#pragma once
// Our figures that no simulator computes, each with the page of docs/results it stands on.
// tests/cli/test_paper.py looks them up there.

#include <array>
#include <cstddef>

namespace adagp::study {

// Runs of one seed: what differs from the published one, and the page.
struct MeasuredRuns {
  const char* about;
  const char* page;
};
inline constexpr MeasuredRuns kTable1Runs = {"30 epochs in place of 90",
                                             "docs/results/2026-11-19-table1-nvidia-h200.md"};
// By rules that the recipes no longer have.
inline constexpr const char* kOldTable1Page = "docs/results/2026-11-16-questions-nvidia-h200.md";
inline constexpr MeasuredRuns kOldTable1Runs = {
    "30 epochs in place of 90, with old rules (plateau on the test loss, the predictor's stairs "
    "counted in BP batches)",
    kOldTable1Page};
inline constexpr MeasuredRuns kOldLongRun = {
    "90 epochs, with old rules (plateau on the test loss, the predictor's stairs counted in BP "
    "batches)",
    kOldTable1Page};

struct MeasuredAccuracy {
  const char* model;
  size_t data;       // of kPaperInputs
  double bp, adagp;  // top-1 in percent
  const MeasuredRuns& runs;
};
inline constexpr std::array<MeasuredAccuracy, 9> kMeasuredTable1 = {
    {{"vgg13_bn", 0, 85.20, 84.30, kOldLongRun},
     {"vgg16_bn", 0, 81.90, 77.14, kOldTable1Runs},
     {"vgg19_bn", 0, 81.06, 76.35, kOldTable1Runs},
     {"mobilenet_v2", 0, 77.78, 72.54, kOldTable1Runs},
     {"resnet50", 0, 73.20, 64.93, kOldTable1Runs},
     {"densenet121", 0, 77.17, 70.15, kOldTable1Runs},
     {"resnet101", 0, 70.40, 61.15, kTable1Runs},
     {"densenet169", 0, 78.12, 70.80, kTable1Runs},
     {"inception_v3", 0, 67.04, 58.12, kTable1Runs}}};

// Table 2, in the order of kTransformerTask.
inline constexpr const char* kTransformerPage = "docs/results/2026-11-15-tasks-nvidia-h200.md";
struct MeasuredTask {
  double bp, adagp;
};
inline constexpr std::array<MeasuredTask, 2> kMeasuredTransformer = {
    {{72.30, 67.50}, {39.35, 34.58}}};

// Fig. 15: the largest MAPE of layers 2 to 10, and the largest MSE.
inline constexpr const char* kFigure15Rules = "plateau on the test loss (policy.watch = test)";
inline constexpr const char* kFigure15Page = "docs/results/2026-11-18-fig15-nvidia-h200.md";
inline constexpr double kMeasuredMape = 123, kMeasuredMse = 0.0037;

// Our RTL, fixed point: counts of Yosys. Designs as kResourceDesigns.
inline constexpr const char* kRtlPage = "docs/results/2026-11-19-rtl-resources.csv";
struct MeasuredResource {
  const char* what;  // as in kResources
  std::array<double, 4> values;
};
inline constexpr std::array<MeasuredResource, 7> kMeasuredResources = {
    {{"LUT", {53107, 59859, 61018, 67892}},
     {"FF", {23807, 24009, 24009, 30114}},
     {"RAMB36", {359, 359, 419, 447}},
     {"RAMB18", {0, 0, 0, 0}},
     {"DSP", {180, 180, 180, 260}},
     {"combinational area", {67886140, 68153228, 68423376, 92338976}},
     {"cell area", {76982332, 77253260, 77523408, 103782944}}}};

}  // namespace adagp::study
