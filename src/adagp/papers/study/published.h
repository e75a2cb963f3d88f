#pragma once
// What the paper printed (Janfaza, Mandal, Mahmud, Muzahid: ADA-GP, MICRO 2023, arXiv
// 2305.13236v2).

#include <array>

namespace adagp::study {

// The 13 networks of Figs. 17-19 by our names, and the paper's.
struct PaperNetwork {
  const char* model;
  const char* name;
};
inline constexpr std::array<PaperNetwork, 13> kPaperNetworks = {{{"resnet50", "ResNet50"},
                                                                 {"resnet101", "ResNet101"},
                                                                 {"resnet152", "ResNet152"},
                                                                 {"inception_v4", "Inception-V4"},
                                                                 {"inception_v3", "Inception-V3"},
                                                                 {"vgg13_bn", "VGG13"},
                                                                 {"vgg16_bn", "VGG16"},
                                                                 {"vgg19_bn", "VGG19"},
                                                                 {"densenet121", "DenseNet121"},
                                                                 {"densenet161", "DenseNet161"},
                                                                 {"densenet169", "DenseNet169"},
                                                                 {"densenet201", "DenseNet201"},
                                                                 {"mobilenet_v2", "MobileNet-V2"}}};

inline constexpr std::array<const char*, 3> kPaperInputs = {"cifar", "cifar100", "imagenet"};
inline constexpr std::array<const char*, 3> kPaperInputNames = {"CIFAR-10", "CIFAR-100",
                                                                "ImageNet"};

// Mean and largest speed-up of ADA-GP-MAX over backpropagation, by data set; 0: not printed.
struct SpeedupFigure {
  const char* place;
  const char* dataflow;
  std::array<double, 3> mean;
  std::array<double, 3> largest;
};
inline constexpr std::array<SpeedupFigure, 3> kSpeedups = {
    {{"Fig. 17", "ws", {1.46, 1.46, 1.48}, {1.51, 1.51, 1.58}},
     {"Fig. 18", "rs", {1.46, 1.46, 1.47}, {1.48, 1.48, 1.48}},
     {"Fig. 19", "is", {1.46, 1.46, 1.48}, {0, 0, 0}}}};

inline constexpr double kMeanSpeedup = 1.47;        // abstract: over all of them
inline constexpr double kLayerAxis = 5e16;          // Fig. 16: where the axis ends, cycles
inline constexpr double kMemoryEnergyRatio = 0.66;  // Fig. 21: 34 % less
inline constexpr double kEnergyAxis = 7e6;          // Fig. 21: where the axis ends, J

// Fig. 15, VGG13: MAPE in percent and MSE of the predicted gradients.
inline constexpr double kMapeInner = 0.16;                             // layers 2 to 10: less than
inline constexpr double kMapeFirstBegin = 0.56, kMapeFirstEnd = 0.31;  // layer 1
inline constexpr double kMostMse = 5e-4;

// Fig. 20 and its text: four devices, four micro-batches; steps with forward 1 and backward 2.
struct PipelineFigure {
  const char* schedule;
  const char* name;
  double mean, largest;          // speed-up
  double one_batch, gp_then_bp;  // steps
};
inline constexpr std::array<PipelineFigure, 3> kPipelines = {
    {{"gpipe", "GPipe", 1.654, 1.68, 21, 25},
     {"dapple", "DAPPLE", 1.654, 1.68, 21, 25},
     {"chimera", "Chimera", 1.575, 1.60, 16, 20}}};
inline constexpr double kStreamingSteps = 4;  // of a GP batch in a stream of them

// Tables 2 and 3: figures of a BP and an ADA-GP run, cycles of whole runs, speed-ups as printed.
struct PublishedTask {
  const char* what;
  double bp, adagp;
};
inline constexpr std::array<PublishedTask, 2> kTransformerTask = {
    {{"accuracy (%)", 52.42, 52.14}, {"BLEU", 33.52, 33.40}}};
inline constexpr std::array<PublishedTask, 2> kYoloTask = {
    {{"class accuracy (%)", 83.03, 82.51}, {"mAP", 0.4685, 0.4674}}};
inline constexpr double kTransformerBaseline = 1245.87e9, kTransformerOurs = 1104.31e9;
inline constexpr double kTransformerSpeedup = 1.13;
inline constexpr double kYoloBaseline = 11490248e9;
inline constexpr double kYoloEfficient = 9846579e9, kYoloMax = 9134071e9;
inline constexpr double kYoloEfficientSpeedup = 1.17, kYoloMaxSpeedup = 1.26;

// Section 6.1.1: points of ADA-GP above BP; CIFAR-10, CIFAR-100, ImageNet. 0: not printed.
inline constexpr std::array<double, 3> kMostGain = {1.45, 2.15, 0}, kMeanGain = {0.75, 0.88, -0.3};

// PEs the baseline gets at equal power and area, percent, and an average speed-up that the sentence
// gives either to MAX over this baseline or to this baseline; percent, data sets as kPaperInputs.
struct EqualBudget {
  const char* name;
  double extra_pes;
  std::array<double, 3> gain;
};
inline constexpr std::array<EqualBudget, 2> kEqualBudgets = {
    {{"equal power", 10, {4.31, 4.30, 4.47}}, {"equal area", 11, {4.63, 4.61, 5.53}}}};

// Tables 4 (FPGA, Virtex-7) and 5 (ASIC). Order of the designs: baseline, LOW, Efficient, MAX.
inline constexpr std::array<const char*, 4> kResourceDesigns = {"baseline", "low", "efficient",
                                                                "max"};
struct PublishedResource {
  const char* place;
  const char* what;  // with its unit; that of areas is not printed, nor certain that of ASIC power
  std::array<double, 4> values;
};
inline constexpr std::array<PublishedResource, 21> kResources = {
    {{"Table 4", "LUT", {472004, 489286, 493171, 494080}},
     {"Table 4", "FF", {31402, 31856, 31916, 37452}},
     {"Table 4", "RAMB36", {1327, 1327, 2407, 2407}},
     {"Table 4", "RAMB18", {514, 514, 514, 514}},
     {"Table 4", "DSP", {166, 166, 166, 246}},
     {"Table 4", "power, clocks (W)", {.046, .047, .052, .055}},
     {"Table 4", "power, logic (W)", {.420, .446, .421, .426}},
     {"Table 4", "power, signals (W)", {.842, .857, .852, .857}},
     {"Table 4", "power, block RAM (W)", {.244, .243, .339, .339}},
     {"Table 4", "power, DSP (W)", {.009, .001, .001, .001}},
     {"Table 4", "power, static (W)", {2.032, 2.032, 2.060, 2.059}},
     {"Table 4", "power, total (W)", {3.712, 3.745, 3.844, 3.856}},
     {"Table 5", "combinational area", {2331250, 2375188, 2405881, 2512057}},
     {"Table 5", "buffers and inverters area", {272483, 277261, 275783, 287076}},
     {"Table 5", "net interconnect area", {436615, 445371, 440031, 460157}},
     {"Table 5", "cell area", {2546076, 2590583, 2622858, 2770979}},
     {"Table 5", "total area", {2982691, 3035954, 3062890, 3231136}},
     {"Table 5", "power, internal (uW)", {2.26e4, 2.25e4, 2.27e4, 2.80e4}},
     {"Table 5", "power, switching (uW)", {1.72e3, 1.67e3, 1.80e3, 2.42e3}},
     {"Table 5", "power, leakage (uW)", {1.99e5, 2.02e5, 2.00e5, 2.23e5}},
     {"Table 5", "power, total (uW)", {2.24e5, 2.26e5, 2.25e5, 2.54e5}}}};
// What the text says of them: percent over the baseline, LOW, Efficient, MAX.
inline constexpr std::array<double, 3> kPowerIncrease = {0.8, 3.5, 3.8},
                                       kAreaIncrease = {1.7, 2.6, 8.3};

// Accuracies that were published: Table 1 of the paper and the tables of a
// student reproduction of it (a term project at Texas A&M, CSCE 614).

struct PublishedAccuracy {
  double bp = 0, adagp = 0;  // top-1 in percent
};
// Networks as kPaperNetworks, data sets as kPaperInputs. No seeds and no deviations are printed.
inline constexpr std::array<std::array<PublishedAccuracy, 3>, 13> kTable1 = {{
    {{{92.97, 93.76}, {75.44, 75.73}, {74.73, 73.97}}},
    {{{92.78, 93.62}, {73.23, 75.38}, {76.26, 75.71}}},
    {{{92.80, 93.12}, {72.01, 73.70}, {76.68, 76.23}}},
    {{{91.22, 91.35}, {70.52, 72.42}, {76.23, 75.90}}},
    {{{93.04, 93.88}, {76.41, 77.68}, {74.44, 73.87}}},
    {{{91.52, 92.55}, {70.48, 70.41}, {70.68, 70.68}}},
    {{{91.32, 92.34}, {70.36, 70.47}, {72.07, 71.98}}},
    {{{91.18, 92.51}, {69.69, 69.85}, {72.94, 72.83}}},
    {{{93.20, 93.63}, {76.25, 76.12}, {75.25, 74.51}}},
    {{{93.48, 94.19}, {76.87, 77.38}, {76.43, 76.71}}},
    {{{93.24, 94.15}, {75.57, 76.40}, {75.36, 75.30}}},
    {{{93.26, 94.13}, {76.37, 76.96}, {75.52, 75.56}}},
    {{{90.08, 91.34}, {68.11, 68.47}, {69.88, 69.23}}},
}};

// The term project, Tables I and II: CIFAR-10, batch 32, 20 epochs.
struct TermProjectNetwork {
  const char* model;
  double bp, adagp;                  // test accuracy in percent
  double bp_seconds, adagp_seconds;  // the baseline's at another resolution
  double speedup;                    // as printed
};
inline constexpr std::array<TermProjectNetwork, 4> kTermProjectNetworks = {
    {{"vgg11", 78.93, 77.04, 5340, 3432, 1.55},
     {"vgg13", 79.76, 77.00, 7420, 3660, 2.02},
     {"vgg16", 80.09, 77.65, 8660, 4320, 2.004},
     {"mobilenet_v2", 82.22, 79.12, 10000, 8480, 1.17}}};
inline constexpr double kTermProjectMeanSpeedup = 1.68;

// Table III: VGG11 by batch size.
struct TermProjectBatch {
  int batch;
  double warm_up_epoch, gp_epoch, total;  // seconds
  double adagp;                           // test accuracy in percent
};
inline constexpr std::array<TermProjectBatch, 5> kTermProjectBatches = {
    {{8, 1362.32, 118.27, 12317.85, 78.81},
     {16, 686.13, 63.75, 6254.07, 77.84},
     {32, 360.55, 46.78, 3445.76, 77.04},
     {64, 185.32, 25.18, 1784.75, 74.82},
     {128, 96.14, 17.26, 976.19, 71.51}}};
inline constexpr int kTermProjectBpEpochs = 8, kTermProjectGpEpochs = 12;

// Fig. 8 prints no sizes of the predictor's output; these are an assumption around the 10,000 that
// the project chose and the 1,000 that its code has by default.
inline constexpr std::array<int, 4> kTermProjectOutputs = {100, 1000, 10000, 50000};

}  // namespace adagp::study
