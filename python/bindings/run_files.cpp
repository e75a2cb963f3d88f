// Files of a run folder: its lock, files that are whole or absent, records and weights.

#include <memory>
#include <tuple>

#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/io/jsonl.h"
#include "adagp/base/io/safetensors.h"
#include "adagp/engine/run/old_run.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {
namespace {

using core::fs::path;

// A run folder's lock, the program's own: it ends with release() or with the process.
struct FolderLock {
  explicit FolderLock(const path& folder)
      : lock(std::make_unique<core::FileLock>(folder / ".lock", folder.string())) {}
  std::unique_ptr<core::FileLock> lock;
};

// Lines of metrics.jsonl. Each is flushed, so that others can follow the run.
struct RecordWriter {
  RecordWriter(const path& file, int64_t keep_until_step)
      : writer(std::make_unique<io::JsonlWriter>(file, keep_until_step)) {}

  void write(const std::string& text) {
    if (!writer) throw UsageError("the record file is closed");
    const auto record = nlohmann::json::parse(text, nullptr, false);
    if (record.is_discarded()) throw UsageError("a record is not JSON: " + text.substr(0, 80));
    writer->write(record);
    writer->flush();
  }

  std::unique_ptr<io::JsonlWriter> writer;
};

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ByteView = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>;
using TensorIn = std::tuple<std::string, std::string, std::vector<int64_t>, Bytes>;

void write_tensors(const path& file, const std::vector<TensorIn>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<io::TensorBytes> entries;
  for (const auto& [name, dtype, shape, bytes] : tensors) {
    const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    entries.push_back({name, dtype, shape, view});
  }
  const nb::gil_scoped_release release;
  io::write_safetensors(file, entries, metadata);
}

void bind_tensors(nb::module_& module) {
  nb::class_<io::TensorEntry>(module, "TensorEntry")
      .def_ro("name", &io::TensorEntry::name)
      .def_ro("dtype", &io::TensorEntry::dtype)
      .def_ro("shape", &io::TensorEntry::shape)
      .def_ro("begin", &io::TensorEntry::begin)
      .def_ro("end", &io::TensorEntry::end);
  nb::class_<io::SafeTensors>(module, "SafeTensors", "A safetensors file, checked and in memory.")
      .def_static("read", &io::SafeTensors::read, "file"_a,
                  nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("entries", &io::SafeTensors::entries)
      .def_prop_ro("metadata", &io::SafeTensors::metadata)
      .def_prop_ro("data", [](nb::pointer_and_handle<io::SafeTensors> self) {
        const std::string_view data = self.p->data();
        return ByteView(reinterpret_cast<const uint8_t*>(data.data()), {data.size()}, self.h);
      });
  module.def("write_safetensors", &write_tensors, "file"_a, "tensors"_a, "metadata"_a,
             "Tensors are (name, dtype, shape, bytes). The file is whole or absent.");
}

// The run that overwrite=True replaces: the program's rule. All of it needs the folder's lock.
void bind_old_run(nb::module_& module) {
  module.def("has_run", &run::has_run, "folder"_a, "Whether a run's files are there.");
  module.def("set_old_run_aside", &run::set_old_run_aside, "folder"_a);
  module.def("put_old_run_back", &run::put_old_run_back, "folder"_a,
             "In the place of its successor, which is removed.");
  module.def("remove_old_run", &run::remove_old_run, "folder"_a);
  module.def("settle_old_run", &run::settle_old_run, "folder"_a,
             "Ends what a killed process began.");
}

}  // namespace

void bind_run_files(nb::module_& module) {
  nb::class_<FolderLock>(module, "FolderLock", "The lock of a run folder.")
      .def(nb::init<const path&>(), "folder"_a)
      .def("release", [](FolderLock& self) { self.lock.reset(); });
  nb::class_<RecordWriter>(module, "RecordWriter", "Appends records to metrics.jsonl.")
      .def(nb::init<const path&, int64_t>(), "file"_a, "keep_until_step"_a)
      .def("write", &RecordWriter::write, "json"_a)
      .def("close", [](RecordWriter& self) { self.writer.reset(); });
  module.def(
      "write_file",
      [](const path& file, nb::bytes text) {
        const std::string_view view(text.c_str(), text.size());
        const nb::gil_scoped_release release;
        core::write_file(file, view);
      },
      "file"_a, "text"_a, "Writes beside it, then renames: the file is whole or as it was.");
  module.def("make_folder", &core::make_folder, "folder"_a);
  module.def(
      "remove_temporaries",
      [](const path& folder, const std::string& name) { core::remove_temporaries(folder, name); },
      "folder"_a, "name"_a, "What killed processes left of files of this name.");
  bind_old_run(module);
  bind_tensors(module);
}

}  // namespace adagp::python
