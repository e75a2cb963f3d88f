#include "adagp/engine/run/checkpoint_header.h"

#include <algorithm>
#include <random>

#include "adagp/base/core/binding.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

namespace adagp::run {
namespace {

config::RunConfig config_in(const std::string& text) {
  config::RunConfig config;
  core::Binding binding;
  bind(binding, config);
  try {
    binding.load_toml(text, "config");
  } catch (const UsageError& error) {
    throw DataError(core::cat("its configuration is none of this version: ", error.what()));
  }
  return config;
}

}  // namespace

CheckpointHeader parse_checkpoint_header(std::string_view text) {
  CheckpointHeader out;
  out.state = core::parse_json(text, "its state");
  out.step = core::json_field<int64_t>(out.state, "step");
  if (out.step < 0) throw DataError(core::cat("key 'step' is ", out.step, ", expected 0 or more"));
  return out;
}

RunIdentity identity_in(const nlohmann::json& state) {
  const auto found = state.find("run");
  if (found == state.end()) {
    throw DataError("does not say which run it is of (an older version wrote it)");
  }
  return {core::json_field<std::string>(*found, "id"),
          core::json_field<std::string>(*found, "data"),
          config_in(core::json_field<std::string>(*found, "config"))};
}

nlohmann::json to_json(const RunIdentity& identity) {
  config::RunConfig config = identity.config;
  core::Binding binding;
  bind(binding, config);
  return {{"id", identity.id}, {"data", identity.data}, {"config", binding.to_toml()}};
}

std::string new_run_id() {
  std::random_device random;
  std::string out;
  for (int i = 0; i < 16; ++i) out += "0123456789abcdef"[random() % 16];
  return out;
}

std::vector<std::string> differences(RunIdentity found, RunIdentity expected) {
  core::Binding its, ours;
  bind(its, found.config);
  bind(ours, expected.config);
  std::vector<std::string> out;
  const auto& cosmetic = config::cosmetic_keys();
  for (size_t i = 0; i < ours.fields().size(); ++i) {
    const std::string& key = ours.fields()[i].key;
    const std::string there = core::Binding::value_text(its.fields()[i]),
                      here = core::Binding::value_text(ours.fields()[i]);
    if (there == here || std::find(cosmetic.begin(), cosmetic.end(), key) != cosmetic.end()) {
      continue;
    }
    out.push_back(core::cat(key, " ", core::printable_line(there), ", expected ", here));
  }
  const auto compare = [&](const char* what, const std::string& there, const std::string& here) {
    if (there.empty() || here.empty() || there == here) return;
    out.push_back(core::cat(what, " ", core::printable_line(there), ", expected ", here));
  };
  compare("data", found.data, expected.data);
  // The same configuration and data, but not the same start: other weights, another network.
  if (out.empty()) compare("run", found.id, expected.id);
  return out;
}

}  // namespace adagp::run
