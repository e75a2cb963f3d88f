#pragma once
// What the libraries of communication read from the environment. No torch here.

namespace adagp::comm {

// Sets the variables that gloo, NCCL and the resolver of names look at, where the user has not set
// them. Call it at the beginning of main(): other threads may read the environment while it is
// changed.
void set_library_variables();

}  // namespace adagp::comm
