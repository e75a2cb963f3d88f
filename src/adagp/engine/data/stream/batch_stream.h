#pragma once
// The order of examples, looking ahead on threads, seeking and skipping: what all sources of
// batches of a fixed number of examples share.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adagp/engine/data/stream/batch.h"
#include "adagp/engine/data/stream/planner.h"
#include "adagp/engine/data/stream/prefetch.h"

namespace adagp::data {

struct StreamOptions {
  int64_t count = 0;  // examples of an epoch
  int64_t batch = 1;
  bool shuffle = true;
  bool drop_last = true;
  uint64_t seed = 0;
  int64_t workers = 1;   // threads that make batches; 0 = in the caller
  int64_t prefetch = 2;  // batches made ahead
  // Batches that the caller will skip(): they are not made ahead. Empty = none is known.
  std::function<bool(int64_t epoch, int64_t position)> skips;
  std::string unit = "images";  // what an example is, for messages
  // Another order than a shuffled one or the data's own: a pure function of the epoch, asked once
  // unless `shuffle`. It may leave out what fills no whole batch.
  std::function<std::vector<int64_t>(int64_t epoch)> order = {};
  // Epochs that are decided as they begin, in the place of all of the above. Nothing is then made
  // ahead across the end of an epoch.
  Planner plan = {};
};

// Batches of an epoch. Throws UsageError when there is not one whole batch.
int64_t whole_batches(const StreamOptions& options);
// The examples of an epoch in their order: a pure function.
std::vector<int64_t> example_order(const StreamOptions& options, int64_t epoch);

class BatchStream : public BatchSource {
 public:
  // The inputs and targets of these examples, batch `position` of `epoch`; a pure function, which
  // with workers any thread may call.
  using Make =
      std::function<Batch(const std::vector<int64_t>& indices, int64_t epoch, int64_t position)>;
  // What is left to do on the thread that asks for the batch: the way to the device.
  using Deliver = std::function<Batch(Batch)>;

  // Throws UsageError when there is not one whole batch.
  BatchStream(StreamOptions options, Make make, Deliver deliver);

  // Of an epoch that nothing has planned otherwise.
  int64_t batches_per_epoch() const override { return batches_; }
  void seek(int64_t epoch, int64_t position) override;
  Batch next() override;
  void skip() override;
  void only_part(int64_t part, int64_t parts) override;

 private:
  using Place = std::pair<int64_t, int64_t>;  // epoch, position

  Place after(const Place& place);
  const EpochPlan& plan_of(int64_t epoch);
  std::vector<int64_t> indices_at(const Place& place);
  Batch made(const Place& place, std::vector<int64_t> indices) const;
  void start(const Place& place);
  void look_ahead(Place place);

  StreamOptions options_;
  Make make_;
  Deliver deliver_;
  int64_t batches_ = 0;
  int64_t part_ = 0, parts_ = 1;
  Place at_{0, 0};
  std::map<int64_t, std::shared_ptr<const EpochPlan>> plans_;  // the present epoch's and the next
  std::unique_ptr<Prefetcher<Place, Batch>> ahead_;            // last: its threads use the rest
};

}  // namespace adagp::data
