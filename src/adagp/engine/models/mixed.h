#pragma once
// A module of branches that read the same input and whose outputs are concatenated: the building
// block of the Inception networks, described by data.

#include <array>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "adagp/engine/models/conv_unit.h"
#include "adagp/engine/models/model.h"

namespace adagp::models::inception {

// Convolution, norm and ReLU. The name may have dots: "branch1.0".
struct Unit {
  std::string name;
  int64_t out;
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0};
};
Unit unit(std::string name, int64_t out, int64_t kernel = 1, int64_t stride = 1,
          int64_t padding = 0);
Unit wide_unit(std::string name, int64_t out, int64_t kernel);  // 1 x kernel, keeps the size
Unit tall_unit(std::string name, int64_t out, int64_t kernel);  // kernel x 1, keeps the size

struct MaxPool {
  nn::Pool2d pool;
};
struct AvgPool {
  nn::Pool2d pool;
};
// Two units that read the same input, concatenated.
struct Fork {
  Unit first, second;
};
using Step = std::variant<Unit, MaxPool, AvgPool, Fork>;
using Branch = std::vector<Step>;
using Branches = std::vector<Branch>;

// Names and epsilon of both Inceptions' units.
UnitStyle inception_style();

class MixedImpl : public torch::nn::Module {
 public:
  // `in` is a true number of channels; those of the units are divided by options.width_divisor.
  MixedImpl(int64_t in, const Branches& branches, const Options& options);
  at::Tensor forward(at::Tensor x);
  int64_t out() const { return out_; }

 private:
  // May replace the input: what reads it afterwards must read the new one. The result belongs to
  // the place.
  using Run = std::function<at::Tensor(at::Tensor&, const nn::MapPlace&)>;
  // Registers what the step needs; `channels` goes from its input to its output.
  // shared: other steps read the same input.
  Run build(const Step& step, bool shared, int64_t& channels, const Options& options);
  std::shared_ptr<ConvUnitImpl> build_unit(const Unit& unit, int64_t in, const Options& options);

  struct BranchRun {
    std::vector<Run> steps;
    int64_t first_channel = 0;  // of its result in the module's output
  };
  std::vector<BranchRun> branches_;
  int64_t out_ = 0;
};
TORCH_MODULE(Mixed);

}  // namespace adagp::models::inception
