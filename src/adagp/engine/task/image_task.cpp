#include "adagp/engine/task/image_task.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::task {

void resolve_classes(config::RunConfig& config, size_t data_classes) {
  const auto classes = static_cast<int64_t>(data_classes);
  if (config.model.classes == 0) config.model.classes = classes;
  if (config.model.classes >= classes) return;
  throw UsageError(core::cat("model.classes = ", config.model.classes, ": the data set has ",
                             classes, "; leave model.classes out, or take weights for as many"));
}

std::string class_names_text(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

models::Options image_model_options(const config::RunConfig& config) {
  models::Options options;
  options.form = models::parse_form(config.model.form);
  options.classes = config.model.classes;
  options.width_divisor = config.model.width_divisor;
  options.reversible = config.model.reversible;
  options.duplex = config.model.duplex;
  return options;
}

at::Tensor random_images(const config::RunConfig& config, int64_t count, int64_t height,
                         int64_t width, at::Device device) {
  const auto type = config.precision == "bf16" ? at::kBFloat16 : at::kFloat;
  return at::randn({count, 3, height, width}, at::TensorOptions(device).dtype(type))
      .contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace adagp::task
