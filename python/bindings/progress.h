#pragma once
// Long calls: they run without the interpreter's lock, tell Python how far they are, and end with
// KeyboardInterrupt on Ctrl-C.

#include <nanobind/nanobind.h>

namespace adagp::python {

// Throws KeyboardInterrupt after Ctrl-C. To be called without the lock, from the thread that Python
// called; so is tell().
inline void check_signals() {
  const nanobind::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// `callback` is None or takes (done, all).
inline void tell(const nanobind::object& callback, size_t done, size_t all) {
  check_signals();
  const nanobind::gil_scoped_acquire lock;
  if (!callback.is_none()) callback(done, all);
}

}  // namespace adagp::python
