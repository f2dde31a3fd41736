// Keys that a command does not read: the table is true, and what is given on a command line is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <stdexcept>

#include "models/schema/error.h"
#include "planner/command_keys.h"
#include "planner/plan/scenario_plan.h"
#include "tests/scenario/key_rows.h"
#include "tests/support/small_scenario.h"
#include "tools/results/step_page.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

/// An answer of a command; empty where it refuses the scenario.
using Answer = std::string (*)(const scenario::Scenario&);

std::string answer_to(const scenario::Scenario& s, std::optional<std::int64_t> batch,
                      std::optional<std::int64_t> context, std::int64_t verifying) {
  results::StepQuestion question;
  question.batch = batch;
  question.context = context;
  question.verifying = verifying;
  question.chunk = 64;
  return results::step_json(results::step_report(s, question)).dump();
}

std::string step_of(const scenario::Scenario& s) {
  return answer_to(s, std::nullopt, std::nullopt, 1);
}
std::string step_of_batch(const scenario::Scenario& s) {
  return answer_to(s, 8, std::nullopt, 1);
}
std::string step_of_context(const scenario::Scenario& s) {
  return answer_to(s, std::nullopt, 4096, 1);
}
std::string step_of_drafts(const scenario::Scenario& s) {
  return answer_to(s, std::nullopt, std::nullopt, 0);
}

std::string plan_of(const scenario::Scenario& s) {
  planner::PlanRequest request;
  request.keep_ratios = {0.2, 0.5};
  request.least_draft_length = 4;
  request.most_draft_length = 6;
  const planner::ScenarioPlan plan = planner::plan(s, request);
  const planner::OperatingPoint& best = plan.optimum;
  return fmt::format("{} {} {} {} {:.17g} {:.17g} {:.17g} {:.17g} {}", best.x, best.c, best.batch.B_c, best.batch.B_g,
                     best.throughput_tokens_per_s, best.tpot_s(), plan.kv_bytes, plan.room_bytes,
                     plan.load ? fmt::format("{:.17g}", plan.load->utilisation()) : "");
}

std::string answered(Answer answer, const Sets& sets) {
  try {
    return answer(small_scenario(sets));
  } catch (const std::exception&) {
    return {};
  }
}

Sets set_in(const KeyRow& row, const std::string& value) {
  return with(row.base, value.find('=') == std::string::npos ? row.key + "=" + value : value);
}

const std::map<std::string_view, Answer> kAnswers{{"show step", step_of},
                                                  {"show step --batch", step_of_batch},
                                                  {"show step --context", step_of_context},
                                                  {"show step without --verify", step_of_drafts},
                                                  {"plan", plan_of},
                                                  {"plan by closed forms", plan_of},
                                                  {"plan without --simulate", plan_of},
                                                  {"plan without --simulate, of the file's compressor", plan_of}};

bool names_folder(const Sets& sets) {
  return std::any_of(sets.begin(), sets.end(),
                     [](const std::string& set) { return set.find('$') != std::string::npos; });
}

TEST(CommandKeys, ChangeNothingOfWhatTheCommandAnswers) {
  const std::vector<KeyRow> rows = key_rows();
  std::map<std::string_view, int> compared;
  for (const planner::CommandKeys& unread : planner::command_keys()) {
    const auto answer = kAnswers.find(unread.command);
    if (answer == kAnswers.end()) continue;
    for (const KeyRow& row : rows) {
      const bool meant = std::any_of(unread.keys.begin(), unread.keys.end(), [&row](const std::string& key) {
        return row.key == key || row.key.starts_with(key + ".");
      });
      const Sets a = set_in(row, row.a), b = set_in(row, row.b);
      if (!meant || names_folder(a) || names_folder(b)) continue;
      const std::string one = answered(answer->second, a), other = answered(answer->second, b);
      if (one.empty() || other.empty()) continue;
      EXPECT_EQ(one, other) << unread.command << " is said not to read " << row.key;
      ++compared[unread.command];
    }
  }
  for (const auto& [command, answer] : kAnswers) EXPECT_GT(compared[command], 0) << command;
}

std::string refusal(std::string_view command, const Sets& sets) {
  try {
    planner::refuse_unread_by(command, small_scenario(sets));
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "";
}

TEST(CommandKeys, AreRefusedWhereTheyAreSet) {
  EXPECT_EQ(refusal("show step", {"run.seed=3"}),
            "--set run.seed: no effect: one step is timed, and nothing is simulated: use run");
  EXPECT_EQ(refusal("show step", {}), "") << "files are shared between commands";
  EXPECT_EQ(refusal("capacity", {"run.seed=3"}), "");
  EXPECT_NE(refusal("workload generate", {"schedule.max_requests=3"}), "");
  EXPECT_EQ(refusal("workload generate", {"run.seed=3"}), "");
}

TEST(CommandKeys, AreThoseOfACommandThatTheTableHas) {
  EXPECT_THROW(planner::refuse_unread_by("show steps", small_scenario({})), std::logic_error);
}

// A load must say how many clients it has; a key of its own would be of no use.
TEST(CommandKeys, AreLeftInMapsThatMustHaveThem) {
  EXPECT_EQ(refusal("capacity", {"workload.closed={concurrency: 4}"}), "");
  EXPECT_NE(refusal("capacity", {"workload.closed.concurrency=4"}), "");
  EXPECT_NE(refusal("capacity --machines of others", {"cluster.gpu.type.memory_bandwidth=2 TB/s"}), "");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
