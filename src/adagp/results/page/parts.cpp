#include "adagp/results/page/parts.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

namespace adagp::page {
namespace {

// A piece of the line, or a box: as in the drawing.
std::string swatch(const report::Key& key) {
  report::Svg drawing(26, 12);
  if (key.line == nullptr) {
    drawing.rect(7, 0, 12, 12, key.colour);
  } else {
    if (key.line->stroke != report::Stroke::kNone) {
      drawing.path({{1, 6}, {25, 6}}, key.colour, report::dash_of(key.line->stroke));
    }
    if (key.line->marker > 0) drawing.marker(13, 6, key.line->marker, key.colour);
  }
  return drawing.str(report::Use::kPage);
}

}  // namespace

std::string safe(std::string_view text) {
  return core::xml_escape(core::printable(text), /*attribute=*/true);
}

std::string paragraphs(const std::string& text) {
  std::string out;
  size_t start = 0;
  while (start < text.size()) {
    const size_t end = std::min(text.find("\n\n", start), text.size());
    out += "<p>" + safe(core::trim(text.substr(start, end - start))) + "</p>\n";
    start = end + 2;
  }
  return out;
}

Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[40];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

Json rounded(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(rounded(value));
  return out;
}

std::string heading(int level, const std::string& id, const std::string& text) {
  return core::cat("<h", level, " id=\"", id, "\">", safe(text), "</h", level, ">\n");
}

void Page::add(const Figure& figure) {
  const std::string id = safe(figure.id);
  body += "<figure class=\"chart\" id=\"" + id + "\">\n<figcaption>" + safe(figure.title) +
          "</figcaption>\n<div class=\"plot\" tabindex=\"0\" role=\"img\" aria-label=\"" +
          safe(figure.title + ". " + figure.about) + "\">\n" + figure.svg + "</div>\n";
  if (!figure.legend.empty()) {
    body += "<ul class=\"legend\">\n";
    for (const report::Key& key : figure.legend) {
      body += "<li data-colour=\"" + key.colour + "\">" + swatch(key) + "<span>" + safe(key.name) +
              "</span></li>\n";
    }
    body += "</ul>\n";
  }
  if (!figure.about.empty()) body += "<p class=\"about\">" + safe(figure.about) + "</p>\n";
  if (!figure.table.empty()) {
    body += "<details><summary>Data of this chart as a table</summary>\n";
    add_table(figure.table, "Data: " + figure.title);
    body += "</details>\n";
  }
  body += "</figure>\n";
  charts[figure.id] = figure.data;
}

void Page::add_table(const std::string& table, const std::string& name) {
  body += "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"" + safe(name) +
          "\">\n" + table + "</div>\n";
}

}  // namespace adagp::page
