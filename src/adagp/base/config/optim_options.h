#pragma once
// Options of the optimizers. No torch here.

#include <cstdint>
#include <string>

namespace adagp::optim {

struct Config {
  std::string name = "sgd";  // sgd | adam | adamw
  double lr = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
  double decay = 5e-4;
  bool decay_norm_bias = true;  // false: no decay on 1-dimensional parameters
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};

}  // namespace adagp::optim
