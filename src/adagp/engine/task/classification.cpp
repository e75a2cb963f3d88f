#include "adagp/engine/task/classification.h"

#include <ATen/ATen.h>

#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/data/stream/loader.h"
#include "adagp/engine/task/image_task.h"
#include "adagp/engine/task/loss.h"

namespace adagp::task {
namespace {

constexpr double kAuxiliary = 0.4;  // weight of an auxiliary head's loss (Inception)

class Classification : public Task {
 public:
  explicit Classification(data::Splits splits) : splits_(std::move(splits)) {}

  models::TaskKind kind() const override { return models::TaskKind::kClassification; }
  const std::vector<Figure>& figures() const override {
    static const std::vector<Figure> kFigures{{"top1", "top-1"}, {"top5", "top-5"}};
    return kFigures;
  }

  void resolve(config::RunConfig& config) const override {
    for (const auto& entry : models::registry()) {  // a network of the user's own has no forms
      if (config.model.form != "auto" || entry.name != config.model.name) continue;
      const auto form = models::form_for(entry, splits_.height, splits_.width);
      config.model.form = models::form_name(form);
    }
    resolve_classes(config, splits_.classes.size());
    config.data.mean = splits_.mean;
    config.data.std = splits_.std;
    if (config.augment.crop == "auto") {
      const bool resident = splits_.train && splits_.train->resident().defined();
      config.augment.crop = resident ? "pad" : "resized";
    }
  }

  models::Options model_options(const config::RunConfig& config) const override {
    return image_model_options(config);
  }

  std::string input_name(const config::RunConfig&) const override {
    return core::cat(splits_.height, "x", splits_.width);
  }

  int64_t image_side(const config::RunConfig&) const override {
    return splits_.height == splits_.width ? splits_.height : 0;
  }

  // 0: a task that is made up for timing has no images.
  int64_t train_size() const override { return splits_.train ? splits_.train->size() : 0; }
  int64_t test_size() const override { return splits_.test->size(); }

  std::unique_ptr<data::BatchSource> batches(const config::RunConfig& config, Use use,
                                             at::Device device, const Skips& skips,
                                             const data::Planner& plan) const override {
    const bool training = use == Use::kTrain;
    data::LoaderOptions options;
    options.batch = training ? config.batch : config.eval_batch;
    options.shuffle = options.drop_last = training;
    options.seed = static_cast<uint64_t>(config.seed);
    options.workers = config.augment.workers;
    options.skips = skips;
    options.plan = plan;
    options.device = device;
    if (config.precision == "bf16") options.dtype = at::kBFloat16;
    options.augment.train = training;
    options.augment.crop = data::parse_crop(config.augment.crop);
    options.augment.pad = config.augment.pad;
    options.augment.flip = config.augment.flip;
    options.augment.height = splits_.height;
    options.augment.width = splits_.width;
    options.augment.mean = splits_.mean;
    options.augment.std = splits_.std;
    return std::make_unique<data::Loader>(use == Use::kTest ? splits_.test : splits_.train,
                                          options);
  }

  Metadata metadata(const config::RunConfig&) const override {
    return {{"class_names", class_names_text(splits_.classes)}};
  }

  bool plans_epochs() const override { return true; }
  at::Tensor losses(const models::Tensors& outputs, const data::Tensors& targets) const override {
    return softmax_losses(outputs[0], targets[0]);
  }

  data::Batch example(const config::RunConfig& config, int64_t count,
                      at::Device device) const override {
    data::Batch batch;
    batch.inputs = {random_images(config, count, splits_.height, splits_.width, device)};
    batch.targets = {
        at::randint(config.model.classes, {count}, at::TensorOptions(device).dtype(at::kLong))};
    return batch;
  }

  Loss loss(const config::RunConfig& config, RunningMetrics& tally, const models::Tensors& outputs,
            const data::Tensors& targets, const LossRequest& request) const override {
    const double smoothing = request.training ? config.label_smoothing : 0.0;
    const bool differentiable = request.gradient && outputs.size() > 1;
    Loss out = softmax_loss(tally, smoothing, outputs[0], targets[0], request, differentiable);
    for (size_t i = 1; i < outputs.size(); ++i) {
      out.value =
          out.value + kAuxiliary * at::cross_entropy_loss(outputs[i].to(at::kFloat), targets[0], {},
                                                          at::Reduction::Mean, -100, smoothing);
    }
    return out;
  }

  Evaluation evaluate(const EvaluatedNet& net, data::BatchSource& source,
                      const EvaluationRequest& request) const override {
    models::Tensors kept;
    See see;
    if (request.keep_logits) {
      see = [&](const data::Batch&, const models::Tensors& outputs) {
        kept.push_back(outputs[0].to(at::kFloat).cpu());
      };
    }
    const Seen seen = net.forward_all(source, see);
    Evaluation out;
    out.loss = seen.tally.loss();
    out.figures = {{"top1", seen.tally.top1()}, {"top5", seen.tally.top5()}};
    out.examples = seen.examples;
    if (request.keep_logits) out.logits = at::cat(kept);
    return out;
  }

 private:
  data::Splits splits_;
};

}  // namespace

std::shared_ptr<const Task> classification(data::Splits splits) {
  return std::make_shared<Classification>(std::move(splits));
}

std::shared_ptr<const Task> open_classification(const config::RunConfig& config) {
  return classification(data::open(config.data));
}

}  // namespace adagp::task
