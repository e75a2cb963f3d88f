// Your own network, trained by adagp and compared with backprop.
//
// Three things are needed: use adagp::nn::Conv2d and Linear for the layers whose gradients shall be
// predicted (everything else may be plain LibTorch), derive from adagp::models::Net, and name the
// classifier in heads().

#include <cstdio>

#include <adagp/adagp.h>

namespace {

class TinyNet : public adagp::models::Net {
 public:
  explicit TinyNet(int64_t classes) {
    conv1_ = register_module("conv1", adagp::nn::Conv2d(adagp::nn::conv(3, 16, 3, 2, 1)));
    norm_ = register_module("norm", adagp::nn::BatchNorm2d(16));
    conv2_ = register_module("conv2", adagp::nn::Conv2d(adagp::nn::conv(16, 32, 3, 2, 1)));
    fc_ = register_module("fc", adagp::nn::Linear(32, classes));
  }

  adagp::models::Tensors run(const adagp::models::Tensors& inputs) override {
    at::Tensor x = torch::relu(norm_(conv1_(inputs[0])));
    x = torch::relu(conv2_(x));
    return {fc_(x.mean({2, 3}))};
  }

  std::vector<std::string> heads() const override { return {"fc"}; }

 private:
  adagp::nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
  adagp::nn::BatchNorm2d norm_{nullptr};
  adagp::nn::Linear fc_{nullptr};
};

}  // namespace

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "runs/your-model";
  adagp::config::RunConfig config;
  config.model.name = "tiny";
  config.epochs = 4;
  config.batch = 50;
  config.data.synthetic_train = 1000;
  config.data.synthetic_test = 500;
  config.data.synthetic_size = 16;
  const auto data = adagp::data::open(config.data);
  const auto task = adagp::task::classification(data);

  for (const char* method : {"bp", "adagp", "skip"}) {
    config.method = method;
    torch::manual_seed(config.seed);
    auto net = std::make_shared<TinyNet>(static_cast<int64_t>(data.classes.size()));
    const auto summary = adagp::train::train(config, task, net, folder + "/" + method);
    std::puts(adagp::report::one_line(summary).c_str());
  }
  return 0;
} catch (const adagp::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
