#pragma once
// Lists and ranges on the command line, which make sweeps.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace adagp::study {

// "a, b": without spaces and empty parts. `flag` names the flag in the UsageError for an empty list
// or a name given twice.
std::vector<std::string> parse_names(const std::string& text, const std::string& flag);

// "16,32", "8..64:8" (8, 16, ... 64), "8..64*2" (8, 16, 32, 64), "1..4". Numbers from 1 to
// `largest`, each once, a million at most. Throws UsageError naming the flag and the part.
std::vector<int64_t> parse_numbers(const std::string& text, const std::string& flag,
                                   int64_t largest);

// "12x15", "8..32:8x8..32:8" (every pair), "16" (square); rows and columns from 1 to 65536, each
// pair once, a million at most.
std::vector<std::pair<int64_t, int64_t>> parse_arrays(const std::string& text,
                                                      const std::string& flag);

// "a[x,y],b" are two: separators inside of brackets are none.
std::vector<std::string> split_outside(const std::string& text, char separator);

}  // namespace adagp::study
