#pragma once
// Ablations of what a predictor sees: the same predictor, shown something that is not the batch's
// activations. Whatever it still predicts, it does not take from them.

#include "adagp/engine/predictor/predictor.h"

namespace adagp::predictor {

// `input`:
//   zeros   nothing
//   noise   normal numbers of the size (RMS) that the rows of the layer have
//   labels  how often each class is in the batch, laid over the cells of every row
std::unique_ptr<Predictor> with_other_input(std::unique_ptr<Predictor> inner,
                                            const std::string& input,
                                            const std::vector<nn::WeightLayer*>& layers,
                                            SummaryForm form);

}  // namespace adagp::predictor
