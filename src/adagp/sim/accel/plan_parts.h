#pragma once
// The predictor's part of a plan.

#include "adagp/sim/accel/plan.h"

namespace adagp::accel {

// UsageError for an unknown kind or a size out of range.
void check_predictor(const predictor::Config& config);
// Whether biases move in GP batches, too.
bool predicts_biases(const predictor::Config& config);
// What goes through the predictor for a layer: its output channels; remap takes the output of a
// linear layer as one image.
int64_t predictor_samples(const predictor::Config& config, const layers::Row& row);
// Columns of the predictor's FC that a layer uses.
int64_t predictor_width(const predictor::Config& config, const layers::Row& row);
// Weights of a predictor whose FC has `width` columns.
int64_t predictor_size(const predictor::Config& config, int64_t width);
// `widest`: the largest predictor_width of the network.
PredictorPlan plan_predictor(const predictor::Config& config, const layers::Row& row, int64_t batch,
                             int64_t widest);

}  // namespace adagp::accel
