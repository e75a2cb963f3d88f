#include "adagp/sim/layers/onnx.h"

#include <functional>
#include <stdexcept>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/mapped_file.h"
#include "adagp/sim/layers/onnx/graph.h"

namespace adagp::layers {

std::vector<std::pair<std::string, std::vector<int64_t>>> parse_onnx_sizes(
    const std::string& text) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  for (const std::string& input : core::split(text, ',')) {
    std::vector<int64_t> sizes;
    for (const std::string& word : core::split(input, 'x')) {
      long long size = 0;
      if (!core::parse_integer(word, size) || size < 1) {
        throw UsageError("--input is '" + text +
                         "', expected the sizes of one example such as 3x224x224, of several "
                         "inputs with a comma between");
      }
      sizes.push_back(size);
    }
    out.emplace_back("", std::move(sizes));
  }
  return out;
}

namespace {

Exported table_of(std::string_view bytes, const std::string& model, const std::string& file_name,
                  const OnnxInputs& inputs, const std::function<void()>& jumped) {
  // Names of the file's are in messages, which are one line.
  const auto message = [&](const char* why) {
    return file_name + ": " + core::printable_line(why);
  };
  try {
    return exported_table(onnx_graph(parse_onnx_model(bytes, jumped), inputs), model, inputs.batch,
                          "--onnx");
  } catch (const std::out_of_range&) {
    throw DataError(file_name + ": uses a tensor that it does not describe");
  } catch (const UsageError& error) {
    throw UsageError(message(error.what()));
  } catch (const DataError& error) {
    throw DataError(message(error.what()));
  }
}

}  // namespace

Exported parse_onnx(std::string_view bytes, const std::string& model, const std::string& file_name,
                    const OnnxInputs& inputs) {
  return table_of(bytes, model, file_name, inputs, [] {});
}

Exported read_onnx(const core::fs::path& path, const OnnxInputs& inputs) {
  const io::MappedFile file(path);
  return table_of(file.bytes(), path.stem().string(), path.string(), inputs,
                  [&] { file.release(); });
}

}  // namespace adagp::layers
