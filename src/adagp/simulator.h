#pragma once
// The public headers of the simulators, for projects that use adagp as a library. Torch-free.
//
// These headers, and what they include, are installed. docs/library.md shows their use.

#include "adagp/accel/accelerator.h"        // the machine
#include "adagp/accel/dataflow/dataflow.h"  // dataflows by name
#include "adagp/accel/design/design.h"      // designs by name
#include "adagp/accel/plan.h"               // a network and a batch size, ready for simulation
#include "adagp/accel/simulate.h"           // inference and training runs on a machine
#include "adagp/core/error.h"               // what the library throws
#include "adagp/layers/pt2.h"               // layer tables of networks exported from Python
#include "adagp/layers/table.h"             // layer tables, CSV
#include "adagp/pipeline/schedules.h"       // pipeline schedules by name
#include "adagp/pipeline/simulate.h"        // the time of a sequence of batches on a pipeline
#include "adagp/pipeline/training.h"        // the time of a training run on a pipeline
#include "adagp/schedule/schedule.h"        // which batch is BP and which GP
#include "adagp/zoo/zoo.h"                  // networks and accelerators by name
