#include "adagp/base/core/saved_number.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::core {

double saved_number(std::string_view text, std::string_view where) {
  double value = 0;
  if (parse_number(text, value)) return value;
  throw DataError(cat(where, ": '", text, "', expected a number"));
}

}  // namespace adagp::core
