#pragma once
// stdout: what a command prints, and the certainty that it arrived.

#include <string_view>

namespace adagp::core {

// Opens descriptors 0, 1 and 2 on /dev/null where the caller closed them; the next file the program
// opens would get their number otherwise, and messages would end up in it. First thing in main().
void open_standard_streams();

// All of these throw Error with the system's reason (a full disk, ...).
// Text for people: what a terminal would obey is made visible (foreign_text.h).
void print(std::string_view text);
// CSV and JSON, byte by byte; on a terminal like print().
void print_data(std::string_view text);
// A command's result, which is one or the other by its flags.
inline void print_result(std::string_view text, bool is_data) {
  is_data ? print_data(text) : print(text);
}
// At the end of main(): everything printed so far must have arrived.
void flush_stdout();
// Before a line on stderr. Where it fails, flush_stdout() will say why.
void try_flush_stdout() noexcept;

}  // namespace adagp::core
