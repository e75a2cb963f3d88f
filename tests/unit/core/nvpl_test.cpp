#include "adagp/base/core/nvpl.h"

#include <fstream>

#include <gtest/gtest.h>

#include "unit/temp_folder.h"

namespace adagp::core {
namespace {

void write_cache(const fs::path& folder, int index, const std::string& type,
                 const std::string& sets) {
  const fs::path cache = folder / ("index" + std::to_string(index));
  fs::create_directories(cache);
  std::ofstream(cache / "type") << type << "\n";
  if (!sets.empty()) std::ofstream(cache / "number_of_sets") << sets << "\n";
}

TEST(Nvpl, CachesHaveNoSizeOnlyWhereEveryDataCacheSaysZero) {
  const testing::TempFolder folder;
  const fs::path caches = folder.path();
  EXPECT_FALSE(caches_have_no_size(caches)) << "nothing described: NVPL has defaults of its own";
  write_cache(caches, 0, "Data", "");
  EXPECT_FALSE(caches_have_no_size(caches)) << "no number of sets: defaults again";
  write_cache(caches, 0, "Data", "0");
  write_cache(caches, 1, "Instruction", "256");
  write_cache(caches, 2, "Unified", "0");
  EXPECT_TRUE(caches_have_no_size(caches));
  write_cache(caches, 3, "Unified", "2048");
  EXPECT_FALSE(caches_have_no_size(caches)) << "one cache with a size is enough for NVPL";
}

}  // namespace
}  // namespace adagp::core
