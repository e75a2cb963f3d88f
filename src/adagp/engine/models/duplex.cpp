// duplex, after CAMEL (Zhang et al., HPCA 2024): a network of the zoo that never moves, and beside
// it a small branch of reversible blocks that is trained. Each block of the branch is fed a map of
// the backbone, pooled to the branch's side:
//   h = stem(p_1),   (x1, x2) = halves of h
//   y2 = f1(x1 + feed_j(p_j)) + x2,   y1 = f2(y2) + x1        for j = 1 .. blocks
//   logits = fc(mean of the backbone's last map, mean of relu(y))
// The branch has no norms. Its maps all have one size, so nothing but its output is kept: memory
// that does not grow with its depth.

#include <cmath>
#include <set>
#include <string>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/models/conv_unit.h"
#include "adagp/engine/models/families.h"
#include "adagp/engine/models/halves.h"
#include "adagp/engine/nn/frozen.h"
#include "adagp/engine/nn/ops.h"
#include "adagp/engine/nn/reversible.h"
#include "adagp/engine/nn/values_elsewhere.h"

namespace adagp::models {
namespace {

// conv(relu(conv(relu(x)))); with a feed x is added to it first.
class ReluPairImpl : public torch::nn::Module {
 public:
  ReluPairImpl(int64_t channels, int64_t fed) {
    if (fed > 0) feed_ = register_module("feed", plain_conv(fed, channels, 1));
    conv1_ = register_module("conv1", plain_conv(channels, channels, 3));
    conv2_ = register_module("conv2", plain_conv(channels, channels, 3));
  }
  at::Tensor fed(const at::Tensor& x, const at::Tensor& map) {
    return after(nn::relu_(nn::add_(feed_->forward(map), x)));
  }
  at::Tensor forward(const at::Tensor& x) {
    // x is one of the halves that go on: it is not to be overwritten.
    return after(nn::relu_(x.is_meta() ? x : x.clone()));
  }
  // Without norms a sum of n blocks would grow with n.
  void shrink(double factor) {
    const at::NoGradGuard no_grad;
    if (nn::has_values(conv2_->weight)) conv2_->weight.mul_(factor);
  }

 private:
  at::Tensor after(const at::Tensor& x) { return conv2_->forward(nn::relu_(conv1_->forward(x))); }

  nn::Conv2d feed_{nullptr}, conv1_{nullptr}, conv2_{nullptr};
};
TORCH_MODULE(ReluPair);

struct BranchBlock {
  ReluPair f1{nullptr}, f2{nullptr};
  size_t map;  // which of the pooled maps it is fed
};

// The blocks of the backbone up to the last that leaves one map, and the channels of each map; 0
// where a block leaves something else.
struct BackbonePlan {
  size_t blocks = 0;
  std::vector<int64_t> channels;
};

BackbonePlan plan_of(const std::string& name, const Options& options) {
  const nn::ShapeOnlyScope shapes;
  const at::NoGradGuard no_grad;
  const Entry& entry = find(name);
  const auto built = build(name, options);
  auto* net = dynamic_cast<BlockNet*>(built.get());
  if (net == nullptr) {
    throw UsageError("model.backbone = " + name + ": it is not made of blocks");
  }
  net->eval();
  constexpr int64_t kSmall = 32;
  const int64_t side = options.form == Form::kCifar ? kSmall : entry.image_size;
  Tensors x{at::empty({1, 3, side, side}, at::device(at::kMeta))};
  BackbonePlan out;
  for (const Block& block : net->blocks()) {
    x = block.run(x);
    const bool map = x.size() == 1 && x[0].dim() == 4;
    out.channels.push_back(map ? x[0].size(1) : 0);
    if (map) out.blocks = out.channels.size();
  }
  out.channels.resize(out.blocks);
  if (out.blocks == 0) {
    throw UsageError("model.backbone = " + name + ": none of its blocks leaves one map");
  }
  return out;
}

std::string first_part(const std::string& path) {
  return path.substr(0, path.find('.'));
}

class Duplex : public BlockNet {
 public:
  explicit Duplex(const Options& options)
      : side_(options.duplex.side), reversible_(options.reversible) {
    const DuplexOptions& o = options.duplex;
    if (o.blocks < 1 || o.side < 1) {
      throw UsageError(core::cat("duplex: ", o.blocks, " blocks of ", o.side, "x", o.side,
                                 " pixels; expected at least 1 of each"));
    }
    const int64_t width = narrowed(o.width, options);
    if (width < 2 || width % 2 != 0) {
      throw UsageError(core::cat("duplex: ", width,
                                 " channels of the branch cannot be halved; use another "
                                 "model.branch_width or model.width_divisor"));
    }
    const BackbonePlan plan = plan_of(o.backbone, options);
    choose_maps(plan, o.blocks);
    add_backbone(plan, options);
    add_branch(plan, width);
    auto fc = register_module("fc", nn::Linear(plan.channels.back() + width, options.classes));
    blocks_.push_back({"fc", [fc](const Tensors& x) {
                         const at::Tensor backbone = nn::adaptive_avg_pool2d(x.at(0), 1);
                         const at::Tensor branch = nn::adaptive_avg_pool2d(x.at(1), 1);
                         return Tensors{fc->forward(nn::flatten(nn::concat({backbone, branch})))};
                       }});
  }

  std::vector<std::string> heads() const override { return {"fc"}; }

  // The backbone's norms keep their statistics.
  void train(bool on = true) override {
    BlockNet::train(on);
    backbone_->eval();
  }

