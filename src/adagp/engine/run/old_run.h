#pragma once
// The run that --overwrite replaces, or overwrite=True in the Python package, which compiles this
// file, too: no torch here. It is set aside inside its folder and removed once its successor has a
// checkpoint. A process that dies at any point leaves one of the two whole, and whoever opens the
// folder next (settle_old_run) ends what was begun. All of this needs the folder's lock.

#include <string>
#include <vector>

#include "adagp/base/core/files.h"

namespace adagp::run {

// Names of a run's files and folders. What else is in a run folder is the user's.
const std::vector<std::string>& run_entries();
bool has_run(const core::fs::path& folder);

// Throws Error when it cannot be done (a read-only folder); then nothing has changed.
void set_old_run_aside(const core::fs::path& folder);
// In the place of its successor, which is removed.
void put_old_run_back(const core::fs::path& folder);
void remove_old_run(const core::fs::path& folder);
// After a process was killed: removes the old run if its successor has a checkpoint, else puts it
// back and says so.
void settle_old_run(const core::fs::path& folder);

}  // namespace adagp::run
