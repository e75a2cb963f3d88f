#pragma once
// Which memory layout is the fastest for a convolution on this CPU.

#include "adagp/engine/nn/layouts.h"

namespace adagp::nn {

// Another layout than channels-last is chosen only where it takes at least this share less time: a
// smaller difference may be noise, and would cost a run its equality with others for nothing.
inline constexpr double kLeastGain = 0.05;

// Measures the three products with every layout for batches of `examples` on made-up numbers, with
// the present number of threads. Tries of all layouts alternate, the fastest of each counts, and
// there are more of them while the best times still improve, so that a busy moment of the machine
// does not decide. Draws no random numbers.
LayoutChoices search_layouts(const ConvolutionShape& shape, int64_t examples);

// The layout that the measured times speak for.
Layout fastest_layout(const std::array<double, kLayouts.size()>& ms);

}  // namespace adagp::nn
