#pragma once
// What the flags of `adagp simulate` name: networks, machines, designs, sizes.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "adagp/papers/study/study.h"

namespace adagp::study {

struct Source {
  const layers::Table* table;
  std::string model, input;
  accel::SizeRule rule = accel::SizeRule::kFloor;
};

// Reads the tables into `study`. Throws UsageError and DataError.
std::vector<Source> read_sources(const Options& options, Study& study);

// What the flags list, before anything is made of it.
struct Lists {
  std::vector<std::string> accelerators;
  std::vector<std::pair<int64_t, int64_t>> arrays;  // empty: the accelerator's
  std::vector<std::string> dataflows;               // empty: the accelerator's
  std::vector<int64_t> batches;
  std::vector<predictor::Config> predictors;
};

Lists read_lists(const Options& options);

// Calls what the caller gave once in a thousand times.
class SeldomCheck {
 public:
  explicit SeldomCheck(const std::function<void()>& check) : check_(check) {}
  void operator()() {
    if (check_ && ++calls_ % 1024 == 0) check_();
  }

 private:
  const std::function<void()>& check_;
  size_t calls_ = 0;
};

std::vector<accel::Accelerator> make_machines(const Options& options, const Lists& lists,
                                              SeldomCheck& check);
std::vector<const accel::Design*> read_designs(const Options& options);

}  // namespace adagp::study
