// cpu.convolution: is the choice kept, found again, and without effect on what is computed?

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/run/layout_record.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/train/layout_choice.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"

namespace adagp::train {
namespace {

// The user's cache folder of a test.
class OwnCache {
 public:
  OwnCache() {
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    set(folder_.path().string());
  }
  ~OwnCache() { before_.empty() ? unsetenv("XDG_CACHE_HOME") : set(before_); }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;

  core::fs::path file() const { return folder_ / "adagp" / run::kLayoutFile; }

 private:
  static int set(const std::string& value) { return setenv("XDG_CACHE_HOME", value.c_str(), 1); }

  testing::TempFolder folder_;
  std::string before_;
};

config::RunConfig measured_config(const std::string& method = "adagp") {
  config::RunConfig c = small::config(method);
  c.cpu.convolution = "measured";
  return c;
}

// Every second product in contiguous memory, whatever this machine would choose.
run::LayoutRecord mixed_record(const config::RunConfig& c, int64_t examples) {
  at::set_num_threads(1);
  run::LayoutRecord out = run::this_machine();
  const auto net = task::build_net(c, *small::task());
  size_t number = 0;
  for (const auto& [name, shape] : convolutions_of(*net, c, *small::task())) {
    if (out.find(examples, shape) != nullptr) continue;
    run::MeasuredShape one{examples, shape, {}};
    for (nn::LayoutChoice& choice : one.choices) {
      const bool other = number++ % 2 == 0;
      choice.chosen = other ? nn::Layout::kContiguous : nn::Layout::kChannelsLast;
      choice.ms = {other ? 2.0 : 1.0, other ? 1.0 : 2.0};
    }
    out.shapes.push_back(one);
  }
  return out;
}

std::map<std::string, at::Tensor> layout_gradients(const config::RunConfig& c, bool wide) {
  step::Session s = small::session(c);
  const auto method = method::find_method(c.method).make(s);
  use_layouts(s, *method, nullptr);
  data::Batch batch = small::batch(c);
  if (wide) {
    s.net->to(at::kDouble);
    batch.inputs[0] = batch.inputs[0].to(at::kDouble);
  }
  const at::Tensor outputs = s.net->run(batch.inputs)[0];
  at::cross_entropy_loss(outputs, batch.labels()).backward();
  std::map<std::string, at::Tensor> out;
  for (const auto& item : s.net->named_parameters()) {
    out[item.key()] = item.value().grad().to(at::kDouble);
  }
  return out;
}

double gradient_distance(const std::map<std::string, at::Tensor>& a,
                         const std::map<std::string, at::Tensor>& b) {
  double apart = 0, norm = 0;
  for (const auto& [name, tensor] : a) {
    apart += (tensor - b.at(name)).square().sum().item<double>();
    norm += b.at(name).square().sum().item<double>();
  }
  return std::sqrt(apart / norm);
}

TEST(Layouts, ANetworksGradientsAreAsExactAsWithoutAChoice) {
  const OwnCache cache;
  config::RunConfig c = measured_config("bp");
  run::add_to_layout_cache(cache.file(), mixed_record(c, c.batch));
  config::RunConfig usual = small::config("bp"), contiguous = usual;
  contiguous.cpu.convolution = "contiguous";
  const auto exact = layout_gradients(usual, true);
  const double rounding = gradient_distance(layout_gradients(usual, false), exact);
  ASSERT_GT(rounding, 0);
  // Other orders of the same sums: the error differs, but not by orders of magnitude.
  EXPECT_LT(gradient_distance(layout_gradients(c, false), exact), 10 * rounding);
  EXPECT_LT(gradient_distance(layout_gradients(contiguous, false), exact), 10 * rounding);
}

TEST(Layouts, ARecordComesBackFromItsText) {
  const run::LayoutRecord record = mixed_record(measured_config(), 10);
  ASSERT_FALSE(record.shapes.empty());
  const run::LayoutRecord again = run::layout_record(to_text(record), "text");
  EXPECT_TRUE(again.same_machine(record));
  ASSERT_EQ(again.shapes.size(), record.shapes.size());
  for (const run::MeasuredShape& one : record.shapes) {
    const run::MeasuredShape* found = again.find(one.examples, one.shape);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->choices, one.choices);
  }
}

TEST(Layouts, ADamagedRecordIsRefused) {
  const std::string text = to_text(mixed_record(measured_config(), 10));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const auto at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), text.substr(0, text.size() / 2), std::string("[]"),
        with("\"format\": 1", "\"format\": 2"), with("\"contiguous\"", "\"diagonal\""),
        with("\"groups\": 1", "\"groups\": 0"), with("\"groups\": 1", "\"groups\": \"1\""),
        with("ms\": 1.0", "ms\": -1.0"), with("ms\": 1.0", "ms\": null"),
        with("\"kernel\"", "\"kernels\"")}) {
    EXPECT_THROW(run::layout_record(bad, "text"), DataError) << bad.substr(0, 80);
  }
}

