#pragma once
// The public headers of the training engine, for projects that use adagp as a library. They need
// LibTorch.
//
// These headers, and what they include, are installed. docs/library.md shows their use.

#include "adagp/base/config/run_config.h"     // everything a run is told
#include "adagp/base/core/error.h"            // what the library throws
#include "adagp/engine/data/sets/registry.h"  // images of your own
#include "adagp/engine/layers/from_model.h"   // the layer table of your network, for the simulators
#include "adagp/engine/models/model.h"        // what the engine asks of a network
#include "adagp/engine/nn/conv_norm.h"        // convolution and batch norm in one step
#include "adagp/engine/nn/layer.h"            // Conv2d and Linear, whose gradients can be predicted
#include "adagp/engine/task/classification.h"   // the task for images of your own
#include "adagp/engine/task/task.h"             // a task of your own
#include "adagp/engine/train/build.h"           // train()
#include "adagp/lab/experiment/compare.h"       // several methods side by side
#include "adagp/lab/experiment/evaluate_run.h"  // the score of saved weights
#include "adagp/results/report/summary.h"       // what a finished run amounts to
