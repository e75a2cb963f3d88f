#include "adagp/teams/comm/store_protocol.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/sha256.h"
#include "adagp/base/core/text.h"

namespace adagp::comm {
namespace {

std::string little_endian(uint64_t value, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

uint64_t from_little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return value;
}

}  // namespace

static_assert(kProofBytes == core::kDigestBytes);

std::string proof(Side side, const std::string& secret, std::string_view client_nonce,
                  std::string_view store_nonce) {
  return core::hmac_sha256(
      secret, core::cat(side == Side::kClient ? "client" : "store ", client_nonce, store_nonce));
}

Writer& Writer::text(std::string_view bytes) {
  body_ += little_endian(bytes.size(), kLengthBytes);
  body_ += bytes;
  return *this;
}

Writer& Writer::number(int64_t value) {
  body_ += little_endian(static_cast<uint64_t>(value), 8);
  return *this;
}

std::string Writer::message() const {
  if (body_.size() > kLongestMessage) {
    throw Error(core::cat("parallel: a message of ", body_.size(),
                          " bytes for the store; the longest is ", kLongestMessage));
  }
  return little_endian(body_.size(), kLengthBytes) + body_;
}

std::string_view Reader::take(size_t count) {
  if (count > left_.size()) throw Error("parallel: a message of the store is cut short");
  const std::string_view taken = left_.substr(0, count);
  left_.remove_prefix(count);
  return taken;
}

uint8_t Reader::first() {
  return static_cast<uint8_t>(take(1)[0]);
}

std::string Reader::text() {
  return std::string(take(length_of(take(kLengthBytes))));
}

int64_t Reader::number() {
  return static_cast<int64_t>(from_little_endian(take(8)));
}

void Reader::end() const {
  if (more()) throw Error("parallel: a message of the store has bytes left over");
}

size_t length_of(std::string_view bytes) {
  return static_cast<size_t>(from_little_endian(bytes.substr(0, kLengthBytes)));
}

}  // namespace adagp::comm
