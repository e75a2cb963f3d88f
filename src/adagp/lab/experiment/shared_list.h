#pragma once
// A list of runs that several processes work on, of one or many machines, in one folder.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/claims.h"

namespace adagp::experiment {

// How processes share a list.
struct Sharing {
  double claim_timeout = 600;  // seconds, core/claims.h
  // Shard 2 of 3 works on the units 2, 5, 8, ... alone.
  int64_t shard = 1, shards = 1;
};

// What the processes of one list must agree in: names and values.
using ListIdentity = std::vector<std::pair<std::string, std::string>>;

class SharedList {
 public:
  // Joins those that work on the list. Throws UsageError where others work on another list in this
  // folder, with both values, or work there at all and `alone` is set.
  SharedList(const core::fs::path& folder, const Sharing& sharing, const ListIdentity& identity,
             bool alone);

  // Whether this process may work on a unit now: on one of its shard that no other process has. A
  // unit is what one process does as a whole. `place`: from 0, in the order of the list.
  bool take(const std::string& unit, size_t place);
  void release(const std::string& unit);

  // Until end_tables() or the end of this object no other process looks which runs are finished and
  // writes tables of them: so the last table has all runs.
  void begin_tables();
  void end_tables();

  // Whether no other process works on the list now.
  bool alone() const;

  // Says who works on these units.
  void tell_who(const std::vector<std::string>& units) const;

 private:
  void refuse_others(const ListIdentity& identity, bool alone) const;

  core::fs::path folder_;
  Sharing sharing_;
  core::Claims claims_;
};

}  // namespace adagp::experiment
