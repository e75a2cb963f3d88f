#include "adagp/sim/arrays/draws.h"

namespace adagp::arrays {

double Draws::get(const std::vector<uint64_t>& arguments, const std::function<double()>& draw) {
  if (const auto found = drawn_.find(arguments); found != drawn_.end()) return found->second;
  return drawn_[arguments] = draw();
}

}  // namespace adagp::arrays
