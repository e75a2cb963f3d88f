#pragma once
// The public headers of the simulators, for projects that use adagp as a library. Torch-free.
//
// These headers, and what they include, are installed. docs/library.md shows their use.

#include "adagp/base/core/error.h"              // what the library throws
#include "adagp/base/schedule/schedule.h"       // which batch is BP and which GP
#include "adagp/sim/accel/accelerator.h"        // the machine
#include "adagp/sim/accel/dataflow/dataflow.h"  // dataflows by name
#include "adagp/sim/accel/design/design.h"      // designs by name
#include "adagp/sim/accel/plan.h"               // a network and a batch size, ready for simulation
#include "adagp/sim/accel/simulate.h"           // inference and training runs on a machine
#include "adagp/sim/layers/onnx.h"              // layer tables of networks in ONNX files
#include "adagp/sim/layers/pt2.h"               // layer tables of networks exported from Python
#include "adagp/sim/layers/table.h"             // layer tables, CSV
#include "adagp/sim/pipeline/schedules.h"       // pipeline schedules by name
#include "adagp/sim/pipeline/simulate.h"        // the time of a sequence of batches on a pipeline
#include "adagp/sim/pipeline/training.h"        // the time of a training run on a pipeline
#include "adagp/sim/zoo/zoo.h"                  // networks and accelerators by name
