#pragma once
// What a store and its clients say to each other. No torch here.
//
// Greeting: the client sends kMagic and a nonce, the store kMagic and a nonce of its own; then each
// proves with an HMAC over both nonces that it knows the run's secret, the client first. A store
// closes the connection without a word when the proof is wrong. After that every message is its
// length (4 bytes, little endian) and that many bytes: a request begins with its Op, an answer with
// its Status, and fields follow as Writer writes them. A connection has one request at a time.

#include <cstdint>
#include <string>
#include <string_view>

namespace adagp::comm {

inline constexpr std::string_view kMagic = "adagp/1\n";
inline constexpr size_t kNonceBytes = 32, kProofBytes = 32, kLengthBytes = 4;
// Addresses, names and error messages travel here, tensors do not.
inline constexpr size_t kLongestMessage = size_t{1} << 20;

enum class Side { kClient, kStore };
std::string proof(Side side, const std::string& secret, std::string_view client_nonce,
                  std::string_view store_nonce);

enum class Op : uint8_t { kSet, kGet, kAdd, kAppend, kCompareSet, kCheck, kWait, kRemove, kCount };
enum class Status : uint8_t { kDone, kNo, kFull };  // kNo: absent, or not in time

class Writer {
 public:
  explicit Writer(uint8_t first) { body_ += static_cast<char>(first); }
  Writer& text(std::string_view bytes);
  Writer& number(int64_t value);
  // The whole message, length first.
  std::string message() const;

 private:
  std::string body_;
};

// Throws Error when a message holds less, or more, than is read from it.
class Reader {
 public:
  explicit Reader(std::string_view body) : left_(body) {}
  uint8_t first();
  std::string text();
  int64_t number();
  bool more() const { return !left_.empty(); }
  void end() const;

 private:
  std::string_view take(size_t count);
  std::string_view left_;
};

// The length at the begin of a message.
size_t length_of(std::string_view bytes);

}  // namespace adagp::comm
