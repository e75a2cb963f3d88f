// Layer tables: from exported networks, CSV, the zoo and SCALE-Sim's topologies.

#include "adagp/sim/layers/table.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "adagp/sim/layers/pt2.h"
#include "adagp/sim/layers/table_columns.h"
#include "adagp/sim/scalesim/topology.h"
#include "adagp/sim/zoo/zoo.h"
#include "arrays.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {
namespace {

using layers::Row;
using layers::Table;

Columns columns_of(const Table& table) {
  Columns out;
  nb::list names, ops;
  for (const Row& row : table.rows) {
    names.append(row.name);
    ops.append(row.op);
  }
  out["name"] = names;
  out["op"] = ops;
  for (const layers::Column* column : layers::header_for(table).columns) {
    std::vector<int64_t> numbers;
    for (Row row : table.rows) numbers.push_back(column->field(row));
    out[column->name] = to_array(std::move(numbers));
  }
  return out;
}

const Row& row_at(const Table& table, int64_t index) {
  const auto count = static_cast<int64_t>(table.rows.size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw nb::index_error("layer index out of range");
  return table.rows[static_cast<size_t>(index)];
}

using UncountedTuple = std::tuple<std::string, std::string, std::optional<int64_t>, int64_t>;

std::vector<UncountedTuple> uncounted_of(const Table& table) {
  std::vector<UncountedTuple> out;
  for (const layers::Uncounted& one : table.uncounted) {
    out.emplace_back(one.name, one.op, one.macs, one.times);
  }
  return out;
}

Table with_uncounted(Table table, const std::vector<UncountedTuple>& uncounted) {
  table.uncounted.clear();
  for (const auto& [name, op, macs, times] : uncounted) {
    table.uncounted.push_back({name, op, macs, times});
  }
  layers::missing(table);  // refuses sums beyond 64 bits
  return table;
}

void bind_row(nb::module_& module) {
  nb::class_<Row>(module, "Layer", "One operation of a network, for one example.")
      .def_ro("name", &Row::name)
      .def_ro("op", &Row::op)
      .def_ro("input", &Row::input, "C, H, W; of a linear layer features, 1, positions")
      .def_ro("output", &Row::output)
      .def_ro("kernel", &Row::kernel)
      .def_ro("stride", &Row::stride)
      .def_ro("padding", &Row::padding)
      .def_ro("dilation", &Row::dilation)
      .def_ro("groups", &Row::groups)
      .def_ro("macs", &Row::macs)
      .def_ro("weights", &Row::weights)
      .def_ro("bias", &Row::bias)
      .def("__repr__", [](const Row& row) {
        return "<Layer " + row.name + ": " + row.op + ", " + std::to_string(row.macs) + " MACs>";
      });
}

}  // namespace

void bind_layers(nb::module_& module) {
  bind_row(module);
  nb::class_<layers::Exported>(module, "ExportedTable")
      .def_ro("table", &layers::Exported::table)
      .def_ro("parameters", &layers::Exported::parameters)
      .def_ro("batch", &layers::Exported::batch)
      .def_ro("note", &layers::Exported::note);
  nb::class_<Table>(module, "Table", "The operations of a network, in the order in which they run.")
      .def_ro("model", &Table::model)
      .def_ro("input", &Table::input)
      .def("__len__", [](const Table& self) { return self.rows.size(); })
      .def("__getitem__", &row_at, "index"_a, nb::rv_policy::copy)
      .def("columns", &columns_of)
      .def("uncounted", &uncounted_of, "Operations without a row: name, operator, MACs, times")
      .def("with_uncounted", &with_uncounted, "uncounted"_a)
      .def("only_products", [](const Table& self) { return layers::only_products(self); })
      .def("missing_text", &layers::missing_text)
      .def("total_macs", &layers::total_macs)
      .def("total_weights", &layers::total_weights)
      .def("csv", &layers::to_csv)
      .def("json", &layers::to_json)
      .def("topology", &scalesim::topology_csv);
  module.def("table_from_csv", &layers::from_csv, "text"_a, "file_name"_a,
             nb::call_guard<nb::gil_scoped_release>());
  module.def("table_from_export", &layers::parse_pt2, "json"_a, "model"_a, "file_name"_a,
             "batch"_a = 0, nb::call_guard<nb::gil_scoped_release>());
  module.def(
      "table_from_topology",
      [](const std::string& text, const std::string& file_name, const std::string& kind) {
        return scalesim::to_table(
            scalesim::parse_topology(text, file_name, scalesim::parse_kind(kind)));
      },
      "text"_a, "file_name"_a, "kind"_a = "conv", nb::call_guard<nb::gil_scoped_release>());
  module.def("zoo_table", &zoo::layer_table, "model"_a, "input"_a);
  module.def("zoo_models", &zoo::models);
  module.def("zoo_inputs", &zoo::inputs, "model"_a);
  module.def("zoo_accelerators", &zoo::accelerators);
}

}  // namespace adagp::python
