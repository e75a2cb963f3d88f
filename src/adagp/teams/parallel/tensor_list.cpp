#include "adagp/teams/parallel/tensor_list.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/message.h"

namespace adagp::parallel {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const Teller& teller, const std::string& what) {
  comm::refuse_announced(teller.doing, teller.rank, what);
}

}  // namespace

json tensor_list(const io::TensorMap& tensors) {
  json list = json::array();
  for (const auto& [name, tensor] : tensors) {
    list.push_back({name, static_cast<int>(tensor.scalar_type()), tensor.sizes().vec()});
  }
  return list;
}

json told_json(const Teller& teller, const std::string& text) {
  try {
    return core::parse_json(text, "something that cannot be read");
  } catch (const DataError& error) {
    refuse(teller, error.what());
  }
}

int64_t told_number(const Teller& teller, const json& value) {
  if (!value.is_number_integer()) {
    refuse(teller, core::cat(core::brief(value), ", expected a whole number"));
  }
  return value.get<int64_t>();
}

std::vector<TensorNote> told_tensors(const Teller& teller, const json& list) {
  if (!list.is_array())
    refuse(teller, core::cat(core::brief(list), ", expected a list of tensors"));
  std::vector<TensorNote> out;
  for (const json& entry : list) {
    if (!entry.is_array() || entry.size() != 3 || !entry[0].is_string() || !entry[2].is_array()) {
      refuse(teller,
             core::cat("a tensor as ", core::brief(entry), ", expected its name, type and sizes"));
    }
    const int64_t type = told_number(teller, entry[1]);
    std::vector<int64_t> sizes;
    for (const json& size : entry[2]) sizes.push_back(told_number(teller, size));
    comm::check_announced(teller.doing, teller.rank, type, sizes);
    out.push_back({entry[0].get<std::string>(), static_cast<at::ScalarType>(type), sizes});
  }
  return out;
}

}  // namespace adagp::parallel
