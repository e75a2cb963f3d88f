#pragma once
// One HTML file that shows runs, comparisons and results of the simulators: no request leaves it,
// and without its script everything is still there to read and to print.

#include <string>

#include "adagp/results/page/inputs.h"

namespace adagp::page {

struct PageOptions {
  std::string title = "adagp report";
  std::string command;     // what makes this page, for its last section
  int reload_seconds = 0;  // 0: the page is final
};

// Equal inputs give equal bytes. Names from files are text in it and nothing else.
std::string make_page(const Inputs& inputs, const PageOptions& options);

}  // namespace adagp::page
