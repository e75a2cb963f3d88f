// Lists of tensors come from other processes: are they read as they were told, and refused if not?

#include "adagp/teams/parallel/tensor_list.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/teams/comm/peer_error.h"

namespace adagp::parallel {
namespace {

const Teller kTeller{3, "the checkpoint"};

TEST(TensorList, IsReadAsItWasTold) {
  const io::TensorMap tensors{{"net.w", at::ones({2, 3})}, {"net.count", at::ones({}, at::kLong)}};
  const auto notes = told_tensors(kTeller, told_json(kTeller, tensor_list(tensors).dump()));
  ASSERT_EQ(notes.size(), 2U);
  for (const TensorNote& note : notes) {
    EXPECT_EQ(note.type, tensors.at(note.name).scalar_type());
    EXPECT_EQ(note.sizes, tensors.at(note.name).sizes().vec());
  }
}

std::string refused(const std::string& text) {
  try {
    told_tensors(kTeller, told_json(kTeller, text));
  } catch (const comm::PeerError& error) {
    return error.what();
  }
  return "taken";
}

TEST(TensorList, WhatIsNoneIsRefusedNamingThePeer) {
  ASSERT_EQ(refused(R"([["a", 6, [2, 3]]])"), "taken");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "not JSON"},
      {R"([["a", 6, [2)", "not JSON"},
      {std::string(200000, '['), "more than 100 times"},
      {R"({"a": 6})", "expected a list of tensors"},
      {R"([["a", 6]])", "expected its name, type and sizes"},
      {R"([[7, 6, [2]]])", "expected its name, type and sizes"},
      {R"(["a"])", "expected its name, type and sizes"},
      {R"([["a", 4711, [2]]])", "type 4711"},
      {R"([["a", -1, [2]]])", "type -1"},
      {R"([["a", 1e300, [2]]])", "expected a whole number"},
      {R"([["a", 6, [-2]]])", "where none may be below 0"},
      {R"([["a", 6, [9223372036854775807, 2]]])", "more than 64.0 GiB"},
      {R"([["a", 6, [18446744073709551615]]])", "below 0"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string said = refused(text);
    EXPECT_NE(said.find(expected), std::string::npos) << expected << ": " << said;
    EXPECT_EQ(said.find("the checkpoint: rank 3 announced"), 0U) << said;
  }
}

}  // namespace
}  // namespace adagp::parallel
