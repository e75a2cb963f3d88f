#include "adagp/engine/run/layout_record.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <torch/version.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/environment.h"
#include "adagp/engine/run/layout_json.h"

namespace adagp::run {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMost = 1 << 30;  // of any size in a shape

ordered_json to_json(const MeasuredShape& one) {
  const nn::ConvolutionShape& s = one.shape;
  ordered_json out{{"examples", one.examples}, {"input", {s.in, s.height, s.width}},
                   {"filters", s.out},         {"kernel", s.kernel},
                   {"stride", s.stride},       {"padding", s.padding},
                   {"dilation", s.dilation},   {"groups", s.groups}};
  for (const nn::Product product : nn::kProducts) {
    const nn::LayoutChoice& choice = one.choices[nn::index_of(product)];
    ordered_json& to = out[nn::name_of(product)];
    to["chosen"] = nn::name_of(choice.chosen);
    for (const nn::Layout layout : nn::kLayouts) {
      to[nn::name_of(layout) + " ms"] = choice.ms[nn::index_of(layout)];
    }
  }
  return out;
}

int64_t size_at(const ordered_json& value, int64_t least = 1) {
  const int64_t size = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (size < least || size > kMost) {
    throw DataError(
        core::cat("a size of ", core::brief(value), ", expected ", least, " to ", kMost));
  }
  return size;
}

std::array<int64_t, 2> pair_at(const ordered_json& value, int64_t least = 1) {
  return {size_at(value.at(0), least), size_at(value.at(1), least)};
}

nn::LayoutChoice choice_from(const ordered_json& value) {
  nn::LayoutChoice out;
  const auto name = core::json_field<std::string>(value, "chosen");
  const auto found = std::find_if(nn::kLayouts.begin(), nn::kLayouts.end(),
                                  [&](nn::Layout layout) { return nn::name_of(layout) == name; });
  if (found == nn::kLayouts.end()) {
    throw DataError("layout '" + name + "', expected channels-last or contiguous");
  }
  out.chosen = *found;
  for (const nn::Layout layout : nn::kLayouts) {
    const auto ms = core::json_field<double>(value, (nn::name_of(layout) + " ms").c_str());
    if (!std::isfinite(ms) || ms < 0) throw DataError("a time that is no number of ms");
    out.ms[nn::index_of(layout)] = ms;
  }
  return out;
}

MeasuredShape shape_from(const ordered_json& value) {
  MeasuredShape out;
  out.examples = size_at(value.at("examples"));
  nn::ConvolutionShape& s = out.shape;
  s.in = size_at(value.at("input").at(0));
  s.height = size_at(value.at("input").at(1));
  s.width = size_at(value.at("input").at(2));
  s.out = size_at(value.at("filters"));
  s.kernel = pair_at(value.at("kernel"));
  s.stride = pair_at(value.at("stride"));
  s.padding = pair_at(value.at("padding"), 0);
  s.dilation = pair_at(value.at("dilation"));
  s.groups = size_at(value.at("groups"));
  for (const nn::Product product : nn::kProducts) {
    out.choices[nn::index_of(product)] = choice_from(value.at(nn::name_of(product)));
  }
  return out;
}

}  // namespace

const MeasuredShape* LayoutRecord::find(int64_t examples, const nn::ConvolutionShape& shape) const {
  const auto found = std::find_if(shapes.begin(), shapes.end(), [&](const MeasuredShape& one) {
    return one.examples == examples && one.shape == shape;
  });
  return found == shapes.end() ? nullptr : &*found;
}

LayoutRecord this_machine() {
  return {cpu_name(), TORCH_VERSION, at::get_num_threads()};
}

ordered_json to_json(const LayoutRecord& record) {
  ordered_json shapes = ordered_json::array();
  for (const MeasuredShape& one : record.shapes) shapes.push_back(to_json(one));
  return {{"format", kLayoutFormat},
          {"cpu", record.cpu},
          {"threads", record.threads},
          {"torch", record.torch},
          {"shapes", std::move(shapes)}};
}

LayoutRecord record_from(const ordered_json& value) {
  if (const auto format = core::json_field<int64_t>(value, "format"); format != kLayoutFormat) {
    throw DataError(core::cat("format ", format, ", expected ", kLayoutFormat));
  }
  LayoutRecord out;
  out.cpu = core::json_field<std::string>(value, "cpu");
  out.threads = size_at(value.at("threads"));
  out.torch = core::json_field<std::string>(value, "torch");
  for (const ordered_json& one : value.at("shapes")) out.shapes.push_back(shape_from(one));
  return out;
}

std::string to_text(const LayoutRecord& record) {
  return to_json(record).dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

LayoutRecord layout_record(const std::string& text, const std::string& source) {
  try {
    return record_from(core::parse_json<ordered_json>(text, source));
  } catch (const std::exception& error) {
    throw DataError(core::cat(source,
                              ": no table of measured convolutions: ", core::plain_message(error),
                              "; put the file back as it was, or start anew with --overwrite"));
  }
}

}  // namespace adagp::run
