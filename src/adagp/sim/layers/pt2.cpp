#include "adagp/sim/layers/pt2.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/archive.h"
#include "adagp/sim/layers/exported_graph.h"

namespace adagp::layers {

Exported parse_pt2(const std::string& json, const std::string& model, const std::string& file_name,
                   int64_t batch) {
  try {
    return exported_table(parse_program(json), model, batch, "--pt2");
  } catch (const nlohmann::json::exception& error) {
    throw DataError(core::cat(file_name, ": models/model.json is not what torch.export.save ",
                              "writes: ", core::plain_message(error)));
  } catch (const std::out_of_range&) {
    throw DataError(file_name + ": models/model.json uses a tensor or an argument that it does " +
                    "not describe");
  } catch (const UsageError& error) {
    throw UsageError(file_name + ": " + error.what());
  } catch (const DataError& error) {
    throw DataError(file_name + ": models/model.json: " + error.what());
  }
}

Exported read_pt2(const core::fs::path& path, int64_t batch) {
  static const std::string kNames[] = {"models/model.json",
                                       "serialized_exported_program.json"};  // up to torch 2.7
  const auto wanted = [](const std::string& name) {
    for (const std::string& known : kNames) {
      if (name == known || name.ends_with("/" + known)) return true;
    }
    return false;
  };
  std::optional<std::string> json;
  std::string found;
  const auto take = [&](const std::string& name, std::string bytes) {
    if (json) {
      throw DataError(core::cat(path.string(), ": has two networks, ", core::printable_line(found),
                                " and ", core::printable_line(name),
                                "; expected one: export each into a file of its own"));
    }
    json = std::move(bytes);
    found = name;
  };
  io::for_each_member(path, take, wanted);
  if (!json) {
    throw DataError(path.string() +
                    ": has no models/model.json; expected what torch.export.save writes: "
                    "torch.export.save(torch.export.export(model, (x,)), 'model.pt2')");
  }
  return parse_pt2(*json, path.stem().string(), path.string(), batch);
}

}  // namespace adagp::layers
