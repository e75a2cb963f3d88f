#pragma once
// The public headers of the training engine, for projects that use adagp as a library. They need
// LibTorch.
//
// These headers, and what they include, are installed. docs/library.md shows their use.

#include "adagp/config/run_config.h"        // everything a run is told
#include "adagp/core/error.h"               // what the library throws
#include "adagp/data/sets/registry.h"       // images of your own
#include "adagp/experiment/compare.h"       // several methods side by side
#include "adagp/experiment/evaluate_run.h"  // the score of saved weights
#include "adagp/layers/from_model.h"        // the layer table of your network, for the simulators
#include "adagp/models/model.h"             // what the engine asks of a network
#include "adagp/nn/conv_norm.h"             // convolution and batch norm in one step
#include "adagp/nn/layer.h"                 // Conv2d and Linear, whose gradients can be predicted
#include "adagp/report/summary.h"           // what a finished run amounts to
#include "adagp/task/classification.h"      // the task for images of your own
#include "adagp/task/task.h"                // a task of your own
#include "adagp/train/build.h"              // train()
