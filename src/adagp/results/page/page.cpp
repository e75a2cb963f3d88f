#include "adagp/results/page/page.h"

#include <set>

#include "adagp/base/core/sha256.h"
#include "adagp/base/core/text.h"
#include "adagp/results/page/assets.h"
#include "adagp/results/page/parts.h"
#include "adagp/results/page/sections.h"

namespace adagp::page {
namespace {

std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
    }
  }
  return out;
}

std::string theme(bool dark) {
  std::string out;
  for (const report::NamedColour& colour : report::chart_colours()) {
    out += "--" + colour.name + ":" + (dark ? colour.dark : colour.light) + ";";
  }
  return out;
}

// A dark screen has dark colours, unless the reader chose; paper always has light ones.
std::string style() {
  const std::string dark = theme(true);
  return ":root{" + theme(false) +
         "}\n@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark +
         "}}\n@media screen{:root[data-theme=dark]{" + dark + "}}\n" + report::chart_style(true) +
         "\n" + std::string(style_sheets().front().text);
}

std::string group_title(const Group& group) {
  const std::string what = group.model + (group.data.empty() ? "" : " on " + group.data);
  return group.source.empty() ? what : what + " (" + group.source + ")";
}

void add_group(Page& page, const Group& group, const std::string& id) {
  page.body += heading(2, id, group_title(group));
  add_verdict(page, group, id);
  add_budget(page, group, id);
  add_curves(page, group, id);
  add_seconds(page, group, id);
  add_predictor(page, group, id);
  add_decisions(page, group, id);
  add_traces(page, group, id);
  add_settings(page, group, id);
  add_commands(page, group, id);
}

void add_left_out(Page& page, const Inputs& inputs) {
  std::vector<std::string> notes = inputs.left_out;
  std::set<std::string> networks;
  for (const Group& group : inputs.groups) networks.insert(group.model + " on " + group.data);
  if (networks.size() > 1) {
    notes.push_back(core::cat("The runs are of ", networks.size(),
                              " networks or data sets. Each has a part of its own: they are not "
                              "compared with each other."));
  }
  if (notes.empty()) return;
  page.body +=
      "<section class=\"notes\">\n" + heading(2, "left-out", "Left out, and why") + "<ul>\n";
  for (const std::string& note : notes) page.body += "<li>" + safe(note) + "</li>\n";
  page.body += "</ul></section>\n";
}

// Inside <script> no text may end it, nor look as if it did.
std::string script_json(const Json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string make_page(const Inputs& inputs, const PageOptions& options) {
  Page page;
  std::vector<std::pair<std::string, std::string>> parts;  // id, title
  add_left_out(page, inputs);
  for (size_t i = 0; i < inputs.groups.size(); ++i) {
    parts.emplace_back(core::cat("runs-", i + 1), group_title(inputs.groups[i]));
    add_group(page, inputs.groups[i], parts.back().first);
  }
  for (size_t i = 0; i < inputs.simulations.size(); ++i) {
    parts.emplace_back(core::cat("accelerator-", i + 1),
                       "Accelerator: " + inputs.simulations[i].source);
    add_simulation(page, inputs.simulations[i], parts.back().first);
  }
  for (size_t i = 0; i < inputs.pipelines.size(); ++i) {
    parts.emplace_back(core::cat("pipeline-", i + 1), "Pipeline: " + inputs.pipelines[i].source);
    add_pipelines(page, inputs.pipelines[i], parts.back().first);
  }

  const std::string script = page_script();
  const std::string title =
      safe(core::trim(options.title).empty() ? "adagp report" : options.title);
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'sha256-" +
      base64(core::sha256(script)) +
      "'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n" +
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n";
  if (options.reload_seconds > 0) {
    out += core::cat("<noscript><meta http-equiv=\"refresh\" content=\"", options.reload_seconds,
                     "\"></noscript>\n");
  }
  out += "<title>" + title + "</title>\n<style>\n" + style() +
         "</style>\n<style id=\"chart-style\">" + report::chart_style(true) +
         "</style>\n</head>\n<body" +
         (options.reload_seconds > 0 ? core::cat(" data-reload=\"", options.reload_seconds, "\"")
                                     : "") +
         ">\n<header>\n<h1>" + title + "</h1>\n";
  if (options.reload_seconds > 0) {
    out += "<p id=\"live\">Runs go on: this page loads itself again.</p>\n";
  }
  out +=
      "<p class=\"script\" id=\"theme\" hidden><label>Colours <select><option value=\"\">as the "
      "system"
      "</option><option value=\"light\">light</option><option value=\"dark\">dark</option></select>"
      "</label></p>\n<nav aria-label=\"Parts\"><ul>\n";
  for (const auto& [id, name] : parts) {
    out += "<li><a href=\"#" + id + "\">" + safe(name) + "</a></li>\n";
  }
  out += "</ul></nav>\n</header>\n<main>\n" + page.body;
  if (!options.command.empty()) {
    out += heading(2, "command", "This page again") + "<pre tabindex=\"0\">" +
           safe(options.command) + "</pre>\n";
  }
  return out + "</main>\n<script type=\"application/json\" id=\"data\">" +
         script_json(page.charts) + "</script>\n<script>" + script +
         "</script>\n</body>\n</html>\n";
}

// The script as pages have it: smaller, because every report carries it.
std::string page_script() {
  std::string out;
  for (const std::string& line : core::split(scripts().front().text, '\n')) {
    std::string text = core::trim(line);
    if (text.empty() || text.starts_with("//")) continue;
    for (const std::string_view token : {"=>", "=", "===", "!==", "+", "-", "*", "/", "?", ":",
                                         "&&", "||", "<", ">", ">=", "<="}) {
      const std::string spaced = " " + std::string(token) + " ";
      for (size_t at; (at = text.find(spaced)) != std::string::npos;) {
        text.replace(at, spaced.size(), token);
      }
    }
    out += text + "\n";
  }
  return out;
}

}  // namespace adagp::page
