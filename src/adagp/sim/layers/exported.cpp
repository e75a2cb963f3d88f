#include "adagp/sim/layers/exported.h"

#include <algorithm>
#include <optional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/exported_rows.h"

namespace adagp::layers {

std::string sizes_text(const std::vector<int64_t>& sizes) {
  std::vector<std::string> texts;
  for (const int64_t size : sizes) texts.push_back(std::to_string(size));
  return texts.empty() ? "1" : core::join(texts, "x");
}

namespace {

// The graph read with one idea of where the examples are.
struct Reading {
  RowReader reader;
  int64_t batch;

  Reading(const Graph& graph, int64_t examples) : reader(graph, examples), batch(examples) {
    for (const Node& node : graph.nodes) reader.read(node);
  }
  bool fits() const { return reader.undivided.empty() && !reader.unbatched; }
};

// Which of the input's sizes is the batch: as asked for, else the first. A wrong one would divide
// the network's work by the wrong number, so all of its products must agree.
class BatchFinder {
 public:
  BatchFinder(const Graph& graph, int64_t wanted, const std::string& flag)
      : graph_(graph), wanted_(wanted), flag_(flag) {
    if (!graph.inputs.empty()) input_ = graph.values.at(graph.inputs[0]);
    first_ = input_.dim() == 0 ? 1 : std::max<int64_t>(1, input_.size(0));
    dynamic_ = input_.dim() > 0 && input_.free[0];
  }

  Reading find() {
    if (wanted_ == 0 || wanted_ == first_ || dynamic_) return by_first_size();
    return wanted_ == 1 ? without_batch() : by_other_size();
  }

  // Whether the file leaves the first size of its input free.
  bool dynamic() const { return dynamic_; }

  std::string note;

 private:
  std::string input_text() const { return sizes_text(input_.sizes); }

  Reading whole() {
    note = core::cat("the exported input, ", input_text(),
                     ", has no batch dimension: the whole of it is one example");
    return {graph_, 1};
  }

  Reading by_first_size() {
    Reading reading(graph_, first_);
    if (reading.fits()) return reading;
    // Convolutions and recurrent layers tell; one dimension alone is of features.
    if (reading.reader.unbatched || input_.dim() == 1) {
      if (wanted_ == 0) return whole();
      throw UsageError(core::cat("the exported input, ", input_text(),
                                 ", has no batch dimension; leave --batch out, or give --batch 1"));
    }
    if (wanted_ != 0) return reading;
    throw DataError(core::cat(
        "the first size of the exported input ", input_text(), ", ", first_,
        ", does not divide the product '", reading.reader.undivided,
        "', so it is not the number of examples; tell 'adagp layers ", flag_,
        " FILE --csv' by --batch N which size of it is the batch (1 when the whole input is one "
        "example, ",
        first_, " when it is the first all the same: such products then count as missing)"));
  }

  Reading without_batch() {
    if (Reading(graph_, first_).fits()) refuse();
    return whole();
  }

  Reading by_other_size() {
    const auto& sizes = input_.sizes;
    if (std::find(sizes.begin(), sizes.end(), wanted_) == sizes.end()) refuse();
    Reading reading(graph_, wanted_);
    if (!reading.fits()) refuse();
    note = core::cat("batch ", wanted_, " is not the first size of the exported input, ",
                     input_text());
    return reading;
  }

  [[noreturn]] void refuse() const {
    throw UsageError(core::cat(
        "--batch ", wanted_, ", but the network was exported with a batch of ", first_,
        " (its input is ", input_text(),
        "); leave --batch out: a table is always of one example, and simulate has a --batch of its "
        "own"));
  }

  const Graph& graph_;
  int64_t wanted_;
  std::string flag_;
  Value input_;
  int64_t first_ = 1;
  bool dynamic_ = false;
};

// Sizes of the inputs without the batch, which is along the axis where the first input has it.
std::string inputs_text(const Graph& graph, int64_t batch, bool has_batch) {
  std::vector<std::string> texts;
  std::optional<size_t> axis;
  for (const std::string& name : graph.inputs) {
    std::vector<int64_t> sizes = graph.values.at(name).sizes;
    if (!axis && has_batch) {
      axis = static_cast<size_t>(std::find(sizes.begin(), sizes.end(), batch) - sizes.begin());
    }
    if (axis && *axis < sizes.size() && sizes[*axis] == batch) {
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(*axis));
    }
    texts.push_back(sizes_text(sizes));
  }
  return core::join(texts, ",");
}

}  // namespace

Exported exported_table(const Graph& graph, const std::string& model, int64_t batch,
                        const std::string& flag) {
  BatchFinder finder(graph, std::max<int64_t>(0, batch), flag);
  Reading reading = finder.find();
  const bool whole = reading.batch == 1 && !finder.note.empty();
  if (finder.note.empty()) {
    finder.note = core::cat(
        finder.dynamic() ? "exported with a free batch, read with " : "exported with a batch of ",
        reading.batch, ", the first size of its input, which is divided out of all sizes");
  }
  Exported out;
  out.batch = reading.batch;
  out.note = finder.note;
  out.table = {model, inputs_text(graph, reading.batch, !whole), std::move(reading.reader.rows),
               std::move(reading.reader.uncounted)};
  out.parameters = graph.parameters;
  return out;
}

}  // namespace adagp::layers
