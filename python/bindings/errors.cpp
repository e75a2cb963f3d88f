// C++ errors as the exceptions of adagp/errors.py, with the program's texts.

#include "adagp/core/error.h"

#include "bindings.h"

namespace nb = nanobind;

namespace adagp::python {
namespace {

void raise(const char* name, const char* text) {
  const nb::object type = nb::module_::import_("adagp.errors").attr(name);
  PyErr_SetString(type.ptr(), text);
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const UsageError& error) {
      raise("UsageError", error.what());
    } catch (const DataError& error) {
      raise("DataError", error.what());
    } catch (const DivergedError& error) {
      raise("DivergedError", error.what());
    } catch (const Error& error) {
      raise("Error", error.what());
    }
  });
}

}  // namespace adagp::python
