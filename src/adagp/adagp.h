#pragma once
// Everything that this installation of adagp offers to other projects: the simulators, and the
// training engine where it was built with LibTorch (the target adagp::adagp defines the macro).

#include "adagp/simulator.h"
#ifdef ADAGP_WITH_TORCH
#include "adagp/training.h"
#endif
