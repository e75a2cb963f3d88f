#pragma once
// What the engine asks of a network, and the table of networks it knows.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "adagp/base/config/duplex_options.h"
#include "adagp/base/config/transformer_options.h"

namespace adagp::models {

// imagenet: the published network. cifar: for 32x32 images (3x3 stem, no first pool; VGG with a
// 512-to-classes head).
enum class Form { kImagenet, kCifar };
Form parse_form(const std::string& text);  // throws UsageError
std::string form_name(Form form);

struct Options {
  Form form = Form::kImagenet;
  int64_t classes = 1000;
  int64_t width_divisor = 1;  // every channel count divided by this: small versions for tests
  bool reversible = true;     // false: reversible blocks keep their activations as others do
  TransformerOptions transformer = {};
  DuplexOptions duplex = {};
};

// What goes into a network, comes out of it, or crosses a cut between two of its blocks.
using Tensors = std::vector<at::Tensor>;
// Those that have gradients.
Tensors differentiable(const Tensors& tensors);

// classification: {images [B, 3, H, W]} -> {logits [B, classes]}, in training followed by the
//   logits of auxiliary heads;
// detection: {images} -> one map [B, anchors * (5 + classes), H, W] per scale;
// translation: {source [B, S], target [B, T]} of token numbers -> {logits [B, T, vocabulary]}.
class Net : public torch::nn::Module {
 public:
  virtual Tensors run(const Tensors& inputs) = 0;
  // One tensor in, the first one out.
  at::Tensor forward(const at::Tensor& images) { return run({images}).front(); }
  // Paths of the layers that make the outputs of training mode, in their order ("fc",
  // "classifier.6"); the option `head` speaks of them.
  virtual std::vector<std::string> heads() const = 0;
};

// Implemented by a module that computes with a weight which another one has.
class BorrowsWeight {
 public:
  virtual ~BorrowsWeight() = default;
  virtual const at::Tensor& borrowed_weight() const = 0;
};

// One step of a network; a network is its blocks in order, which is where a pipeline may cut it.
// What later blocks need travels along: run() returns everything that crosses the cut.
struct Block {
  std::string name;  // path of the module that begins it ("features.3", "layer1.0")
  std::function<Tensors(const Tensors&)> run;
  bool runs_twice = false;  // its backward pass runs it forward once more
  bool frozen = false;      // its parameters never move, and it makes no graph
};
// A step with one tensor in and one out.
Block block(std::string name, std::function<at::Tensor(const at::Tensor&)> step);

class BlockNet : public Net {
 public:
  Tensors run(const Tensors& inputs) override;
  // Blocks first .. end - 1 alone. What comes out may be kept while the network runs again: no
  // later block writes into its memory (nn/growing_map.h).
  Tensors run_part(const Tensors& inputs, size_t first, size_t end) const;
  const std::vector<Block>& blocks() const { return blocks_; }

 protected:
  std::vector<Block> blocks_;
};

enum class TaskKind { kClassification, kDetection, kTranslation };
std::string task_name(TaskKind task);  // "classification"

struct Entry {
  std::string name;
  std::string about;
  Form default_form;  // kCifar: there is no other
  std::function<std::shared_ptr<Net>(const Options&)> build;
  TaskKind task = TaskKind::kClassification;
  int64_t image_size = 224;  // of the published network, in ImageNet form
};

const std::vector<Entry>& registry();
const Entry& find(const std::string& name);  // throws UsageError with the nearest name
// Weights come from the default CPU generator: the same seed gives torchvision's weights.
// Throws UsageError for an unknown name or options the network does not take.
std::shared_ptr<Net> build(const std::string& name, const Options& options);
// The form for images of this size: cifar up to 32x32 or where there is no other, else imagenet.
Form form_for(const Entry& entry, int64_t height, int64_t width);

// channels / options.width_divisor; throws UsageError when that leaves a remainder.
int64_t narrowed(int64_t channels, const Options& options);

// Whether some of its blocks are frozen.
bool has_frozen_blocks(const Net& net);

int64_t parameter_count(const torch::nn::Module& model);

}  // namespace adagp::models
