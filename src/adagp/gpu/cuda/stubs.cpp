// Stands in for the kernels where there was no nvcc: nothing calls these, because unusable() says
// why not to.

#include "adagp/base/core/error.h"
#include "adagp/gpu/cuda/conv/average_pool.h"
#include "adagp/gpu/cuda/conv/block_float.h"
#include "adagp/gpu/cuda/conv/depthwise.h"
#include "adagp/gpu/cuda/conv/halving_pool.h"
#include "adagp/gpu/cuda/conv/image_conv.h"
#include "adagp/gpu/cuda/conv/narrow_conv.h"
#include "adagp/gpu/cuda/data/augment.h"
#include "adagp/gpu/cuda/data/shrink.h"
#include "adagp/gpu/cuda/loss.h"
#include "adagp/gpu/cuda/norm/copy_channels.h"
#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/cuda/optim/dropback.h"
#include "adagp/gpu/cuda/optim/optim.h"
#include "adagp/gpu/cuda/predictor/predictor.h"

namespace adagp::cuda {
namespace {

const char* const kMissing = "this program was built without CUDA kernels (no nvcc was found)";

[[noreturn]] void missing() {
  throw Error(kMissing);
}

}  // namespace

bool compiled() {
  return false;
}
const char* architectures() {
  return "";
}
std::string unusable(int) {
  return kMissing;
}
std::string device_name(int) {
  return "";
}
double memory_bandwidth(int) {
  return 0;
}
int64_t block_memory(int) {
  return 0;
}
void check_launch(const char*) {}
int64_t stats_workspace(const Map&, int) {
  return 0;
}
void norm_stats(const StatsArgs&, Stream) {
  missing();
}
void norm_moments(const MomentsArgs&, Stream) {
  missing();
}
int64_t summary_cells(const Map&, int) {
  return 0;
}
void pool_cells(const PoolArgs*, int64_t, int, Stream) {
  missing();
}
void average_pool(const AveragePoolArgs&, Stream) {
  missing();
}
void halving_pool(const HalvingPoolArgs&, Stream) {
  missing();
}
void copy_channels(const CopyChannelsArgs&, Stream) {
  missing();
}
void norm_apply(const ApplyArgs&, Stream) {
  missing();
}
void eval_scale(const EvalScaleArgs&, Stream) {
  missing();
}
int64_t backward_workspace(const Map&) {
  return 0;
}
void norm_backward(const NormBackwardArgs&, Stream) {
  missing();
}
int64_t loss_workspace(int64_t) {
  return 0;
}
void softmax_loss(const LossArgs&, Stream) {
  missing();
}
void augment(const AugmentArgs&, Stream) {
  missing();
}
void shrink(const ShrinkArgs&, Stream) {
  missing();
}
void update(const ParamSlot*, int64_t, const UpdateRule&, Stream) {
  missing();
}
void refresh_bf16_copies(const ParamSlot*, int64_t, Stream) {
  missing();
}
int64_t clip_workspace() {
  return 0;
}
void clip_scale(const ParamSlot*, int64_t, const ClipArgs&, Stream) {
  missing();
}
void block_float(const BlockFloatArgs&, Stream) {
  missing();
}
void depthwise_forward(const DepthwiseArgs&, Stream) {
  missing();
}
void depthwise_input_gradient(const DepthwiseArgs&, Stream) {
  missing();
}
void depthwise_weight_gradient(const DepthwiseArgs&, Stream) {
  missing();
}
void image_conv_forward(const ImageConvArgs&, Stream) {
  missing();
}
void image_conv_weight_gradient(const ImageConvArgs&, Stream) {
  missing();
}
void narrow_conv_forward(const NarrowConvArgs&, Stream) {
  missing();
}
void narrow_conv_weight_gradient(const NarrowConvArgs&, Stream) {
  missing();
}
int64_t drop_workspace() {
  return 0;
}
void drop_threshold(const DropArgs&, Stream) {
  missing();
}
void drop_apply(const DropArgs&, Stream) {
  missing();
}
void predictor_features(const FeaturesArgs&, Stream) {
  missing();
}
void predict_update(const PredictArgs&, Stream) {
  missing();
}
int64_t train_workspace(const PredictedLayer*, int64_t, int64_t) {
  return 0;
}
void predictor_train(const TrainArgs&, Stream) {
  missing();
}

}  // namespace adagp::cuda
