#include "adagp/teams/parallel/spec.h"

#include <functional>
#include <set>
#include <vector>

#include "adagp/base/core/lookup.h"
#include "adagp/sim/pipeline/schedules.h"

namespace adagp::parallel {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw UsageError("--parallel: " + what);
}

// One word of the option: how it is written, what it is for, and what it does to a spec.
struct Word {
  std::string name;
  std::string value;  // an example; empty: it takes none
  std::string help;
  std::function<void(Spec&, const std::string&)> set;
};

int64_t whole(const std::string& name, const std::string& text, int64_t most) {
  long long value = 0;
  if (!core::parse_integer(text, value) || value < 1 || value > most) {
    refuse(core::cat(name, "='", text, "' is no whole number from 1 to ", most));
  }
  return value;
}

double seconds(const std::string& text) {
  constexpr double kDay = 86400;
  const std::string number = text.ends_with("s") ? text.substr(0, text.size() - 1) : text;
  double value = 0;
  if (!core::parse_number(number, value) || !(value >= 0.1 && value <= kDay)) {
    refuse(core::cat("timeout='", text, "' is no number of seconds from 0.1 to ", kDay));
  }
  return value;
}

double number(const std::string& name, const std::string& text, double least, double most) {
  double value = 0;
  if (!core::parse_number(text, value) || !(value >= least && value <= most)) {
    refuse(core::cat(name, "='", text, "' is no number from ", least, " to ", most));
  }
  return value;
}

std::string one_of(const std::string& name, const std::string& text,
                   const std::vector<std::string>& known) {
  return core::find_named(known, text, "--parallel: unknown " + name);
}

Word number_word(const char* name, const char* example, const char* help, int64_t Spec::*member,
                 int64_t most) {
  return {name, example, help, [name, member, most](Spec& spec, const std::string& text) {
            spec.*member = whole(name, text, most);
          }};
}

Word flag_word(const char* name, const char* help, bool Spec::*member) {
  return {name, "", help, [member](Spec& spec, const std::string&) { spec.*member = true; }};
}

const std::vector<Word>& words() {
  constexpr int64_t kProcesses = 4096, kMicroBatches = 1 << 20, kChunks = 1024;
  static const std::vector<Word> table{
      flag_word("data", "copies of the network (or of the pipeline) share each batch", &Spec::data),
      {"pipeline", "gpipe",
       "the network in stages, one per process: " + core::join(pipeline::trained_schedules(), ", "),
       [](Spec& spec, const std::string& text) {
         spec.pipeline = one_of("pipeline", text, pipeline::trained_schedules());
       }},
      number_word("stages", "2", "processes of one pipeline (all, without 'data')", &Spec::stages,
                  kProcesses),
      number_word("micro-batches", "4", "parts of a batch in the pipeline (as many as stages)",
                  &Spec::micro_batches, kMicroBatches),
      number_word("chunks", "2", "stages per process, of 'interleaved'", &Spec::chunks, kChunks),
      flag_word("recompute",
                "a stage keeps only its inputs and runs forward again before it goes backward",
                &Spec::recompute),
      number_word("local", "4",
                  "starts that many processes on this machine; without it a launcher "
                  "does (torchrun)",
                  &Spec::local, kProcesses),
      {"timeout", "60", "seconds after which a process that waits for another gives up",
       [](Spec& spec, const std::string& text) { spec.timeout = seconds(text); }},
      {"backend", "auto", "gloo, nccl, or auto: nccl where every process has a GPU of its own",
       [](Spec& spec, const std::string& text) {
         spec.backend = one_of("backend", text, {"auto", "gloo", "nccl"});
       }},
      flag_word("sync-norm", "batch norm over the batches of all copies", &Spec::sync_norm),
      {"predict", "summaries", "what copies average on GP batches: summaries or gradients",
       [](Spec& spec, const std::string& text) {
         spec.predict = one_of("predict", text, {"summaries", "gradients"});
       }},
      {"copy-bandwidth", "1e8",
       "for experiments, gloo alone: copies exchange as over links of so many bytes per second",
       [](Spec& spec, const std::string& text) {
         spec.copy_bandwidth = number("copy-bandwidth", text, 1, 1e15);
       }},
      {"copy-latency", "1e-4",
       "for experiments, gloo alone: seconds of each message between copies",
       [](Spec& spec, const std::string& text) {
         spec.copy_latency = number("copy-latency", text, 1e-9, 10);
       }},
      {"timings", "ops", "writes when each op of a pipeline ran: ops.0.json, ..., for Perfetto",
       [](Spec& spec, const std::string& text) { spec.timings = text; }},
  };
  return table;
}

