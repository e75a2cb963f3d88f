// The colours of charts. Series have Okabe and Ito's colours and some of Tol's, which readers with
// any colour vision tell apart, darker or lighter where a line would have too little contrast (3 :
// 1) with the paper of its theme.

#include <cmath>
#include <cstdio>

#include "adagp/base/core/text.h"
#include "adagp/results/report/svg.h"

namespace adagp::report {
namespace {

std::string mixed(const int (&from)[3], const int (&to)[3], double share) {
  char out[8];
  int part[3];
  for (int i = 0; i < 3; ++i) {
    part[i] = static_cast<int>(std::lround(from[i] + share * (to[i] - from[i])));
  }
  std::snprintf(out, sizeof out, "#%02x%02x%02x", part[0] & 255, part[1] & 255, part[2] & 255);
  return out;
}

void add_heat(std::vector<NamedColour>& colours) {
  constexpr int kBlue[] = {0, 84, 150}, kOrange[] = {179, 84, 0};
  constexpr int kLightBlue[] = {86, 180, 233}, kLightOrange[] = {240, 160, 40};
  constexpr int kWhite[] = {245, 245, 245}, kBlack[] = {38, 42, 50};
  constexpr int kMiddle = kHeatColours / 2;
  for (int i = 0; i < kHeatColours; ++i) {
    const double share = std::abs(i - kMiddle) / double{kMiddle};
    const bool below = i < kMiddle;
    colours.push_back({core::cat("h", i), mixed(kWhite, below ? kOrange : kBlue, share),
                       mixed(kBlack, below ? kLightOrange : kLightBlue, share)});
  }
}

std::vector<NamedColour> all_colours() {
  std::vector<NamedColour> out = {
      {"s0", "#0072b2", "#4da6e0"},   {"s1", "#a66900", "#f0b03c"},
      {"s2", "#007d5a", "#2fc79a"},   {"s3", "#d55e00", "#f58b45"},
      {"s4", "#b8578c", "#dd97bd"},   {"s5", "#2a8cc4", "#7cc7f0"},
      {"s6", "#767676", "#b0b0b0"},   {"s7", "#8a7e00", "#d2c52e"},
      {"s8", "#882255", "#d06f9f"},   {"s9", "#2b8577", "#62c4b4"},
      {"s10", "#7d7d1f", "#bdbd5a"},  {"s11", "#aa4499", "#d583c8"},
      {"axis", "#444444", "#aab2bd"}, {"grid", "#dddddd", "#3a414c"},
      {"ink", "#222222", "#e8eaed"},  {"paper", "#ffffff", "#16191f"},
  };
  add_heat(out);
  return out;
}

}  // namespace

const std::vector<NamedColour>& chart_colours() {
  static const std::vector<NamedColour> kAll = all_colours();
  return kAll;
}

std::string chart_style(bool variables) {
  const auto value = [&](const NamedColour& colour) {
    return variables ? "var(--" + colour.name + ")" : colour.light;
  };
  std::string out, paper;
  for (const NamedColour& colour : chart_colours()) {
    const std::string set = value(colour);
    out += ".f" + colour.name + "{fill:" + set + "}";
    if (colour.name[0] != 'h') out += ".l" + colour.name + "{stroke:" + set + "}";
    if (colour.name == "paper") paper = set;
  }
  return out + ".marker{stroke:" + paper + "}.band{fill-opacity:.13}.on{fill:" + paper +
         "}[hidden]{display:none}";
}

}  // namespace adagp::report
