// Do tensors come out of a message as they went in? One thread acts for both members.

#include "adagp/teams/comm/message.h"

#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/teams/comm/peer_error.h"
#include "unit/comm/fake_group.h"

namespace adagp::comm {
namespace {

struct Line {
  std::shared_ptr<adagp::testing::Exchange> exchange =
      std::make_shared<adagp::testing::Exchange>(2);
  adagp::testing::FakeGroup from{exchange, 0}, to{exchange, 1};

  Route out(int tag = 0) { return {from, 1, tag, "out"}; }
  Route in(int tag = 0) { return {to, 0, tag, "in"}; }
};

// Sends them as the executor does and takes them at the other end.
models::Tensors through(const models::Tensors& tensors, bool leaves = false) {
  Line line;
  Transfers sent;
  send_specs(line.out(), specs_of(tensors), sent);
  send_tensors(line.out(), tensors, sent);
  const TensorSpecs specs = receive_specs(line.in());
  EXPECT_EQ(specs, specs_of(tensors));
  models::Tensors got = PendingReceive(line.in(), specs, at::kCPU).take(leaves);
  for (const auto& transfer : sent) EXPECT_TRUE(transfer->done());
  return got;
}

at::Tensor some(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return at::arange(count, at::kLong).mul(7).remainder(11).to(type).view(sizes);
}

void expect_arrives(const models::Tensors& tensors) {
  const models::Tensors got = through(tensors);
  ASSERT_EQ(got.size(), tensors.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), tensors[i].scalar_type()) << "tensor " << i;
    ASSERT_EQ(got[i].sizes(), tensors[i].sizes()) << "tensor " << i;
    EXPECT_TRUE(at::equal(got[i], tensors[i])) << "tensor " << i;
    EXPECT_FALSE(got[i].requires_grad()) << "tensor " << i;
  }
}

TEST(Message, EveryTypeArrives) {
  for (const at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
        at::kChar, at::kByte, at::kBool, at::kComplexFloat}) {
    SCOPED_TRACE(at::toString(type));
    expect_arrives({some({3, 4}, type)});
  }
}

TEST(Message, EveryShapeArrives) {
  expect_arrives({});
  expect_arrives({some({1}).squeeze(), some({5}), some({1, 2, 3, 1, 2, 2})});
  expect_arrives({some({0}), some({3, 0}), some({2}), some({0, 3, 4, 4})});
  // As many as a message can hold, of several types.
  expect_arrives({some({2}), some({3}, at::kLong), some({4}), some({5}, at::kDouble), some({6}),
                  some({7}, at::kBool), some({8})});
}

TEST(Message, EveryLayoutArrives) {
  const auto channels_last = [](const at::Tensor& tensor) {
    return tensor.contiguous(at::MemoryFormat::ChannelsLast);
  };
  const models::Tensors tensors{
      channels_last(some({2, 3, 4, 5})),
      channels_last(some({2, 1, 4, 5})),  // both layouts at once
      channels_last(some({2, 5, 1, 1})),
      some({2, 3, 4, 5, 6}).contiguous(at::MemoryFormat::ChannelsLast3d),
      some({6, 4}).t(),
      some({4, 6}).slice(1, 0, 6, 2),  // with gaps
      channels_last(some({2, 6, 3, 3})).narrow(1, 2, 3),
      some({2, 3, 4, 5}).transpose(1, 3),
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    SCOPED_TRACE(i);
    expect_arrives({tensors[i]});
    EXPECT_TRUE(through({tensors[i]})[0].is_non_overlapping_and_dense());
  }
  const at::Tensor pictures = through({tensors[0]})[0];
  EXPECT_TRUE(pictures.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_FALSE(pictures.is_contiguous());
}

TEST(Message, ThoseWithAGradientBecomeLeavesWhenAsked) {
  at::Tensor leaf = some({3, 4});
  leaf.requires_grad_();
  const models::Tensors tensors{leaf * 2, some({3, 4}), some({5}, at::kLong), leaf.view({12})};
  ASSERT_FALSE(tensors[0].is_leaf());
  EXPECT_EQ(specs_of(tensors)[0].gradient, true);
  EXPECT_EQ(specs_of(tensors)[1].gradient, false);

  const models::Tensors leaves = through(tensors, true);
  for (size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_TRUE(leaves[i].is_leaf()) << i;
    EXPECT_EQ(leaves[i].requires_grad(), tensors[i].requires_grad()) << i;
    EXPECT_TRUE(at::equal(leaves[i], tensors[i])) << i;
  }
  // A backward pass on the other side ends in them, and not in the sender's graph.
  (leaves[0] * 3).sum().backward();
  EXPECT_TRUE(at::equal(leaves[0].grad(), at::full({3, 4}, 3.0F)));
  EXPECT_FALSE(leaf.grad().defined());
  for (const at::Tensor& tensor : through(tensors, false)) EXPECT_FALSE(tensor.requires_grad());
}

TEST(Message, NeighbouringTagsDoNotMixWhateverTheOrder) {
  Line line;
  Transfers sent;
  const models::Tensors first{some({2}), some({3})}, second{some({2}) + 20, some({3}) + 30};
  send_tensors(line.out(5 * kTags), first, sent);
  send_tensors(line.out(6 * kTags), second, sent);
  send_tensors(line.out(5 * kTags), second, sent);  // the next batch
  const TensorSpecs specs = specs_of(first);
  PendingReceive early(line.in(6 * kTags), specs, at::kCPU);
  PendingReceive one(line.in(5 * kTags), specs, at::kCPU), two(line.in(5 * kTags), specs, at::kCPU);
  for (const auto& [got, expected] :
       {std::pair{early.take(false), second}, std::pair{one.take(false), first},
        std::pair{two.take(false), second}}) {
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(got[i], expected[i])) << i;
  }
}

