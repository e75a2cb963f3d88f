#include "adagp/engine/run/weights.h"

#include <algorithm>
#include <limits>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/values_elsewhere.h"

namespace adagp::run {
namespace {

constexpr size_t kListed = 10;

std::string listed(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::vector<std::string> head(names.begin(), names.begin() + std::min(names.size(), kListed));
  return core::cat("; ", names.size(), " ", what, ": ", core::join(head, ", "),
                   names.size() > kListed ? ", ..." : "");
}

std::string shape_text(const at::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const auto size : tensor.sizes()) sizes.push_back(std::to_string(size));
  return "[" + core::join(sizes, ", ") + "]";
}

struct Misfit {
  std::vector<std::string> missing, unexpected, misshapen;
  size_t count() const { return missing.size() + unexpected.size() + misshapen.size(); }
};

Misfit misfit(const io::TensorMap& own, const io::TensorMap& given) {
  Misfit out;
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end()) {
      if (!name.ends_with(".num_batches_tracked")) out.missing.push_back(name);
    } else if (found->second.sizes() != tensor.sizes()) {
      out.misshapen.push_back(core::cat(name, " (got ", shape_text(found->second), ", expected ",
                                        shape_text(tensor), ")"));
    }
  }
  for (const auto& [name, tensor] : given) {
    if (!own.contains(name)) out.unexpected.push_back(name);
  }
  return out;
}

void refuse_misfit(const io::TensorMap& own, const io::TensorMap& tensors,
                   const std::string& source) {
  const Misfit found = misfit(own, tensors);
  if (found.count() == 0) return;
  throw DataError(source + ": does not fit the network" + listed("missing", found.missing) +
                  listed("unexpected", found.unexpected) +
                  listed("of another shape", found.misshapen) +
                  "; check the network's name, form and number of classes");
}

// In the network's precision, in which a large double may be infinite.
void require_finite(const at::Tensor& tensor, const std::string& name, const std::string& source) {
  if (!tensor.is_floating_point()) return;
  const at::Tensor broken = at::isfinite(tensor).logical_not_();
  const auto count = broken.sum().item<int64_t>();
  if (count == 0) return;
  throw DataError(core::cat(
      source, ": tensor '", name, "': ", count, " of ", tensor.numel(),
      " numbers are not finite (NaN or infinity): the file is damaged, or the training that "
      "wrote it diverged; use weights from before that"));
}

// Classes of the network's first head, by the rows of its weight; 0: unknown.
int64_t classes_in(const models::Net& net, const models::Entry& entry,
                   const io::TensorMap& tensors) {
  const auto heads = net.heads();
  const auto found = heads.empty() ? tensors.end() : tensors.find(heads.front() + ".weight");
  if (found == tensors.end() || found->second.dim() < 2) return 0;
  const int64_t rows = found->second.size(0);
  if (entry.task != models::TaskKind::kDetection) return rows;
  constexpr int64_t kAnchors = 3, kBox = 5;  // per scale; x, y, w, h, objectness
  return std::max<int64_t>(0, rows / kAnchors - kBox);
}

}  // namespace

io::TensorMap state_dict(const torch::nn::Module& net) {
  io::TensorMap out;
  for (const auto& item : net.named_parameters()) out[item.key()] = item.value().detach();
  for (const auto& item : net.named_buffers()) out[item.key()] = item.value();
  return out;
}

void load_state_dict(torch::nn::Module& net, const io::TensorMap& tensors,
                     const std::string& source) {
  const at::NoGradGuard no_grad;
  io::TensorMap own = state_dict(net);
  refuse_misfit(own, tensors, source);
  for (const auto& [name, tensor] : own) {
    const auto given = tensors.find(name);
    if (given == tensors.end() || !nn::has_values(tensor)) continue;
    require_finite(given->second.to(tensor.scalar_type()), name, source);
  }
  for (auto& [name, tensor] : own) {
    const auto given = tensors.find(name);
    if (given != tensors.end() && nn::has_values(tensor)) tensor.copy_(given->second);
  }
}

namespace {

bool differ_in_rows(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() > 0 && a.dim() == b.dim() && a.size(0) != b.size(0) &&
         a.sizes().slice(1) == b.sizes().slice(1);
}

}  // namespace

std::vector<std::string> load_all_but_other_heads(models::Net& net, const io::TensorMap& tensors,
                                                  const std::string& source) {
  const io::TensorMap own = state_dict(net);
  io::TensorMap taken = tensors;
  std::vector<std::string> kept;
  for (const std::string& head : net.heads()) {
    for (const char* part : {".weight", ".bias"}) {
      const std::string name = head + part;
      const auto mine = own.find(name), theirs = tensors.find(name);
      if (mine == own.end() || theirs == tensors.end()) continue;
      if (!differ_in_rows(mine->second, theirs->second)) continue;
      taken[name] = mine->second;
      kept.push_back(core::cat(name, " (got ", shape_text(theirs->second), ", expected ",
                               shape_text(mine->second), ")"));
    }
  }
  load_state_dict(net, taken, source);
  return kept;
}

void check_fits(const std::string& name, const models::Options& options,
                const io::TensorMap& tensors, const std::string& source) {
  int64_t numbers = 0;
  for (const auto& [key, tensor] : tensors) numbers += tensor.numel();
  const bool translation = models::find(name).task == models::TaskKind::kTranslation;
  const int64_t layers = options.transformer.encoder_layers + options.transformer.decoder_layers;
  if (options.classes > numbers || (translation && layers > static_cast<int64_t>(tensors.size()))) {
    throw DataError(core::cat(source, ": says that its network has ", options.classes, " classes",
                              translation ? core::cat(" and ", layers, " layers") : "",
                              ", but its ", tensors.size(), " tensors hold ", numbers,
                              " numbers in all: the file is damaged or of another network"));
  }
  const nn::ShapeOnlyScope shapes;
  refuse_misfit(state_dict(*models::build(name, options)), tensors, source);
}

