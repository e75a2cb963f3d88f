#include "adagp/base/core/claim_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

constexpr uintmax_t kMostClaimBytes = 1 << 20;
constexpr mode_t kClaimMode = 0644;

int64_t changed_ns(const struct stat& status) {
  return static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

// The state and the start of a process; nothing: there is none of this number.
struct ProcessState {
  char state = '?';
  int64_t started = 0;
  int64_t threads = 0;
};
std::optional<ProcessState> state_of(int64_t pid) {
  std::string text;
  try {
    text = read_file(cat("/proc/", pid, "/stat"));
  } catch (const Error&) {
    return std::nullopt;
  }
  // The second field is the name in brackets, which may hold anything.
  const size_t end = text.rfind(") ");
  if (end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields = split(text.substr(end + 2), ' ');
  constexpr size_t kThreads = 17,
                   kStart = 19;  // fields 20 and 22 of proc(5), counted from the state
  ProcessState out;
  if (!fields.empty() && !fields.front().empty()) out.state = fields.front().front();
  const auto number = [&](size_t field) {
    long long found = 0;
    return fields.size() > field && parse_integer(fields[field], found) ? found : 0;
  };
  out.started = number(kStart);
  out.threads = number(kThreads);
  return out;
}

// A zombie has ended, and its parent has not asked yet. While it has other threads, its first one
// alone has ended: those still hold its files and their locks.
bool has_ended(const ProcessState& process) {
  return (process.state == 'Z' || process.state == 'X') && process.threads <= 1;
}

std::string line_of(const char* file) {
  try {
    return trim(read_file(file));
  } catch (const Error&) {
    return "";
  }
}

// It becomes a part of a file's name.
bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= 32 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Begins the names of a process's own files: whose they are is known before they have a byte.
std::string own_prefix(const Claimant& process) {
  const std::string space = process.space.substr(process.space.find('[') + 1);
  return cat(process.boot.substr(0, 8), "-", space.substr(0, space.find(']')), "-");
}

}  // namespace

std::string Claimant::text() const {
  if (pid == 0) return "an unknown process";
  return cat("process ", pid, " on ", printable_line(host));
}

Claimant this_process() {
  Claimant out;
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) == 0) out.host = host;
  out.boot = line_of("/proc/sys/kernel/random/boot_id");
  std::error_code none;
  out.space = fs::read_symlink("/proc/self/ns/pid", none).string();
  out.pid = ::getpid();
  if (const auto state = state_of(out.pid)) out.started = state->started;
  return out;
}

Life life_of(const Claimant& process) {
  static const Claimant here = this_process();
  const bool known = !process.boot.empty() && !process.space.empty() && process.pid > 0;
  if (!known || process.boot != here.boot || process.space != here.space) return Life::kUnknown;
  const auto state = state_of(process.pid);
  // /proc may hide the processes of other users, and there may be no file to open it with.
  if (!state && (::kill(static_cast<pid_t>(process.pid), 0) == 0 || errno == EPERM)) {
    return Life::kUnknown;
  }
  if (!state || has_ended(*state)) return Life::kGone;
  return state->started == process.started ? Life::kAlive : Life::kGone;
}

std::string claim_text(const std::string& id, const Claimant& owner, const nlohmann::json& about) {
  const nlohmann::ordered_json out{
      {"host", owner.host},       {"boot", owner.boot}, {"space", owner.space}, {"pid", owner.pid},
      {"started", owner.started}, {"claim", id},        {"about", about}};
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<SeenClaim> look_at_claim(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  SeenClaim out;
  out.renewed_ns = changed_ns(status);
  out.id = cat("file", status.st_ino, "-", out.renewed_ns);
  try {
    const auto json = try_parse_json(read_regular_file(path, kMostClaimBytes));
    if (!json || !json->is_object()) return out;
    Claimant owner;
    read_field(*json, "host", owner.host);
    read_field(*json, "boot", owner.boot);
    read_field(*json, "space", owner.space);
    read_field(*json, "pid", owner.pid);
    read_field(*json, "started", owner.started);
    const auto id = json_field<std::string>(*json, "claim");
    if (!is_id(id)) return out;
    // NFS may remember an old time until the file was opened.
    if (::lstat(path.c_str(), &status) == 0) out.renewed_ns = changed_ns(status);
    out.id = id;
    out.about = json->value("about", nlohmann::json());
    out.owner = owner;
  } catch (const Error&) {
    return out;  // judged by its age alone
  }
  return out;
}

OwnFile::OwnFile(const fs::path& folder, const std::string& text) {
  const Claimant me = this_process();
  path_ = temporary_name(folder / cat(own_prefix(me), me.pid));
  const auto fail = [&](int reason) {
    ::unlink(path_.c_str());
    throw Error(cat(path_.string(), ": cannot be written: ", std::strerror(reason)));
  };
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kClaimMode);
  if (descriptor < 0) fail(errno);
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  const int reason = written < 0 ? errno : ENOSPC;
  const bool whole = written == static_cast<ssize_t>(text.size());
  if (::close(descriptor) != 0 || !whole) fail(whole ? errno : reason);
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) fail(errno);
  time_ns_ = changed_ns(status);
}

OwnFile::~OwnFile() {
  ::unlink(path_.c_str());
}

bool is_left_own_file(const fs::path& path) {
  const std::string name = path.filename().string(), prefix = own_prefix(this_process());
  if (!name.ends_with(".tmp") || !name.starts_with(prefix)) return false;
  const std::string digits = name.substr(prefix.size(), name.find('.') - prefix.size());
  long long pid = 0;
  if (!parse_integer(digits, pid)) return false;
  const auto state = state_of(pid);
  return !state || has_ended(*state);
}

}  // namespace adagp::core
