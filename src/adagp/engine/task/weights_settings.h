#pragma once
// What a weights file says of the data it was trained on: without it the same weights give another
// score.

#include "adagp/base/config/run_config.h"
#include "adagp/engine/task/task.h"

namespace adagp::task {

// Task, data set, normalisation, image size and the other keys an evaluation depends on, for the
// metadata of a weights file: key of the configuration -> value as TOML.
Metadata settings_metadata(const config::RunConfig& config, const Task& task);

// Takes these into `config`; what the metadata does not say stays as it is. Throws DataError naming
// `file` for values that cannot be.
void read_settings(const Metadata& metadata, const std::string& file, config::RunConfig& config);

// The mean and standard deviation alone, where `config` has none: training goes on from weights
// with the pixels they know. Reads config.weights, when it is set.
void read_normalisation(config::RunConfig& config);

// Says so when the weights were trained on images of another size than the task's.
void compare_image_sizes(const Metadata& metadata, const std::string& file,
                         const config::RunConfig& config, const Task& task);

// The metadata of a safetensors file.
Metadata metadata_of(const std::string& file);

}  // namespace adagp::task
