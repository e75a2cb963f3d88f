#include "adagp/papers/study/output.h"

#include <unordered_map>

namespace adagp::study {
namespace {

class TextBuilder {
 public:
  explicit TextBuilder(size_t rows) { out.codes.reserve(rows); }

  void add(const std::string& text) {
    const auto [at, fresh] = places_.try_emplace(text, static_cast<int32_t>(out.values.size()));
    if (fresh) out.values.push_back(text);
    out.codes.push_back(at->second);
  }
  void repeat() { out.codes.push_back(out.codes.back()); }

  Texts out;

 private:
  std::unordered_map<std::string, int32_t> places_;
};

template <typename Text>
Column texts(const char* name, const std::vector<Row>& rows, const Text& text) {
  TextBuilder builder(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i].run == rows[i - 1].run) {
      builder.repeat();
    } else {
      builder.add(text(rows[i].run));
    }
  }
  return {name, std::move(builder.out)};
}

template <typename Number, typename Of>
Column numbers(const char* name, const std::vector<Row>& rows, const Of& of) {
  std::vector<Number> out;
  out.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) out.push_back(of(i));
  return {name, std::move(out)};
}

void add_places(const Study& study, const std::vector<Row>& rows, std::vector<Column>& out) {
  const auto& cases = study.cases;
  const auto array = [&](size_t run) -> const accel::Array& {
    return study.points[run].accelerator.array;
  };
  out.push_back(texts("model", rows, [&](size_t run) { return cases[run].model; }));
  out.push_back(texts("input", rows, [&](size_t run) { return cases[run].input; }));
  out.push_back(
      numbers<int64_t>("batch", rows, [&](size_t i) { return cases[rows[i].run].batch; }));
  out.push_back(texts("accelerator", rows, [&](size_t run) { return cases[run].accelerator; }));
  out.push_back(texts("array", rows, [&](size_t run) { return array_text(array(run)); }));
  out.push_back(texts("dataflow", rows,
                      [&](size_t run) { return std::string(study.points[run].dataflow->name); }));
  out.push_back(
      numbers<int64_t>("array_rows", rows, [&](size_t i) { return array(rows[i].run).rows; }));
  out.push_back(numbers<int64_t>("array_columns", rows,
                                 [&](size_t i) { return array(rows[i].run).columns; }));
  out.push_back(numbers<int64_t>("pes", rows, [&](size_t i) { return pes_of(study, rows[i]); }));
  out.push_back(
      texts("predictor", rows, [&](size_t run) { return predictor_text(cases[run].predictor); }));
}

}  // namespace

std::vector<Column> columns(const Study& study, const std::vector<Row>& rows) {
  std::vector<Column> out;
  add_places(study, rows, out);

  std::vector<Numbers> all;
  all.reserve(rows.size());
  TextBuilder designs(rows.size());
  for (const Row& row : rows) {
    all.push_back(numbers_of(study, row));
    designs.add(all.back().design);
  }
  out.push_back({"design", std::move(designs.out)});
  for (const NumberColumn& column : number_columns()) {
    std::visit(
        [&](const auto& of) {
          out.push_back(numbers<decltype(of(all[0]))>(column.name, rows,
                                                      [&](size_t i) { return of(all[i]); }));
        },
        column.of);
  }
  return out;
}

}  // namespace adagp::study
