#include "adagp/lab/experiment/shards.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::experiment {
namespace {

constexpr long long kMostShards = std::numeric_limits<int32_t>::max();

std::optional<long long> slurm_number(const std::string& name) {
  const std::string variable = "SLURM_ARRAY_TASK_" + name;
  const char* text = std::getenv(variable.c_str());
  if (text == nullptr) return std::nullopt;
  long long number = 0;
  if (core::parse_integer(text, number) && number >= 0 && number <= kMostShards) return number;
  throw UsageError(core::cat(variable, "=", core::printable_line(text),
                             ": expected a whole number from 0 on; give --shard"));
}

}  // namespace

void set_shard(Sharing& sharing, const std::string& text) {
  const auto parts = core::split(text, '/');
  long long shard = 0, shards = 0;
  const bool good = parts.size() == 2 && core::parse_integer(parts[0], shard) &&
                    core::parse_integer(parts[1], shards) && shard >= 1 && shard <= shards &&
                    shards <= kMostShards;
  if (!good) {
    throw UsageError("--shard: got '" + core::printable_line(text) +
                     "', expected I/N with I from 1 to N, as 2/6");
  }
  sharing.shard = shard;
  sharing.shards = shards;
}

void set_shard_from_slurm(Sharing& sharing) {
  const auto task = slurm_number("ID"), count = slurm_number("COUNT");
  if (!task || !count) return;
  const long long first = slurm_number("MIN").value_or(1);
  const long long step = std::max(1LL, slurm_number("STEP").value_or(1));
  const long long place = (*task - first) / step;
  if (*task < first || (*task - first) % step != 0 || place >= *count) {
    core::log_warning(core::cat("SLURM_ARRAY_TASK_ID=", *task, " of ", *count, " tasks from ",
                                first,
                                " on: the numbers have gaps, so this task works on the whole list; "
                                "--shard I/N gives it a part"));
    return;
  }
  sharing.shard = place + 1;
  sharing.shards = *count;
  if (*count == 1) return;
  core::log_warning(core::cat("shard ", place + 1, "/", *count,
                              ", as this task of the Slurm array says; --shard 1/1 works on all"));
}

}  // namespace adagp::experiment
