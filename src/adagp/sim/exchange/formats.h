#pragma once
// Files for other simulators: the products of a network and the accelerator, in their words. One
// file for each writer, one line in formats.cpp.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/exchange/loop_nest.h"
#include "adagp/sim/layers/table.h"

namespace adagp::exchange {

struct File {
  std::string name;
  std::string text;
};

struct Request {
  const layers::Table& table;
  const accel::Accelerator& accelerator;
  int64_t batch = 1;
  accel::SizeRule rule = accel::SizeRule::kFloor;
};

// Contract. `files` is a pure function. It writes every product that `nests` has (loop_nest.h) and
// the accelerator. Throws UsageError for an accelerator that the other simulator cannot describe.
struct Format {
  const char* name;
  const char* about;  // what is written, for people
  std::vector<File> (*files)(const Request& request, const std::vector<LoopNest>& nests);
};

std::span<const Format> formats();

// Writes the files of a format into the folder, which it makes, and removes those of the format's
// names that another network left there. Returns one line for people.
// Throws UsageError with the nearest name.
std::string write_files(const std::string& format, const Request& request,
                        const std::string& folder);

std::vector<File> scalesim_files(const Request& request, const std::vector<LoopNest>& nests);
std::vector<File> timeloop_files(const Request& request, const std::vector<LoopNest>& nests);
std::vector<File> zigzag_files(const Request& request, const std::vector<LoopNest>& nests);

}  // namespace adagp::exchange
