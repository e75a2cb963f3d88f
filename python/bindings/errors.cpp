// C++ errors as the exceptions of adagp/errors.py, with the program's texts about arguments.

#include "adagp/base/core/error.h"

#include <cstring>

#include "bindings.h"

namespace nb = nanobind;

namespace adagp::python {
namespace {

void raise(const char* name, const char* text) {
  const nb::module_ errors = nb::module_::import_("adagp.errors");
  // A text may quote a file's bytes, which need not be UTF-8.
  const nb::object message =
      nb::steal(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace"));
  if (!message.is_valid()) return;
  PyErr_SetObject(errors.attr(name).ptr(), errors.attr("in_arguments")(message).ptr());
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
