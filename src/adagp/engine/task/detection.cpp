// The detection task: pictures with boxes, YOLO's loss, mean average precision.

#include <algorithm>
#include <limits>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/metrics/mean_ap.h"
#include "adagp/engine/task/image_task.h"
#include "adagp/engine/task/yolo.h"

namespace adagp::task {
namespace {

constexpr int64_t kCoarsest = 32;      // stride of the coarsest map
constexpr int64_t kCandidates = 1000;  // of an image before suppression
constexpr size_t kAnswers = 100;       // after it

// [most, 5] of data/stream/batch.h -> objects in pixels.
void append_objects(const at::Tensor& rows, double size, bool difficult,
                    std::vector<core::LabelledBox>& out) {
  const auto values = rows.accessor<float, 2>();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const auto row = values[i];
    if (row[0] < 0) continue;
    const double x = row[1] * size, y = row[2] * size, w = row[3] * size / 2, h = row[4] * size / 2;
    out.push_back({{x - w, y - h, x + w, y + h}, static_cast<int64_t>(row[0]), difficult});
  }
}

class Detection : public Task {
 public:
  explicit Detection(data::DetectionSplits splits) : splits_(std::move(splits)) {}

  models::TaskKind kind() const override { return models::TaskKind::kDetection; }
  const std::vector<Figure>& figures() const override {
    static const std::vector<Figure> kFigures{{"map50", "mAP"},
                                              {"map50_11", "mAP (11 points)"},
                                              {"class_accuracy", "class accuracy"},
                                              {"object_recall", "objects seen"}};
    return kFigures;
  }
  std::string running_figure() const override { return ""; }

  void resolve(config::RunConfig& config) const override {
    if (splits_.size % kCoarsest != 0) {
      throw UsageError(core::cat("data.image_size = ", splits_.size, ": expected a multiple of ",
                                 kCoarsest, ", the stride of the coarsest head"));
    }
    if (config.model.form == "auto") config.model.form = "imagenet";
    resolve_classes(config, splits_.classes.size());
    config.data.mean = splits_.mean;
    config.data.std = splits_.std;
    config.data.image_size = splits_.size;
    if (config.detection.anchors.empty()) {
      config.detection.anchors = published_anchors(splits_.size);
    }
    yolo(config);  // refuses anchors that cannot be
  }

  models::Options model_options(const config::RunConfig& config) const override {
    return image_model_options(config);
  }
  std::string input_name(const config::RunConfig&) const override {
    return core::cat(splits_.size, "x", splits_.size);
  }

  int64_t train_size() const override { return splits_.train->size(); }
  int64_t test_size() const override { return splits_.test->size(); }

  std::unique_ptr<data::BatchSource> batches(const config::RunConfig& config, Use use,
                                             at::Device device, const Skips& skips,
                                             const data::Planner&) const override {
    const auto& set = use == Use::kTest ? splits_.test : splits_.train;
    data::DetectionOptions options;
    options.training = use == Use::kTrain;
    options.batch = options.training ? config.batch : config.eval_batch;
    options.seed = static_cast<uint64_t>(config.seed);
    options.workers = config.augment.workers;
    options.skips = skips;
    options.device = device;
    if (config.precision == "bf16") options.dtype = at::kBFloat16;
    options.size = splits_.size;
    options.most = std::max<int64_t>(1, data::most_objects(*set));
    options.most_difficult = options.training ? 0 : data::most_objects(*set, true);
    options.jitter = {config.detection.scale, config.detection.shift, config.augment.flip};
    options.mean = splits_.mean;
    options.std = splits_.std;
    return data::detection_batches(set, options);
  }

