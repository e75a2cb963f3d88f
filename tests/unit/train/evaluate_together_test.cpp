#include "adagp/engine/train/evaluate_together.h"

#include <cmath>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::train {
namespace {

TEST(EvaluateTogether, EveryBitOfTheLeadersFiguresArrives) {
  task::Evaluation found;
  read_told(R"({"loss": "0.1", "figures": {"accuracy": "nan", "bleu": "1e-05"}})", found);
  EXPECT_EQ(found.loss, 0.1);
  EXPECT_TRUE(std::isnan(found.figures.at("accuracy")));
  EXPECT_EQ(found.figures.at("bleu"), 1e-05);
}

TEST(EvaluateTogether, WhatIsNoEvaluationIsRefusedByName) {
  for (const auto& [told, named] :
       {std::pair{R"({"loss": "0.1x", "figures": {}})", "loss: '0.1x', expected a number"},
        std::pair{R"({"loss": "", "figures": {}})", "loss: ''"},
        std::pair{R"({"loss": "1", "figures": {"bleu": "high"}})", "bleu: 'high'"},
        std::pair{R"({"loss": 1})", "as the leader tells it"},
        std::pair{"loss", "as the leader"}}) {
    task::Evaluation found;
    try {
      read_told(told, found);
      ADD_FAILURE() << told;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace adagp::train
