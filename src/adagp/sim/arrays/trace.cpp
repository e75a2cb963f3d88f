#include "adagp/sim/arrays/trace.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/safetensors.h"

namespace adagp::arrays {
namespace {

using core::cat;
namespace fs = core::fs;

constexpr int kMostMantissa = 24;
constexpr int64_t kMostSide = int64_t{1} << 40;

[[noreturn]] void reject_trace(const std::string& file, const std::string& why) {
  throw DataError(file + ": not a valid trace: " + why);
}

// "features.10.conv" -> "features.", 10, ".conv": layer 10 comes after layer 9.
std::vector<std::pair<std::string, int64_t>> sorting_key(const std::string& name) {
  constexpr size_t kMostDigits = 9;
  std::vector<std::pair<std::string, int64_t>> key(1);
  size_t digits = 0;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9' && digits < kMostDigits;
    if (!digit && digits > 0) key.emplace_back();
    digits = digit ? digits + 1 : 0;
    if (digit) {
      key.back().second = 10 * key.back().second + (c - '0');
    } else {
      key.back().first += c;
    }
  }
  return key;
}

class Reader {
 public:
  explicit Reader(const io::SafeTensors& file) : file_(file) {
    for (const io::TensorEntry& entry : file.entries()) {
      const size_t slash = entry.name.rfind('/');
      if (slash == std::string::npos || slash == 0) {
        reject_trace(file.file_name(), "tensor '" + entry.name + "' is not LAYER/KIND");
      }
      layers_[entry.name.substr(0, slash)][entry.name.substr(slash + 1)] = &entry;
    }
  }

  std::vector<LayerTrace> layers(int64_t examples) {
    std::vector<LayerTrace> out;
    for (const auto& [name, tensors] : layers_) out.push_back(layer(name, tensors, examples));
    std::stable_sort(out.begin(), out.end(), [](const LayerTrace& a, const LayerTrace& b) {
      return sorting_key(a.name) < sorting_key(b.name);
    });
    return out;
  }

  int64_t number(const std::string& key, int64_t least) const {
    const std::string text = metadata(key);
    long long value = 0;
    if (!core::parse_integer(text, value) || value < least || value > kMostSide) {
      reject_trace(file_.file_name(), cat("metadata '", key, "' is '", text,
                                          "', expected a whole number from ", least, " on"));
    }
    return value;
  }

  std::string metadata(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) {
      reject_trace(file_.file_name(), "its metadata have no '" + key + "'");
    }
    return found->second;
  }

 private:
  using Tensors = std::map<std::string, const io::TensorEntry*>;

  [[noreturn]] void reject(const io::TensorEntry& entry, const std::string& why) const {
    reject_trace(file_.file_name(), "tensor '" + entry.name + "': " + why);
  }

  template <typename T>
  std::vector<T> values(const io::TensorEntry& entry, const char* dtype, size_t count) const {
    if (entry.dtype != dtype || entry.shape != std::vector<int64_t>{static_cast<int64_t>(count)}) {
      reject(entry, cat("expected ", dtype, " [", count, "]"));
    }
    std::vector<T> out(count);
    std::memcpy(out.data(), file_.data().data() + entry.begin, count * sizeof(T));
    return out;
  }

  const io::TensorEntry& needed(const std::string& layer, const Tensors& tensors,
                                const char* kind) const {
    const auto found = tensors.find(kind);
    if (found == tensors.end()) {
      reject_trace(file_.file_name(), cat("layer '", layer, "' has no tensor '", kind, "'"));
    }
    return *found->second;
  }

  accel::ZeroBits bits(const Tensors& tensors, const char* kind, int64_t channels) const {
    accel::ZeroBits out;
    const auto found = tensors.find(kind);
    if (found == tensors.end()) return out;
    const io::TensorEntry& entry = *found->second;
    const int64_t row_bytes = (channels + 7) / 8;
    if (entry.dtype != "U8" || entry.shape.size() != 4 || entry.shape[3] != row_bytes ||
        entry.begin == entry.end) {
      reject(entry, cat("expected U8 [.., .., .., ", row_bytes, "] for ", channels, " channels"));
    }
    out.outer = {entry.shape[0], entry.shape[1], entry.shape[2]};
    out.channels = channels;
    const std::string_view bytes = file_.data().substr(entry.begin, entry.end - entry.begin);
    out.bytes.assign(bytes.begin(), bytes.end());
    const int64_t used = channels % 8;
    if (used == 0) return out;
    for (size_t last = static_cast<size_t>(row_bytes) - 1; last < out.bytes.size();
         last += static_cast<size_t>(row_bytes)) {
      if (out.bytes[last] >> used != 0) {
        reject(entry, cat("a bit beyond channel ", channels - 1, " is set"));
      }
    }
    return out;
  }

