#include "adagp/gpu/cuda/predictor/predictor.h"
#include "adagp/gpu/cuda/predictor/train_plan.h"

namespace adagp::cuda {

int64_t train_workspace(const PredictedLayer* layers, int64_t count, int64_t widest) {
  return train_plan(layers, count, widest, nullptr).bytes;
}

void predictor_train(const TrainArgs& args, Stream stream) {
  TrainPlan plan = train_plan(args.layers, args.count, args.net.widest, args.workspace);
  if (args.normalise) train_squares(args, plan, stream);
  train_errors(args, plan, stream);
  train_products(args, plan, stream);
  train_steps(args, plan, stream);
}

}  // namespace adagp::cuda
