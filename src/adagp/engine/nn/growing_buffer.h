#pragma once
// The memory of a dense block's map, and what is known of the channels in it.
//
// A channel's batch mean and variance are the same for every norm that reads it, so they are taken
// once, when the channel is written. They lie behind the map in the same memory: whoever holds a
// view of the map keeps them alive, and in a recorded step both belong to the graph. This object
// holds neither. It only remembers which memory it made last and for how many channels the
// statistics there are those of the data; of any other memory it knows nothing.
//
// Used by one thread at a time, as the network is whose block it belongs to.

#include <optional>

#include <c10/core/StorageImpl.h>
#include <torch/types.h>

#include "adagp/engine/nn/fused_norm.h"

namespace adagp::nn {

class GrowingBuffer {
 public:
  explicit GrowingBuffer(int64_t room) : room_(room) {}
  int64_t room() const { return room_; }  // channels of the whole map

  // Memory for a map like x with all `room` channels, and for their statistics. Nothing of it is
  // known yet, and what was made before is forgotten.
  struct Made {
    at::Tensor map;  // [B, room, H, W]
    ChannelStatistics statistics;
  };
  Made make(const at::Tensor& x);

  // Of x's channels; none where x is not a view of the first channels of this buffer's map, all its
  // positions, or where they are not known.
  std::optional<ChannelStatistics> of(const at::Tensor& x) const;
  // Where those of the channels behind x's belong; none where of(x) is none or no room is left.
  std::optional<ChannelStatistics> behind(const at::Tensor& x) const;
  // Data and statistics of the first `channels` were written, what was behind them is gone. `map`:
  // any view of the map. Of other memory than this buffer's nothing is learnt.
  void set_known(const at::Tensor& map, int64_t channels);

 private:
  bool holds(const at::Tensor& map) const;
  ChannelStatistics from(const at::Tensor& map, int64_t channel) const;

  int64_t room_, positions_ = 0, known_ = 0;
  // Weak, so that it cannot be mistaken for later memory at the same address and keeps none alive.
  c10::weak_intrusive_ptr<c10::StorageImpl> memory_{c10::intrusive_ptr<c10::StorageImpl>()};
};

}  // namespace adagp::nn
