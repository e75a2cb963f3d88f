#pragma once
// Exceptions of other libraries as messages for people.

#include <exception>
#include <optional>
#include <string>

namespace adagp::core {

// The text without the stack trace that LibTorch adds and without the JSON library's names; of an
// allocation that failed, how much it was and what to do; of a file, its name and the system's
// reason.
std::string plain_message(const std::exception& error);

// Bytes that could not be had, 0 when the error does not tell; nothing: it is another error. Of
// the host's memory: LibTorch has a type of its own for a GPU's.
std::optional<double> failed_allocation(const std::exception& error);

}  // namespace adagp::core
