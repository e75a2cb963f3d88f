// adagp pipeline: pipelines over several devices, by counting steps or with costs.

#include <memory>

#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/special_files.h"
#include "adagp/papers/study/pipeline_files.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

struct PipelineArgs {
  study::PipelineOptions options;
  std::string plot, save_schedule, chakra, chrome;
  double memory = 0;
  bool json = false, csv = false, gantt = false, batch_by_batch = false;
};

void save_files(const PipelineArgs& args, const study::PipelineStudy& study) {
  if (!args.chakra.empty() || !args.chrome.empty()) core::catch_signals();
  if (!args.save_schedule.empty()) {
    study::save_schedule(study::only_run(study, "--save-schedule"), args.save_schedule);
  }
  if (!args.chakra.empty()) {
    study::save_chakra(study::only_run(study, "--chakra"), study.unit, args.chakra);
  }
  if (!args.chrome.empty()) study::save_chrome(study::only_run(study, "--chrome"), args.chrome);
}

int run_pipeline(PipelineArgs& args) {
  args.options.memory_limit = args.memory * kGibibyte;
  args.options.overlap = !args.batch_by_batch;
  const study::PipelineStudy study = study::run_pipelines(args.options);
  std::string picture;
  if (!args.plot.empty()) {
    const bool scaling = study.runs.size() > 1 && study::several_copies(study);
    picture = scaling ? report::svg(study::scaling_chart(study))
                      : report::svg(study::pipeline_chart(study));
  }
  const std::string text = args.json  ? study::pipeline_json(study, args.gantt)
                           : args.csv ? study::pipeline_csv(study)
                                      : study::pipeline_text(study, args.gantt);
  save_files(args, study);
  core::print_result(text, args.json || args.csv);
  if (!args.plot.empty()) core::write_output(args.plot, picture);
  return 0;
}

void add_shape(CLI::App& command, PipelineArgs& args) {
  study::PipelineOptions& options = args.options;
  CLI::Option* schedule =
      command
          .add_option("--schedule", options.schedules,
                      "Order of the work: gpipe, dapple, chimera, zero-bubble, zb-v, dualpipe-v, "
                      "interleaved, decoupled, filled, filled-gpipe, or 'all'")
          ->capture_default_str();
  command
      .add_option("--schedule-file", options.schedule_file,
                  "Order of the work in PyTorch's CSV (compute_only) instead")
      ->type_name("FILE")
      ->excludes(schedule);
  command.add_option("--stages", options.stages, "Devices (default 4)")->type_name("NUMBERS");
  command
      .add_option("--micro-batches", options.micro_batches, "Micro-batches of a batch (default 4)")
      ->type_name("NUMBERS");
  add_number(
      command, "--chunks", options.chunks,
      "Stages per device of 'interleaved' (default 2; zb-v and dualpipe-v have 2), which share "
      "--fw and --bw",
      1);
  command
      .add_option(
          "--phases", options.phases,
          "Phases of the batches: bp, gp, low (BP with smaller images), gp-bp, or counts as in "
          "gp*4-bp")
      ->capture_default_str();
  add_number(command, "--batches", options.batches,
             "Number of batches; the phases repeat (default: the phases once)", 1);
  command.add_flag("--batch-by-batch", args.batch_by_batch,
                   "No device starts a batch before it has finished the one before");
  command.add_flag("--sweep", options.sweep,
                   "Stages 2..16*2 and micro-batches 4..64*2 unless given");
}

void add_costs(CLI::App& command, PipelineArgs& args) {
  study::PipelineOptions& options = args.options;
  const auto cost = [&](const char* name, auto& value, const char* about) {
    return add_number(command, name, value, about, 0, study::kMostPipelineCost);
  };
  cost("--fw", options.forward, "Time of a stage's forward pass of a micro-batch")
      ->capture_default_str();
  cost("--bw", options.backward, "Time of a stage's backward pass of a micro-batch")
      ->capture_default_str();
  cost("--predictor", options.rest.predict_update,
       "Time of a stage's prediction and update, once in a GP batch");
  cost("--summary", options.rest.summary,
       "Time that a GP batch adds to the forward pass of each micro-batch");
  command
      .add_option(
          "--gp-share", options.gp_share,
          "Part of --fw and --bytes that a GP batch takes: 0.25 for images of half the side")
      ->transform(number_between(0.0, 1.0))
      ->type_name("NUMBER")
      ->capture_default_str();
  command
      .add_option("--low-share", options.low_share,
                  "Part of --fw, --bw and --bytes that a low-resolution batch takes: 0.25 for half "
                  "the side")
      ->transform(number_between(0.0, 1.0))
      ->type_name("NUMBER")
      ->capture_default_str();
  cost("--optimizer", options.rest.optimizer, "Time of a stage's update, once in a BP batch");
  cost("--predictor-step", options.rest.predictor_step,
       "Time of a stage's predictor training, once in a BP batch; plain BP has none");
  cost("--latency", options.latency, "Time of a message between two devices, without its bytes");
  cost("--bandwidth", options.bandwidth,
       "Bytes per unit of time between two devices (default: no limit)");
  cost("--bytes", options.rest.output_bytes, "Bytes of a micro-batch between two stages");
  cost("--weight-bytes", options.rest.weight_bytes,
       "Bytes of a stage's gradients, which copies and Chimera's replicas exchange in BP batches");
  cost("--summary-bytes", options.rest.summary_bytes,
       "Bytes of a stage's summaries, which copies and Chimera's replicas exchange in GP batches");
  command.add_option("--costs", options.costs_file,
                     "Costs of layers or stages (CSV or JSON) instead: docs/pipelines.md");
  add_number(command, "--memory", args.memory,
             "GiB a stage may have, when layers are cut into stages", 0, 1e8);
}

