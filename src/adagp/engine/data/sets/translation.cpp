#include "adagp/engine/data/sets/translation.h"

#include <algorithm>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/archive.h"
#include "adagp/engine/data/sets/registry.h"

namespace adagp::data {
namespace {

using Files = std::map<std::string, std::string>;  // name -> bytes

Files read_text_files(const core::fs::path& path, const std::vector<std::string>& names) {
  Files files;
  const auto wanted = [&names](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (core::fs::is_directory(path)) {
    for (const auto& name : names) {
      if (core::fs::exists(path / name)) files[name] = core::read_regular_file(path / name);
    }
  } else {
    const auto name_of = [](const std::string& member) {
      return core::fs::path(member).filename().string();
    };
    io::for_each_member(
        path,
        [&](const std::string& member, std::string bytes) {
          files[name_of(member)] = std::move(bytes);
        },
        [&](const std::string& member) { return wanted(name_of(member)); });
  }
  return files;
}

void check_known(const std::vector<int64_t>& words, const TextFile& file, size_t line) {
  if (std::any_of(words.begin(), words.end(), [](int64_t w) { return w != kUnknown; })) return;
  throw DataError(core::cat(file.name, ":", line + 1, ": no known word in '", file.lines[line],
                            "'; remove the pair or lower translation.min_frequency"));
}

bool too_long(const Sentences& s, const TextOptions& options) {
  return static_cast<int64_t>(std::max(s.source.back().size(), s.target.back().size())) >
         options.longest;
}

Sentences to_numbers(const TextPair& text, const TranslationData& data, int64_t limit,
                     const TextOptions& options, bool training) {
  check_parallel(text.source, text.target);
  Sentences out;
  int64_t left_out = 0;
  for (size_t i = 0; i < text.source.lines.size(); ++i) {
    if (limit > 0 && out.size() == limit) break;
    out.source.push_back(data.source.numbers(text.source.lines[i]));
    out.target.push_back(data.target.numbers(text.target.lines[i]));
    check_known(out.source.back(), text.source, i);
    if (training) check_known(out.target.back(), text.target, i);
    if (!too_long(out, options)) {
      out.reference.push_back(text.target.lines[i]);
      continue;
    }
    if (!training) {
      throw DataError(core::cat(text.source.name, ":", i + 1, ": ", out.source.back().size(),
                                " words, their translation ", out.target.back().size(),
                                ", expected at most ", options.longest,
                                "; raise translation.longest"));
    }
    out.source.pop_back();
    out.target.pop_back();
    ++left_out;
  }
  if (left_out > 0) {
    core::log_warning(core::cat("data: ", left_out, " training pairs of more than ",
                                options.longest, " words are left out (translation.longest)"));
  }
  if (out.size() == 0) {
    throw DataError(core::cat(text.source.name, ": no sentence of at most ", options.longest,
                              " words; raise translation.longest"));
  }
  return out;
}

}  // namespace

TextSplits read_parallel(const Config& config, const TextOptions& options) {
  if (config.dir.empty()) {
    throw UsageError("data: " + config.name +
                     ": no path given; --data-dir takes a folder or an archive with train." +
                     options.source + ", train." + options.target + ", ..." +
                     without_files(config.name));
  }
  const core::fs::path path(config.dir);
  const std::string test = options.test;
  const std::vector<std::string> names{"train." + options.source, "train." + options.target,
                                       test + "." + options.source, test + "." + options.target};
  const std::string where = "data: " + config.name + ": " + path.string() + ": ";
  if (!core::fs::exists(path)) {
    throw DataError(where + "no such file or folder; expected one with " + core::join(names, ", ") +
                    without_files(config.name));
  }
  Files files = read_text_files(path, names);
  const auto take = [&](const std::string& name) {
    const auto found = files.find(name);
    if (found == files.end()) {
      throw DataError(where + "has no " + name + ", expected " + core::join(names, ", ") +
                      "; translation.source, .target and .test choose the names");
    }
    return parse_text((path / name).string(), found->second);
  };
  return {{take(names[0]), take(names[1])}, {take(names[2]), take(names[3])}};
}

TranslationData open_translation_data(const Config& config, const TextOptions& options) {
  const TextSplits text = open_text(config, options);
  TranslationData data;
  data.source = Vocabulary(text.train.source.lines, options.min_frequency);
  data.target = Vocabulary(text.train.target.lines, options.min_frequency);
  data.train = to_numbers(text.train, data, config.limit, options, true);
  data.test = to_numbers(text.test, data, config.test_limit, options, false);
  return data;
}

}  // namespace adagp::data
