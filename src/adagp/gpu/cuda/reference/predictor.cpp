// The predictor's definition on the CPU: operands of the large products are bf16, as for the tensor
// cores; everything between is double.

#include <cmath>
#include <vector>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/predictor/predictor.h"

namespace adagp::cuda {
namespace {

constexpr int kPixels = kSummary * kSummary, kPool = kSummary / kPooled;

// The convolution's output of one channel, [8, 8], before the ReLU.
void convolve(const float* summary, const float* weight, double bias, double* out) {
  for (int y = 0; y < kSummary; ++y) {
    for (int x = 0; x < kSummary; ++x) {
      double sum = bias;
      for (int k = 0; k < 9; ++k) {
        const int down = y + k / 3 - 1, right = x + k % 3 - 1;
        if (down < 0 || down >= kSummary || right < 0 || right >= kSummary) continue;
        sum += static_cast<double>(weight[k]) * summary[down * kSummary + right];
      }
      out[y * kSummary + x] = sum;
    }
  }
}

int pooled_pixel(int pixel) {
  return pixel / kSummary / kPool * kPooled + pixel % kSummary / kPool;
}

std::vector<float> floats_of(const void* low, int64_t count) {
  std::vector<float> out(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    out[static_cast<size_t>(i)] = bf16_to_float(static_cast<const uint16_t*>(low)[i]);
  }
  return out;
}

double dot(const float* a, const float* b) {
  double part[8] = {};
  for (int k = 0; k < kFeatures; k += 8) {
    for (int i = 0; i < 8; ++i) part[i] += static_cast<double>(a[k + i]) * b[k + i];
  }
  double sum = 0;
  for (const double value : part) sum += value;
  return sum;
}

void add(double* to, double factor, const float* from) {
  for (int k = 0; k < kFeatures; ++k) to[k] += factor * from[k];
}

struct Gradients {
  std::vector<double> conv_weight, conv_bias, fc_weight, fc_bias, inputs;
};

// Errors of one layer and what they add to the gradients. Returns mean(error^2) / layers.
double add_layer(const TrainArgs& args, int64_t l, const std::vector<float>& features,
                 const std::vector<float>& fc, Gradients& to) {
  const PredictedLayer& layer = args.layers[l];
  const double entries = static_cast<double>(layer.rows * layer.cols);
  const double share = 2.0 / (static_cast<double>(args.count) * entries);
  double squares = 0;
  for (int64_t r = 0; r < layer.rows; ++r) {
    const int64_t at = (layer.first_row + r) * kFeatures;
    for (int64_t c = 0; c < layer.cols; ++c) {
      const double gradient =
          load_as_float(layer.slot.gradient, layer.slot.gradient_type, r * layer.cols + c);
      const double error = dot(&features[at], &fc[c * kFeatures]) + args.net.fc_bias[c] -
                           gradient / args.net.scale[l];
      squares += error * error;
      const double part = share * rounded_to_bf16(static_cast<float>(error));
      add(&to.fc_weight[c * kFeatures], part, &features[at]);
      add(&to.inputs[at], part, &fc[c * kFeatures]);
      to.fc_bias[c] += part;
    }
  }
  return 0.5 * share * squares;
}

// Back through pool, ReLU and convolution.
void add_convolution(const TrainArgs& args, Gradients& to) {
  for (int64_t row = 0; row < args.rows; ++row) {
    const float* summary = args.summaries + row * kPixels;
    for (int channel = 0; channel < kChannels; ++channel) {
      double output[kPixels];
      convolve(summary, args.net.conv_weight + 9 * channel, args.net.conv_bias[channel], output);
      const double* pooled = &to.inputs[row * kFeatures + channel * kPooled * kPooled];
      for (int pixel = 0; pixel < kPixels; ++pixel) {
        if (output[pixel] <= 0) continue;
        const double gradient = pooled[pooled_pixel(pixel)] / (kPool * kPool);
        to.conv_bias[channel] += gradient;
        for (int k = 0; k < 9; ++k) {
          const int down = pixel / kSummary + k / 3 - 1, right = pixel % kSummary + k % 3 - 1;
          if (down < 0 || down >= kSummary || right < 0 || right >= kSummary) continue;
          to.conv_weight[9 * channel + k] += gradient * summary[down * kSummary + right];
        }
      }
    }
  }
}

void move_scales(const TrainArgs& args) {
  for (int64_t l = 0; l < args.count; ++l) {
    const PredictedLayer& layer = args.layers[l];
    const int64_t entries = layer.rows * layer.cols;
    double squares = 0;
    for (int64_t i = 0; i < entries; ++i) {
      const double g = load_as_float(layer.slot.gradient, layer.slot.gradient_type, i);
      squares += g * g;
    }
    const double now = squares / static_cast<double>(entries), decay = args.rms_decay;
    const double mean = *args.seen != 0 ? decay * args.net.mean_square[l] + (1 - decay) * now : now;
    args.net.mean_square[l] = static_cast<float>(mean);
    args.net.scale[l] = static_cast<float>(std::sqrt(mean + 1e-30));
  }
}

void step(const ParamSlot& slot, float* weight, void* low, const std::vector<double>& gradient,
          const UpdateRule& rule) {
  const std::vector<float> rounded(gradient.begin(), gradient.end());
  ParamSlot full = slot;
  full.weight = weight;
  full.low = low;
  full.gradient = rounded.data();
  full.gradient_type = Type::kFloat;
  full.count = static_cast<int64_t>(rounded.size());
  reference::update(&full, 1, rule);
}

}  // namespace

void reference::predictor_features(const FeaturesArgs& args) {
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int channel = 0; channel < kChannels; ++channel) {
      double output[kPixels], pooled[kPooled * kPooled] = {};
      convolve(args.summaries + row * kPixels, args.net->conv_weight + 9 * channel,
               args.net->conv_bias[channel], output);
      for (int pixel = 0; pixel < kPixels; ++pixel) {
        const double value = output[pixel] < 0 ? 0.0 : output[pixel];  // a NaN stays one
        pooled[pooled_pixel(pixel)] += value / (kPool * kPool);
      }
      for (int i = 0; i < kPooled * kPooled; ++i) {
        store_from_float(args.features, Type::kBFloat16,
                         row * kFeatures + channel * kPooled * kPooled + i,
                         static_cast<float>(pooled[i]));
      }
    }
  }
}

