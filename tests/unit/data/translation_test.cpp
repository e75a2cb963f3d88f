#include "adagp/engine/data/sets/translation.h"

#include <algorithm>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/synthetic/language.h"
#include "unit/temp_folder.h"

namespace adagp::data {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A folder with a whole small data set; tests then spoil one file.
struct TextFolder {
  TextFolder() {
    write(folder / "train.en", "a b\na c\nb b c\n");
    write(folder / "train.de", "x y\nx x\ny x\n");
    write(folder / "val.en", "b a d\n");
    write(folder / "val.de", "y q\n");
    config.name = "multi30k";
    config.dir = folder.path().string();
  }
  std::string error() const {
    try {
      open_translation_data(config, options);
    } catch (const DataError& e) {
      return e.what();
    }
    return "";
  }
  testing::TempFolder folder;
  Config config;
  TextOptions options;
};

TEST(Vocabulary, NumbersWordsByFrequencyThenBytes) {
  const Vocabulary v({"b a c", "b c d", "b <eos> <eos>"}, 2);
  EXPECT_EQ(v.words(), (Words{"<unk>", "<pad>", "<bos>", "<eos>", "b", "c"}));
  EXPECT_EQ(v.numbers("c b a <eos>"), (std::vector<int64_t>{5, 4, kUnknown, kUnknown}));
  EXPECT_EQ(v.text({5, 4, 0}), "c b <unk>");
  EXPECT_THROW(v.word(6), Error);
}

TEST(Translation, ReadsAFolder) {
  const TextFolder f;
  const auto data = open_translation_data(f.config, f.options);
  EXPECT_EQ(data.source.words(), (Words{"<unk>", "<pad>", "<bos>", "<eos>", "b", "a", "c"}));
  EXPECT_EQ(data.target.size(), 6);
  EXPECT_EQ(data.train.size(), 3);
  EXPECT_EQ(data.train.source[2], (std::vector<int64_t>{4, 4, 6}));
  EXPECT_EQ(data.test.source[0], (std::vector<int64_t>{4, 5, kUnknown}));
  EXPECT_EQ(data.test.reference[0], "y q");
}

TEST(Translation, LimitsLeaveTheVocabularyAlone) {
  TextFolder f;
  f.config.limit = 1;
  const auto data = open_translation_data(f.config, f.options);
  EXPECT_EQ(data.train.size(), 1);
  EXPECT_EQ(data.source.size(), 7);
}

TEST(Translation, ForgivesCarriageReturnsByteOrderMarkAndAMissingEnd) {
  const TextFile file = parse_text("f",
                                   "\xef\xbb\xbf"
                                   "a b\r\nc");
  EXPECT_EQ(file.lines, (std::vector<std::string>{"a b", "c"}));
}

// As after `cat a.en b.en`, where an editor put a mark before each; on both sides, in all files.
TEST(Translation, ByteOrderMarksOfJoinedFilesChangeNothing) {
  const TextFolder plain, marked;
  const auto expected = open_translation_data(plain.config, plain.options);
  const std::string mark = "\xef\xbb\xbf";
  write(marked.folder / "train.en", mark + "a b\n" + mark + "a c\nb b c\n");
  write(marked.folder / "train.de", "x y\nx x\n" + mark + "y x\n");
  write(marked.folder / "val.en", mark + "b a d\n");
  write(marked.folder / "val.de", mark + "y q\n");
  const auto data = open_translation_data(marked.config, marked.options);
  EXPECT_EQ(data.source.words(), expected.source.words());
  EXPECT_EQ(data.target.words(), expected.target.words());
  EXPECT_EQ(data.train.source, expected.train.source);
  EXPECT_EQ(data.train.target, expected.train.target);
  EXPECT_EQ(data.test.reference, expected.test.reference);
}

TEST(Translation, NamesTheLineOfWhatIsWrong) {
  {
    const TextFolder f;
    write(f.folder / "train.en", "a b\na c\n");
    EXPECT_NE(f.error().find("train.de:3: no counterpart"), std::string::npos) << f.error();
  }
  {
    const TextFolder f;
    write(f.folder / "train.de", "x y\n \t\ny x\n");
    EXPECT_NE(f.error().find("train.de:2: empty line"), std::string::npos) << f.error();
  }
  {
    const TextFolder f;
    write(f.folder / "val.en", "b a\xff\n");
    EXPECT_NE(f.error().find("val.en:1: byte 4 (value 255) is not UTF-8"), std::string::npos)
        << f.error();
  }
  {
    const TextFolder f;
    write(f.folder / "train.en", "a b\nq r\nb b a\n");
    EXPECT_NE(f.error().find("train.en:2: no known word in 'q r'"), std::string::npos) << f.error();
  }
  {
    TextFolder f;
    f.options.longest = 2;
    EXPECT_NE(f.error().find("val.en:1: 3 words"), std::string::npos) << f.error();
  }
  {
    const TextFolder f;
    std::filesystem::remove(f.folder / "val.de");
    EXPECT_NE(f.error().find("has no val.de"), std::string::npos) << f.error();
  }
  {
    TextFolder f;
    f.config.dir += "/nowhere";
    EXPECT_NE(f.error().find("no such file"), std::string::npos) << f.error();
  }
}

TEST(Translation, LeavesOutLongTrainingPairs) {
  TextFolder f;
  f.options.longest = 2;
  write(f.folder / "val.en", "b a\n");
  EXPECT_EQ(open_translation_data(f.config, f.options).train.size(), 2);
}

TEST(Utf8, FindsTheFirstBadByte) {
  const auto npos = std::string::npos;
  EXPECT_EQ(find_invalid_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), npos);
  EXPECT_EQ(find_invalid_utf8("a\xc3"), 1U);             // cut off
  EXPECT_EQ(find_invalid_utf8("\xc0\xaf"), 0U);          // overlong
  EXPECT_EQ(find_invalid_utf8("b\xed\xa0\x80"), 1U);     // a surrogate
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0U);  // beyond Unicode
  EXPECT_EQ(find_invalid_utf8("\xe2\x28\xa1"), 0U);      // not a continuation
}