void add_copies(CLI::App& command, study::PipelineOptions& options) {
  const auto cost = [&](const char* name, auto& value, const char* about) {
    return add_number(command, name, value, about, 0, study::kMostPipelineCost);
  };
  command
      .add_option(
          "--copies", options.copies,
          "Copies of the pipeline, which train on different examples (data parallel; default 1)")
      ->type_name("NUMBERS");
  cost("--copy-latency", options.copy_latency,
       "Time of a message between two copies (default: --latency)");
  cost("--copy-bandwidth", options.copy_bandwidth,
       "Bytes per unit of time from each device to the next copy (default: --bandwidth)");
  command
      .add_option("--all-reduce", options.all_reduce,
                  "How copies add up: ring, or halving (recursive halving and doubling)")
      ->capture_default_str();
  cost("--bucket-bytes", options.bucket_bytes,
       "Gradients leave in pieces of this size during the backward pass; 0: after it")
      ->capture_default_str();
  command.add_flag("--split-batch", options.split_batch,
                   "Copies share the batch (default: each has one of its own)");
}

void add_accelerator(CLI::App& command, study::PipelineOptions& options) {
  study::Options& machine = options.accelerator;
  command.add_option("--model", machine.models,
                     "Network (adagp list models): costs are its cycles on accelerators");
  CLI::Option* input =
      command.add_option("--input", machine.inputs, "Input of the network: imagenet, cifar, ...")
          ->capture_default_str();
  command.add_option("--table", machine.table, "Layer table (CSV) instead of --model")
      ->excludes(input);
  command
      .add_option("--pt2", machine.pt2,
                  "Network saved by Python's torch.export.save, instead of --model")
      ->excludes(input)
      ->type_name("FILE");
  command.add_option("--onnx", machine.onnx, "Network in an ONNX file, instead of --model")
      ->excludes(input)
      ->type_name("FILE");
  command
      .add_option("--batch", machine.batches,
                  "Batch size of a copy, of all its micro-batches (default 128)")
      ->type_name("NUMBERS");
  command.add_option("--accelerator", machine.accelerators, "Preset or TOML file")
      ->capture_default_str();
  command.add_option("--array", machine.arrays, "Array of each device, as 12x15");
  command.add_option("--dataflow", machine.dataflows, "ws, is, os, rs or in-place");
  command
      .add_option("--design", options.design,
                  "Where the predictor runs: low, efficient (on the device's array) or max (on a "
                  "second one)")
      ->capture_default_str();
  command.add_flag("--products-only", machine.products_only, "Leave out vector passes");
  command.add_flag("--free-predictor", options.free_predictor,
                   "Leave out the cycles of predictor and updates");
  add_number(command, "--examples", machine.examples,
             "Examples of an epoch (default: the data set's)", 1, study::kMostExamples);
}

}  // namespace

void add_pipeline(CLI::App& app, Action& action) {
  auto args = std::make_shared<PipelineArgs>();
  CLI::App* command = app.add_subcommand(
      "pipeline", "Pipelines over several devices: steps, bubbles, speed-ups of GP phases");
  add_shape(*command, *args);
  add_costs(*command, *args);
  add_copies(*command, args->options);
  add_accelerator(*command, args->options);
  command
      ->add_option("--training", args->options.training,
                   "Schedule of the run whose speed-up is told: auto, paper or stretches")
      ->capture_default_str();
  add_number(*command, "--epochs", args->options.epochs, "Epochs of the run whose speed-up is told",
             1)
      ->capture_default_str();
  add_number(*command, "--batches-per-epoch", args->options.batches_per_epoch,
             "Of that run (default: the data set's, or 1000)", 1);
  command->add_flag("--gantt", args->gantt,
                    "Also what every device does when; with --json as \"events\"");
  CLI::Option* csv = command->add_flag("--csv", args->csv, "CSV, a line per run");
  command->add_flag("--json", args->json, "JSON; of several runs an array")->excludes(csv);
  command->add_option(
      "--plot", args->plot,
      "Write a picture (SVG): what the devices of one run do, or the speed over the "
      "numbers of copies");
  command
      ->add_option("--save-schedule", args->save_schedule,
                   "Write the order of a BP batch in PyTorch's CSV (compute_only)")
      ->type_name("FILE");
  command
      ->add_option("--chakra", args->chakra,
                   "Write a trace (MLCommons Chakra) for each device and copy, for simulators of "
                   "networks")
      ->type_name("DIR");
  command
      ->add_option("--chrome", args->chrome,
                   "Write what the devices do when, for chrome://tracing and Perfetto")
      ->type_name("FILE");
  command->footer(
      "Lists (a,b) and ranges (2..8, 4..64*2) of schedules, stages, micro-batches, batch sizes and "
      "copies\nmake a sweep.\nWhat is counted and what is not: docs/pipelines.md, docs/copies.md.");
  command->callback([args, &action] { action = [args] { return run_pipeline(*args); }; });
}

}  // namespace adagp::apps
