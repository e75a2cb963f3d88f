// adagp list: the tables of what the program knows, by name.

#include <nlohmann/json.hpp>

#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/layers/zoo_tables.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/predictor/predictor.h"
#include "adagp/results/report/table.h"
#include "named.h"

namespace adagp::apps {
namespace {

void print_methods(bool json) {
  auto out = nlohmann::ordered_json::array();
  report::Table lines({"<method", "<standing", "<about"});
  for (const method::MethodEntry& entry : method::method_table()) {
    const std::string standing = name_of(entry.standing);
    out.push_back({{"name", entry.name}, {"standing", standing}, {"about", entry.about}});
    lines.add_row({entry.name, standing, entry.about});
  }
  core::print_result(json ? out.dump(2) + "\n" : lines.console(), json);
}

// As published, where there is such a form, in evaluation: without auxiliary heads.
void print_models(bool json) {
  const nn::ShapeOnlyScope shapes;
  auto out = nlohmann::ordered_json::array();
  report::Table lines({"<model", "<task", "parameters", "GMACs", "input", "<forms", "<about"});
  for (const models::Entry& entry : models::registry()) {
    const layers::Usual how = layers::usual(entry);
    const auto net = models::build(entry.name, how.options);
    net->eval();
    const int64_t macs = layers::total_macs(layers::from_model(*net, entry.name, how.input));
    const int64_t parameters = models::parameter_count(*net);
    const auto size = layers::parse_input(how.input, entry.image_size);
    const std::string input =
        size.tokens() ? how.input : core::cat(size.channels, "x", size.height, "x", size.width);
    std::vector<std::string> forms;
    if (entry.task == models::TaskKind::kClassification) {
      if (entry.default_form == models::Form::kImagenet) forms.emplace_back("imagenet");
      forms.emplace_back("cifar");
    }
    out.push_back({{"name", entry.name},
                   {"task", models::task_name(entry.task)},
                   {"parameters", parameters},
                   {"macs", macs},
                   {"input", input},
                   {"forms", forms},
                   {"about", entry.about}});
    lines.add_row({entry.name, models::task_name(entry.task), core::grouped(parameters),
                   core::fixed(static_cast<double>(macs) / 1e9, 3), input, core::join(forms, ", "),
                   entry.about});
  }
  const std::string text = json ? out.dump(2) + "\n" : lines.console();
  core::print_result(text, json);
}

}  // namespace

// A new kind is one line here.
std::vector<ListKind> own_kinds() {
  return {
      {"models", [] { return named_lines(models::registry()); }, print_models},
      {"methods", [] { return named_lines(method::method_table()); }, print_methods},
      {"data", [] { return named_lines(data::registry()); }},
      {"predictors", [] { return named_lines(predictor::registry()); }},
      {"schedules",
       [] {
         return NamedLines{{"auto", "the paper's proportions scaled to the length of the run"},
                           {"paper", "10ep bp, 4ep 4:1, 4ep 3:1, 4ep 2:1, then 1:1"},
                           {"bp", "backpropagation only"}};
       }},
  };
}

std::string about_missing_kinds() {
  return "";
}

}  // namespace adagp::apps
