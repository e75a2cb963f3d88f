#include "adagp/engine/data/stream/batch_stream.h"

#include <algorithm>
#include <numeric>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"

namespace adagp::data {

int64_t whole_batches(const StreamOptions& options) {
  const int64_t count = options.count, batch = options.batch;
  if (batch < 1) throw UsageError(core::cat("batch size ", batch, ", expected 1 or more"));
  const int64_t batches = options.drop_last ? count / batch : (count + batch - 1) / batch;
  if (batches > 0) return batches;
  throw UsageError(core::cat("data: ", count, " ", options.unit, " do not fill one batch of ",
                             batch, "; lower the batch size or raise data.limit"));
}

std::vector<int64_t> example_order(const StreamOptions& options, int64_t epoch) {
  if (options.order) return options.order(epoch);
  if (options.shuffle) {
    return core::permutation(options.count,
                             core::mix({options.seed, static_cast<uint64_t>(epoch)}));
  }
  std::vector<int64_t> in_turn(static_cast<size_t>(options.count));
  std::iota(in_turn.begin(), in_turn.end(), 0);
  return in_turn;
}

BatchStream::BatchStream(StreamOptions options, Make make, Deliver deliver)
    : options_(std::move(options)), make_(std::move(make)), deliver_(std::move(deliver)) {
  batches_ = whole_batches(options_);
  if (options_.workers > 0) {
    ahead_ = std::make_unique<Prefetcher<Place, Batch>>(options_.workers);
  }
}

namespace {

// Batches of equal size, all examples.
std::shared_ptr<const EpochPlan> usual_plan(const StreamOptions& options, int64_t batches,
                                            int64_t epoch) {
  auto plan = std::make_shared<EpochPlan>();
  plan->order = example_order(options, epoch);
  for (int64_t i = 0; i < batches; ++i) {
    const int64_t begin = i * options.batch;
    plan->batches.push_back({begin, std::min(options.batch, options.count - begin)});
  }
  return plan;
}

}  // namespace

BatchStream::Place BatchStream::after(const Place& place) {
  const auto batches = static_cast<int64_t>(plan_of(place.first).batches.size());
  return place.second + 1 < batches ? Place{place.first, place.second + 1}
                                    : Place{place.first + 1, 0};
}

const EpochPlan& BatchStream::plan_of(int64_t epoch) {
  const bool alike = !options_.plan && !options_.shuffle;  // one plan serves all epochs
  auto& plan = plans_[alike ? 0 : epoch];
  if (!plan) {
    plan = options_.plan ? options_.plan(epoch) : usual_plan(options_, batches_, epoch);
  }
  return *plan;
}

std::vector<int64_t> BatchStream::indices_at(const Place& place) {
  const EpochPlan& plan = plan_of(place.first);
  const auto own = plan.batches.at(static_cast<size_t>(place.second)).share(part_, parts_);
  const auto begin = plan.order.begin() + own.begin;
  return {begin, begin + own.count};
}

void BatchStream::only_part(int64_t part, int64_t parts) {
  if (part < 0 || part >= parts || options_.batch % parts != 0) {
    throw Error(
        core::cat("data: no part ", part, " of ", parts, " of a batch of ", options_.batch));
  }
  part_ = part;
  parts_ = parts;
}

Batch BatchStream::made(const Place& place, std::vector<int64_t> indices) const {
  Batch batch = make_(indices, place.first, place.second);
  batch.indices = std::move(indices);
  batch.epoch = place.first;
  batch.position = place.second;
  return batch;
}

void BatchStream::start(const Place& place) {
  if (ahead_->has(place)) return;
  ahead_->start(place, [this, place, indices = indices_at(place)] { return made(place, indices); });
}

// Asks for the batch at `place` and for the following ones that will be wanted.
void BatchStream::look_ahead(Place place) {
  start(place);
  const int64_t wanted = std::max(options_.prefetch, options_.workers);
  int64_t passed = 0;
  for (int64_t started = 0; started < wanted && passed < batches_;) {
    const int64_t epoch = place.first;
    place = after(place);
    if (options_.plan && place.first != epoch) return;
    if (options_.skips && options_.skips(place.first, place.second)) {
      ++passed;
      continue;
    }
    start(place);
    ++started;
  }
}

void BatchStream::seek(int64_t epoch, int64_t position) {
  if (ahead_) ahead_->clear();
  plans_.clear();
  const int64_t batches = position == 0 ? 1 : static_cast<int64_t>(plan_of(epoch).batches.size());
  if (epoch < 0 || position < 0 || position > batches) {
    throw Error(core::cat("data: no batch ", position, " in epoch ", epoch, ": this epoch has ",
                          batches, " batches"));
  }
  at_ = position == batches ? Place{epoch + 1, 0} : Place{epoch, position};
}

Batch BatchStream::next() {
  const Place here = at_;
  if (options_.plan || options_.shuffle) {
    std::erase_if(plans_, [&](const auto& entry) { return entry.first < here.first; });
  }
  if (ahead_) look_ahead(here);
  Batch batch = deliver_(ahead_ ? ahead_->take(here) : made(here, indices_at(here)));
  batch.whole = plan_of(here.first).batches.at(static_cast<size_t>(here.second)).count;
  at_ = after(here);
  return batch;
}

void BatchStream::skip() {
  if (ahead_) ahead_->drop(at_);
  at_ = after(at_);
}

}  // namespace adagp::data
