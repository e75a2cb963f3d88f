// The table of networks: adding one is a line here.

#include <utility>

#include "adagp/base/core/lookup.h"
#include "adagp/engine/models/families.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::models {
namespace {

// `depths`: convolutions per stage.
Entry vgg_entry(const std::string& name, const std::vector<int64_t>& depths, bool norm) {
  constexpr int64_t kWidths[] = {64, 128, 256, 512, 512};
  VggPlan plan;
  for (size_t stage = 0; stage < depths.size(); ++stage) {
    plan.emplace_back(static_cast<size_t>(depths[stage]), kWidths[stage]);
  }
  return {name, norm ? "VGG with batch norm" : "VGG without batch norm", Form::kImagenet,
          [plan, norm](const Options& options) { return vgg(plan, norm, options); }};
}

Entry resnet_entry(const std::string& name, std::vector<int64_t> blocks, bool bottleneck) {
  const ResNetPlan plan{bottleneck, std::move(blocks), {64, 128, 256, 512}};
  return {name, bottleneck ? "ResNet of bottleneck blocks" : "ResNet of basic blocks",
          Form::kImagenet, [plan](const Options& options) { return resnet(plan, options); }};
}

Entry revnet_entry(const std::string& name, std::vector<int64_t> blocks) {
  const RevNetPlan plan{std::move(blocks), {64, 128, 256, 512}};
  return {name, "reversible ResNet: its memory does not grow with its depth", Form::kImagenet,
          [plan](const Options& options) { return revnet(plan, options); }};
}

Entry densenet_entry(const std::string& name, const DenseNetPlan& plan) {
  return {name, "DenseNet with bottlenecks and compression", Form::kImagenet,
          [plan](const Options& options) { return densenet(plan, options); }};
}

std::vector<Entry> make_registry() {
  std::vector<Entry> table;
  const std::pair<const char*, std::vector<int64_t>> vggs[] = {{"vgg11", {1, 1, 2, 2, 2}},
                                                               {"vgg13", {2, 2, 2, 2, 2}},
                                                               {"vgg16", {2, 2, 3, 3, 3}},
                                                               {"vgg19", {2, 2, 4, 4, 4}}};
  for (const auto& [name, depths] : vggs) {
    table.push_back(vgg_entry(name, depths, false));
    table.push_back(vgg_entry(name + std::string("_bn"), depths, true));
  }
  table.push_back(resnet_entry("resnet18", {2, 2, 2, 2}, false));
  table.push_back(resnet_entry("resnet34", {3, 4, 6, 3}, false));
  table.push_back(resnet_entry("resnet50", {3, 4, 6, 3}, true));
  table.push_back(resnet_entry("resnet101", {3, 4, 23, 3}, true));
  table.push_back(resnet_entry("resnet152", {3, 8, 36, 3}, true));

  table.push_back(revnet_entry("revnet44", {3, 3, 3, 3}));
  table.push_back(revnet_entry("revnet108", {7, 7, 7, 7}));

  table.push_back({"duplex", "frozen backbone (model.backbone) and a trained reversible branch",
                   Form::kImagenet, duplex});

  table.push_back(densenet_entry("densenet121", {32, {6, 12, 24, 16}, 64}));
  table.push_back(densenet_entry("densenet161", {48, {6, 12, 36, 24}, 96}));
  table.push_back(densenet_entry("densenet169", {32, {6, 12, 32, 32}, 64}));
  table.push_back(densenet_entry("densenet201", {32, {6, 12, 48, 32}, 64}));
  table.push_back({"mobilenet_v2", "MobileNet-V2: depthwise convolutions, inverted residuals",
                   Form::kImagenet, mobilenet_v2});
  table.push_back({"inception_v3", "Inception-V3 with an auxiliary head", Form::kImagenet,
                   inception_v3, TaskKind::kClassification, 299});
  table.push_back({"inception_v4", "Inception-V4, timm's names", Form::kImagenet, inception_v4,
                   TaskKind::kClassification, 299});

  table.push_back({"transformer", "encoder-decoder Transformer, torch.nn.Transformer's names",
                   Form::kImagenet, transformer, TaskKind::kTranslation});

  table.push_back({"yolov3", "YOLO-v3: Darknet-53 and three heads, ultralytics' names",
                   Form::kImagenet, yolov3, TaskKind::kDetection, 416});

  // Slim ones for tests and demonstrations, in CIFAR form only.
  table.push_back(
      {"vgg8s", "slim VGG with batch norm, 8 layers", Form::kCifar, [](const Options& options) {
         return vgg({{16}, {32}, {32, 64}, {64, 128}, {128}}, true, options);
       }});
  table.push_back(
      {"resnet8", "slim ResNet of 3 basic blocks", Form::kCifar, [](const Options& options) {
         return resnet({false, {1, 1, 1}, {16, 32, 64}}, options);
       }});
  table.push_back({"revnet18s", "slim reversible ResNet", Form::kCifar, [](const Options& options) {
                     return revnet({{1, 2, 2}, {16, 32, 64}}, options);
                   }});
  return table;
}

}  // namespace

const std::vector<Entry>& registry() {
  static const std::vector<Entry> table = make_registry();
  return table;
}

const Entry& find(const std::string& name) {
  return core::find_named(registry(), name, "unknown model");
}

std::shared_ptr<Net> build(const std::string& name, const Options& options) {
  const Entry& entry = find(name);
  if (options.classes < 1) {
    throw UsageError(core::cat(name, ": ", options.classes, " classes; at least 1 is needed"));
  }
  if (entry.default_form == Form::kCifar && options.form != Form::kCifar) {
    throw UsageError(name + ": exists in cifar form only, not in " + form_name(options.form) +
                     " form");
  }
  auto net = entry.build(options);
  nn::collect(*net);  // layers know their names from here on, for messages
  return net;
}

}  // namespace adagp::models
