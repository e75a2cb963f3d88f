#pragma once
// The graph of an exported program, as torch.export.save writes it. Torch-free.

#include <string>

#include "adagp/sim/layers/exported_graph.h"

namespace adagp::layers {

// Of models/model.json. Throws nlohmann's exceptions and std::out_of_range on JSON of another form,
// DataError when it has more values than any network.
Graph parse_program(const std::string& text);

}  // namespace adagp::layers
