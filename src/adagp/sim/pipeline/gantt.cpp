#include "adagp/sim/pipeline/gantt.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/text.h"

namespace adagp::pipeline {
namespace {

constexpr double kMostColumns = 240;

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string event_label(const Op& op) {
  return op.micro < 0 ? std::string(1, gantt_letter(op)) : core::cat(gantt_letter(op), op.micro);
}

}  // namespace

char gantt_letter(const Op& op) {
  const bool low = op.phase == Phase::kLowRes;
  switch (op.kind) {
    case Kind::kForward:
      return op.phase == Phase::kPredict ? 'G' : low ? 'f' : 'F';
    case Kind::kBackward:
      return low ? 'b' : 'B';
    case Kind::kInputGradient:
      return low ? 'i' : 'I';
    case Kind::kWeightGradient:
      return low ? 'w' : 'W';
    case Kind::kPredictUpdate:
      return 'P';
    case Kind::kOptimizer:
      return 'O';
    default:
      return '?';
  }
}

std::string gantt_text(const std::vector<Event>& events, int devices) {
  double end = 0, step = 0;
  size_t width = 2;
  for (const Event& event : events) {
    const double time = event.end - event.start;
    if (time <= 0) continue;
    end = std::max(end, event.end);
    step = step == 0 ? time : std::min(step, time);
    width = std::max(width, event_label(event.op).size());
  }
  if (step == 0) return "";
  step = std::max(step, end / kMostColumns);
  const auto columns = static_cast<size_t>(std::ceil(end / step - 1e-9));
  std::vector<std::vector<std::string>> cells(static_cast<size_t>(devices),
                                              std::vector<std::string>(columns, ".."));
  for (const Event& event : events) {
    // A column shows what ran in its middle.
    const auto first = static_cast<size_t>(std::max(0.0, std::ceil(event.start / step - 0.5)));
    for (size_t c = first; c < columns && (static_cast<double>(c) + 0.5) * step < event.end; ++c) {
      cells[static_cast<size_t>(event.device)][c] = event_label(event.op);
    }
  }
  std::string text;
  const size_t name = core::cat("device ", devices - 1).size();
  for (size_t d = 0; d < cells.size(); ++d) {
    text += padded(core::cat("device ", d), name) + " ";
    for (const std::string& cell : cells[d]) text += " " + padded(cell, width);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

}  // namespace adagp::pipeline
