#pragma once
// The file by which a process says that something is its own, and whether that process still lives.

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"

namespace adagp::core {

// A process as others can tell it from all others. Empty or 0: not known.
struct Claimant {
  std::string host, boot, space;  // boot: of the machine's present start; space: of process numbers
  int64_t pid = 0, started = 0;   // started: in the machine's own count

  std::string text() const;  // "process 123 on node7"
};
Claimant this_process();

// kUnknown: it is of another machine or container, where nobody here can look.
enum class Life { kAlive, kGone, kUnknown };
Life life_of(const Claimant& process);

// What is known of a claim from its file.
// NOLINTNEXTLINE(bugprone-exception-escape): of its JSON, whose move throws nothing
struct SeenClaim {
  std::string id;          // of this one claim; also where the file cannot be read
  Claimant owner;          // empty: the file is no claim
  nlohmann::json about;    // what its owner says of it
  int64_t renewed_ns = 0;  // as the file system's clock says
};
// Nothing where no such file is.
std::optional<SeenClaim> look_at_claim(const fs::path& path);
std::string claim_text(const std::string& id, const Claimant& owner, const nlohmann::json& about);

// A file of this process that no other one knows, beside a claim; gone with this object. Its time
// is the time of the file system, which all processes that share a folder have in common.
class OwnFile {
 public:
  // Throws Error with the system's reason.
  OwnFile(const fs::path& folder, const std::string& text);
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  const fs::path& path() const { return path_; }
  int64_t time_ns() const { return time_ns_; }

 private:
  fs::path path_;
  int64_t time_ns_ = 0;
};
// Whether this is such a file of a process of this machine that has ended.
bool is_left_own_file(const fs::path& path);

}  // namespace adagp::core