TEST(Layouts, TheCacheKeepsMachinesApartAndAddsShapes) {
  const OwnCache cache;
  run::LayoutRecord record = mixed_record(measured_config(), 10), other = record;
  other.cpu = "another CPU";
  other.shapes.resize(1);
  run::add_to_layout_cache(cache.file(), other);
  EXPECT_TRUE(run::read_layout_cache(cache.file()).shapes.empty());
  run::LayoutRecord first = record, rest = record;
  first.shapes.resize(2);
  rest.shapes.erase(rest.shapes.begin());  // one in both
  run::add_to_layout_cache(cache.file(), first);
  run::add_to_layout_cache(cache.file(), rest);
  EXPECT_EQ(run::read_layout_cache(cache.file()).shapes.size(), record.shapes.size());
  EXPECT_NE(core::read_file(cache.file()).find("another CPU"), std::string::npos);
}

TEST(Layouts, ADamagedOrUnwritableCacheStopsNothing) {
  const OwnCache cache;
  const run::LayoutRecord record = mixed_record(measured_config(), 10);
  core::make_folder(cache.file().parent_path());
  core::write_file(cache.file(), "{\"machines\": [{\"cp");
  EXPECT_TRUE(run::read_layout_cache(cache.file()).shapes.empty());
  run::add_to_layout_cache(cache.file(), record);
  EXPECT_EQ(run::read_layout_cache(cache.file()).shapes.size(), record.shapes.size());
  EXPECT_NO_THROW(run::add_to_layout_cache("/dev/null/adagp/convolutions.json", record));
  EXPECT_NO_THROW(run::add_to_layout_cache("", record));
}

io::TensorMap trained_in(const config::RunConfig& c, const core::fs::path& folder) {
  train(c, small::task(), folder);
  return io::load_tensors(folder / "weights.safetensors").tensors;
}

TEST(Layouts, ARunKeepsItsTableAndMeasuresWhatItMeets) {
  const OwnCache cache;
  const testing::TempFolder folder;
  const config::RunConfig c = measured_config("progressive");
  trained_in(c, folder / "run");
  const run::LayoutRecord kept =
      run::layout_record(core::read_file(folder / "run" / run::kLayoutFile), "the run's");
  // The smaller images' maps are there too: more shapes than a network sees with one size.
  EXPECT_GT(kept.shapes.size(), mixed_record(c, c.batch).shapes.size());
  EXPECT_EQ(run::read_layout_cache(cache.file()).shapes.size(), kept.shapes.size());
  trained_in(small::config("bp"), folder / "usual");
  EXPECT_FALSE(core::fs::exists(folder / "usual" / run::kLayoutFile));
}

TEST(Layouts, EveryKindOfStepTakesAnyTable) {
  const OwnCache cache;
  const testing::TempFolder folder;
  run::add_to_layout_cache(cache.file(), mixed_record(measured_config(), 10));
  // The first epoch's loss is that of the usual layout, but for rounding.
  const auto same_loss = [&](config::RunConfig c, const std::string& name) {
    trained_in(c, folder / name);
    c.cpu.convolution = "channels-last";
    trained_in(c, folder / (name + "-usual"));
    const double loss = small::train_losses(folder / name).front();
    const double usual = small::train_losses(folder / (name + "-usual")).front();
    EXPECT_NEAR(loss, usual, 0.05 * usual) << name;
  };
  for (const std::string method : {"adagp", "low-res", "selective", "partial", "modules"}) {
    same_loss(measured_config(method), method);
  }
  config::RunConfig c = measured_config();
  c.predictor.kind = "dfa";  // gradients from activations
  same_loss(c, "dfa");
  c = measured_config("bp");
  c.precision = "fast";
  same_loss(c, "fast");
  c = measured_config("bp");
  c.model.name = "revnet18s";
  same_loss(c, "revnet");
}

}  // namespace
}  // namespace adagp::train
