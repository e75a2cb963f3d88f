// Which examples an epoch has, in batches of which size; learning rates.

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/plan/planned_methods.h"
#include "adagp/base/plan/selection.h"
#include "adagp/base/schedule/policy.h"
#include "bindings.h"
#include "settings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {
namespace {

template <typename T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Losses = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<std::pair<std::string, std::vector<std::string>>> policy_keys() {
  core::Binding binding;
  config::RunConfig config;
  config::bind(binding, config);
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const auto& field : binding.fields()) {
    if (!field.key.starts_with("policy.")) continue;
    std::vector<std::string> readers;
    for (const auto& [by, values] : field.conditions) {
      if (by == "policy.name") readers = values;
    }
    out.emplace_back(field.key, readers);
  }
  return out;
}

// A vector as an array that owns it.
template <typename T>
Column<T> column(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Column<T>(kept->data(), {kept->size()}, owner);
}

struct Epoch {
  plan::EpochPlan plan;
  std::vector<float> weights;  // of all examples; empty: 1 each
};

plan::RunPlan make_plan(const std::string& method, int64_t examples, int64_t side,
                        const Settings& settings) {
  config::RunConfig config = config_of(settings);
  config.method = method;
  if (examples < 1) throw UsageError(core::cat("examples: ", examples, ", expected 1 or more"));
  if (config.batch > examples) {
    throw UsageError(
        core::cat("batch_size: ", config.batch, ", and the data set has ", examples, " examples"));
  }
  return plan::make_run_plan(config, {side, examples});
}

Epoch lay_out(const plan::RunPlan& plan, int64_t epoch, const Losses& losses) {
  const auto examples = static_cast<size_t>(plan.examples());
  if (losses.size() != 0 && losses.size() != examples) {
    throw UsageError(core::cat("losses: ", losses.size(), " numbers, expected ", examples));
  }
  if (epoch < 0) throw UsageError(core::cat("epoch: ", epoch, ", expected 0 or more"));
  std::vector<float> kept(examples, plan::kUnseen);
  if (losses.size() != 0) std::copy(losses.data(), losses.data() + examples, kept.begin());
  const nb::gil_scoped_release released;
  auto chance = plan.chance(epoch);
  Epoch out;
  out.weights = plan.weights(chance, std::move(kept));
  out.plan = plan.lay_out(std::move(chance), out.weights);
  return out;
}

Column<int64_t> draw(
    const nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>& weights,
    int64_t examples, bool replace, uint64_t seed, int64_t epoch) {
  const std::vector<double> kept(weights.data(), weights.data() + weights.size());
  return column(plan::weighted_examples(kept, {examples, replace}, seed, epoch));
}

// Arrays that own their numbers refer to nothing inside the object.
constexpr auto kOwned = nb::rv_policy::automatic;

void bind_epoch(nb::module_& module) {
  using Part = plan::EpochPlan::Part;
  const auto parts = [](int64_t Part::*field) {
    return [field](const Epoch& self) {
      std::vector<int64_t> out;
      for (const Part& part : self.plan.batches) out.push_back(part.*field);
      return column(std::move(out));
    };
  };
  nb::class_<Epoch>(module, "EpochPlan", "The examples of one epoch in their order, and batches.")
      .def_prop_ro(
          "order", [](const Epoch& self) { return column(self.plan.order); }, kOwned)
      .def_prop_ro("begins", parts(&Part::begin), kOwned)
      .def_prop_ro("counts", parts(&Part::count), kOwned)
      .def_prop_ro(
          "weights", [](const Epoch& self) { return column(self.weights); }, kOwned,
          "What the loss of each example of the data set counts; empty: 1 each.")
      .def(
          "share_before",
          [](const Epoch& self, int64_t position) {
            const auto batches = static_cast<int64_t>(self.plan.batches.size());
            if (position < 0 || position >= batches) {
              throw UsageError(core::cat("position: ", position, ", expected 0 to ", batches - 1));
            }
            return plan::share_before(self.plan, position);
          },
          "position"_a)
      .def("__len__", [](const Epoch& self) { return self.plan.batches.size(); });
}

}  // namespace

void bind_plan(nb::module_& module) {
  using plan::RunPlan;
  bind_epoch(module);
  nb::class_<RunPlan>(module, "RunPlan", "The batches of a whole run, epoch by epoch.")
      .def(
          "__init__",
          [](RunPlan* self, const std::string& method, int64_t examples, int64_t side,
             const Settings& settings) {
            new (self) RunPlan(make_plan(method, examples, side, settings));
          },
          "method"_a, "examples"_a, "side"_a, "settings"_a)
      .def_prop_ro("differs", &RunPlan::differs)
      .def_prop_ro("by_loss",
                   [](const RunPlan& self) { return self.rule() && self.rule().by_loss; })
      .def_prop_ro("image_sides", [](const RunPlan& self) { return self.batch_plan().image_sides; })
      .def("epoch", &lay_out, "epoch"_a, "losses"_a)
      .def(
          "shape",
          [](const RunPlan& self, int64_t epoch, int64_t position) {
            const auto shape = self.batch_plan().at(self.context(epoch, position));
            return std::tuple(shape.image_side, shape.examples, shape.rate);
          },
          "epoch"_a, "position"_a, "(image side or 0, examples or 0, factor of the rate)")
      .def(
          "stages",
          [](const RunPlan& self) {
            std::vector<std::tuple<int64_t, int64_t, int64_t>> out;
            for (const auto& stage : self.stages()) {
              out.emplace_back(stage.begin, stage.end, stage.examples);
            }
            return out;
          },
          "(first epoch, end, examples of each) as far as can be said before the run")
      .def(
          "counts",
          [](const RunPlan& self, int64_t epoch, int64_t examples) {
            std::vector<int64_t> out;
            for (const auto& part : self.parts(epoch, examples)) out.push_back(part.count);
            return out;
          },
          "epoch"_a, "examples"_a, "So many examples in batches: the size of each.")
      .def("progress", &RunPlan::progress, "epoch"_a, "within"_a);
  module.def(
      "planned_methods",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string>> out;
        for (const auto& method : plan::planned_methods()) {
          out.emplace_back(method.name, method.about, core::join(plan::keys_of(method), " "));
        }
        return out;
      },
      "(name, a line about it, keys that it reads)");
  module.def("weighted_examples", &draw, "weights"_a, "examples"_a, "replace"_a, "seed"_a,
             "epoch"_a, kOwned);
  module.def("nominal_step", &plan::nominal_step, "progress"_a, "total"_a);

  using schedule::Policy;
  nb::class_<Policy>(module, "Policy", "A learning rate as a function of the step.")
      .def("lr", &Policy::lr, "step"_a)
      .def("epoch_end", &Policy::epoch_end, "loss"_a)
      .def("state", &Policy::state)
      .def("load_state", &Policy::load_state, "state"_a);
  module.def(
      "make_policy",
      [](const Settings& settings, double base, int64_t total, int64_t per_epoch) {
        return schedule::make_policy(config_of(settings).policy, base, total, per_epoch).release();
      },
      "settings"_a, "base"_a, "total"_a, "per_epoch"_a, nb::rv_policy::take_ownership);
  module.def("policy_keys", &policy_keys, "(key, policies that read it); of all policies: none");
}

}  // namespace adagp::python
