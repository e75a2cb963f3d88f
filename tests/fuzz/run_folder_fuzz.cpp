// Any files in a run folder are either a DataError or a page that says what was left out; whatever
// they hold, the page has the two scripts that are its own and no element that a file named. The
// files of the input are separated by lines of "%%": config.toml, metrics.jsonl, summary.json,
// environment.json, layers.csv, the comparison's budget.json, and a file of results.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/results/page/page.h"

namespace {

using namespace adagp;

const core::fs::path& home() {
  static const core::fs::path kHome = [] {
    const auto folder =
        core::fs::temp_directory_path() / ("adagp-fuzz-" + std::to_string(getpid()));
    core::make_folder(folder / "runs" / "a-seed0");
    std::atexit([] {
      std::error_code ignored;
      core::fs::remove_all(
          core::fs::temp_directory_path() / ("adagp-fuzz-" + std::to_string(getpid())), ignored);
    });
    return folder;
  }();
  return kHome;
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

void write(const core::fs::path& file, const std::string& text) {
  std::error_code ignored;
  core::fs::remove(file, ignored);
  if (text.empty()) return;
  FILE* out = std::fopen(file.c_str(), "wb");
  if (out == nullptr) std::abort();
  std::fwrite(text.data(), 1, text.size(), out);
  std::fclose(out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string rest(reinterpret_cast<const char*>(bytes), size);
  const auto run = home() / "runs" / "a-seed0";
  for (const auto& file :
       {run / "config.toml", run / "metrics.jsonl", run / "summary.json", run / "environment.json",
        run / "layers.csv", home() / "runs" / "budget.json", home() / "results.json"}) {
    const size_t end = rest.find("\n%%\n");
    write(file, rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + 4);
  }
  page::Inputs inputs;
  try {
    inputs = page::read_inputs({(home() / "runs").string(), (home() / "results.json").string()});
  } catch (const DataError&) {
    return 0;
  }
  const std::string page = page::make_page(inputs, {});
  if (count(page, "<script") != 2 || count(page, "</script") != 2) std::abort();
  if (count(page, "<img") != 0 || count(page, "<body") != 1) std::abort();
  return 0;
}
