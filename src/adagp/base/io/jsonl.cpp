#include "adagp/base/io/jsonl.h"

#include <cerrno>
#include <cstring>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"

namespace adagp::io {
namespace {

bool past_step(const nlohmann::json& record, int64_t keep_until_step) {
  if (!record.is_object()) return false;
  const auto step = record.find("step");
  return step != record.end() && step->is_number() &&
         step->get<double>() > static_cast<double>(keep_until_step);
}

// The lines to keep of an earlier run's file.
std::string kept_lines(std::string_view text, const std::string& name, int64_t keep_until_step) {
  std::string out;
  size_t number = 1;
  for (size_t start = 0; start < text.size(); ++number) {
    const size_t newline = text.find('\n', start);
    if (newline == std::string_view::npos) break;  // the process died while writing it
    const std::string_view line = text.substr(start, newline - start);
    const auto record = core::try_parse_json(line);
    if (!record) {
      core::log_warning(core::cat(name, ":", number, ": not JSON; the line is dropped"));
    } else if (!past_step(*record, keep_until_step)) {
      out.append(line).push_back('\n');
    }
    start = newline + 1;
  }
  return out;
}

}  // namespace

JsonlWriter::JsonlWriter(const core::fs::path& path, int64_t keep_until_step) : path_(path) {
  if (core::fs::exists(path)) {
    const std::string before = core::read_regular_file(path);
    const std::string kept = kept_lines(before, path.string(), keep_until_step);
    if (kept != before) core::write_file(path, kept);
  }
  file_ = std::fopen(path.c_str(), "ae");
  if (file_ == nullptr) {
    throw Error(core::cat(path.string(), ": cannot be opened: ", std::strerror(errno)));
  }
}

JsonlWriter::~JsonlWriter() {
  std::fclose(file_);
}

void JsonlWriter::write(const nlohmann::json& record) {
  std::string line = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  line.push_back('\n');
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size()) {
    throw Error(core::cat(path_.string(), ": writing failed: ", std::strerror(errno)));
  }
}

void JsonlWriter::flush() {
  if (std::fflush(file_) != 0) {
    throw Error(core::cat(path_.string(), ": writing failed: ", std::strerror(errno)));
  }
}

}  // namespace adagp::io
