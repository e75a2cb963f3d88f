#include "adagp/base/config/other_names.h"

namespace adagp::config {

void add_other_names(core::Binding& b) {
  b.also_called("optim.lr", "learning_rate base_lr");
  b.also_called("optim.name", "optimizer");
  b.also_called("optim.decay", "weight_decay wd l2");
  b.also_called("policy.name", "scheduler lr_scheduler");
  b.also_called("batch", "batch_size batchsize bs");
  b.also_called("eval_batch", "test_batch_size val_batch_size");
  b.also_called("epochs", "num_epochs max_epochs");
  b.also_called("augment.workers", "num_workers");
  b.also_called("precision", "amp dtype fp16 bf16");
  b.also_called("clip", "grad_clip clip_grad max_grad_norm");
  b.also_called("accumulate", "grad_accumulation accumulation_steps");
  b.also_called("data.name", "dataset");
  b.also_called("data.dir", "data_dir data_path root");
  b.also_called("model.name", "model arch network");
  b.also_called("data.image_size", "img_size");
  b.also_called("weights", "pretrained checkpoint");
}

}  // namespace adagp::config
