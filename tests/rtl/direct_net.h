#pragma once
// The same small network in plain loops over [batch][channel][y][x], with the machine's arithmetic
// but without tiles, lanes or memories: what the program of SmallNet must compute.

#include <vector>

#include "small_net.h"

namespace adagp::rtl {

class DirectNet {
 public:
  using Data = std::vector<std::uint16_t>;
  using Sums = std::vector<std::uint32_t>;

  struct Weights {
    Sums p, v;  // [out][in][k][k], then [out] biases
    Data w;
  };

  explicit DirectNet(const SmallNet& net);

  // P as it stands outside (`weights`); image and minus the targets as one word per value.
  void load(const Sums& outside);
  void step(Phase phase);

  // The row (of P, V, W) and lane of weight i of layer l.
  std::pair<int, int> place_of(int l, std::size_t i) const;

  std::vector<Weights> weights;
  Data residual;  // [batch][out]: output minus target

 private:
  std::size_t at(int l, int b, int c, int y, int x) const;  // in a layer's input
  void forward(int l);
  void backward(int l);
  void predict(int l);
  void apply(int l, std::size_t i, std::uint32_t gradient, int shift);
  std::size_t weight(int l, int n, int c, int ky, int kx) const;

  const SmallNet& net_;
  Format format_;
  std::vector<Data> inputs_, gradients_;  // of each layer; gradients of its outputs
  std::vector<Sums> outputs_;             // sums before the bias, [batch][out][y][x]
  Sums targets_, outside_;
};

}  // namespace adagp::rtl
