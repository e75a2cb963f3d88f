#include "adagp/engine/train/trainer.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "adagp/base/core/duration.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/task/fingerprint.h"
#include "adagp/engine/train/evaluate_together.h"
#include "adagp/engine/train/idle_settings.h"
#include "adagp/engine/train/run_files.h"

namespace adagp::train {

Trainer::Trainer(const config::RunConfig& config, task::TaskPtr task,
                 std::shared_ptr<models::Net> net, std::shared_ptr<step::Team> team)
    : session_(step::make_session(config, std::move(task), std::move(net), std::move(team))),
      schedule_(schedule::Schedule::parse(
          method::find_method(config.method).cheap == method::Cheap::kScheduled ? config.schedule
                                                                                : "bp",
          config.epochs)),
      work_{plan::work_of(config, schedule::Phase::kBackprop),
            plan::work_of(config, schedule::Phase::kPredict)},
      probes_(0, 0),
      clock_(session_.device),
      trace_(session_) {
  const method::MethodEntry entry = method::find_method(config.method);
  if (entry.cheap != method::Cheap::kNone) step::add_summaries(session_);
  method_ = entry.make(session_);
  costs_ = std::make_unique<method::Costs>(*session_.net, *session_.task, config,
                                           method_->batch_plan().image_sides);
  held_out_ = std::make_unique<HeldOut>(session_, entry);
  planner_ = std::make_unique<EpochPlanner>(session_, *method_, schedule_, held_out_->rule());

  task::Task::Skips skips;
  if (!method_->traits().cheap_needs_data) {
    skips = [schedule = schedule_](int64_t epoch, int64_t position) {
      return schedule.at(epoch, position) == schedule::Phase::kPredict;
    };
  }
  train_source_ = session_.team->share(session_.task->batches(
      config, task::Use::kTrain, session_.device, skips, planner_->planner()));
  test_source_ = session_.task->batches(config, task::Use::kTest, session_.device);
  size_.per_epoch = train_source_->batches_per_epoch();
  size_.examples = config.batch;
  if (size_.per_epoch < 1) throw UsageError("the task gives no training batch");
  planner_->set_usual_batches(size_.per_epoch);
  size_.total = entry.length ? entry.length.batches(config) : config.epochs * size_.per_epoch;
  // A run cut to a budget takes its stairs proportionally earlier.
  const auto epoch = static_cast<double>(size_.per_epoch),
             full = epoch * static_cast<double>(config.epochs);
  const auto shortened =
      std::max<int64_t>(1, static_cast<int64_t>(epoch * static_cast<double>(size_.total) / full));
  policy_ = schedule::make_policy(config.policy, config.optim.lr, size_.total, shortened);
  const auto batches = [&](const std::string& text) {
    return core::Duration::parse(text).batches(size_.per_epoch);
  };
  // The stages of a pipeline would each measure their own layers and nobody the network.
  const bool whole = !session_.team->splits_layers();
  probes_ = method::Probes(session_.layers.size(), whole ? batches(config.probe_every) : 0);
  log_every_ = std::max<int64_t>(1, batches(config.log_every));
  checkpoint_every_ = std::max<int64_t>(1, batches(config.checkpoint_every));
  if (method::needs_predictor(config)) step::add_predictor(session_, shortened);
  steps_ = std::make_unique<StepRunner>(session_, *method_, probes_);
  progress_ = std::make_unique<RunProgress>(*planner_, *costs_, totals_, size_);
}

// ---------------------------------------------------------------- the loop

report::Summary Trainer::run(run::RunFolder* folder) {
  resume(folder);
  warn_of_idle_settings(session_, *planner_, forecast());
  session_.net->train();
  session_.trained_seconds = [this] { return totals_.train_seconds + clock_.running(); };
  steps_->warm_up();
  train_source_->seek(totals_.next.epoch, totals_.next.batch);

  // A run that ended before its summary was written has only that to do.
  if (progress_->done()) session_.team->collect(session_);

  if (!session_.device.is_cpu() || !session_.team->solo()) totals_.parts = PartSeconds::unknown();
  // A process of a team sees its part of the batches.
  if (!session_.team->solo()) totals_.examples = std::nan("");
  int64_t saved = progress_->epochs_in_batches();
  progress_->start(forecast().macs());
  clock_.start();
  while (!progress_->done()) {
    one_batch();
    const bool end_of_epoch = at_end_of_epoch();
    if (end_of_epoch || totals_.step % log_every_ == 0) log_interval();
    if (end_of_epoch) end_epoch(folder);

    const int signal = agreed_signal(end_of_epoch);
    if (signal == 0 && progress_->epochs_in_batches() - saved < checkpoint_every_ &&
        !progress_->done())
      continue;
    save(folder);
    saved = progress_->epochs_in_batches();
    if (signal != 0 && !progress_->done()) {
      recorder_.clear_line();
      throw Interrupted(
          core::cat("interrupted: saved after batch ", totals_.step, progress_->of_total(),
                    folder != nullptr ? " in " + folder->path().string() : ""),
          signal);
    }
    clock_.start();
  }
  const report::Summary result = summary_of(session_, totals_, probes_, progress_->cost_epochs());
  if (folder != nullptr) {
    write_weights(folder->file("weights.safetensors"), session_);
    folder->finish(result);
  }
  return result;
}

void Trainer::one_batch() {
  session_.team->release(session_);
  method::StepChooser* chooser = method_->step_chooser();
  plan::BatchContext context = planner_->context(totals_.next.epoch, totals_.next.batch);
  if (chooser != nullptr) context.phase = chooser->begin(session_, context);
  phase_ = context.phase;
  const plan::BatchShape shape = method_->batch_plan().at(context);
  session_.batch = progress_->nominal_step();
  session_.set_lr(policy_->lr(session_.batch) * shape.rate);
  session_.plateau = policy_->fallen();
  session_.first_block = shape.frozen_blocks;
  metrics::Stopwatch watch;
  const data::Batch batch = take_batch(context);
  totals_.parts.data += watch.restart();
  for (const auto& part : session_.parts) {
    part->before_batch(session_, batch, totals_.step, progress_->share());
  }
  const step::StepResult result =
      context.cheap() ? steps_->cheap(batch) : steps_->exact(batch, totals_.bp_batches);
  (context.cheap() ? totals_.parts.cheap : totals_.parts.exact) += watch.seconds();

  ++(context.cheap() ? totals_.gp_batches : totals_.bp_batches);
  // Of all copies of the network together.
  const int64_t examples = batch.empty()     ? session_.config.batch
                           : batch.whole > 0 ? batch.whole
                                             : batch.size() * session_.team->copies();
  totals_.examples += batch.empty() ? 0.0 : static_cast<double>(examples);
  const double macs = method_->cost(session_, *costs_, context, examples);
  ++totals_.batches[{work_[context.cheap() ? 1 : 0], shape.image_side, examples,
                     costs_->rows_before(shape.frozen_blocks)}];
  if (chooser != nullptr) chooser->end(session_, macs);
  totals_.macs += macs + (chooser != nullptr ? chooser->take_other_cost(*costs_) : 0);
  ++totals_.step;
  ++timed_.batches;
  timed_.examples += examples;
  last_ = totals_.next;
  batches_of_last_ = planner_->batches(last_.epoch);
  if (++totals_.next.batch == batches_of_last_) totals_.next = {last_.epoch + 1, 0};
  if (chooser != nullptr) recorder_.decisions(chooser->take_records(), totals_.step);
  // Reading the loss costs nothing on the CPU; a GPU is only asked at the log interval.
  if (result.loss.defined() && session_.device.is_cpu()) {
    check_loss(result.loss.item<double>(), "at " + last_.text());
  }
}

void Trainer::check_loss(double loss, const std::string& where) {
  if (within_limit(loss, session_.config)) return;
  recorder_.clear_line();
  throw_diverged(loss, where, session_, last_batch_);
}

void Trainer::check_interval(const task::RunningMetrics::Values& now) {
  const auto mean = watch_.mean_since_last(now, last_, totals_.next);
  if (mean) check_loss(mean->loss, mean->where);
}

data::Batch Trainer::take_batch(const plan::BatchContext& context) {
  if (context.cheap() && !method_->traits().cheap_needs_data) {
    train_source_->skip();
    return {};
  }
  data::Batch batch = train_source_->next();
  planner_->annotate(batch);
  last_batch_ = method_->transform_batch(batch, context);
  return last_batch_;
}

void Trainer::log_interval() {
  stop_clock();
  const double seconds = totals_.train_seconds - timed_.from;
  Recorder::Interval now;
  now.seconds_per_batch = seconds / static_cast<double>(std::max<int64_t>(1, timed_.batches));
  now.examples_per_second = static_cast<double>(timed_.examples) / seconds;
  timed_ = {totals_.train_seconds};
  now.last = last_;
  now.batches_of_epoch = batches_of_last_;
  now.seen = seen();
  now.phase = phase_;
  check_interval(now.seen);
  probes_.collect();
  if (recorder_.is_open())
    recorder_.interval(now, session_, probes_, totals_,
                       Recorder::Progress{progress_->share(), progress_->time_left()});
  clock_.start();
}

void Trainer::end_epoch(run::RunFolder* folder) {
  stop_clock();
  const metrics::Stopwatch tracing;
  if (folder != nullptr && trace_.after(last_.epoch, session_, last_batch_, *folder)) {
    totals_.trace_seconds += tracing.seconds();
  }
  const metrics::Stopwatch watch;
  const task::Evaluation found =
      evaluate_together(session_, *steps_, *test_source_, progress_->done());
  const std::optional<double> held_out = held_out_->loss(*steps_);
  totals_.eval_seconds += watch.seconds();
  for (const auto& [name, loss] :
       {std::pair{"test", found.loss}, std::pair{"held-out", held_out.value_or(0)}}) {
    if (std::isfinite(loss)) continue;
    recorder_.clear_line();
    throw DivergedError(
        core::cat("diverged: ", name, " loss ", loss, " after ", last_.text(),
                  "; checkpoints made before are kept; lower optim.lr or set clip"));
  }
  totals_.figures = found.figures;
  totals_.test_loss = found.loss;
  const double score = totals_.figures.at(main_figure().name);
  if (score > totals_.best_score) {
    totals_.best_score = score;
    if (folder != nullptr) write_weights(folder->file("best.safetensors"), session_);
  }
  const double train_loss = seen().loss();
  const bool watches_train = session_.config.policy.watch == "train";
  policy_->epoch_end(held_out.value_or(watches_train ? train_loss : found.loss));
  session_.tally.reset();
  watch_.forget_sums();
  if (folder != nullptr) {
    recorder_.epoch({last_.epoch, (size_.total + size_.per_epoch - 1) / size_.per_epoch, train_loss,
                     progress_->cost_epochs(), main_figure().name, held_out},
                    probes_, totals_,
                    Recorder::Progress{progress_->share(), progress_->time_left()});
  }
  clock_.start();
}

int Trainer::agreed_signal(bool end_of_epoch) {
  // GP batches stream through a pipeline; asking after each would make the stages wait.
  const bool streams = !session_.team->solo() && phase_ == schedule::Phase::kPredict;
  if (streams && !end_of_epoch) return 0;
  return session_.team->agree(core::pending_signal(), end_of_epoch || progress_->done());
}

// ---------------------------------------------------------------- folder and checkpoints

void Trainer::resume(run::RunFolder* folder) {
  std::optional<run::Snapshot> found;
  if (folder != nullptr) data_ = task::fingerprint(*session_.task, session_.config);
  if (folder != nullptr && !folder->replaces()) {
    const run::Checkpoints checkpoints(folder->file("checkpoint"));
    found = checkpoints.load_newest();
    if (found) {
      refuse_foreign(*found, identity(*folder), forecast());
      checkpoints.tidy();
    }
    if (folder->shorter_epochs()) extend(*folder, forecast(), found.has_value());
  }
  session_.team->wait_for_leader();
  session_.team->spread(found);
  if (found) {
    restore(parts(), *found);
    timed_.from = totals_.train_seconds;
    watch_.begin(session_.tally.read(), totals_.next);
    // The sum over a team must count it once.
    if (!session_.team->leads()) session_.tally.reset();
  }
  if (folder == nullptr) return;
  if (found) {
    core::log_info(core::cat(folder->path().string(), ": resumed after batch ", totals_.step,
                             progress_->of_total()));
  }
  if (totals_.step == 0) begin_folder(*folder, session_, costs_->tables(), data_);
  recorder_.open(*folder, totals_.step);
}

run::RunIdentity Trainer::identity(const run::RunFolder& folder) const {
  run::RunIdentity out{folder.id(), data_, session_.config};
  out.config.epochs = folder.shorter_epochs().value_or(out.config.epochs);
  return out;
}

void Trainer::save(run::RunFolder* folder) {
  stop_clock();
  const task::RunningMetrics::Values all = seen();
  session_.team->collect(session_);
  planner_->join_losses();
  check_interval(all);
  probes_.collect();
  session_.check_intact();
  run::Snapshot whole = take_snapshot(parts(), all);
  session_.team->merge(whole);
  if (folder == nullptr) return;
  whole.state["run"] = to_json(identity(*folder));
  // A run resumed from here writes only what comes after: what came before must be on disk first.
  recorder_.flush();
  try {
    run::Checkpoints(folder->file("checkpoint")).save(whole);
  } catch (const DivergedError& error) {
    throw DivergedError(core::cat(error.what(), " (", last_.text(), ")"));
  }
  folder->saved();
  if (!folder->moved()) return;
  // Going on would be right for the run and wrong for whoever looks for it at the old place.
  recorder_.clear_line();
  throw Error(core::cat("the run folder was moved while the run worked in it: saved after batch ",
                        totals_.step, progress_->of_total(), " in ", folder->path().string(),
                        "; move it back and give the same command again, or name the new place "
                        "with -o"));
}

// ---------------------------------------------------------------- time

void Trainer::stop_clock() {
  session_.team->settle();  // every later wait for the device is one without a limit
  const double probing = probes_.take_seconds();
  totals_.train_seconds += clock_.stop() - probing;
  totals_.parts.exact -= probing;
}

}  // namespace adagp::train
