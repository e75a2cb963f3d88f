// Gradients in fewer bytes: exact where nothing is left out, and nothing is lost where something
// is.

#include "adagp/teams/parallel/compressor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/teams/parallel/buckets.h"
#include "unit/comm/fake_group.h"
#include "unit/python.h"
#include "unit/temp_folder.h"
#include "unit/with_rivals.h"

namespace adagp::parallel {
namespace {

using adagp::testing::Exchange;

std::vector<optim::Param> compressed_params() {
  std::vector<optim::Param> params{
      {"conv", at::zeros({6, 4, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast)},
      {"bias", at::zeros({6})},
      {"tall", at::zeros({19, 5})},
      {"wide", at::zeros({3, 21})},
  };
  for (auto& param : params) param.value.requires_grad_();
  return params;
}

config::RunConfig compress_config(const std::string& kind, double share = 1, int64_t rank = 64) {
  config::RunConfig c;
  c.parts.get<rivals::CompressOptions>() = {.kind = kind, .share = share, .rank = rank};
  return c;
}

at::Tensor random_gradient(const at::Tensor& value, uint64_t seed) {
  at::manual_seed(seed);
  return at::empty_like(value.detach()).copy_(at::randn(value.sizes()));
}

void set_gradients(const std::vector<optim::Param>& params, uint64_t seed) {
  for (size_t p = 0; p < params.size(); ++p) {
    params[p].value.mutable_grad() = random_gradient(params[p].value, 100 * seed + p);
  }
}

// `body` on every copy, each in a thread of its own. Random numbers are drawn before.
void with_compressing_copies(int copies, const std::function<void(comm::Group&)>& body) {
  const auto exchange = std::make_shared<Exchange>(copies);
  adagp::testing::expect_no_errors(adagp::testing::on_threads(*exchange, [&](int rank) {
    adagp::testing::FakeGroup group(exchange, rank);
    body(group);
  }));
}

struct Copies {
  // By copy and step: what each parameter's gradient was, and became.
  std::vector<std::vector<std::vector<at::Tensor>>> given, got;
  std::vector<std::map<std::string, at::Tensor>> state;  // by copy, at the end
  std::vector<double> bytes;
};

Copies compressed(const config::RunConfig& c, int copies, int steps) {
  Copies out;
  out.given.resize(static_cast<size_t>(copies));
  out.got = out.given;
  out.state.resize(out.given.size());
  out.bytes.resize(out.given.size());
  const auto shapes = compressed_params();
  for (int copy = 0; copy < copies; ++copy) {
    for (int step = 0; step < steps; ++step) {
      set_gradients(shapes, static_cast<uint64_t>(1 + copy * steps + step));
      auto& all = out.given[static_cast<size_t>(copy)].emplace_back();
      for (const auto& param : shapes) all.push_back(param.value.grad().clone());
    }
  }
  with_compressing_copies(copies, [&](comm::Group& group) {
    const auto me = static_cast<size_t>(group.rank());
    const auto params = compressed_params();
    const auto compressor = make_compressor(c, group, params);
    for (const auto& gradients : out.given[me]) {
      for (size_t p = 0; p < params.size(); ++p) {
        params[p].value.mutable_grad() = gradients[p].clone();
      }
      compressor->average(params, "a batch");
      auto& all = out.got[me].emplace_back();
      for (const auto& param : params) all.push_back(param.value.grad().clone());
    }
    out.state[me] = compressor->state();
    out.bytes[me] = compressor->bytes();
  });
  return out;
}

double largest(const at::Tensor& x) {
  return x.abs().max().item<double>();
}

TEST(Compressors, AreExactWhereNothingIsLeftOut) {
  for (const auto& c : {compress_config("top-k"), compress_config("power-sgd")}) {
    const Copies run = compressed(c, 2, 3);
    for (size_t step = 0; step < 3; ++step) {
      for (size_t p = 0; p < 4; ++p) {
        const at::Tensor mean = (run.given[0][step][p] + run.given[1][step][p]) / 2;
        // The mean of two is exact; the product of orthogonal matrices is not.
        const double limit = c.parts.get<rivals::CompressOptions>().kind == "top-k" ? 0 : 1e-5;
        EXPECT_LE(largest(run.got[0][step][p] - mean), limit)
            << c.parts.get<rivals::CompressOptions>().kind << " " << p;
      }
    }
  }
}

TEST(Compressors, LoseNothingOverAHundredSteps) {
  for (const auto& c : {compress_config("top-k", 0.05), compress_config("power-sgd", 1, 1),
                        compress_config("sign")}) {
    for (const int copies : {1, 2}) {
      constexpr int kSteps = 100;
      const Copies run = compressed(c, copies, kSteps);
      const auto names = compressed_params();
      for (size_t p = 0; p < 4; ++p) {
        at::Tensor missing = at::zeros_like(run.got[0][0][p]);
        double size = 0;
        for (size_t step = 0; step < kSteps; ++step) {
          missing -= run.got[0][step][p];
          for (const auto& copy : run.given) missing += copy[step][p] / copies;
        }
        for (const auto& state : run.state) {
          const auto residual = state.find("residual." + names[p].name);
          if (residual == state.end()) continue;  // it travels whole
          missing -= residual->second.view(missing.sizes()) / copies;
          size = std::max(size, largest(residual->second));
        }
        EXPECT_EQ(size > 0.1, names[p].name != "bias")
            << c.parts.get<rivals::CompressOptions>().kind;  // something was left
        // A hundred additions of numbers of order 1 to 30 in fp32.
        EXPECT_LT(largest(missing), 5e-4)
            << c.parts.get<rivals::CompressOptions>().kind << " " << copies << " " << p;
      }
    }
  }
}

TEST(Compressors, LeaveTheSameBitsInEveryCopy) {
  for (const auto& c : {compress_config("top-k", 0.1), compress_config("power-sgd", 1, 2),
                        compress_config("sign")}) {
    const Copies run = compressed(c, 3, 4);
    for (size_t p = 0; p < 4; ++p) {
      EXPECT_TRUE(at::equal(run.got[0][3][p], run.got[1][3][p]))
          << c.parts.get<rivals::CompressOptions>().kind;
      EXPECT_TRUE(at::equal(run.got[0][3][p], run.got[2][3][p]))
          << c.parts.get<rivals::CompressOptions>().kind;
    }
  }
}

TEST(Compressors, TopKKeepsTheLargest) {
  const Copies run = compressed(compress_config("top-k", 0.04), 1, 1);
  const at::Tensor given = run.given[0][0][2].view({-1}), got = run.got[0][0][2].view({-1});
  EXPECT_EQ(got.ne(0).sum().item<int64_t>(), 4);  // 4 % of 95, rounded up
  const at::Tensor places = std::get<1>(at::topk(given.abs(), 4));
  EXPECT_TRUE(at::equal(got.index_select(0, places), given.index_select(0, places)));
}

TEST(Compressors, SignIsTheMeanMagnitudeWithASign) {
  const Copies run = compressed(compress_config("sign"), 1, 1);
  const at::Tensor &given = run.given[0][0][0], &got = run.got[0][0][0];
  EXPECT_TRUE(at::allclose(got, given.sign() * given.abs().mean()));
}

// The best approximation of rank r, once power iteration has had the time to find it.
TEST(Compressors, PowerSgdFindsTheLargestDirections) {
  with_compressing_copies(1, [](comm::Group& group) {
    const auto params = compressed_params();
    const auto compressor = make_compressor(compress_config("power-sgd", 1, 2), group, params);
    const at::Tensor u = std::get<0>(at::linalg_qr(random_gradient(params[2].value, 1)));
    const at::Tensor v =
        std::get<0>(at::linalg_qr(random_gradient(params[2].value, 2).narrow(0, 0, 5)));
    const at::Tensor sizes = at::tensor({9.0F, 5.0F, 0.5F, 0.2F, 0.1F});
    const at::Tensor matrix = (u * sizes).mm(v.t());
    at::Tensor got;
    for (int step = 0; step < 12; ++step) {
      set_gradients(params, 5);
      params[2].value.mutable_grad() = matrix.clone();
      // Without what is fed back, this is power iteration.
      auto state = compressor->state();
      state.at("residual.tall").zero_();
      compressor->average(params, "a batch");
      got = params[2].value.grad().clone();
    }
    const at::Tensor best = (u * sizes * at::tensor({1.0F, 1.0F, 0.0F, 0.0F, 0.0F})).mm(v.t());
    EXPECT_LT(largest(got - best), 1e-4);
  });
}

// From the same factor and the same error: the decoded matrix does not depend on how directions are
// made orthogonal.
TEST(Compressors, PowerSgdIsTorchsOwnHook) {
  const testing::TempFolder folder;
  testing::run_python("tests/golden/power_sgd.py", (folder / "out.safetensors").string());
  const auto torchs = io::load_tensors(folder / "out.safetensors").tensors;
  EXPECT_GT(largest(torchs.at("residual")), 0.1);
  with_compressing_copies(1, [&](comm::Group& group) {
    const auto params = compressed_params();
    const auto compressor = make_compressor(compress_config("power-sgd", 1, 2), group, params);
    auto state = compressor->state();
    state["q.tall"] = torchs.at("q");
    state["residual.tall"] = torchs.at("residual");
    compressor->load_state(state);
    params[2].value.mutable_grad() = torchs.at("gradient").clone();
    compressor->average(params, "a batch");
    EXPECT_LT(largest(params[2].value.grad() - torchs.at("decoded")), 1e-5);
    EXPECT_LT(largest(compressor->state().at("residual.tall") - torchs.at("left")), 1e-5);
  });
}

TEST(Compressors, CountTheBytesTheySend) {
  // Of conv (216 numbers), tall (95), wide (63) and bias (6), which travels whole.
  const double bias = bytes_of_sum(6 * 4, 2);
  EXPECT_EQ(bias, 24);
  EXPECT_EQ(compressed(compress_config("top-k", 0.1), 2, 1).bytes[0], bias + 8 * (22 + 10 + 7));
  EXPECT_EQ(compressed(compress_config("sign"), 2, 1).bytes[0], bias + 3 * 4 + 27 + 12 + 8);
  EXPECT_EQ(compressed(compress_config("power-sgd", 1, 2), 2, 1).bytes[0],
            bias + 4 * 2 * (6 + 36 + 19 + 5 + 3 + 21));
}

TEST(Compressors, GoOnFromTheirState) {
  for (const auto& c : {compress_config("top-k", 0.1), compress_config("power-sgd", 1, 2),
                        compress_config("sign")}) {
    const Copies whole = compressed(c, 1, 4);
    std::vector<at::Tensor> last;
    with_compressing_copies(1, [&](comm::Group& group) {
      const auto params = compressed_params();
      auto compressor = make_compressor(c, group, params);
      for (size_t step = 0; step < 4; ++step) {
        if (step == 2) {
          auto again = make_compressor(c, group, params);
          again->load_state(compressor->state());
          compressor = std::move(again);
        }
        for (size_t p = 0; p < params.size(); ++p) {
          params[p].value.mutable_grad() = whole.given[0][step][p].clone();
        }
        compressor->average(params, "a batch");
      }
      for (const auto& param : params) last.push_back(param.value.grad());
    });
    for (size_t p = 0; p < last.size(); ++p) {
      EXPECT_TRUE(at::equal(last[p], whole.got[0][3][p]))
          << c.parts.get<rivals::CompressOptions>().kind;
    }
  }
}

TEST(Compressors, AShareOfNothingIsRefused) {
  const auto exchange = std::make_shared<Exchange>(1);
  adagp::testing::FakeGroup group(exchange, 0);
  EXPECT_THROW(make_compressor(compress_config("top-k", 0), group, compressed_params()),
               UsageError);
  EXPECT_EQ(make_compressor(compress_config("none"), group, compressed_params()), nullptr);
}

}  // namespace
}  // namespace adagp::parallel