TEST(SyntheticLanguage, EveryTargetHasOneMeaning) {
  const SyntheticLanguage language(5);
  std::set<std::string> sources, targets;
  std::vector<SyntheticLanguage::Meaning> seen;
  core::Rng rng(1);
  for (int i = 0; i < 3000; ++i) {
    const auto meaning = SyntheticLanguage::draw(rng);
    if (std::find(seen.begin(), seen.end(), meaning) != seen.end()) continue;
    seen.push_back(meaning);
    const std::string target = language.target(meaning);
    EXPECT_TRUE(targets.insert(target).second) << target;
    EXPECT_TRUE(sources.insert(language.source(meaning)).second);
  }
}

TEST(SyntheticLanguage, IsADataSet) {
  Config config;
  config.name = "synthetic-translation";
  config.synthetic_train = 2000;
  config.synthetic_test = 50;
  const auto data = open_translation_data(config, {});
  EXPECT_EQ(data.train.size(), 2000);
  EXPECT_EQ(data.test.size(), 50);
  for (const auto& sentence : data.test.target) {
    EXPECT_EQ(std::count(sentence.begin(), sentence.end(), kUnknown), 0);
  }
  config.synthetic_seed += 1;
  EXPECT_NE(open_translation_data(config, {}).test.reference, data.test.reference);
}

// Counted with `tr ' ' '\n' | sort | uniq -c` over the files: words that occur twice or more, and
// the four marks.
TEST(Translation, ReadsTheMulti30kArchive) {
  Config config;
  config.name = "multi30k";
  config.dir = std::string(ADAGP_SOURCE_DIR) + "/../shared/data/multi30k-en-de-tok.tar.xz";
  if (!std::filesystem::exists(config.dir)) GTEST_SKIP() << config.dir << " is not here";
  TextOptions options;
  options.test = "test_2016_flickr";
  const auto data = open_translation_data(config, options);
  EXPECT_EQ(data.train.size(), 29000);
  EXPECT_EQ(data.test.size(), 1000);
  EXPECT_EQ(data.source.size(), 5917 + 4);
  EXPECT_EQ(data.target.size(), 7855 + 4);
  EXPECT_EQ(data.test.reference[0], "ein mann mit einem orangefarbenen hut , der etwas anstarrt .");
}

}  // namespace
}  // namespace adagp::data
