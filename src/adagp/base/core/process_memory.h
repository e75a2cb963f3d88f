#pragma once
// Memory of this process, in bytes; 0 where the system does not tell.

namespace adagp::core {

double resident_memory();  // now
double peak_memory();      // the largest it was

}  // namespace adagp::core
