#pragma once
// Results of random draws, by their arguments: layers of equal sizes share one draw.

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace adagp::arrays {

// Of one machine, for the time of one evaluation; used by one thread.
class Draws {
 public:
  double get(const std::vector<uint64_t>& arguments, const std::function<double()>& draw) {
    if (const auto found = drawn_.find(arguments); found != drawn_.end()) return found->second;
    return drawn_[arguments] = draw();
  }

 private:
  std::map<std::vector<uint64_t>, double> drawn_;
};

}  // namespace adagp::arrays
