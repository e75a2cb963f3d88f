#include "adagp/sim/arrays/lifetimes.h"

#include <algorithm>

#include "adagp/sim/accel/checked_math.h"

namespace adagp::arrays {
namespace {

using accel::add;

// A tensor and the rows that work on it: the row that stores it, and rows in place after it.
struct Kept {
  std::string name;
  int64_t words = 0;
  size_t begin = 0, end = 0;    // rows [begin, end)
  std::vector<size_t> readers;  // of a frozen tensor: rows outside [begin, end)
  bool feeds = false;           // a trained row is among them
};

std::vector<Kept> kept_tensors(const accel::Plan& plan, bool frozen) {
  std::vector<Kept> out;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const accel::LayerPlan& layer = plan.layers[i];
    if (layer.frozen != frozen) continue;
    if (layer.kept_words > 0 || out.empty() || out.back().end != i) {
      out.push_back({layer.name, std::max<int64_t>(layer.kept_words, 0), i, i + 1, {}});
    } else {
      out.back().end = i + 1;
    }
  }
  return out;
}

// Whether a row reads what the row before it left, by all that the table says.
bool follows(const accel::Plan& plan, size_t row) {
  const accel::LayerPlan& before = plan.layers[row - 1];
  return before.frozen == plan.layers[row].frozen && before.output == plan.layers[row].input;
}

bool trained_before(const accel::Plan& plan, size_t row) {
  return std::any_of(plan.layers.begin(), plan.layers.begin() + static_cast<std::ptrdiff_t>(row),
                     [&](const accel::LayerPlan& layer) {
                       return !layer.frozen && layer.output == plan.layers[row].input;
                     });
}

// See lifetimes.h. Backwards, so that of several maps of one shape the last one goes to the last
// reader.
void find_readers(const accel::Plan& plan, std::vector<Kept>& frozen) {
  for (size_t row = plan.layers.size(); row-- > 1;) {
    const accel::LayerPlan& reader = plan.layers[row];
    const bool next = follows(plan, row);
    if (!reader.frozen && (next || (!reader.product && trained_before(plan, row)))) continue;
    Kept* found = nullptr;
    for (size_t i = frozen.size(); i-- > 0;) {
      Kept& one = frozen[i];
      const bool fits = next ? one.end == row : plan.layers[one.end - 1].output == reader.input;
      if (one.end > row || !fits) continue;
      if (found == nullptr) found = &one;
      if (!reader.frozen && one.feeds) continue;
      found = &one;
      break;
    }
    if (found == nullptr) continue;
    found->readers.push_back(row);
    found->feeds = found->feeds || !reader.frozen;
  }
}

// Reversible blocks as tensors [first, end).
struct Block {
  size_t first = 0, end = 0;
  bool keeps_input = false;
};

std::vector<Block> blocks_of(const accel::Plan& plan, const std::vector<Kept>& kept,
                             int64_t block_layers) {
  std::vector<Block> out;
  int64_t weighted = block_layers;
  for (size_t i = 0; i < kept.size(); ++i) {
    bool has_weights = false;
    for (size_t row = kept[i].begin; row < kept[i].end; ++row) {
      has_weights = has_weights || plan.layers[row].weighted;
    }
    if (out.empty() || (has_weights && weighted == block_layers)) {
      out.push_back({i, i + 1, false});
      weighted = 0;
    }
    out.back().end = i + 1;
    weighted += has_weights ? 1 : 0;
  }
  for (Block& block : out) {
    const int64_t input = block.first == 0 ? plan.input_words : kept[block.first - 1].words;
    block.keeps_input = input != kept[block.end - 1].words;
  }
  return out;
}

// Walks through the batch and notes when each row ends.
class Clock {
 public:
  explicit Clock(const RowTimes& times) : times_(times) {}

  void forward(size_t begin, size_t end, std::vector<int64_t>& ends) {
    for (size_t row = begin; row < end; ++row) ends[row] = now = add(now, times_.forward[row]);
  }
  void backward(size_t begin, size_t end, std::vector<int64_t>& ends) {
    for (size_t row = end; row-- > begin;) ends[row] = now = add(now, times_.backward[row]);
  }

  int64_t now = 0;

 private:
  const RowTimes& times_;
};

class Timelines {
 public:
  Timelines(const accel::Plan& plan, const RowTimes& times)
      : plan_(plan),
        kept_(kept_tensors(plan, false)),
        frozen_(kept_tensors(plan, true)),
        clock_(times) {
    find_readers(plan, frozen_);
    const size_t rows = plan.layers.size();
    forward_.assign(rows, 0);
    again_.assign(rows, 0);
    backward_.assign(rows, 0);
    clock_.forward(0, rows, forward_);
    turn_ = clock_.now;
  }

  StoredTensors predict() {
    if (trains_first_row()) store("input", plan_.input_words, 0, forward_.front(), 1);
    for (size_t i = 0; i < kept_.size(); ++i) add_forward_life(i);
    return finish();
  }

  StoredTensors backprop() {
    clock_.backward(0, plan_.layers.size(), backward_);
    if (trains_first_row()) store("input", plan_.input_words, 0, backward_.front(), 2);
    for (const Kept& kept : kept_) {
      store(kept.name, kept.words, forward_[kept.end - 1], last_read(kept), 2);
    }
    add_gradients();
    return finish();
  }

