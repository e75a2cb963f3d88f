#pragma once
// What the tasks on images share.

#include "adagp/engine/task/task.h"

namespace adagp::task {

// model.classes, where it was left out. Throws UsageError when it is fewer than the data set has.
void resolve_classes(config::RunConfig& config, size_t data_classes);
models::Options image_model_options(const config::RunConfig& config);
// [count, 3, height, width], channels-last, of the type that batches have.
at::Tensor random_images(const config::RunConfig& config, int64_t count, int64_t height,
                         int64_t width, at::Device device);

// A JSON list, for the metadata of a weights file; bytes that are not UTF-8 are replaced.
std::string class_names_text(const std::vector<std::string>& names);

}  // namespace adagp::task
