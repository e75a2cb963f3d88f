#pragma once
// A list of layers as a kernel's argument. Arguments are copied at every launch: a short list
// travels in a small table.

#include <algorithm>

namespace adagp::cuda {

constexpr int kShortList = 32;

template <typename Layer, int kMost>
struct LayerTable {
  Layer layer[kMost] = {};
  int offset[kMost + 1] = {};  // of each layer's first block, step or row: the launch says which
  int count = 0;

  int total() const { return offset[count]; }
};

template <int kSmall, typename Layer, int kMost>
LayerTable<Layer, kSmall> cut(const LayerTable<Layer, kMost>& table) {
  LayerTable<Layer, kSmall> out;
  out.count = table.count;
  std::copy_n(table.layer, table.count, out.layer);
  std::copy_n(table.offset, table.count + 1, out.offset);
  return out;
}

// Calls use(table) with the smallest table that holds the layers.
template <typename Layer, int kMost, typename Use>
void with_smallest(const LayerTable<Layer, kMost>& table, const Use& use) {
  static_assert(kMost > kShortList);
  if (table.count <= kShortList) {
    use(cut<kShortList>(table));
  } else {
    use(table);
  }
}

}  // namespace adagp::cuda
