#include "adagp/teams/comm/store_table.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::comm {
namespace {

std::string short_answer(Status status) {
  return Writer(static_cast<uint8_t>(status)).message();
}

std::string done_with(const std::string& value) {
  return Writer(static_cast<uint8_t>(Status::kDone)).text(value).message();
}

std::string done_with(int64_t value) {
  return Writer(static_cast<uint8_t>(Status::kDone)).number(value).message();
}

// What an entry takes, the table's own bookkeeping included.
size_t size_of(const std::string& key, const std::string& value) {
  constexpr size_t kBookkeeping = 128;
  return kBookkeeping + key.size() + value.size();
}

std::vector<std::string> rest(Reader& reader) {
  std::vector<std::string> keys;
  while (reader.more()) keys.push_back(reader.text());
  return keys;
}

}  // namespace

bool StoreTable::has(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const auto& key) { return values_.contains(key); });
}

bool StoreTable::put(const std::string& key, const std::string& value) {
  const auto old = values_.find(key);
  const size_t freed = old == values_.end() ? 0 : size_of(key, old->second);
  const size_t bytes = bytes_ - freed + size_of(key, value);
  if (bytes > most_bytes_) return false;
  bytes_ = bytes;
  values_[key] = value;
  return true;
}

std::optional<std::string> StoreTable::answer(std::string_view request, Wait& wait) {
  Reader reader(request);
  const auto op = static_cast<Op>(reader.first());
  if (op == Op::kCheck) return short_answer(has(rest(reader)) ? Status::kDone : Status::kNo);
  if (op == Op::kCount) {
    reader.end();
    return done_with(static_cast<int64_t>(values_.size()));
  }
  if (op == Op::kWait) {
    wait.milliseconds = reader.number();
    wait.keys = rest(reader);
    if (has(wait.keys)) return short_answer(Status::kDone);
    return std::nullopt;
  }
  const std::string key = reader.text();
  const auto found = values_.find(key);
  const bool there = found != values_.end();
  const std::string old = there ? found->second : "";
  switch (op) {
    case Op::kGet:
      reader.end();
      return there ? done_with(old) : short_answer(Status::kNo);
    case Op::kRemove: {
      reader.end();
      if (!there) return short_answer(Status::kNo);
      bytes_ -= size_of(key, old);
      values_.erase(found);
      return short_answer(Status::kDone);
    }
    case Op::kSet:
    case Op::kAppend: {
      const std::string value = (op == Op::kAppend ? old : "") + reader.text();
      reader.end();
      return short_answer(put(key, value) ? Status::kDone : Status::kFull);
    }
    case Op::kAdd: {
      long long sum = 0;
      if (there && !core::parse_integer(old, sum)) throw Error("parallel: no number to add to");
      sum = static_cast<long long>(static_cast<unsigned long long>(sum) +
                                   static_cast<unsigned long long>(reader.number()));
      reader.end();
      return put(key, std::to_string(sum)) ? done_with(static_cast<int64_t>(sum))
                                           : short_answer(Status::kFull);
    }
    case Op::kCompareSet: {
      // As c10d defines it: the value that is there afterwards; an absent key counts as expected
      // when nothing was.
      const std::string expected = reader.text(), wanted = reader.text();
      reader.end();
      if (there ? old != expected : !expected.empty()) return done_with(there ? old : expected);
      return put(key, wanted) ? done_with(wanted) : short_answer(Status::kFull);
    }
    default:
      throw Error(core::cat("parallel: no such request to a store: ", static_cast<int>(op)));
  }
}

}  // namespace adagp::comm
