#pragma once
// The families behind the registry: each turns a plan (depths and widths) into a network.

#include <memory>
#include <vector>

#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::models {

// One number per 3x3 convolution; every stage ends with a 2x2 max-pool.
using VggPlan = std::vector<std::vector<int64_t>>;
std::shared_ptr<Net> vgg(const VggPlan& plan, bool norm, const Options& options);

struct ResNetPlan {
  bool bottleneck;              // 1x1, 3x3, 1x1 with 4x expansion; else two 3x3
  std::vector<int64_t> blocks;  // per stage
  std::vector<int64_t> widths;  // per stage, before expansion; the stem has the first
};
std::shared_ptr<Net> resnet(const ResNetPlan& plan, const Options& options);

struct RevNetPlan {
  std::vector<int64_t> blocks;  // per stage; the first of every stage but the first one steps down
  std::vector<int64_t> widths;  // per stage, of both halves together
};
std::shared_ptr<Net> revnet(const RevNetPlan& plan, const Options& options);

// A frozen network of the registry and a reversible branch; sizes: options.duplex.
std::shared_ptr<Net> duplex(const Options& options);

struct DenseNetPlan {
  int64_t growth;               // channels that a layer adds
  std::vector<int64_t> layers;  // per dense block
  int64_t stem;                 // channels of the first convolution
};
std::shared_ptr<Net> densenet(const DenseNetPlan& plan, const Options& options);

std::shared_ptr<Net> mobilenet_v2(const Options& options);
std::shared_ptr<Net> inception_v3(const Options& options);
std::shared_ptr<Net> inception_v4(const Options& options);
std::shared_ptr<Net> yolov3(const Options& options);

std::shared_ptr<Net> transformer(const Options& options);  // sizes: options.transformer

// torchvision's initialisation of convolutions: kaiming_normal, fan_out, relu; bias zero.
void init_convolution(nn::WeightLayer& layer);
// All convolutions so. This and the next do nothing when built for shapes.
void init_convolutions(Net& net);
// All convolutions so, linear layers from N(0, 0.01) with bias zero.
void init_fan_out(Net& net);

// The mean over each map and a linear layer `name` of the network.
Block pooled_head(Net& net, const std::string& name, int64_t channels, const Options& options);

}  // namespace adagp::models
