#include "adagp/base/core/claims.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

constexpr double kRenewals = 5;  // in the time after which a claim is old
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr auto kLongestPause = std::chrono::milliseconds(1000);
constexpr int kMostTries = 100;  // against others that take and release the same claim

std::string new_id() {
  // The random part of such a name.
  const std::string name = temporary_name("x").string();
  return name.substr(2, name.size() - 6);
}

bool is_temporary(const fs::path& path) {
  return path.extension() == ".tmp";
}

[[noreturn]] void fail_to_write(const fs::path& path, int reason) {
  throw Error(cat(path.string(), ": cannot be written: ", std::strerror(reason)));
}

// False: a file of this name is there.
bool create_as(const OwnFile& mine, const std::string& text, const fs::path& path) {
  if (::link(mine.path().c_str(), path.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  // A file system without links. A kill between the two steps leaves a file that says nothing.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0 && errno == EEXIST) return false;
  if (descriptor < 0) fail_to_write(path, errno);
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  const int reason = written < 0 ? errno : ENOSPC;
  ::close(descriptor);
  if (written == static_cast<ssize_t>(text.size())) return true;
  ::unlink(path.c_str());
  fail_to_write(path, reason);
}

}  // namespace

Claims::Claims(fs::path folder, double timeout) : folder_(std::move(folder)), timeout_(timeout) {
  renewer_ = std::thread([this] { renew_until_stopped(); });
}

Claims::~Claims() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  renewer_.join();
  try {
    while (!held_.empty()) release(std::string(held_.begin()->first));
    tidy();
  } catch (const std::exception& error) {
    log_warning(error.what());
  }
}

bool Claims::has_ended(const SeenClaim& claim, int64_t now_ns) const {
  const Life life = life_of(claim.owner);
  if (life != Life::kUnknown) return life == Life::kGone;
  return static_cast<double>(now_ns - claim.renewed_ns) * 1e-9 > timeout_;
}

bool Claims::is_mine(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(name);
  if (found == held_.end()) return false;
  const auto seen = look_at_claim(folder_ / name);
  return seen && seen->id == found->second;
}

bool Claims::take(const std::string& name, const nlohmann::json& about) {
  if (is_mine(name)) return true;
  const fs::path path = folder_ / name;
  const std::string id = new_id(), text = claim_text(id, this_process(), about);
  const auto keep = [&] {
    const std::lock_guard lock(mutex_);
    held_[name] = id;
    return true;
  };
  for (int i = 0; i < kMostTries; ++i) {
    make_folder(folder_);  // whoever ends last removes it
    const OwnFile mine(folder_, text);
    if (create_as(mine, text, path)) return keep();
    const auto seen = look_at_claim(path);
    if (!seen) continue;                // released meanwhile
    if (seen->id == id) return keep();  // NFS may report a failure after a success
    if (!has_ended(*seen, mine.time_ns())) return false;
    if (take_over(name, *seen, mine)) return keep();
  }
  return false;
}

// To take over one certain claim is a claim of its own: of several that saw the same dead process,
// one gets it, and the others do not take away what this one has then.
bool Claims::take_over(const std::string& name, const SeenClaim& old, const OwnFile& mine) {
  const std::string right = name + "." + old.id;
  if (!take(right)) return false;
  const auto now = look_at_claim(folder_ / name);
  const bool same = now && now->id == old.id;
  const bool done = same && ::rename(mine.path().c_str(), (folder_ / name).c_str()) == 0;
  release(right);
  if (done) log_debug(cat(name, ": taken over from ", old.owner.text()));
  return done;
}

void Claims::wait_for(const std::string& name) {
  auto pause = kPause;
  for (bool told = false; !take(name); std::this_thread::sleep_for(pause)) {
    pause = std::min(2 * pause, kLongestPause);
    if (pending_signal() != 0 && !time_is_up()) {
      throw Interrupted("interrupted while waiting for another process", pending_signal());
    }
    if (std::exchange(told, true)) continue;
    const auto seen = look_at_claim(folder_ / name);
    if (seen) log_info(cat(name, ": waiting for ", seen->owner.text()));
  }
}

void Claims::release(const std::string& name) {
  const bool mine = is_mine(name);
  const std::lock_guard lock(mutex_);
  held_.erase(name);
  if (mine) ::unlink((folder_ / name).c_str());
}

std::vector<Claims::Other> Claims::others() const {
  std::vector<Other> out;
  if (!fs::exists(folder_)) return out;
  const OwnFile clock(folder_, "");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_temporary(entry.path()) || is_mine(name)) continue;
    const auto seen = look_at_claim(entry.path());
    if (!seen || has_ended(*seen, clock.time_ns())) continue;
    const auto seconds = static_cast<double>(clock.time_ns() - seen->renewed_ns) * 1e-9;
    out.push_back(
        {name, cat(seen->owner.text(), ", renewed ", human_seconds(std::max(0.0, seconds)), " ago"),
         seen->about});
  }
  std::sort(out.begin(), out.end(), [](const Other& a, const Other& b) { return a.name < b.name; });
  return out;
}

void Claims::renew_all() {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const auto& claim) {
    const fs::path path = folder_ / claim.first;
    errno = 0;
    const auto seen = look_at_claim(path);
    // A file that cannot be read at this moment is no proof that another process has it.
    const bool lost = seen ? seen->owner.pid != 0 && seen->id != claim.second : errno == ENOENT;
    if (!lost) {
      if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) != 0) {
        log_warning(cat(path.string(), ": cannot be renewed: ", std::strerror(errno)));
      }
      return false;
    }
    log_warning(cat(path.string(), ": this claim is no longer this process's: ",
                    seen ? seen->owner.text() + " has it" : "the file is gone"));
    return true;
  });
}

void Claims::renew_until_stopped() {
  const auto pause = std::chrono::duration<double>(timeout_ / kRenewals);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (stop_.wait_for(lock, pause, [this] { return stopping_; })) return;
    }
    renew_all();
  }
}

void Claims::tidy() {
  std::error_code ignored;
  if (!fs::exists(folder_)) return;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) files.push_back(entry.path());
  const int64_t now = OwnFile(folder_, "").time_ns();
  for (const fs::path& file : files) {
    if (is_temporary(file)) {
      if (is_left_own_file(file)) fs::remove(file, ignored);
      continue;
    }
    // Only whoever has a claim may remove it.
    const auto seen = look_at_claim(file);
    if (!seen || !has_ended(*seen, now)) continue;  // released meanwhile, or in use
    const std::string name = file.filename().string();
    if (take(name)) release(name);
  }
  fs::remove(folder_, ignored);  // where it is empty
}

}  // namespace adagp::core
