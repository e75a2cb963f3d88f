// Do dfa, vt and dfa-random compute what their formulas say?

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/rivals/predictor/dfa_random.h"
#include "adagp/rivals/predictor/ridge.h"
#include "adagp/rivals/predictor/vt.h"
#include "unit/predictor/net.h"
#include "unit/rivals/pass.h"
#include "unit/with_rivals.h"

namespace adagp::predictor {
namespace {

using testing_net::by_autograd;
using testing_net::Collect;
using testing_net::ConvNet;
using testing_net::LinearNet;
using testing_net::Pass;
using testing_net::relative_error;

constexpr Needs kNeeds{.inputs = true, .deltas = true};

Config feedback_config(double ridge) {
  Config config;
  config.kind = "dfa";
  config.parts.get<rivals::PredictorOptions>().ridge = ridge;
  config.parts.get<rivals::PredictorOptions>().forget = 0.9;
  return config;
}

// What the batches so far say by least squares, solved in one go: V = (A + ridge diag A)^-1 B.
struct LeastSquares {
  void add(const at::Tensor& e, const at::Tensor& delta, double forget) {
    const at::Tensor a = e.t().mm(e), b = e.t().mm(delta);
    gram = gram.defined() ? gram * forget + a : a;
    cross = cross.defined() ? cross * forget + b : b;
  }
  at::Tensor solve(double ridge) const {
    return at::linalg_solve(gram + ridge * at::diag(gram.diagonal()), cross);
  }
  at::Tensor gram, cross;
};

TEST(Ridge, InverseOfAPositiveMatrix) {
  at::manual_seed(1);
  for (const int64_t size : {1, 2, 10, 33}) {
    const at::Tensor rows = at::randn({size + 3, size}, at::kDouble);
    const at::Tensor matrix = rows.t().mm(rows) + 0.01 * at::eye(size, at::kDouble);
    // Rounding of the elimination times the condition number, which is at most some 1e5 here.
    EXPECT_LT(
        (inverse_of(matrix).mm(matrix) - at::eye(size, at::kDouble)).abs().max().item<double>(),
        1e-9);
  }
}

TEST(Ridge, AFeatureThatWasNeverSeenHasNoSay) {
  Ridge fit({"t"}, 2, 0.9, 0.01, at::kDouble);
  const at::Tensor f = at::tensor({1.0, 0.0}, at::kDouble).view({1, 2});
  EXPECT_EQ(fit.coefficients(f).abs().sum().item<double>(), 0);  // before the first batch
  fit.observe(0, f, at::full({1, 3}, 2.0, at::kDouble));
  fit.observe(f);
  const at::Tensor both = at::ones({1, 2}, at::kDouble);
  const at::Tensor found = fit.coefficients(both).mm(fit.cross(0, 3));
  EXPECT_NEAR(found[0][0].item<double>(), 2 / 1.01, 1e-12);
  EXPECT_THROW(fit.cross(0, 4), UsageError);
}

// On a linear network the delta of the first layer is e times the second's weight (the Jacobian of
// the logits), whatever the input: the fit must find it and the gradient must be exact.
TEST(Dfa, FindsTheJacobianOfALinearNet) {
  at::manual_seed(3);
  LinearNet net;
  Pass pass(net, kNeeds);
  DfaPredictor predictor(pass.layers, feedback_config(1e-9), 1, 10);
  for (int i = 0; i < 5; ++i) {
    pass.run(8);
    predictor.observe(pass.summaries, pass.gradients, pass.context);
  }
  // Errors of an example add up to zero, so that only differences between classes are told.
  const at::Tensor differences = at::eye(3, at::kDouble) - 1.0 / 3;
  const auto state = predictor.state();
  const at::Tensor found = state.at("ridge.inverse").mm(state.at("ridge.cross.a"));
  EXPECT_LT(relative_error(differences.mm(found), differences.mm(net.b->weight.detach())), 1e-5);

  pass.run(8);
  Collect sink;
  predictor.predict(pass.summaries, pass.context, sink);
  // 1e-5: what the ridge shrinks. The head is exact.
  EXPECT_LT(relative_error(sink.gradients.at(0), pass.gradients[0]), 1e-5);
  EXPECT_LT(relative_error(sink.gradients.at(1), pass.gradients[1]), 1e-12);
  // A delta that was foreseen leaves nothing.
  EXPECT_LT(predictor.observe(pass.summaries, pass.gradients, pass.context).item<double>(), 1e-5);
}

TEST(Dfa, GradientsOfTheFittedFeedback) {
  at::manual_seed(4);
  ConvNet net;
  Pass pass(net, kNeeds);
  const Config config = feedback_config(0.02);
  DfaPredictor predictor(pass.layers, config, 1, 10);
  std::vector<LeastSquares> truth(3);
  for (int i = 0; i < 4; ++i) {
    pass.run(6);
    double missed = 0;
    for (size_t l = 0; l < truth.size(); ++l) {
      const at::Tensor delta = pass.activations.delta(l).reshape({6, -1});
      const at::Tensor seen = i == 0 ? at::zeros_like(delta)
                                     : pass.errors().mm(truth[l].solve(
                                           config.parts.get<rivals::PredictorOptions>().ridge));
      missed += ((delta - seen).square().sum() / delta.square().sum()).item<double>() / 3;
      truth[l].add(pass.errors(), delta, config.parts.get<rivals::PredictorOptions>().forget);
    }
    const double loss =
        predictor.observe(pass.summaries, pass.gradients, pass.context).item<double>();
    EXPECT_NEAR(loss, missed, 1e-9 * missed) << i;
  }
  pass.run(7);
  Collect sink;
  predictor.predict(pass.summaries, pass.context, sink);
  for (size_t l = 0; l < truth.size(); ++l) {
    auto shape = pass.activations.shape(l);
    const at::Tensor delta =
        pass.errors()
            .mm(truth[l].solve(config.parts.get<rivals::PredictorOptions>().ridge))
            .view(shape);
    const at::Tensor expected = by_autograd(*pass.layers[l], pass.activations.input(l), delta);
    // Two orders of the same sums in double.
    EXPECT_LT(relative_error(sink.gradients.at(l), expected), 1e-9) << l;
    EXPECT_EQ(sink.strides.at(l), pass.layers[l]->weight.strides().vec()) << l;
  }
}

// Bilinear: sum_i x_i (e_i V) = sum_c (sum_i e_ic x_i) V_c. So vt is dfa for errors of mean zero.
TEST(Vt, IsDfaWhenTheErrorsAreCentred) {
  at::manual_seed(5);
  ConvNet net;
  Pass pass(net, kNeeds);
  DfaPredictor dfa(pass.layers, feedback_config(0.02), 1, 10);
  VtPredictor vt(pass.layers, feedback_config(0.02), 1, 10);
  for (int i = 0; i < 3; ++i) {
    pass.run(6);
    dfa.observe(pass.summaries, pass.gradients, pass.context);
    vt.observe(pass.summaries, pass.gradients, pass.context);
  }
  Collect by_vt, by_dfa, centred;
  vt.predict(pass.summaries, pass.context, by_vt);
  dfa.predict(pass.summaries, pass.context, by_dfa);
  Context context = pass.context;
  context.errors = {pass.errors() - pass.errors().mean(0, true)};
  dfa.predict(pass.summaries, context, centred);
  for (size_t l = 0; l < 3; ++l) {
    EXPECT_LT(relative_error(by_vt.gradients.at(l), centred.gradients.at(l)), 1e-9) << l;
    EXPECT_GT(relative_error(by_vt.gradients.at(l), by_dfa.gradients.at(l)), 1e-3) << l;
  }
  EXPECT_TRUE(at::equal(by_vt.gradients.at(3), by_dfa.gradients.at(3)));  // the head is exact
}

TEST(Vt, SumsOfVirtualExamples) {
  at::manual_seed(6);
  ConvNet net;
  Pass pass(net, kNeeds);
  VtPredictor vt(pass.layers, feedback_config(0.05), 1, 10);
  LeastSquares truth;
  pass.run(6);
  truth.add(pass.errors(), pass.activations.delta(1).reshape({6, -1}), 1);
  vt.observe(pass.summaries, pass.gradients, pass.context);
  Collect sink;
  vt.predict(pass.summaries, pass.context, sink);
  const at::Tensor feedback = truth.solve(0.05), input = pass.activations.input(1);
  const at::Tensor centred = pass.errors() - pass.errors().mean(0, true);
  at::Tensor sum = at::zeros_like(pass.gradients[1]);
  for (int64_t c = 0; c < 3; ++c) {
    at::Tensor example = at::zeros_like(input.narrow(0, 0, 1));
    for (int64_t i = 0; i < 6; ++i) example += centred[i][c] * input.narrow(0, i, 1);
    auto shape = pass.activations.shape(1);
    shape[0] = 1;
    sum = sum + by_autograd(*pass.layers[1], example, feedback[c].view(shape));
  }
  EXPECT_LT(relative_error(sink.gradients.at(1), sum), 1e-9);
}

// One example for each input: the weight gradient of the first layer is the delta, transposed.
struct IdentityNet : LinearNet {
  at::Tensor images(int64_t batch) const { return at::eye(batch, 4, at::kDouble); }
};

TEST(DfaRandom, FixedFeedbackOfTheTrueLength) {
  at::manual_seed(7);
  IdentityNet net;
  Pass pass(net, kNeeds);
  Config config = feedback_config(0.01);
  config.kind = "dfa-random";
  DfaRandomPredictor predictor(pass.layers, config, 5, 10);
  Collect nothing, one, twice;
  pass.run(4);
  predictor.predict(pass.summaries, pass.context, nothing);
  EXPECT_EQ(nothing.gradients.at(0).abs().sum().item<double>(), 0);  // its length is not known yet
  predictor.observe(pass.summaries, pass.gradients, pass.context);
  predictor.predict(pass.summaries, pass.context, one);
  // After one batch the running norm is that batch's.
  EXPECT_NEAR(one.gradients.at(0).norm().item<double>(), pass.gradients[0].norm().item<double>(),
              1e-12);
  Context context = pass.context;
  context.errors = {2 * pass.errors()};
  predictor.predict(pass.summaries, context, twice);
  EXPECT_LT(relative_error(twice.gradients.at(0), 2 * one.gradients.at(0)), 1e-12);
  EXPECT_LT(relative_error(one.gradients.at(1), pass.gradients[1]), 1e-12);
  // The feedback's direction is the seed's, whatever was learnt.
  DfaRandomPredictor same(pass.layers, config, 5, 10), other(pass.layers, config, 6, 10);
  Collect a, b;
  for (int i = 0; i < 3; ++i) same.observe(pass.summaries, pass.gradients, pass.context);
  other.observe(pass.summaries, pass.gradients, pass.context);
  same.predict(pass.summaries, pass.context, a);
  other.predict(pass.summaries, pass.context, b);
  EXPECT_LT(relative_error(a.gradients.at(0), one.gradients.at(0)), 1e-9);
  EXPECT_GT(relative_error(b.gradients.at(0), one.gradients.at(0)), 1e-2);
}

}  // namespace
}  // namespace adagp::predictor
