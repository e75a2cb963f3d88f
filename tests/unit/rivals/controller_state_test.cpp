// The controller's state, and what it refuses: other states, broken numbers, options out of range.
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/rivals/method/controller.h"
#include "unit/rivals/scripted_training.h"

namespace adagp::method {
namespace {

using nlohmann::json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ControllerState, RestoredAfterEveryWindowItDecidesTheSame) {
  int64_t decisions = 0, mid_round = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    RandomRun run(seed), copy(seed);
    Controller straight(run.options);
    std::string saved = Controller(run.options).state().dump();
    while (run.training.batches < 12000) {
      Controller resumed(run.options);
      resumed.load_state(json::parse(saved));
      ASSERT_EQ(resumed.window(), straight.window());
      ASSERT_EQ(resumed.step(), straight.step());
      ASSERT_EQ(resumed.k(), straight.k());
      mid_round += straight.window().measured;
      const auto a = run.training.next(straight);
      const auto b = copy.training.next(resumed);
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(to_json(a[i]), to_json(b[i]));
      decisions += static_cast<int64_t>(a.size());
      saved = resumed.state().dump();
      ASSERT_EQ(saved, straight.state().dump());
    }
  }
  EXPECT_GT(decisions, 50);
  EXPECT_GT(mid_round, 300);
}

TEST(ControllerState, AnotherStateIsRefused) {
  ControllerOptions o;
  o.steps = {"a", "b"};
  o.probe_share = 1;
  Controller controller(o);
  while (!controller.window().measured) controller.finish(1, 0, 0);
  for (int i = 0; i < 3; ++i) controller.finish(1, 2, 1);
  const json good = controller.state();
  const auto refused = [&](const json& state) {
    try {
      controller.load_state(state);
    } catch (const DataError&) {
      return controller.state() == good;  // and nothing of it was taken
    }
    return false;
  };
  for (const auto& [key, value] : good.items()) {
    json bad = good;
    bad.erase(key);
    EXPECT_TRUE(refused(bad)) << key << " missing";
    bad[key] = "text";
    EXPECT_TRUE(refused(bad)) << key << " of another type";
  }
  for (const char* part : {"round", "reference", "check", "raise"}) {
    for (const auto& [key, value] : good[part].items()) {
      json bad = good;
      bad[part].erase(key);
      EXPECT_TRUE(refused(bad)) << part << "." << key << " missing";
      bad[part][key] = nullptr;
      EXPECT_TRUE(refused(bad)) << part << "." << key << " null";
    }
  }
  const auto with = [&](const char* pointer, const json& value) {
    json out = good;
    out[json::json_pointer(pointer)] = value;
    return out;
  };
  EXPECT_TRUE(refused(with("/steps", {"a"})));
  EXPECT_TRUE(refused(with("/steps", {"a", "b", "c"})));
  EXPECT_TRUE(refused(with("/steps", {"b", "a"})));
  EXPECT_TRUE(refused(with("/trials", json::array({good["trials"][0]}))));
  EXPECT_TRUE(refused(with("/step", 2)));
  EXPECT_TRUE(refused(with("/k", 1)));  // of no step
  EXPECT_TRUE(refused(with("/round/step", 2)));
  EXPECT_TRUE(refused(with("/round/k", 5)));
  EXPECT_TRUE(refused(with("/round/rates", json::array({1, 1, 1}))));
  EXPECT_TRUE(refused(json::array()));
  EXPECT_TRUE(refused(nullptr));
  EXPECT_NO_THROW(controller.load_state(good));
}

TEST(ControllerState, BrokenNumbersRejectAndDropAtOnce) {
  struct Broken {
    double seconds, before, after;
  };
  for (const Broken& broken : {Broken{1, 2, kNan},
                               {1, kNan, 1},
                               {1, 2, kInf},
                               {1, -kInf, 1},
                               {0, 2, 1},
                               {-1, 2, 1},
                               {kNan, 2, 1},
                               {kInf, 2, 1}}) {
    for (const bool in_use : {false, true}) {
      ControllerOptions o;
      o.steps = {"a"};
      o.probe_share = 1;
      o.most = 1;
      Controller controller(o);
      if (in_use) {
        while (controller.k() == 0) controller.finish(1, controller.window().k > 0 ? 2 : 1, 0);
      }
      while (!controller.window().measured || controller.window().k == 0) {
        ASSERT_TRUE(controller.finish(1, 1, 0).empty());
      }
      const auto decided = controller.finish(broken.seconds, broken.before, broken.after);
      ASSERT_EQ(decided.size(), 1U);
      EXPECT_EQ(decided[0].what, in_use ? "drop" : "reject");
      EXPECT_EQ(controller.k(), 0);
      EXPECT_FALSE(controller.window().measured);
      const json written = json::parse(to_json(decided[0]).dump());
      EXPECT_TRUE(written.at("rate").is_null());
      EXPECT_EQ(written.at("bp_rate"), 1.0);
      EXPECT_EQ(written.at("step"), "a");
      EXPECT_NO_THROW(controller.load_state(json::parse(controller.state().dump())));
    }
  }
}

TEST(ControllerState, OptionsOutOfRangeNameTheRange) {
  const auto message = [](auto change) -> std::string {
    ControllerOptions o;
    o.steps = {"a", "b"};
    change(o);
    try {
      Controller controller(o);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  using O = ControllerOptions;
  EXPECT_EQ(message([](O&) {}), "accepted");
  EXPECT_EQ(message([](O& o) { o.window = 0; }), "auto: window = 0: expected 1 to 1000000 batches");
  EXPECT_EQ(message([](O& o) { o.pairs = 2; }), "auto: pairs = 2: expected 3 to 1000 windows");
  EXPECT_EQ(message([](O& o) { o.most = 0; }),
            "auto: most = 0: expected 1 to 1000 cheap batches to an exact one");
  for (const double value : {0.5, 1.0, kNan}) {
    EXPECT_NE(message([&](O& o) { o.confidence = value; }).find("more than 0.5 and less than 1"),
              std::string::npos);
  }
  for (const double value : {0.0, 1.1, -1.0, kNan}) {
    EXPECT_NE(message([&](O& o) { o.probe_share = value; }).find("more than 0 and at most 1"),
              std::string::npos);
  }
  EXPECT_NE(message([](O& o) { o.steps = {"a", "a"}; }).find("each step once"), std::string::npos);
  EXPECT_NE(message([](O& o) { o.steps = {""}; }).find("not empty"), std::string::npos);
}

}  // namespace
}  // namespace adagp::method
