#include "adagp/engine/data/sets/registry.h"

#include "adagp/base/core/error.h"
#include "unit/data/helpers.h"

namespace adagp::data::testing {
namespace {

Config named(const std::string& name) {
  Config config;
  config.name = name;
  return config;
}

TEST(DataSets, OneOfAnotherTaskIsRefusedWithThoseOfTheTask) {
  expect_part(message_of<UsageError>([] { open(named("voc")); }),
              "data set 'voc' is for detection, not for classification; those are synthetic, ");
  expect_part(message_of<UsageError>([] { open_detection(named("multi30k")); }),
              "is for translation, not for detection; those are synthetic-detection, voc");
  expect_part(message_of<UsageError>([] { open_text(named("cifar10"), {}); }),
              "is for classification, not for translation; those are synthetic-translation, ");
}

TEST(DataSets, EveryTaskHasOneThatNeedsNoFiles) {
  for (const Entry& entry : registry()) {
    const std::string tail = entry.task() == "classification" ? "" : "-" + entry.task();
    EXPECT_EQ(without_files(entry.name), "; --data synthetic" + tail + " needs no files");
  }
}

}  // namespace
}  // namespace adagp::data::testing