void load_backbone(models::Net& net, const io::TensorMap& tensors, const std::string& source) {
  const auto children = net.named_children();
  const auto* backbone = children.find("backbone");
  if (backbone == nullptr) {
    throw UsageError("model.backbone_weights = " + source +
                     ": only network duplex has a backbone; use weights for other networks");
  }
  const auto parts = (*backbone)->named_children();
  io::TensorMap taken;
  for (const auto& [name, tensor] : tensors) {
    if (parts.contains(name.substr(0, name.find('.')))) taken[name] = tensor;
  }
  load_state_dict(**backbone, taken.empty() ? tensors : taken, source);
}

namespace {

constexpr int64_t kLargestSize = 1 << 16;  // of a Transformer or a duplex branch, each

std::vector<std::pair<std::string, int64_t*>> numbers_of(models::DuplexOptions& sizes) {
  return {{"duplex.blocks", &sizes.blocks},
          {"duplex.width", &sizes.width},
          {"duplex.side", &sizes.side}};
}

void read_numbers(const std::map<std::string, std::string>& metadata,
                  const std::vector<std::pair<std::string, int64_t*>>& numbers) {
  for (const auto& [key, value] : numbers) {
    const auto found = metadata.find(key);
    long long number = 0;
    if (found == metadata.end()) continue;
    if (!core::parse_integer(found->second, number) || number < 1 || number > kLargestSize) {
      throw DataError(core::cat("weights file: ", key, " = '", found->second,
                                "', expected a whole number from 1 to ", kLargestSize));
    }
    *value = number;
  }
}

}  // namespace

std::map<std::string, std::string> to_metadata(const ModelTag& tag) {
  std::map<std::string, std::string> out{{"model", tag.name},
                                         {"form", tag.form},
                                         {"classes", std::to_string(tag.classes)},
                                         {"width_divisor", std::to_string(tag.width_divisor)}};
  if (tag.name != "duplex") return out;
  models::DuplexOptions copy = tag.duplex;
  out["duplex.backbone"] = tag.duplex.backbone;
  for (const auto& [key, value] : numbers_of(copy)) out[key] = std::to_string(*value);
  return out;
}

namespace {

// One table for both directions.
std::vector<std::pair<std::string, int64_t*>> numbers_of(models::TransformerOptions& sizes) {
  return {{"transformer.width", &sizes.width},
          {"transformer.heads", &sizes.heads},
          {"transformer.hidden", &sizes.hidden},
          {"transformer.encoder_layers", &sizes.encoder_layers},
          {"transformer.decoder_layers", &sizes.decoder_layers},
          {"transformer.longest", &sizes.longest}};
}

}  // namespace

std::map<std::string, std::string> transformer_metadata(const models::TransformerOptions& sizes) {
  models::TransformerOptions copy = sizes;
  std::map<std::string, std::string> out{{"transformer.tied", sizes.tied ? "1" : "0"}};
  for (const auto& [key, value] : numbers_of(copy)) out[key] = std::to_string(*value);
  return out;
}

void read_metadata(const std::map<std::string, std::string>& metadata,
                   models::TransformerOptions& sizes) {
  read_numbers(metadata, numbers_of(sizes));
  const auto tied = metadata.find("transformer.tied");
  if (tied != metadata.end()) sizes.tied = tied->second == "1";
}

ModelTag from_metadata(const std::map<std::string, std::string>& metadata) {
  ModelTag tag;
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  tag.name = text("model");
  tag.form = text("form");
  long long number = 0;
  if (core::parse_integer(text("classes"), number)) tag.classes = number;
  if (core::parse_integer(text("width_divisor"), number) && number > 0) tag.width_divisor = number;
  if (const std::string backbone = text("duplex.backbone"); !backbone.empty()) {
    tag.duplex.backbone = backbone;
  }
  read_numbers(metadata, numbers_of(tag.duplex));
  return tag;
}

ModelTag from_shapes(const std::string& name, const io::TensorMap& tensors) {
  const nn::ShapeOnlyScope shapes;
  const models::Entry& entry = models::find(name);
  ModelTag best;
  if (entry.task == models::TaskKind::kTranslation) return best;
  size_t fewest = std::numeric_limits<size_t>::max();
  std::vector<models::Form> forms{entry.default_form};
  if (entry.default_form == models::Form::kImagenet) forms.push_back(models::Form::kCifar);
  for (const models::Form form : forms) {
    models::Options options;
    options.form = form;
    const int64_t classes = classes_in(*models::build(name, options), entry, tensors);
    if (classes > 0) options.classes = classes;
    const auto net = models::build(name, options);
    const size_t count = misfit(state_dict(*net), tensors).count();
    if (count == fewest && count == 0) {
      core::log_warning(core::cat("the weights fit ", name, " in ", best.form, " and in ",
                                  models::form_name(form), " form; taken as ", best.form,
                                  " (--set model.form=", models::form_name(form),
                                  " for the other)"));
    }
    if (count >= fewest) continue;
    fewest = count;
    best.form = models::form_name(form);
    best.classes = classes;
  }
  return best;
}

}  // namespace adagp::run
