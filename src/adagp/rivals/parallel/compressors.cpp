#include "adagp/rivals/parallel/compressors.h"

#include "adagp/base/core/lookup.h"
#include "adagp/rivals/options/options.h"

namespace adagp::parallel {
namespace {

const std::string& kind_of(const config::RunConfig& config) {
  return config.parts.get<rivals::CompressOptions>().kind;
}

}  // namespace

CompressorEntry compressor_entry() {
  using Maker = decltype(CompressorEntry::make);
  static constexpr std::pair<const char*, Maker> kMakers[] = {
      {"top-k", make_top_k}, {"power-sgd", make_power_sgd}, {"sign", make_sign}};
  return {[](const config::RunConfig& config) {
            return kind_of(config) == "none" ? std::string() : "compress.kind = " + kind_of(config);
          },
          [](const config::RunConfig& config, comm::Group& group,
             const std::vector<optim::Param>& params) {
            return core::find_named(kMakers, kind_of(config), "compress.kind: unknown compressor")
                .second(config, group, params);
          }};
}

}  // namespace adagp::parallel
