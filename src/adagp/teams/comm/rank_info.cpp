#include "adagp/teams/comm/rank_info.h"

#include <cstdlib>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::comm {
namespace {

// Reads variables and keeps every complaint, so that one message names all of them.
class Variables {
 public:
  std::string text(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr) {
      complain(core::cat(name, " is not set"));
    } else {
      set_.push_back(core::cat(name, "='", value, "'"));
      if (*value == '\0') complain(core::cat(name, " is empty"));
    }
    return value == nullptr ? "" : value;
  }

  int number(const char* name, long long least, long long most) {
    const std::string value = text(name);
    if (value.empty()) return static_cast<int>(least);
    long long parsed = 0;
    if (core::parse_integer(value, parsed) && parsed >= least && parsed <= most) {
      return static_cast<int>(parsed);
    }
    complain(core::cat(name, "='", value, "' is no whole number from ", least, " to ", most));
    return static_cast<int>(least);
  }

  void complain(const std::string& what) { complaints_.push_back(what); }

  bool complaints() const { return !complaints_.empty(); }

  void check() const {
    if (complaints_.empty()) return;
    throw UsageError(core::cat(
        "parallel: ", core::join(complaints_, "; "),
        set_.empty() ? "" : " (" + core::join(set_, ", ") + ")",
        ". A launcher sets these: 'torchrun --no-python --nproc-per-node=4 adagp train ...'; or "
        "let this program start the processes: '--parallel local=4,...'"));
  }

 private:
  std::vector<std::string> set_, complaints_;
};

}  // namespace

std::string RankInfo::store_address() const {
  return file.empty() ? core::cat(master, ":", port) : "the launcher's file";
}

RankInfo rank_from_environment() {
  constexpr long long kMost = 1 << 20, kPorts = 65535;
  Variables variables;
  RankInfo info;
  info.rank = variables.number("RANK", 0, kMost);
  info.world = variables.number("WORLD_SIZE", 1, kMost);
  info.local_rank = variables.number("LOCAL_RANK", 0, kMost);
  if (const char* file = std::getenv("ADAGP_STORE_FILE")) {
    info.file = file;
    info.master = "127.0.0.1";
  } else {
    info.master = variables.text("MASTER_ADDR");
    info.port = variables.number("MASTER_PORT", 1, kPorts);
  }
  if (!variables.complaints() && info.rank >= info.world) {
    variables.complain(core::cat("RANK=", info.rank, " is not below WORLD_SIZE=", info.world));
  }
  variables.check();
  return info;
}

bool launched() {
  return std::getenv("RANK") != nullptr;
}

bool speaks_for_all() {
  const char* rank = std::getenv("RANK");
  if (rank == nullptr) return true;
  return std::getenv("ADAGP_STORE_FILE") == nullptr && std::string(rank) == "0";
}

}  // namespace adagp::comm
