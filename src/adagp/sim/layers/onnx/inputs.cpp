#include "adagp/sim/layers/onnx/inputs.h"

#include <algorithm>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::layers {
namespace {

using Symbols = std::map<std::string, int64_t>;

// "Nx3x?x?": names of sizes that are not fixed.
std::string shape_text(const std::vector<OnnxSize>& sizes) {
  std::vector<std::string> texts;
  for (const OnnxSize& one : sizes) {
    texts.push_back(one.size ? std::to_string(*one.size) : one.symbol.empty() ? "?" : one.symbol);
  }
  return core::join(texts, "x");
}

[[noreturn]] void refuse(const OnnxShape& input) {
  throw UsageError(
      core::cat("input '", input.name, "' has the shape ", shape_text(*input.sizes),
                "; tell its sizes for one example: adagp layers --onnx FILE --input 3x224x224, "
                "input=(3, 224, 224) in Python"));
}

class InputFixer {
 public:
  InputFixer(const OnnxInputs& wanted, Symbols& symbols)
      : batch_(std::max<int64_t>(1, wanted.batch)), wanted_batch_(wanted.batch), symbols_(symbols) {
    for (const auto& [name, sizes] : wanted.sizes) {
      if (name.empty()) {
        in_order_.push_back(sizes);
      } else if (!by_name_.emplace(name, sizes).second) {
        throw UsageError("two shapes of input '" + name + "'");
      }
    }
  }

  OnnxInput fix(const OnnxShape& input);
  // Throws UsageError for a first input that has another batch than was told.
  void check_batch(const OnnxInput& input) const;
  // Throws for sizes of no input.
  void finish() const;

 private:
  const std::vector<int64_t>* told(const std::string& name);

  int64_t batch_, wanted_batch_;
  Symbols& symbols_;
  std::vector<std::vector<int64_t>> in_order_;
  std::map<std::string, std::vector<int64_t>> by_name_;
  size_t next_ = 0;
  std::set<std::string> used_;
};

const std::vector<int64_t>* InputFixer::told(const std::string& name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    used_.insert(name);
    return &found->second;
  }
  return next_ < in_order_.size() ? &in_order_[next_++] : nullptr;
}

OnnxInput InputFixer::fix(const OnnxShape& input) {
  if (!input.sizes) throw DataError("input '" + input.name + "' has no shape");
  const std::vector<OnnxSize>& sizes = *input.sizes;
  const std::vector<int64_t>* given = told(input.name);
  const bool without_batch = given != nullptr && given->size() + 1 == sizes.size();
  if (given != nullptr && !without_batch && given->size() != sizes.size()) refuse(input);
  OnnxInput out{input.name, {}, {}};
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::optional<int64_t> size = sizes[i].size;
    const bool first_of_example = without_batch && i == 0;
    if (given != nullptr && !first_of_example) {
      const int64_t wanted = (*given)[without_batch ? i - 1 : i];
      if (wanted < 1 || (size && *size != wanted)) refuse(input);
      size = wanted;
    }
    const auto known = symbols_.find(sizes[i].symbol);
    if (!size && !sizes[i].symbol.empty() && known != symbols_.end()) size = known->second;
    if (!size && i == 0) size = batch_;
    if (!size) refuse(input);
    if (!sizes[i].size && !sizes[i].symbol.empty()) symbols_.emplace(sizes[i].symbol, *size);
    out.sizes.push_back(*size);
    out.free.push_back(!sizes[i].size);
  }
  return out;
}

void InputFixer::check_batch(const OnnxInput& input) const {
  if (wanted_batch_ < 1 || !input.free.at(0)) return;
  const size_t first = std::min<size_t>(2, input.sizes.size());  // of sequences the second
  for (size_t i = 0; i < first; ++i) {
    if (input.sizes[i] == wanted_batch_) return;
  }
  throw UsageError(core::cat("--batch is ", wanted_batch_, ", but --input gives '", input.name,
                             "' ", input.sizes[0], "; leave one of them out"));
}

void InputFixer::finish() const {
  for (const auto& [name, sizes] : by_name_) {
    if (!used_.contains(name)) throw UsageError("the file has no input '" + name + "'");
  }
  if (next_ < in_order_.size()) {
    throw UsageError(core::cat("sizes of ", in_order_.size(), " inputs, but the file has ", next_));
  }
}

}  // namespace

std::vector<OnnxInput> fixed_inputs(const OnnxGraph& graph, const OnnxInputs& wanted,
                                    Symbols& symbols) {
  std::set<std::string> constants;
  for (const OnnxTensor& one : graph.constants) constants.insert(one.name);
  InputFixer fixer(wanted, symbols);
  std::vector<OnnxInput> out;
  for (const OnnxShape& input : graph.inputs) {
    if (!constants.contains(input.name)) out.push_back(fixer.fix(input));
  }
  if (out.empty()) throw DataError("has no input");
  if (!out[0].sizes.empty()) fixer.check_batch(out[0]);
  fixer.finish();
  return out;
}

std::string OnnxScope::define(const std::string& name) {
  std::string global = prefix_ + name;
  if (!names_.try_emplace(name, global).second) {
    throw DataError("two values are named '" + name + "'");
  }
  return global;
}

std::optional<std::string> OnnxScope::find(const std::string& name) const {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  return outer_ == nullptr ? std::nullopt : outer_->find(name);
}

}  // namespace adagp::layers
