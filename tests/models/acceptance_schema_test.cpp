// How acceptance by position is written, and what is refused of it.
#include "models/acceptance/acceptance.h"
#include "models/schemas.h"

#include <gtest/gtest.h>

#include <string>

#include "models/schema/yaml.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using schema::error_of;
using schema::yaml;

std::string refusal(const char* text) {
  return error_of([&] { return acceptance_schema().parse(yaml(text)); });
}

TEST(AcceptancePositions, AreReadAsWrittenAndReadBackAsDumped) {
  const AcceptanceSpec a = acceptance_schema().parse(yaml("{model: positions, positions: [0.74, 0.54, 0.54]}"));
  EXPECT_EQ(a.kind, AcceptanceKind::positions);
  EXPECT_EQ(a.positions, (std::vector<double>{0.74, 0.54, 0.54}));
  const std::string written = schema::to_yaml(acceptance_schema().dump(a));
  EXPECT_EQ(acceptance_schema().parse(yaml(written)).positions, a.positions) << written;
}

TEST(AcceptanceCurves, AndRecordsHaveSomethingInThem) {
  EXPECT_EQ(refusal("{model: curve, points: []}"), "test.yaml:1:24: points: needs at least one point");
  EXPECT_EQ(refusal("{model: recorded, lengths: []}"), "test.yaml:1:28: lengths: needs at least one length");
}

TEST(AcceptancePositions, MustBeGivenForTheirModel) {
  EXPECT_EQ(refusal("{model: positions}"),
            "test.yaml:1:1: missing key \"positions\", which this acceptance model needs");
  EXPECT_EQ(refusal("{model: positions, positions: []}"),
            "test.yaml:1:31: positions: needs the share of at least one position");
  EXPECT_EQ(refusal("{model: constant, agreement: 0.9, positions: [0.9]}"), "no error");
}

TEST(AcceptancePositions, ThatRiseOrAreNoSharesAreRefused) {
  EXPECT_EQ(refusal("{model: positions, positions: [0.5, 0.4, 0.45]}"),
            "test.yaml:1:42: positions.2: rises: a position is accepted only where all before it are");
  for (const char* bad : {"0", "-0.1", "1.01"}) {
    const std::string text = std::string("{model: positions, positions: [") + bad + "]}";
    EXPECT_NE(refusal(text.c_str()).find("positions.0"), std::string::npos) << refusal(text.c_str());
  }
  EXPECT_EQ(refusal("{model: positions, positions: [1, 1, 0.5, 0.5]}"), "no error");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
