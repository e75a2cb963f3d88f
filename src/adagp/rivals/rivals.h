#pragma once
// Methods of other papers and experiments of ours, beside the engine: predictors, methods, number
// formats, compressed gradients. The engine knows none of them by name; a program that wants them
// calls add() first, before it reads a configuration.

namespace adagp::rivals {

// A second call does nothing.
void add();

}  // namespace adagp::rivals
