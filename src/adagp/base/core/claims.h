#pragma once
// Things that processes of one or many machines take from each other, each by a file in a folder
// that they share. Nothing but the atomic creation and renaming of files is asked of the file
// system, so that NFS will do.

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "adagp/base/core/claim_file.h"

namespace adagp::core {

class Claims {
 public:
  // The claim of a process that has ended counts for nothing. Of a process on another machine
  // nobody knows: its claim counts until it was not renewed for `timeout` seconds, by the file
  // system's clock. A claim that cannot be read is judged in the same way.
  Claims(fs::path folder, double timeout);
  // Releases all claims, and removes what killed processes left.
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // Whether the claim is this object's now. It is renewed by a thread until release(). `about` is
  // for other processes. Throws Error when no file can be written in the folder.
  bool take(const std::string& name, const nlohmann::json& about = {});
  // Takes it as soon as nobody else has it. Throws Interrupted after a signal.
  void wait_for(const std::string& name);
  void release(const std::string& name);

  struct Other {
    std::string name, who;  // who: "process 123 on node7, renewed 12 s ago"
    nlohmann::json about;
  };
  // What other processes have at present.
  std::vector<Other> others() const;

 private:
  bool has_ended(const SeenClaim& claim, int64_t now_ns) const;
  bool take_over(const std::string& name, const SeenClaim& old, const OwnFile& mine);
  bool is_mine(const std::string& name) const;
  void renew_all();
  void renew_until_stopped();
  void tidy();

  fs::path folder_;
  double timeout_;
  std::map<std::string, std::string> held_;  // name -> id
  mutable std::mutex mutex_;                 // of held_ and stopping_
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread renewer_;
};

}  // namespace adagp::core