void reference::predict_update(const PredictArgs& args) {
  const std::vector<float> fc = floats_of(args.net->fc_low, args.net->widest * kFeatures);
  for (int64_t l = 0; l < args.count; ++l) {
    const PredictedLayer& layer = args.layers[l];
    const std::vector<float> features =
        floats_of(static_cast<const uint16_t*>(args.features) + layer.first_row * kFeatures,
                  layer.rows * kFeatures);
    std::vector<float> gradient(static_cast<size_t>(layer.rows * layer.cols));
    for (int64_t r = 0; r < layer.rows; ++r) {
      for (int64_t c = 0; c < layer.cols; ++c) {
        const double value =
            dot(&features[r * kFeatures], &fc[c * kFeatures]) + args.net->fc_bias[c];
        gradient[r * layer.cols + c] = static_cast<float>(args.net->scale[args.ids[l]] * value);
      }
    }
    ParamSlot slot = layer.slot;
    slot.gradient = gradient.data();
    slot.gradient_type = Type::kFloat;
    slot.count = layer.rows * layer.cols;
    reference::update(&slot, 1, args.rule);
  }
}

void reference::predictor_train(const TrainArgs& args) {
  if (args.normalise) move_scales(args);
  const std::vector<float> fc = floats_of(args.net.fc_low, args.net.widest * kFeatures);
  const std::vector<float> features = floats_of(args.features, args.rows * kFeatures);
  Gradients gradients{std::vector<double>(kChannels * 9), std::vector<double>(kChannels),
                      std::vector<double>(args.net.widest * kFeatures),
                      std::vector<double>(args.net.widest),
                      std::vector<double>(args.rows * kFeatures)};
  double loss = 0;
  for (int64_t l = 0; l < args.count; ++l) loss += add_layer(args, l, features, fc, gradients);
  add_convolution(args, gradients);
  *args.loss = static_cast<float>(loss);

  const PredictorNet& net = args.net;
  step(args.fc_weight, net.fc_weight, net.fc_low, gradients.fc_weight, args.rule);
  step(args.fc_bias, net.fc_bias, nullptr, gradients.fc_bias, args.rule);
  step(args.conv_weight, net.conv_weight, nullptr, gradients.conv_weight, args.rule);
  step(args.conv_bias, net.conv_bias, nullptr, gradients.conv_bias, args.rule);
  *args.seen = 1;
}

}  // namespace adagp::cuda
