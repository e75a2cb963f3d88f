#include "adagp/results/page/sections.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "adagp/base/core/text.h"
#include "adagp/results/page/parts.h"

namespace adagp::page {
namespace {

using nlohmann::json;

constexpr size_t kMostRoofLines = 4;  // a sweep over arrays has one for each

// What one pass of a layer, or of all layers, does.
struct PassWork {
  double macs = 0, words = 0, cycles = 0;

  PassWork& operator+=(const PassWork& other) {
    macs += other.macs;
    words += other.words;
    cycles += other.cycles;
    return *this;
  }
};

struct Roof {
  double peak = 0;   // MACs in a cycle
  double words = 0;  // of DRAM in a cycle; NaN: no bandwidth is set

  double at(double intensity) const { return words > 0 ? std::min(peak, intensity * words) : peak; }
  std::string name() const {
    return words > 0 ? core::cat("roof: ", core::shortest(peak), " PEs, ", core::fixed(words, 2),
                                 " DRAM words a cycle")
                     : core::cat("roof: ", core::shortest(peak), " PEs (no bandwidth set)");
  }
  bool operator==(const Roof& other) const {
    return peak == other.peak && (words == other.words || (!(words > 0) && !(other.words > 0)));
  }
};

Roof roof_of(const json& run) {
  const json& roof = inside(run, "roof");
  return {number_in(roof, "macs_per_cycle"), number_in(roof, "dram_words_per_cycle")};
}

// By pass: "forward", "input gradient", "weight gradient".
std::map<std::string, PassWork> work_of_passes(const json& layer) {
  std::map<std::string, PassWork> out;
  const json& passes = inside(layer, "passes");
  if (!passes.is_object()) return out;
  for (const auto& [pass, cost] : passes.items()) {
    const PassWork work{number_in(cost, "macs"), number_in(cost, "dram_words"),
                        number_in(cost, "cycles")};
    if (std::isfinite(work.macs + work.words + work.cycles)) out[pass] = work;
  }
  return out;
}

class Roofline {
 public:
  explicit Roofline(const std::string& what)
      : table_({"<" + what, "<pass", "MACs / DRAM word", "MACs / cycle"}) {}

  void add(const std::string& name, const std::string& pass, const PassWork& work) {
    const double x = work.macs / work.words, y = work.macs / work.cycles;
    if (!std::isfinite(x) || !std::isfinite(y) || x <= 0 || y <= 0) return;
    Line& line = passes_[pass];
    line.x["intensity"].push_back(x);
    line.y["rate"].value.push_back(y);
    line.labels.push_back(name);
    least_ = std::min(least_, x);
    most_ = std::max(most_, x);
    table_.add_row({name, pass, core::fixed(x, 3), core::fixed(y, 3)});
  }

  void add(const Roof& roof) {
    const bool known = std::find(roofs_.begin(), roofs_.end(), roof) != roofs_.end();
    if (roof.peak > 0 && !known && roofs_.size() < kMostRoofLines) roofs_.push_back(roof);
  }

  bool empty() const { return passes_.empty() || roofs_.empty(); }

  void draw(Page& page, LineFigure figure) {
    for (size_t i = 0; i < roofs_.size(); ++i) figure.lines.push_back(line_of(roofs_[i], i));
    int marker = 1;
    for (auto& [pass, line] : passes_) {
      line.name = pass;
      line.style = static_cast<size_t>(marker - 1);
      line.marker = marker++;
      line.stroke = report::Stroke::kNone;
      figure.lines.push_back(line);
    }
    figure.about +=
        " Right: more arithmetic for each word of DRAM traffic. Up: more multiplications in a "
        "cycle, stalls included. A roof is what array and memory allow.";
    figure.x_axes = {{"intensity", "MACs for a word from or to DRAM (log scale)"}};
    figure.y_axes = {{"rate", "MACs in a cycle (log scale)"}};
    figure.log_x = figure.log_y = true;
    figure.table = table_.html(figure.title);
    add_lines(page, figure);
  }

 private:
  Line line_of(const Roof& roof, size_t place) const {
    using report::Stroke;
    constexpr Stroke kStrokes[kMostRoofLines] = {Stroke::kSolid, Stroke::kDashed, Stroke::kDotted,
                                                 Stroke::kDashDotted};
    Line line;
    line.name = roof.name();
    line.style = 6 + place;  // behind those of the passes
    line.stroke = kStrokes[place];
    std::vector<double> corners = {least_, most_};
    const double ridge = roof.peak / roof.words;
    if (ridge > least_ && ridge < most_) corners.insert(corners.begin() + 1, ridge);
    for (const double x : corners) {
      line.x["intensity"].push_back(x);
      line.y["rate"].value.push_back(roof.at(x));
    }
    return line;
  }

  std::map<std::string, Line> passes_;
  std::vector<Roof> roofs_;
  double least_ = INFINITY, most_ = 0;
  report::Table table_;
};

}  // namespace

bool add_layer_roofline(Page& page, const json& run, const std::string& name,
                        const std::string& id) {
  Roofline roofline("layer");
  roofline.add(roof_of(run));
  for (const json& layer : inside(run, "layers")) {
    for (const auto& [pass, work] : work_of_passes(layer)) {
      roofline.add(text_in(layer, "name"), pass, work);
    }
  }
  if (roofline.empty()) return false;
  LineFigure figure;
  figure.id = id;
  figure.title = "Roofline of " + name;
  figure.about = "A point for each layer and pass of one batch.";
  roofline.draw(page, figure);
  return true;
}

void add_sweep_roofline(Page& page, const std::vector<json>& runs,
                        const std::vector<std::string>& names, const std::string& id) {
  Roofline roofline("run");
  for (size_t i = 0; i < runs.size(); ++i) {
    std::map<std::string, PassWork> sums;
    for (const json& layer : inside(runs[i], "layers")) {
      for (const auto& [pass, work] : work_of_passes(layer)) sums[pass] += work;
    }
    if (sums.empty()) continue;
    roofline.add(roof_of(runs[i]));
    for (const auto& [pass, work] : sums) roofline.add(names[i], pass, work);
  }
  if (roofline.empty()) return;
  LineFigure figure;
  figure.id = id;
  figure.title = "Roofline of the runs";
  figure.about = "A point for each run and pass: all layers of one batch together.";
  roofline.draw(page, figure);
}

}  // namespace adagp::page