  LayerTrace layer(const std::string& name, const Tensors& tensors, int64_t examples) const {
    for (const auto& [kind, entry] : tensors) {
      static const char* const kKinds[] = {"x.bits", "dy.bits",  "w.bits", "density",
                                           "shape",  "mantissa", "r"};
      if (std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds)) {
        reject(*entry, "of an unknown kind");
      }
    }
    LayerTrace out;
    out.name = name;
    const io::TensorEntry& shape = needed(name, tensors, "shape");
    const auto channels = values<int64_t>(shape, "I64", 3);
    for (const int64_t count : channels) {
      if (count < 1 || count > kMostSide) reject(shape, cat(count, " channels"));
    }
    out.x = bits(tensors, "x.bits", channels[0]);
    out.dy = bits(tensors, "dy.bits", channels[1]);
    out.w = bits(tensors, "w.bits", channels[2]);
    for (const accel::ZeroBits* sampled : {&out.x, &out.dy}) {
      if (!sampled->empty() && sampled->outer[0] != examples) {
        reject_trace(file_.file_name(), cat("layer '", name, "' has ", sampled->outer[0],
                                            " examples, the metadata say ", examples));
      }
    }
    const io::TensorEntry& density = needed(name, tensors, "density");
    const auto shares = values<float>(density, "F32", 3);
    for (size_t i = 0; i < 3; ++i) {
      if (!(shares[i] >= 0 && shares[i] <= 1)) {
        reject(density, cat("a density is ", shares[i], ", expected 0 to 1"));
      }
      out.density[i] = shares[i];
    }
    read_widths(tensors, out);
    return out;
  }

  void read_widths(const Tensors& tensors, LayerTrace& out) const {
    if (const auto found = tensors.find("mantissa"); found != tensors.end()) {
      const auto widths = values<uint8_t>(*found->second, "U8", 3);
      for (const int width : widths) {
        if (width > kMostMantissa) {
          reject(*found->second, cat("a mantissa of ", width, " bits, expected 1 to ",
                                     kMostMantissa, ", or 0 for fp32"));
        }
      }
      out.mantissa = std::array<int, 3>{widths[0], widths[1], widths[2]};
    }
    if (const auto found = tensors.find("r"); found != tensors.end()) {
      const auto r = values<float>(*found->second, "F32", 3);
      out.r = std::array<double, 3>{r[0], r[1], r[2]};
    }
  }

  const io::SafeTensors& file_;
  std::map<std::string, Tensors> layers_;
};

// "e007.safetensors" -> 7; nothing for other names.
std::optional<int64_t> epoch_of(const std::string& name) {
  constexpr std::string_view kEnd = ".safetensors";
  if (!name.starts_with('e') || !name.ends_with(kEnd)) return std::nullopt;
  const std::string digits = name.substr(1, name.size() - 1 - kEnd.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  long long epoch = 0;
  if (digits.size() < 3 || !std::all_of(digits.begin(), digits.end(), is_digit) ||
      !core::parse_integer(digits, epoch)) {
    return std::nullopt;
  }
  return epoch;
}

}  // namespace

const LayerTrace* Trace::find(const std::string& layer) const {
  for (const LayerTrace& one : layers) {
    if (one.name == layer) return &one;
  }
  return nullptr;
}

const LayerTrace* Trace::find(const layers::Row& row) const {
  const LayerTrace* own = find(row.name);
  if (own != nullptr || !layers::is_repeated(row)) return own;
  return find(row.name.substr(0, row.name.rfind('#')));
}

std::vector<fs::path> trace_files(const fs::path& run) {
  std::error_code ignored;
  if (fs::is_regular_file(run, ignored)) return {run};
  if (!fs::is_directory(run, ignored)) {
    throw DataError(run.string() + ": no such run folder or trace file");
  }
  std::vector<std::pair<int64_t, fs::path>> found;
  for (const auto& entry : fs::directory_iterator(run / "trace", ignored)) {
    if (const auto epoch = epoch_of(entry.path().filename().string())) {
      found.emplace_back(*epoch, entry.path());
    }
  }
  if (found.empty()) {
    throw DataError(
        run.string() +
        ": has no traces (trace/e001.safetensors, ...); train with "
        "--set trace.every=1ep --set trace.examples=8; the first is written after an epoch");
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> out;
  for (auto& [epoch, path] : found) out.push_back(std::move(path));
  return out;
}

Trace parse_trace(std::string bytes, const std::string& name) {
  const io::SafeTensors file = io::SafeTensors::parse(std::move(bytes), name);
  Reader reader(file);
  Trace out;
  out.file = name;
  out.network = reader.metadata("network");
  out.input = reader.metadata("input");
  out.epoch = reader.number("epoch", 0);
  out.batch = reader.number("batch", 1);
  out.examples = reader.number("examples", 1);
  out.layers = reader.layers(out.examples);
  if (out.layers.empty()) reject_trace(name, "it has no layers");
  return out;
}

Trace read_trace(const fs::path& path) {
  Trace out = parse_trace(core::read_regular_file(path), path.string());
  const auto epoch = epoch_of(path.filename().string());
  if (epoch && *epoch != out.epoch) {
    reject_trace(path.string(), cat("its metadata say epoch ", out.epoch, ", its name ", *epoch));
  }
  return out;
}

Trace one_example(const Trace& trace, int64_t example) {
  Trace out = trace;
  out.examples = 1;
  for (LayerTrace& layer : out.layers) {
    for (accel::ZeroBits* bits : {&layer.x, &layer.dy}) {
      if (bits->empty()) continue;
      const auto size = static_cast<int64_t>(bits->bytes.size()) / bits->outer[0];
      const auto first = bits->bytes.begin() + example * size;
      bits->bytes = std::vector<uint8_t>(first, first + size);
      bits->outer[0] = 1;
    }
  }
  return out;
}

}  // namespace adagp::arrays