  StoredTensors reversible(int64_t block_layers) {
    const std::vector<Block> blocks = blocks_of(plan_, kept_, block_layers);
    std::vector<int64_t> computed(blocks.size());  // again, end of the block
    for (size_t b = blocks.size(); b-- > 0;) {
      const size_t begin = kept_[blocks[b].first].begin, end = kept_[blocks[b].end - 1].end;
      for (size_t row = begin; row < end; ++row) {
        if (!plan_.layers[row].frozen) clock_.forward(row, row + 1, again_);
      }
      computed[b] = clock_.now;
      clock_.backward(begin, end, backward_);
    }
    add_forward_lives(blocks);
    for (size_t b = 0; b < blocks.size(); ++b) {
      // The block's last tensor is its output, known from the block after it.
      for (size_t i = blocks[b].first; i + 1 < blocks[b].end; ++i) {
        store(kept_[i].name + " again", kept_[i].words, again_[kept_[i].end - 1],
              last_read(kept_[i]), 2);
      }
      const size_t first = blocks[b].first;
      const bool at_start = first == 0;
      const std::string name = at_start ? "input" : kept_[first - 1].name;
      const int64_t words = at_start ? plan_.input_words : kept_[first - 1].words;
      const int64_t read = backward_[kept_[first].begin];
      // Read forward, again and backward, and for the block before.
      if (at_start) {
        if (trains_first_row()) store(name + " kept", words, 0, read, 3);
      } else if (blocks[b].keeps_input) {
        store(name + " kept", words, forward_[kept_[first - 1].end - 1],
              std::max(read, computed[b - 1]), 4);
      } else {
        store(name + " won back", words, computed[b], std::max(read, computed[b - 1]), 2);
      }
    }
    // The network's output waits for nothing: its block is the first of the backward pass.
    store(kept_.back().name + " output", kept_.back().words, turn_, computed.back(), 1);
    add_gradients();
    return finish();
  }

 private:
  void store(const std::string& name, int64_t words, int64_t written, int64_t read, int64_t reads) {
    if (words > 0) out_.tensors.push_back({name, words, written, std::max(written, read), reads});
  }

  // The backward pass of the row after the one that stored it.
  int64_t last_read(const Kept& kept) const {
    const size_t next = kept.begin + 1;
    return next < plan_.layers.size() ? backward_[next] : backward_[kept.begin];
  }

  void add_forward_life(size_t tensor) {
    const Kept& kept = kept_[tensor];
    const size_t next = std::min(kept.end, plan_.layers.size() - 1);
    store(kept.name, kept.words, forward_[kept.end - 1], forward_[next], 1);
  }

  // Of the tensors that nothing keeps beyond the forward pass: not the inputs of blocks that keep
  // them, and not the network's output.
  void add_forward_lives(const std::vector<Block>& blocks) {
    for (size_t b = 0; b < blocks.size(); ++b) {
      const bool output_kept = b + 1 == blocks.size() || blocks[b + 1].keeps_input;
      const size_t end = blocks[b].end - (output_kept ? 1 : 0);
      for (size_t i = blocks[b].first; i < end; ++i) add_forward_life(i);
    }
  }

  void add_gradients() {
    for (const Kept& kept : kept_) {
      const size_t next = kept.begin + 1;
      const int64_t written = next < plan_.layers.size() ? backward_[next] : turn_;
      store(kept.name + " gradient", kept.words, written, backward_[kept.begin], 1);
    }
  }

  bool trains_first_row() const { return !plan_.layers.front().frozen; }

  // Whatever is trained reads them again when it is computed again; products need their input for
  // the weight gradient, too.
  void add_frozen() {
    if (!trains_first_row()) store("input", plan_.input_words, 0, forward_.front(), 1);
    for (const Kept& kept : frozen_) {
      const int64_t written = forward_[kept.end - 1];
      int64_t read = written, reads = 0;
      for (const size_t row : kept.readers) {
        const accel::LayerPlan& reader = plan_.layers[row];
        const int64_t gradient = reader.weight_gradient ? backward_[row] : 0;
        read = std::max({read, forward_[row], again_[row], gradient});
        reads += 1 + (again_[row] > 0 ? 1 : 0) + (gradient > 0 ? 1 : 0);
      }
      store(kept.name + " frozen", kept.words, written, read, reads);
    }
  }

  StoredTensors finish() {
    add_frozen();
    out_.cycles = clock_.now;
    return std::move(out_);
  }

  const accel::Plan& plan_;
  const std::vector<Kept> kept_;  // of trained rows
  std::vector<Kept> frozen_;
  Clock clock_;
  std::vector<int64_t> forward_, again_, backward_;  // when each row ends
  int64_t turn_ = 0;                                 // end of the forward pass
  StoredTensors out_;
};

}  // namespace

const char* timeline_name(Timeline kind) {
  return kind == Timeline::kBackprop ? "BP" : kind == Timeline::kReversible ? "reversible" : "GP";
}

StoredTensors stored_tensors(const accel::Plan& plan, const RowTimes& times, Timeline kind,
                             int64_t block_layers) {
  Timelines timelines(plan, times);
  const bool trains = std::any_of(plan.layers.begin(), plan.layers.end(),
                                  [](const accel::LayerPlan& layer) { return !layer.frozen; });
  if (kind == Timeline::kPredict || !trains) return timelines.predict();
  if (kind == Timeline::kBackprop) return timelines.backprop();
  return timelines.reversible(block_layers);
}

}  // namespace adagp::arrays
