// Against measured data, which is not part of the project: it is looked for as `kvsim validate` does, from the
// repository on. Without it these tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/workload/csv_table.h"
#include "sim/scenario/scenario.h"
#include "tests/support/small_scenario.h"
#include "tools/validation/group.h"
#include "tools/validation/measured_data.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

class Measured : public ::testing::Test {
 protected:
  void SetUp() override {
    inputs_.measured = measured_folder("", KVSIM_SOURCE_DIR);
    if (inputs_.measured.empty()) GTEST_SKIP() << kNoMeasuredData;
  }

  static const Figure& find(const std::vector<Figure>& figures, const std::string& id) {
    return *std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.id == id; });
  }

  static std::string described(const Figure& f) {
    return fmt::format("{}: expected {}, simulated {} {}", f.id, f.expected, f.simulated, f.unit);
  }

  Inputs inputs_;
};

TEST_F(Measured, EveryTransferHasARuleAndIsMet) {
  for (const Figure& f : find_group("transfers").figures(inputs_)) {
    EXPECT_EQ(f.skipped.find("no rule"), std::string::npos) << described(f);
    EXPECT_NE(f.verdict(), Verdict::outside) << described(f);
  }
}

TEST_F(Measured, EveryKernelTableIsMetByItsProfile) {
  for (const Figure& f : find_group("measured-kernels").figures(inputs_))
    EXPECT_NE(f.verdict(), Verdict::outside) << described(f);
}

TEST_F(Measured, PublicServingPointsAreMissedByNoMoreThanIsSaid) {
  for (const Figure& f : find_group("backtest").figures(inputs_)) EXPECT_EQ(f.verdict(), Verdict::pass) << described(f);
}

TEST_F(Measured, EveryRequestOfTheServingRunCompletes) {
  const auto figures = find_group("serving").figures(inputs_);
  EXPECT_EQ(find(figures, "serving/completed").verdict(), Verdict::pass);
}

// Public measurements with drafts and without.

enum DraftColumn : std::size_t {
  kModel,
  kGpu,
  kTensor,
  kEngine,
  kShape,
  kSteps,
  kTopK,
  kTokens,
  kClients,
  kAccepted,
  kMetric,
  kWithout,
  kWith,
  kDoubtful,
  kDraftColumns
};
constexpr std::array<std::string_view, kDraftColumns> kDraftNames{
    "model",       "gpu",           "tp",     "engine",         "shape",       "tree_steps", "tree_topk", "tree_tokens",
    "concurrency", "accept_length", "metric", "without_drafts", "with_drafts", "doubtful"};
using DraftRow = std::array<std::string, kDraftColumns>;

/// The model in the catalogue, and a drafter as a scenario has it.
struct DraftedModel {
  std::string model, drafter;
};

const std::map<std::string, DraftedModel>& drafted_models() {
  static const std::map<std::string, DraftedModel> models{
      {"Llama-3.3-70B-Instruct", {"llama-3.1-70b", "eagle3-llama-3.1-70b"}},
      {"Qwen3-30B-A3B",
       {"qwen3-30b-a3b",
        "{description: one layer, kind: head, draft_length: 3, acceptance: {law: {model: constant, agreement: 0.5}}, "
        "network: {description: one layer, layers: 1, hidden: 2048, heads: 32, kv_heads: 4, head_dim: 128, "
        "intermediate: "
        "12288, vocabulary: 32000, tied_embeddings: true, max_context: 40960 tokens}}"}}};
  return models;
}

/// Why a row cannot be judged; empty: it can.
std::string left_out(const DraftRow& row) {
  if (row[kDoubtful] == "yes") return "doubtful";
  if (row[kWithout].empty()) return "no partner without drafts";
  if (!drafted_models().contains(row[kModel])) return "model or its drafter not known";
  if (row[kGpu] != "H100") return "GPU not known";
  if (row[kAccepted].empty()) return "accepted length not said";
  if (row[kShape] != "tree" || row[kSteps].empty() || row[kTopK].empty() || row[kTokens].empty()) {
    return "number of drafted tokens not said";
  }
  return {};
}

double mean_tpot_s(const DraftRow& row, bool drafts) {
  const DraftedModel& of = drafted_models().at(row[kModel]);
  const double accepted = std::stod(row[kAccepted]) - 1;
  const std::string decode =
      drafts ? fmt::format(
                   "{{policy: drafter, drafter: {{type: {}, draft_length: {}, tree: {{top_k: {}, tokens: {}}}, "
                   "acceptance: {{model: curve, points: [{{draft_length: {}, accepted: {}}}]}}}}}}",
                   of.drafter, row[kSteps], row[kTopK], row[kTokens], row[kSteps], accepted)
             : "{policy: full_kv}";
  const std::string text = fmt::format(
      "name: drafted\nmodel: {}\ncluster: {{gpu: {{type: h100-sxm, tensor_parallel: {}}}}}\nworkload: {{closed: "
      "{{concurrency: {}}}, context: 100 tokens, output: 256 tokens, requests: {}}}\nprefill: recompute\ndecode: "
      "{}\nschedule: {{policy: fcfs, engine: {}, max_batched_tokens: 16384}}\n",
      of.model, row[kTensor], row[kClients], 2 * std::stoi(row[kClients]), decode, row[kEngine]);
  return testing::measure(scenario::load_scenario_text(text, "drafted")).tpot_s.mean();
}

/// docs/drafting.md says by how much these points are missed: the fit has seen them.
TEST_F(Measured, DraftsGainAndLoseWhereEnginesDo) {
  const std::string path = inputs_.measured + "/drafting/drafting.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  models::LineReader lines = models::LineReader::open(path, "drafted points in CSV");
  models::CsvTable table(lines, kDraftNames, {}, models::CsvTable::Quotes::around);
  std::map<std::string, int> out;
  std::vector<double> errors;
  int wrong = 0;
  while (table.next()) {
    DraftRow row;
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = table.field(c).text;
    if (const std::string why = left_out(row); !why.empty()) {
      ++out[why];
      continue;
    }
    const double measured = std::stod(row[kWith]) / std::stod(row[kWithout]);
    const double said = mean_tpot_s(row, false) / mean_tpot_s(row, true);
    wrong += (measured > 1) == (said > 1) ? 0 : 1;
    errors.push_back(std::abs(said / measured - 1));
  }
  for (const auto& [why, rows] : out) RecordProperty(why, rows);
  ASSERT_GE(errors.size(), 9U);
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(wrong, 1) << "of 64 requests at once one row gains 6 % that loses by its neighbours";
  EXPECT_LE(errors[errors.size() / 2], 0.15);
  EXPECT_LE(errors[errors.size() * 9 / 10], 0.31);
}

TEST_F(Measured, TheServingRunIsMet) {
  for (const Figure& f : find_group("serving").figures(inputs_))
    EXPECT_NE(f.verdict(), Verdict::outside) << described(f);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
