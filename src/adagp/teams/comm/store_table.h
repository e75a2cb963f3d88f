#pragma once
// The keys of a store and what the requests do to them. No torch here.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adagp/teams/comm/store_protocol.h"

namespace adagp::comm {

class StoreTable {
 public:
  explicit StoreTable(size_t most_bytes) : most_bytes_(most_bytes) {}

  struct Wait {
    std::vector<std::string> keys;
    int64_t milliseconds = 0;
  };
  // The answer to a request, or nothing when it asks to wait for keys that are not there: then
  // `wait` says for which. Throws Error when the request is malformed.
  std::optional<std::string> answer(std::string_view request, Wait& wait);

  bool has(const std::vector<std::string>& keys) const;

 private:
  // False: there is no room for it.
  bool put(const std::string& key, const std::string& value);

  std::map<std::string, std::string> values_;
  size_t most_bytes_, bytes_ = 0;
};

}  // namespace adagp::comm
