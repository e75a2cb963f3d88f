#include <cmath>
#include <stdexcept>
#include <string_view>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/published.h"
#include "adagp/results/report/table.h"

namespace adagp::study {
namespace {

constexpr size_t kBaseline = 0, kLow = 1, kEfficient = 2, kMax = 3;

const std::array<double, 4>& line(const PaperResult& result, std::string_view what) {
  for (const ResourceRow& row : result.resources) {
    if (row.what == what) return row.values;
  }
  throw std::logic_error("paper: no line '" + std::string(what) + "' in Tables 4 and 5");
}

ResourceRow derive(const PaperResult& result, const char* place, const char* what,
                   std::string_view first, std::string_view second, double factor) {
  ResourceRow row{place, what, "", line(result, first), true};
  for (size_t i = 0; i < row.values.size(); ++i) row.values[i] += factor * line(result, second)[i];
  return row;
}

double percent(double value, double base) {
  return 100 * (value / base - 1);
}

// The memory of the predictor: how many blocks, and where they are not.
void note_memory(PaperResult& result) {
  const auto& blocks = line(result, "RAM blocks");
  const auto& ramb36 = line(result, "RAMB36");
  const auto& cell = line(result, "cell area");
  result.resource_notes.push_back(
      core::cat("Efficient and MAX need ", blocks[kEfficient],
                " RAM blocks of 36 Kbit (a RAMB18 is half of "
                "one). The largest 7-series FPGA has ",
                kMost7SeriesBlocks,
                ": the designs do not fit the Virtex-7 that the paper names. The baseline needs ",
                blocks[kBaseline], "."));
  const double memory = ramb36[kEfficient] - ramb36[kLow];
  result.resource_notes.push_back(
      core::cat("The predictor's memory is ", memory, " RAMB36 = ", kPaperPes, " x ",
                memory / kPaperPes, ", as if every PE had a bank of its own. It adds ",
                core::fixed(percent(ramb36[kEfficient], ramb36[kLow]), 1), " % RAMB36 but ",
                core::fixed(percent(cell[kEfficient], cell[kLow]), 1),
                " % cell area: Table 5 seems to hold no memory."));
}

// What the second array of MAX is made of.
void note_predictor_array(PaperResult& result) {
  const auto& lut = line(result, "LUT");
  const auto& ff = line(result, "FF");
  const auto& dsp = line(result, "DSP");
  const double pes = dsp[kMax] - dsp[kEfficient];
  const auto each = [&](const std::array<double, 4>& values) {
    return core::fixed((values[kMax] - values[kEfficient]) / pes, 0);
  };
  result.resource_notes.push_back(
      core::cat("MAX adds ", lut[kMax] - lut[kEfficient], " LUT, ", ff[kMax] - ff[kEfficient],
                " FF and ", pes, " DSP to Efficient: ", each(lut), " LUT and ", each(ff),
                " FF per DSP. The baseline has ", core::fixed(lut[kBaseline] / kPaperPes, 0),
                " LUT and ", core::fixed(ff[kBaseline] / kPaperPes, 0),
                " FF per PE. The predictor's PEs are not the "
                "baseline's: they can hardly be more than 16-bit multipliers that keep a weight."));
  result.resource_notes.push_back(
      core::cat(dsp[kBaseline], " DSP for ", kPaperPes,
                " PEs: some PEs have none, or the number of PEs is "
                "another one. ",
                core::fixed(lut[kBaseline] / kPaperPes, 0),
                " LUT per PE are not explained by its multiply and add."));
  const auto& area = line(result, "total area");
  const double extra = percent(area[kMax], area[kBaseline]);
  const double one_pe = area[kBaseline] * extra / kIsoArea / kPaperPes;
  result.resource_notes.push_back(core::cat(
      "The paper gives the baseline ", kIsoArea, " % more PEs for the ", core::fixed(extra, 1),
      " % area of MAX. So PEs take ", core::fixed(100 * extra / kIsoArea, 0),
      " % of the baseline, and what MAX adds to Efficient is worth ",
      core::fixed((area[kMax] - area[kEfficient]) / one_pe, 0), " of them, not ",
      line(result, "DSP")[kMax] - line(result, "DSP")[kEfficient], "."));
}

void note_power(PaperResult& result) {
  const auto& power = line(result, "ASIC power");
  result.resource_notes.push_back(core::cat(
      "ASIC power: Efficient adds memory and logic to LOW, yet needs ",
      core::fixed(power[kEfficient] / 1000, 0), " mW against ", core::fixed(power[kLow] / 1000, 0),
      ". The parts of the FPGA's power that Table 4 prints add up to 0.119 W less than its total "
      "in every design, and the part of the DSPs falls from 9 to 1 mW while their number grows."));
}

std::string value_text(const ResourceRow& row, size_t design) {
  const double value = row.values[design];
  if (value == std::floor(value)) return core::grouped(static_cast<long long>(value));
  return core::fixed(value, 3);
}

std::string increment_text(const ResourceRow& row, size_t design) {
  const double value = row.increment(design);
  return (value > 0 ? "+" : "") + core::fixed(value, 1);
}

}  // namespace

double ResourceRow::increment(size_t design) const {
  return percent(values.at(design), values[0]);
}

void add_resources(PaperResult& result) {
  for (const PublishedResource& one : kResources) {
    result.resources.push_back({one.place, one.what, one.unit, one.values, false});
  }
  result.resources.push_back(derive(result, "Table 4", "RAM blocks", "RAMB36", "RAMB18", 0.5));
  result.resources.push_back(
      derive(result, "Table 5", "sequential area", "cell area", "combinational area", -1));
  note_memory(result);
  note_predictor_array(result);
  note_power(result);
}

std::string resource_table(const PaperResult& result) {
  using report::Align;
  report::Table table({{"where", Align::kLeft},
                       {"resource, as printed", Align::kLeft},
                       {"baseline"},
                       {"LOW"},
                       {"Efficient"},
                       {"MAX"},
                       {"LOW (%)"},
                       {"Efficient (%)"},
                       {"MAX (%)"}});
  for (const ResourceRow& row : result.resources) {
    std::vector<std::string> cells = {
        row.place, core::cat(row.what, row.unit.empty() ? "" : " (" + row.unit + ")",
                             row.derived ? " (derived)" : "")};
    for (size_t i = 0; i < row.values.size(); ++i) cells.push_back(value_text(row, i));
    for (size_t i = 1; i < row.values.size(); ++i) cells.push_back(increment_text(row, i));
    table.add_row(std::move(cells));
  }
  std::string text = table.console();
  text +=
      "The paper's synthesis results; percentages are increments over its baseline. Derived: RAM "
      "blocks = RAMB36 + RAMB18/2, sequential = cell - combinational. Our RTL's counts: "
      "docs/hardware.md.\n";
  for (const std::string& note : result.resource_notes) text += "* " + note + "\n";
  return text + "\n";
}

}  // namespace adagp::study
