#pragma once
// Numbers that were written as text so that every bit comes back.

#include <string_view>

namespace adagp::core {

// Of what shortest() wrote, also "inf" and "nan". Throws DataError that begins with `where`.
double saved_number(std::string_view text, std::string_view where);

}  // namespace adagp::core
