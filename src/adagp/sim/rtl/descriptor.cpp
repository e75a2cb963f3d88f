#include "adagp/sim/rtl/descriptor.h"

#include "adagp/base/core/error.h"

namespace adagp::rtl {
namespace {

void put(Words& words, const char* name, int first, int bits, std::uint32_t value) {
  if (bits < 32 && value >> bits)
    throw UsageError("rtl: descriptor field " + std::string(name) + " = " + std::to_string(value) +
                     " needs more than its " + std::to_string(bits) + " bits");
  const std::uint64_t shifted = static_cast<std::uint64_t>(value) << (first % 32);
  words[first / 32] |= static_cast<std::uint32_t>(shifted);
  if (shifted >> 32) words[first / 32 + 1] |= static_cast<std::uint32_t>(shifted >> 32);
}

std::uint32_t take(const Words& words, int first, int bits) {
  std::uint64_t pair = words[first / 32];
  if (first / 32 + 1 < static_cast<int>(words.size()))
    pair |= static_cast<std::uint64_t>(words[first / 32 + 1]) << 32;
  return static_cast<std::uint32_t>((pair >> (first % 32)) & ((std::uint64_t{1} << bits) - 1));
}

}  // namespace

Words encode(const Descriptor& descriptor) {
  Words words{};
#define ADAGP_RTL_PUT(name, first, bits) put(words, #name, first, bits, descriptor.name);
  ADAGP_RTL_FIELDS(ADAGP_RTL_PUT)
#undef ADAGP_RTL_PUT
  return words;
}

Descriptor decode(const Words& words) {
  Descriptor descriptor;
#define ADAGP_RTL_TAKE(name, first, bits) descriptor.name = take(words, first, bits);
  ADAGP_RTL_FIELDS(ADAGP_RTL_TAKE)
#undef ADAGP_RTL_TAKE
  return descriptor;
}

}  // namespace adagp::rtl
