// SCALE-Sim's topology for each pass, and its configuration.

#include <algorithm>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/exchange/formats.h"
#include "adagp/sim/exchange/mapping.h"
#include "adagp/sim/scalesim/config.h"
#include "adagp/sim/scalesim/topology.h"

namespace adagp::exchange {
namespace {

// SCALE-Sim's words have one byte.
int64_t kilobytes(int64_t words) {
  return std::max<int64_t>(1, accel::ceil_div(words, 1024));
}

// Each operand and the result have a third of the buffer. Without a bound each of them fits into
// half of its own: SCALE-Sim takes longer for larger ones.
int64_t buffer_kb(const accel::Accelerator& a, const std::vector<LoopNest>& nests) {
  if (a.buffer_bytes > 0) return kilobytes(a.buffer_bytes / a.word_bytes / 3);
  int64_t most = 0;
  for (const LoopNest& nest : nests) {
    const auto& [m, k, n] = nest.work.gemm;
    most = std::max({most, accel::mul(m, k), accel::mul(k, n), accel::mul(m, n)});
  }
  return kilobytes(accel::mul(2, most));
}

scalesim::Config config_of(const accel::Accelerator& a, const std::vector<LoopNest>& nests) {
  scalesim::Config config;
  config.run_name = "scalesim";
  config.rows = a.array.rows;
  config.columns = a.array.columns;
  config.dataflow = a.dataflow;
  config.ifmap_kb = config.filter_kb = config.ofmap_kb = buffer_kb(a, nests);
  if (a.dram_bytes_per_cycle > 0) {
    const int64_t words = machine_sizes(a).dram_words_per_cycle;
    config.bandwidths = scalesim::Bandwidths{words, words, words};
  }
  return config;
}

// SCALE-Sim has no batch and no gradients: these are matrix products.
std::string products_of(const std::vector<LoopNest>& nests, accel::Pass pass) {
  std::vector<scalesim::Product> products;
  for (const LoopNest& nest : nests) {
    const auto& [m, k, n] = nest.work.gemm;
    if (nest.pass == pass) products.push_back({nest.name, nest.work.groups, m, k, n});
  }
  return products.empty() ? "" : scalesim::products_csv(products);
}

}  // namespace

std::vector<File> scalesim_files(const Request& request, const std::vector<LoopNest>& nests) {
  axes_of(nests.front(), request.accelerator);  // refuses dataflows that SCALE-Sim has not
  std::vector<File> files = {
      {"scalesim.cfg", scalesim::config_text(config_of(request.accelerator, nests))}};
  for (const accel::Pass pass :
       {accel::Pass::kForward, accel::Pass::kInputGradient, accel::Pass::kWeightGradient}) {
    const bool layers = pass == accel::Pass::kForward && request.batch == 1;
    std::string text = layers ? scalesim::topology_csv(request.table) : products_of(nests, pass);
    if (!text.empty()) files.push_back({std::string(pass_name(pass)) + ".csv", std::move(text)});
  }
  return files;
}

}  // namespace adagp::exchange
