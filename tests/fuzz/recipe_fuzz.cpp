// Any text is either a UsageError or a recipe that, written out, loads back to the same values.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "adagp/base/core/binding.h"
#include "adagp/base/core/error.h"

namespace {

// A field of each type, plain and in tables.
struct Recipe {
  std::string model = "vgg13_bn", head = "predicted";
  int64_t epochs = 90, batch = 128;
  double lr = 0.1;
  bool deterministic = false;
  std::vector<double> mean;
  std::vector<int64_t> milestones;
  std::vector<std::string> methods;

  adagp::core::Binding binding() {
    adagp::core::Binding out;
    out.bind("model", &model, "");
    out.bind("head", &head, "").one_of({"predicted", "exact", "frozen"});
    out.bind("epochs", &epochs, "").at_least(1);
    out.bind("data.batch", &batch, "").between(1, 65536);
    out.bind("optim.lr", &lr, "").at_least(0);
    out.bind("deterministic", &deterministic, "");
    out.bind("data.mean", &mean, "");
    out.bind("optim.policy.milestones", &milestones, "");
    out.bind("methods", &methods, "");
    return out;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), count);
  Recipe first;
  adagp::core::Binding loaded = first.binding();
  try {
    loaded.load_toml(text, "fuzz.toml");
  } catch (const adagp::UsageError&) {
    return 0;
  }
  Recipe second;
  adagp::core::Binding again = second.binding();
  again.load_toml(loaded.to_toml(), "again.toml");  // throwing here is a bug
  if (!loaded.differences(again).empty()) std::abort();
  return 0;
}
