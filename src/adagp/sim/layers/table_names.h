#pragma once
// Unique names for the rows of a layer table, in the order in which the operations run. Torch-free.

#include <map>
#include <string>

namespace adagp::layers {

class RowNames {
 public:
  // Of one use of the weight layer `path`: "path", then "path#2", "path#3".
  std::string weight_layer(const std::string& path);
  // Of one use of a part of it: "path[0]", "path[1]" for the parts in the order in which they come.
  std::string weight_part(const std::string& path, const std::string& part);
  // Of an operation after it: "path/op", then "path/op2"; before the first weight layer
  // "input/op".
  std::string operation(const std::string& op);

 private:
  std::map<std::string, int> uses_;
  std::map<std::string, std::map<std::string, size_t>> parts_;  // path -> part -> its number
  std::string last_ = "input";
};

}  // namespace adagp::layers
