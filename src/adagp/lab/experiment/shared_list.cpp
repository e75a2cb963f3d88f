#include "adagp/lab/experiment/shared_list.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::experiment {
namespace {

constexpr const char* kJoining = "joining";
constexpr const char* kTables = "tables";
constexpr const char* kProcess = "process-";
constexpr const char* kUnit = "unit-";
constexpr size_t kMostDifferences = 3;  // in a message

nlohmann::json to_json(const ListIdentity& identity) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : identity) out[name] = value;
  return out;
}

// "optim.lr 0.1, here 0.05"
std::string differences(const nlohmann::json& theirs, const ListIdentity& ours) {
  std::vector<std::string> out;
  for (const auto& [name, value] : ours) {
    if (!theirs.is_object() || !theirs.contains(name)) {
      out.push_back(core::cat(name, " nothing, here ", value));
    } else if (theirs[name] != value) {
      const std::string found = core::brief(theirs[name]);
      out.push_back(core::cat(name, " ", found, ", here ", core::brief(nlohmann::json(value))));
    }
    if (out.size() == kMostDifferences) break;
  }
  return core::join(out, "; ");
}

}  // namespace

SharedList::SharedList(const core::fs::path& folder, const Sharing& sharing,
                       const ListIdentity& identity, bool alone)
    : folder_(folder), sharing_(sharing), claims_(folder / ".claims", sharing.claim_timeout) {
  core::make_folder(folder);
  claims_.wait_for(kJoining);
  refuse_others(identity, alone);
  const core::Claimant me = core::this_process();
  // The start makes the name one of this process alone where machines share a host name.
  claims_.take(core::cat(kProcess, me.pid, "-", me.started, "-", me.boot.substr(0, 8)),
               to_json(identity));
  claims_.release(kJoining);
}

void SharedList::refuse_others(const ListIdentity& identity, bool alone) const {
  for (const core::Claims::Other& other : claims_.others()) {
    if (!other.name.starts_with(kProcess)) continue;
    const std::string who = folder_.string() + ": " + other.who;
    if (alone) {
      throw UsageError(who + ", works in it, and --overwrite needs it alone; wait for it");
    }
    const std::string differing = differences(other.about, identity);
    if (differing.empty()) continue;
    throw UsageError(core::cat(who, ", works on another list in it (", differing,
                               "); wait for it, or choose another folder"));
  }
}

bool SharedList::take(const std::string& unit, size_t place) {
  const auto shards = static_cast<size_t>(sharing_.shards);
  return place % shards + 1 == static_cast<size_t>(sharing_.shard) && claims_.take(kUnit + unit);
}

void SharedList::release(const std::string& unit) {
  claims_.release(kUnit + unit);
}

void SharedList::begin_tables() {
  claims_.wait_for(kTables);
}

void SharedList::end_tables() {
  claims_.release(kTables);
}

bool SharedList::alone() const {
  const auto others = claims_.others();
  return std::none_of(others.begin(), others.end(), [](const core::Claims::Other& other) {
    return other.name.starts_with(kProcess);
  });
}

void SharedList::tell_who(const std::vector<std::string>& units) const {
  for (const core::Claims::Other& other : claims_.others()) {
    if (!other.name.starts_with(kUnit)) continue;
    const std::string unit = other.name.substr(std::string(kUnit).size());
    if (std::find(units.begin(), units.end(), unit) == units.end()) continue;
    core::log_info(core::cat(unit, ": ", other.who, ", works on it"));
  }
}

}  // namespace adagp::experiment