std::string refused(const models::Tensors& tensors) {
  Line line;
  Transfers sent;
  try {
    send_specs(line.out(), specs_of(tensors), sent);
  } catch (const Error& error) {
    EXPECT_TRUE(sent.empty());
    return error.what();
  }
  return "sent";
}

TEST(Message, WhatHasNoPlaceInAMessageIsRefusedWithTheNumbers) {
  const std::string many = refused(models::Tensors(kTags, some({2})));
  EXPECT_NE(many.find("8 tensors"), std::string::npos) << many;
  EXPECT_NE(many.find("at most 7"), std::string::npos) << many;
  const std::string deep = refused({some({1, 1, 1, 1, 1, 1, 2})});
  EXPECT_NE(deep.find("7 axes"), std::string::npos) << deep;
}

// What the receiver says of a header with these numbers, which are those of a peer.
std::string refused_header(const std::vector<std::pair<int64_t, int64_t>>& changes) {
  Line line;
  Transfers sent;
  send_specs(line.out(), specs_of({some({2, 3})}), sent);
  const at::Tensor header = line.exchange->messages.at(0)->tensor;
  for (const auto& [place, value] : changes) header[place] = value;
  try {
    receive_specs(line.in());
  } catch (const PeerError& error) {
    return error.what();
  }
  return "taken";
}

TEST(Message, NumbersOfAPeerAreCheckedBeforeAnythingIsAllocated) {
  constexpr int64_t kCount = 0, kType = 1, kGradient = 2, kLast = 3, kAxes = 4, kSize = 5;
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  ASSERT_EQ(refused_header({}), "taken");
  const std::vector<std::pair<std::string, std::string>> cases{
      {refused_header({{kCount, 8}}), "8 tensors, expected 0 to 7"},
      {refused_header({{kCount, -1}}), "-1 tensors"},
      {refused_header({{kCount, kHuge}}), "expected 0 to 7"},
      {refused_header({{kType, 4711}}), "type 4711"},
      {refused_header({{kType, -1}}), "type -1"},
      {refused_header({{kAxes, 7}}), "7 axes, expected 0 to 6"},
      {refused_header({{kAxes, -2}}), "-2 axes"},
      {refused_header({{kAxes, kHuge}}), "axes"},
      {refused_header({{kSize, -3}}), "[-3, 3]"},
      {refused_header({{kSize, kHuge}}), "more than 64.0 GiB"},
      {refused_header({{kSize, 0}, {kSize + 1, kHuge}}), "more than 64.0 GiB"},
      {refused_header({{kLast, 1}}), "channels-last"},
      {refused_header({{kGradient, 1}, {kType, static_cast<int64_t>(at::kLong)}}), "gradient"},
  };
  for (const auto& [said, expected] : cases) {
    EXPECT_NE(said.find(expected), std::string::npos) << expected << ": " << said;
    EXPECT_NE(said.find("in: rank 0 announced"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace adagp::comm