  data::Batch example(const config::RunConfig& config, int64_t count,
                      at::Device device) const override {
    data::Batch batch;
    batch.inputs = {random_images(config, count, splits_.size, splits_.size, device)};
    const int64_t most = std::max<int64_t>(1, data::most_objects(*splits_.train));
    at::Tensor boxes = at::rand({count, most, 5}, at::TensorOptions(device).dtype(at::kFloat));
    boxes.select(2, 0).mul_(static_cast<double>(config.model.classes)).floor_();
    boxes.narrow(2, 3, 2).mul_(0.4).add_(0.1);
    batch.targets = {boxes};
    return batch;
  }

  Loss loss(const config::RunConfig& config, RunningMetrics& tally, const models::Tensors& outputs,
            const data::Tensors& targets, const LossRequest&) const override {
    Loss out;
    out.value = yolo(config).loss(outputs, targets[0]);
    const auto count = static_cast<double>(outputs[0].size(0));
    const at::Tensor sum = out.value.detach().to(at::kDouble) * count;
    const at::Tensor none = at::zeros_like(sum);
    tally.add_sums(at::stack({sum, none, none, at::full_like(sum, count)}));
    return out;
  }

  Evaluation evaluate(const EvaluatedNet& net, data::BatchSource& source,
                      const EvaluationRequest&) const override {
    const config::RunConfig& config = net.config;
    const Yolo& head = yolo(config);
    metrics::MeanAp precision(config.model.classes);
    at::Tensor hits = at::zeros({3}, at::kDouble);
    bool finite = true;  // the loss does not see every output
    const auto see = [&](const data::Batch& batch, const models::Tensors& outputs) {
      for (const auto& map : outputs) finite = finite && at::isfinite(map).all().item<bool>();
      hits += head.hits(outputs, batch.targets[0]).cpu();
      const auto answers = head.answers(outputs, config.detection.confidence, kCandidates);
      const at::Tensor objects = batch.targets[0].cpu(), difficult = batch.targets[1].cpu();
      for (size_t i = 0; i < answers.size(); ++i) {
        std::vector<core::LabelledBox> wanted;
        const auto size = static_cast<double>(splits_.size);
        append_objects(objects.select(0, static_cast<int64_t>(i)), size, false, wanted);
        append_objects(difficult.select(0, static_cast<int64_t>(i)), size, true, wanted);
        std::vector<metrics::ScoredBox> found;
        for (const size_t k : metrics::nms(answers[i], config.detection.nms, kAnswers)) {
          found.push_back(answers[i][k]);
        }
        precision.add(wanted, found);
      }
    };
    const Seen seen = net.forward_all(source, see);
    const auto value = precision.value();
    const double objects = hits[2].item<double>();
    if (objects < 1) {
      throw DataError("the test pictures show no object that counts: raise data.test_limit");
    }
    Evaluation out;
    out.loss = finite ? seen.tally.loss() : std::numeric_limits<double>::quiet_NaN();
    out.figures = {{"map50", 100 * value.area},
                   {"map50_11", 100 * value.eleven},
                   {"class_accuracy", 100 * hits[0].item<double>() / objects},
                   {"object_recall", 100 * hits[1].item<double>() / objects}};
    out.examples = seen.examples;
    return out;
  }

  Metadata metadata(const config::RunConfig&) const override {
    return {{"class_names", class_names_text(splits_.classes)}};
  }

 private:
  const Yolo& yolo(const config::RunConfig& config) const {
    const std::lock_guard lock(mutex_);
    const auto key = core::cat(config.model.classes, " ", config.detection.ignore, " ",
                               nlohmann::json(config.detection.anchors).dump());
    auto& made = yolos_[key];
    if (!made) {
      made = std::make_unique<Yolo>(YoloOptions{config.detection.anchors, splits_.size,
                                                config.model.classes, config.detection.ignore});
    }
    return *made;
  }

  data::DetectionSplits splits_;
  // One task may serve runs of several configurations.
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<const Yolo>> yolos_;
};

}  // namespace

std::shared_ptr<const Task> open_detection(const config::RunConfig& config) {
  return std::make_shared<Detection>(data::open_detection(config.data));
}

}  // namespace adagp::task
