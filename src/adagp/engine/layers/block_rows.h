#pragma once
// Which block of a network each row of its layer table belongs to.

#include <cstdint>
#include <vector>

#include "adagp/engine/models/model.h"
#include "adagp/sim/layers/table.h"

namespace adagp::layers {

// A row belongs to the block whose name is its own or a prefix of it; rows that match none belong
// to the block of the row before. Of a network that is no BlockNet all rows are block 0.
std::vector<int64_t> blocks_of_rows(const Table& table, const models::Net& net);

// How many rows the blocks before `block` have.
int64_t rows_before(const std::vector<int64_t>& blocks_of_rows, int64_t block);

}  // namespace adagp::layers
