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

inline constexpr double kMemoryEnergyRatio = 0.66;  // Fig. 21: 34 % less

// Cycles of whole runs.
inline constexpr double kTransformerBaseline = 1245.87e9, kTransformerOurs = 1104.31e9;  // Table 2
inline constexpr double kYoloBaseline = 11490248e9;                                      // Table 3
inline constexpr double kYoloEfficient = 9846579e9, kYoloMax = 9134071e9;

// PEs the baseline gets at equal power and area, percent, and what MAX still gains, percent.
inline constexpr double kIsoPower = 10, kIsoArea = 11;
inline constexpr double kIsoLeastGain = 4.3, kIsoMostGain = 5.5;

// Tables 4 (FPGA, Virtex-7) and 5 (ASIC). Order of the designs: baseline, LOW, Efficient, MAX.
inline constexpr std::array<const char*, 4> kResourceDesigns = {"baseline", "low", "efficient",
                                                                "max"};
struct PublishedResource {
  const char* place;
  const char* what;
  const char* unit;  // "": a count, or the area unit of the library, which is not printed
  std::array<double, 4> values;
};
inline constexpr std::array<PublishedResource, 10> kResources = {
    {{"Table 4", "LUT", "", {472004, 489286, 493171, 494080}},
     {"Table 4", "FF", "", {31402, 31856, 31916, 37452}},
     {"Table 4", "RAMB36", "", {1327, 1327, 2407, 2407}},
     {"Table 4", "RAMB18", "", {514, 514, 514, 514}},
     {"Table 4", "DSP", "", {166, 166, 166, 246}},
     {"Table 4", "FPGA power", "W", {3.712, 3.745, 3.844, 3.856}},
     {"Table 5", "combinational area", "", {2331250, 2375188, 2405881, 2512057}},
     {"Table 5", "cell area", "", {2546076, 2590583, 2622858, 2770979}},
     {"Table 5", "total area", "", {2982691, 3035954, 3062890, 3231136}},
     {"Table 5", "ASIC power", "uW", {2.24e5, 2.26e5, 2.25e5, 2.54e5}}}};
inline constexpr int kPaperPes = 180;            // of the baseline
inline constexpr int kMost7SeriesBlocks = 1880;  // RAMB36 of the largest 7-series part (DS180 v2.5)

}  // namespace adagp::study
