#include "adagp/data/batch_stream.h"

#include <algorithm>
#include <numeric>

#include "adagp/core/error.h"
#include "adagp/core/rng.h"
#include "adagp/core/text.h"

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

BatchStream::Place BatchStream::after(const Place& place) const {
  return place.second + 1 < batches_ ? Place{place.first, place.second + 1}
                                     : Place{place.first + 1, 0};
}

std::vector<int64_t> BatchStream::indices_at(const Place& place) {
  if (order_.empty() || (options_.shuffle && order_epoch_ != place.first)) {
    order_ = example_order(options_, place.first);
    order_epoch_ = place.first;
  }
  const int64_t begin = place.second * options_.batch;
  const int64_t end = std::min(begin + options_.batch, options_.count);
  return {order_.begin() + begin, order_.begin() + end};
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
    place = after(place);
    if (options_.skips && options_.skips(place.first, place.second)) {
      ++passed;
      continue;
    }
    start(place);
    ++started;
  }
}

void BatchStream::seek(int64_t epoch, int64_t position) {
  if (epoch < 0 || position < 0 || position > batches_) {
    throw Error(core::cat("data: no batch ", position, " in epoch ", epoch, ": an epoch has ",
                          batches_, " batches"));
  }
  at_ = position == batches_ ? Place{epoch + 1, 0} : Place{epoch, position};
  if (ahead_) ahead_->clear();
}

Batch BatchStream::next() {
  const Place here = at_;
  if (ahead_) look_ahead(here);
  Batch batch = deliver_(ahead_ ? ahead_->take(here) : made(here, indices_at(here)));
  at_ = after(here);
  return batch;
}

void BatchStream::skip() {
  if (ahead_) ahead_->drop(at_);
  at_ = after(at_);
}

}  // namespace adagp::data