 private:
  // One map for each block of the branch, evenly over the backbone, the last one for the last.
  void choose_maps(const BackbonePlan& plan, int64_t count) {
    std::vector<size_t> all;  // blocks that leave a map
    for (size_t i = 0; i < plan.blocks; ++i) {
      if (plan.channels[i] > 0) all.push_back(i);
    }
    for (int64_t j = 1; j <= count; ++j) {
      const auto place = static_cast<size_t>(j) * all.size() / static_cast<size_t>(count);
      const size_t map = all[place > 0 ? place - 1 : 0];
      if (maps_.empty() || maps_.back() != map) maps_.push_back(map);
      map_of_block_.push_back(maps_.size() - 1);
    }
  }

  void add_backbone(const BackbonePlan& plan, const Options& options) {
    const auto built = build(options.duplex.backbone, options);
    const auto net = std::dynamic_pointer_cast<BlockNet>(built);
    backbone_ = register_module("backbone", std::make_shared<torch::nn::Module>("backbone"));
    std::set<std::string> used, unused;  // modules of the network, by the names of blocks
    for (size_t i = 0; i < net->blocks().size(); ++i) {
      (i < plan.blocks ? used : unused).insert(first_part(net->blocks()[i].name));
    }
    for (const auto& child : net->named_children()) {  // all but its head
      if (unused.contains(child.key()) && !used.contains(child.key())) continue;
      backbone_->register_module(child.key(), child.value());
    }
    for (at::Tensor& parameter : backbone_->parameters()) parameter.requires_grad_(false);
    net->eval();  // blocks ask it, and its children are the backbone's
    size_t next = 0;
    for (size_t i = 0; i < plan.blocks; ++i) {
      const Block& own = net->blocks()[i];
      const bool pools = next < maps_.size() && maps_[next] == i;
      // `net` comes along: blocks may look at it.
      blocks_.push_back({"backbone." + own.name,
                         [net, run = own.run, maps = next, pools, side = side_](const Tensors& x) {
                           const nn::FrozenScope frozen;
                           const auto kept = x.end() - static_cast<std::ptrdiff_t>(maps);
                           Tensors out = run(Tensors(x.begin(), kept));
                           const at::Tensor map = out.front();
                           out.insert(out.end(), kept, x.end());
                           if (pools) out.push_back(pooled(map, side));
                           return out;
                         }});
      blocks_.back().frozen = true;
      if (pools) ++next;
    }
  }

  // A tensor of its own: the next block may overwrite the map.
  static at::Tensor pooled(const at::Tensor& map, int64_t side) {
    const at::Tensor out = nn::adaptive_avg_pool2d(map, side);
    return out.is_same(map) && !map.is_meta() ? map.clone() : out;
  }

  void add_branch(const BackbonePlan& plan, int64_t width) {
    auto stem = register_module("stem", plain_conv(plan.channels[maps_.front()], width, 1));
    blocks_.push_back({"stem", [stem](const Tensors& x) {
                         Tensors out = x;
                         out.push_back(stem->forward(x.at(1)));
                         return out;
                       }});
    auto branch = register_module("branch", std::make_shared<torch::nn::Module>("branch"));
    std::vector<BranchBlock> all;
    const double factor = 1 / std::sqrt(2.0 * static_cast<double>(map_of_block_.size()));
    for (size_t j = 0; j < map_of_block_.size(); ++j) {
      auto pair = branch->register_module(std::to_string(j),
                                          std::make_shared<torch::nn::Module>("reversible"));
      const size_t map = map_of_block_[j];
      auto f1 = pair->register_module("f1", ReluPair(width / 2, plan.channels[maps_[map]]));
      auto f2 = pair->register_module("f2", ReluPair(width / 2, 0));
      all.push_back({f1, f2, map});
    }
    if (!nn::shape_only()) {
      init_convolution(*stem);
      for (nn::WeightLayer* layer : nn::collect(*branch)) init_convolution(*layer);
      for (BranchBlock& block : all) {
        block.f1->shrink(factor);
        block.f2->shrink(factor);
      }
    }
    // One block of the network, as in RevNet: a cut inside would have to keep the activations.
    blocks_.push_back(
        {"branch", [all, again = reversible_](const Tensors& x) {
           auto stack = std::make_shared<std::vector<nn::ReversibleBlock>>();
           for (const BranchBlock& block : all) {
             const at::Tensor map = x.at(1 + block.map);
             stack->push_back(
                 {[f = block.f1, map](const at::Tensor& in) mutable { return f->fed(in, map); },
                  [f = block.f2](const at::Tensor& in) mutable { return f->forward(in); }});
           }
           const nn::Halves y = run_halves(stack, x.back(), again);
           return Tensors{x.front(), nn::relu_(nn::concat({y.first, y.second}))};
         }});
    blocks_.back().runs_twice = reversible_;
  }

  int64_t side_;
  bool reversible_;
  std::vector<size_t> maps_;          // blocks of the backbone whose output the branch sees
  std::vector<size_t> map_of_block_;  // for each block of the branch its place in maps_
  std::shared_ptr<torch::nn::Module> backbone_;
};

}  // namespace

std::shared_ptr<Net> duplex(const Options& options) {
  const std::string& name = options.duplex.backbone;
  const Entry& backbone = find(name);
  if (name == "duplex" || backbone.task != TaskKind::kClassification) {
    throw UsageError("model.backbone = " + name +
                     ": expected a classifier of the zoo other than duplex");
  }
  return std::make_shared<Duplex>(options);
}

}  // namespace adagp::models
