// The file of `kvsim plan --symbols`.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "planner/closed_form/symbols.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

constexpr const char* kWhole = R"(symbols: {M: 50 GB, KV: 4 GB, HBM: 96 GB, BW_hbm: 1.792 TB/s, BW_link: 64 GB/s}
model: conserving
draft_length: {min: 2, max: 40}
keep_ratio: [0.2, 0.1]
acceptance: {model: constant, agreement: {0.2: 0.97, 0.1: 0.95}}
)";

std::string refusal(std::string text) {
  try {
    read_symbols_text(text, "s.yaml");
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "accepted";
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  return text.replace(text.find(from), from.size(), to);
}

TEST(SymbolsFile, IsReadWithItsUnits) {
  const SymbolsProblem p = read_symbols_text(kWhole, "s.yaml");
  EXPECT_EQ(p.symbols.M, 50'000'000'000);
  EXPECT_EQ(p.symbols.BW_hbm, 1.792e12);
  EXPECT_EQ(p.model, TransferModel::conserving);
  EXPECT_EQ(p.least_draft_length, 2);
  EXPECT_EQ(p.most_draft_length, 40);
  EXPECT_EQ(p.keep_ratios, (std::vector<double>{0.2, 0.1}));
}

TEST(SymbolsFile, AgreementMayBeOneNumberOrOneByKeepRatioInAnyOrder) {
  const SymbolsProblem by_ratio = read_symbols_text(kWhole, "s.yaml");
  SymbolsProblem one = read_symbols_text(changed("{0.2: 0.97, 0.1: 0.95}", "0.97"), "s.yaml");
  // tokens (x + 1) - 1 = A(x): a + a^2 at x = 2.
  const auto accepted = [](const SymbolsProblem& p, std::size_t ratio) {
    const Cycle cycle = cycles_of(p)[ratio * 39];
    return cycle.tokens * 3 - 1;
  };
  EXPECT_NEAR(accepted(by_ratio, 0), 0.97 + 0.97 * 0.97, 1e-12);
  EXPECT_NEAR(accepted(by_ratio, 1), 0.95 + 0.95 * 0.95, 1e-12);
  EXPECT_NEAR(accepted(one, 1), 0.97 + 0.97 * 0.97, 1e-12);
}

// Whatever room the map of the file's keys has left for one more.
TEST(SymbolsFile, AgreementByKeepRatioIsReadWithAnyNumberOfKeysBesideIt) {
  for (const std::string& shorter :
       {changed("model: conserving\n", ""), changed("model: conserving\ndraft_length: {min: 2, max: 40}\n", "")}) {
    const SymbolsProblem p = read_symbols_text(shorter, "s.yaml");
    ASSERT_EQ(p.agreement.size(), 2U);
    EXPECT_EQ(p.agreement.front().value, 0.95);
    EXPECT_EQ(p.agreement.back().value, 0.97);
  }
}

TEST(SymbolsFile, LeavesOutWhatHasADefault) {
  const SymbolsProblem p = read_symbols_text(
      "symbols: {M: 1 GB, KV: 1 GB, HBM: 4 GB, BW_hbm: 1 TB/s, BW_link: 1 GB/s}\nkeep_ratio: [0.5]\n"
      "acceptance: {model: constant, agreement: 0.9}\n",
      "s.yaml");
  EXPECT_EQ(p.model, TransferModel::rings);
  EXPECT_EQ(p.least_draft_length, 1);
  EXPECT_EQ(p.most_draft_length, 60);
}

TEST(SymbolsFile, SaysWhereItIsWrong) {
  EXPECT_EQ(refusal(kWhole), "accepted");
  EXPECT_NE(refusal(changed("50 GB", "50")).find("s.yaml:1:14"), std::string::npos) << refusal(changed("50 GB", "50"));
  EXPECT_NE(refusal(changed("KV: 4 GB", "KV: 4 kB")).find("more than a million requests"), std::string::npos);
  EXPECT_NE(refusal(changed("BW_link", "BW_lnik")).find("BW_link"), std::string::npos);
  EXPECT_NE(refusal(changed("conserving", "conserved")).find("conserving"), std::string::npos);
  EXPECT_NE(refusal(changed("min: 2", "min: 50")).find("must not exceed max"), std::string::npos);
  EXPECT_NE(refusal(changed("[0.2, 0.1]", "[0.3]")).find("says nothing of keep ratio 0.3"), std::string::npos);
  EXPECT_NE(refusal(changed("[0.2, 0.1]", "[1.5]")).find("s.yaml:4"), std::string::npos);
  EXPECT_NE(refusal(changed("0.1: 0.95", "0.20: 0.95")).find("twice"), std::string::npos)
      << refusal(changed("0.1: 0.95", "0.20: 0.95"));
  const std::string without = changed("{model: constant, agreement: {0.2: 0.97, 0.1: 0.95}}", "{model: compressor}");
  EXPECT_NE(refusal(without).find("have no compressor"), std::string::npos) << refusal(without);
  EXPECT_NE(refusal(changed("0.1: 0.95", "0.1: 1.95")).find("s.yaml:5"), std::string::npos);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