const Word& find_word(const std::string& name) {
  if (name.empty()) refuse("an empty part between commas");
  return core::find_named(words(), name, "--parallel: unknown word");
}

void check_together(const Spec& spec, const std::set<std::string>& given) {
  for (const char* name : {"stages", "micro-batches", "chunks", "recompute", "timings"}) {
    if (given.contains(name) && spec.pipeline.empty()) {
      refuse(core::cat("'", name,
                       "' is of a pipeline: add pipeline=", pipeline::schedules().front().name));
    }
  }
  for (const char* name : {"sync-norm", "predict", "copy-bandwidth", "copy-latency"}) {
    if (given.contains(name) && !spec.data) {
      refuse(core::cat("'", name, "' is for copies that share a batch: add 'data'"));
    }
  }
  for (const char* name : {"copy-bandwidth", "copy-latency"}) {
    if (given.contains(name) && spec.backend == "nccl") {
      refuse(core::cat("'", name, "' slows the exchange over gloo alone: use backend=gloo"));
    }
  }
  if (spec.chunks > 1 && spec.pipeline != "interleaved") {
    refuse(core::cat("chunks=", spec.chunks,
                     " goes with pipeline=interleaved, not with pipeline=", spec.pipeline));
  }
  if (spec.pipeline == kDecoupled) {
    for (const char* name : {"data", "micro-batches", "recompute", "timings"}) {
      if (given.contains(name)) {
        refuse(core::cat("'", name, "' cannot be used with pipeline=", kDecoupled,
                         ", whose batches run as a whole"));
      }
    }
  }
  if (!spec.any()) {
    refuse("it says how, but not what the processes share: add 'data', pipeline=gpipe or both");
  }
  if (spec.data && !spec.pipeline.empty() && spec.stages == 0) {
    refuse("'data' with a pipeline needs to know the processes of one copy: add stages=2, say");
  }
  if (spec.local > 0) shape_of(spec, static_cast<int>(spec.local));
}

}  // namespace

Spec parse_spec(const std::string& text) {
  Spec spec;
  if (core::trim(text).empty()) return spec;
  std::set<std::string> given;
  for (const auto& part : core::split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string name = core::trim(part.substr(0, equals));
    const Word& word = find_word(name);
    if (!given.insert(name).second) refuse(core::cat("'", name, "' stands there twice"));
    const bool has_value = equals != std::string::npos;
    if (has_value && word.value.empty()) refuse(core::cat("'", name, "' takes no value"));
    const std::string value = has_value ? core::trim(part.substr(equals + 1)) : "";
    if (value.empty() && !word.value.empty()) {
      refuse(core::cat("'", name, "' needs a value: ", name, "=", word.value));
    }
    word.set(spec, value);
  }
  check_together(spec, given);
  return spec;
}

std::string spec_help() {
  std::vector<std::string> lines;
  for (const auto& word : words()) {
    const std::string written = word.name + (word.value.empty() ? "" : "=" + word.value);
    lines.push_back(core::cat(written, ": ", word.help));
  }
  return core::join(lines, "\n");
}

Shape shape_of(const Spec& spec, int world) {
  Shape shape;
  const std::string processes = core::cat(world, world == 1 ? " process" : " processes");
  if (!spec.any()) {
    if (world > 1) {
      refuse(core::cat(processes, " and nothing for them to share: add 'data' or pipeline=gpipe"));
    }
    return shape;
  }
  if (spec.pipeline.empty()) {
    shape.copies = world;
    return shape;
  }
  shape.stages = spec.stages == 0 ? world : static_cast<int>(spec.stages);
  if (world % shape.stages != 0) {
    refuse(core::cat(processes, " cannot be divided into pipelines of ", shape.stages,
                     " stages: start a multiple of ", shape.stages));
  }
  shape.copies = world / shape.stages;
  if (shape.copies > 1 && !spec.data) {
    refuse(core::cat(processes, " are ", shape.copies, " pipelines of ", shape.stages,
                     " stages: add 'data' to have them share each batch, or start ", shape.stages));
  }
  return shape;
}

}  // namespace adagp::parallel
