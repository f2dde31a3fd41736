// Scores of tasks over retrieved chunks: as published at the published points, and what is taken for granted between
// and around them.
#include "models/reuse/rag_task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

RagTask shipped(const char* name) {
  static const Catalogue catalogue = Catalogue::built_in();
  return catalogue.rag_task(name);
}

constexpr const char* kTasks[] = {"samsum", "musique", "hotpotqa"};
constexpr const char* kSixTasks[] = {"samsum", "musique", "hotpotqa", "2wikimqa", "multinews", "niah"};

double selective(const RagTask& task, double rho, bool spans = true) {
  return relative_score(task, ReuseMethod::selective, rho, spans);
}

double score(const char* task, double rho, bool spans = true) {
  return selective(shipped(task), rho, spans) * shipped(task).full_score.value;
}

// Figures to reason about by hand: 0.5 when all is computed, 0.4 (relative 0.8) at 0.2, 0.45 (0.9) at 0.6.
RagTask task_by_hand() {
  RagTask t;
  t.full_score.value = 0.5;
  t.scores = {{0.2, {0.4, {}}, {0.36, {}}}, {0.6, {0.45, {}}, {0.43, {}}}};
  t.full_reuse.value = 0.4;
  t.cacheblend_below.value = 0.25;
  t.epic_below.value = 0.3;
  t.spread.value = 0.25;
  return t;
}

TEST(RagTask, ScoresAsPublished) {
  EXPECT_DOUBLE_EQ(score("samsum", 1), 0.327);
  EXPECT_DOUBLE_EQ(score("musique", 1), 0.243);
  EXPECT_DOUBLE_EQ(score("hotpotqa", 1), 0.334);
  EXPECT_DOUBLE_EQ(score("samsum", 0.15), 0.295);
  EXPECT_DOUBLE_EQ(score("samsum", 0.20), 0.306);
  EXPECT_DOUBLE_EQ(score("samsum", 0.25), 0.313);
  EXPECT_DOUBLE_EQ(score("musique", 0.15), 0.224);
  EXPECT_DOUBLE_EQ(score("musique", 0.20), 0.234);
  EXPECT_DOUBLE_EQ(score("musique", 0.25), 0.236);
  EXPECT_DOUBLE_EQ(score("hotpotqa", 0.15), 0.308);
  EXPECT_DOUBLE_EQ(score("hotpotqa", 0.20), 0.301);
  EXPECT_DOUBLE_EQ(score("hotpotqa", 0.25), 0.319);
}

TEST(RagTask, ScoresAsPublishedWithoutSpans) {
  EXPECT_DOUBLE_EQ(score("samsum", 0.15, false), 0.291);
  EXPECT_DOUBLE_EQ(score("samsum", 0.20, false), 0.292);
  EXPECT_DOUBLE_EQ(score("samsum", 0.25, false), 0.304);
  EXPECT_DOUBLE_EQ(score("musique", 0.15, false), 0.212);
  EXPECT_DOUBLE_EQ(score("musique", 0.20, false), 0.208);
  EXPECT_DOUBLE_EQ(score("musique", 0.25, false), 0.214);
  EXPECT_DOUBLE_EQ(score("hotpotqa", 0.15, false), 0.294);
  EXPECT_DOUBLE_EQ(score("hotpotqa", 0.20, false), 0.306) << "more than with spans, as published";
  EXPECT_DOUBLE_EQ(score("hotpotqa", 0.25, false), 0.302);
}

// Published are the middles of what selective reuse surpasses them by, 2.1 to 23.2 % and 3.4 to 30.08 %.
TEST(RagTask, AreSurpassedByThePublishedMiddles) {
  for (const char* name : kSixTasks) {
    const RagTask task = shipped(name);
    EXPECT_NEAR(selective(task, 0.15) / relative_score(task, ReuseMethod::cacheblend, 0.15, true), 1.1265, 1e-4)
        << name;
    EXPECT_NEAR(selective(task, 0.15) / relative_score(task, ReuseMethod::epic, 32.0 / 512, true), 1.1674, 1e-4)
        << name;
  }
}

// (0.902 + 0.922 + 0.922)/3 at 0.15 of the tasks whose scores are printed.
TEST(RagTask, TasksWithoutPrintedScoresLoseAsMuchAsTheOthersInTheMean) {
  for (const char* name : {"2wikimqa", "multinews", "niah"}) {
    for (const double rho : {0.15, 0.20, 0.25}) {
      for (const bool spans : {true, false}) {
        double mean = 0;
        for (const char* printed : kTasks) mean += selective(shipped(printed), rho, spans) / 3;
        EXPECT_NEAR(selective(shipped(name), rho, spans), mean, 3e-4) << name << " at " << rho;
      }
    }
  }
}

TEST(RagTask, IsLinearBetweenItsPointsAndItsEnds) {
  const RagTask t = task_by_hand();
  EXPECT_DOUBLE_EQ(selective(t, 0), 0.4);
  EXPECT_DOUBLE_EQ(selective(t, 0.1), 0.6);    // half-way from 0.4 to 0.8
  EXPECT_DOUBLE_EQ(selective(t, 0.3), 0.825);  // a quarter of the way from 0.8 to 0.9
  EXPECT_DOUBLE_EQ(selective(t, 0.8), 0.95);   // half-way from 0.9 to 1
  EXPECT_DOUBLE_EQ(selective(t, 1), 1);
  EXPECT_DOUBLE_EQ(selective(t, 0.1, false), 0.56);  // half-way from 0.4 to 0.72
  EXPECT_DOUBLE_EQ(selective(t, 0.4, false), 0.79);  // half-way from 0.72 to 0.86
  EXPECT_DOUBLE_EQ(selective(t, 0.8, false), 0.93);  // half-way from 0.86 to 1
}

TEST(RagTask, MethodsFallBelowByLessTheMoreIsComputed) {
  const RagTask t = task_by_hand();
  const auto blend = [&](double rho) { return relative_score(t, ReuseMethod::cacheblend, rho, true); };
  EXPECT_DOUBLE_EQ(blend(0.2), 0.8 * 0.75);
  EXPECT_DOUBLE_EQ(blend(0.6), 0.9 * 0.875);  // half as much is left to compute as at 0.2
  EXPECT_EQ(blend(0), 0.4) << "not below what nothing computed gives";
  EXPECT_EQ(relative_score(t, ReuseMethod::cacheblend, 0.2, false), blend(0.2)) << "spans are of selective reuse";
}

// 32 tokens of 512 are 1/16: there 0.8 x 0.7 = 0.56. Half of that: half-way from 0.4. 17/32: half-way from 0.56 to 1.
TEST(RagTask, EpicIsKnownAtItsOwnShare) {
  const RagTask t = task_by_hand();
  const auto epic = [&](double share) { return relative_score(t, ReuseMethod::epic, share, true); };
  EXPECT_DOUBLE_EQ(epic(0), 0.4);
  EXPECT_DOUBLE_EQ(epic(1.0 / 32), 0.48);
  EXPECT_DOUBLE_EQ(epic(1.0 / 16), 0.56);
  EXPECT_DOUBLE_EQ(epic(17.0 / 32), 0.78);
  EXPECT_DOUBLE_EQ(epic(1), 1);
  RagTask worse = t;
  worse.epic_below.value = 0.9;
  EXPECT_DOUBLE_EQ(relative_score(worse, ReuseMethod::epic, 1.0 / 16, true), 0.4);
  EXPECT_DOUBLE_EQ(relative_score(worse, ReuseMethod::epic, 17.0 / 32, true), 0.7) << "half-way from 0.4 to 1";
}

TEST(RagTask, FullReuseComputesNothingWhateverTheShare) {
  for (const double share : {0.0, 0.3, 1.0}) {
    EXPECT_EQ(relative_score(task_by_hand(), ReuseMethod::full_reuse, share, true), 0.4);
  }
}

// As published, MuSiQue scores less without spans at 0.20 than at 0.15, and HotpotQA with them.
TEST(RagTask, MoreComputedScoresMore) {
  for (const char* name : {"samsum", "musique"}) {
    const RagTask task = shipped(name);
    for (const ReuseMethod method : {ReuseMethod::selective, ReuseMethod::cacheblend, ReuseMethod::epic}) {
      for (const bool spans : {false, true}) {
        if (!spans && task.name == "musique") continue;
        double before = 0;
        for (int i = 0; i <= 200; ++i) {
          const double now = relative_score(task, method, i / 200.0, spans);
          EXPECT_GE(now, before) << name << " at " << i / 200.0;
          before = now;
        }
      }
    }
  }
}

TEST(RagTask, MethodsAreInTheirPublishedOrder) {
  for (const char* name : kTasks) {
    const RagTask task = shipped(name);
    const double epic = relative_score(task, ReuseMethod::epic, 0.15, true);
    const double blend = relative_score(task, ReuseMethod::cacheblend, 0.15, true);
    EXPECT_LE(task.full_reuse.value, epic) << name;
    EXPECT_LE(epic, blend) << name;
    EXPECT_LE(blend, selective(task, 0.15, false)) << name;
    EXPECT_LE(selective(task, 0.15, false), selective(task, 0.15)) << name;
  }
}

TEST(RagTask, NothingIsBelowFullReuseAndAllIsOneWhenAllIsComputed) {
  for (const char* name : kTasks) {
    RagTask task = shipped(name);
    for (const double below : {task.epic_below.value, 0.95}) {
      task.epic_below.value = task.cacheblend_below.value = below;
      for (const ReuseMethod method : {ReuseMethod::selective, ReuseMethod::cacheblend, ReuseMethod::epic}) {
        for (const bool spans : {false, true}) {
          EXPECT_DOUBLE_EQ(relative_score(task, method, 1, spans), 1) << name;
          for (int i = 0; i < 100; ++i) {
            EXPECT_GE(relative_score(task, method, i / 100.0, spans), task.full_reuse.value) << name << " at " << i;
          }
        }
      }
    }
  }
}

/// Mean and standard deviation / mean over a grid of quantiles.
struct Moments {
  double mean = 0, spread = 0;
};
Moments moments(double mean, double spread) {
  constexpr int n = 4000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = answer_score(mean, spread, (i + 0.5) / n);
    sum += x / n;
    squares += x * x / n;
  }
  return {sum, std::sqrt(squares - sum * sum) / sum};
}

TEST(AnswerScore, HasItsMeanAndItsSpread) {
  for (const double mean : {0.05, 0.243, 0.5, 0.9}) {
    for (const double spread : {0.01, 0.1, 0.25, 0.3}) {
      const Moments m = moments(mean, spread);
      EXPECT_NEAR(m.mean, mean, 1e-3) << mean << " +- " << spread;
      EXPECT_NEAR(m.spread, spread, 0.01 * spread) << mean << " +- " << spread;
    }
  }
}

// Beta(1, 1) has the mean 1/2 and the variance 1/12: its quantiles are themselves.
TEST(AnswerScore, OfAnEvenSpreadIsTheQuantile) {
  for (const double at : {0.001, 0.3, 0.77}) EXPECT_NEAR(answer_score(0.5, 2 / std::sqrt(12), at), at, 1e-9);
}

TEST(AnswerScore, WithoutSpreadIsTheMean) {
  for (const double at : {1e-9, 0.5, 1 - 1e-9}) {
    EXPECT_EQ(answer_score(0.3, 0, at), 0.3);
    EXPECT_NEAR(answer_score(0.3, 1e-5, at), 0.3, 1e-4);
    EXPECT_NEAR(answer_score(0.3, 1e-7, at), 0.3, 1e-5);
    EXPECT_EQ(answer_score(1, 0.25, at), 1) << "no other answers have this mean";
  }
}

// With a mean m no variance reaches m (1 - m), where a share m of the answers scores 1 and the others 0.
TEST(AnswerScore, ASpreadThatNoDistributionHasIsCut) {
  for (const double mean : {0.001, 0.1, 0.5, 0.999}) {
    for (const double spread : {std::sqrt((1 - mean) / mean), 5.0, 1e6}) {
      if (spread < std::sqrt((1 - mean) / mean)) continue;
      const Moments m = moments(mean, spread);
      EXPECT_NEAR(m.mean, mean, 1e-3) << mean << " +- " << spread;
      for (const double at : {1e-12, 0.2, 0.8, 1 - 1e-12}) {
        const double x = answer_score(mean, spread, at);
        EXPECT_TRUE(x >= 0 && x <= 1) << x;
      }
      EXPECT_EQ(answer_score(mean, spread, 0.8), answer_score(mean, 2 * spread, 0.8));
    }
  }
}

TEST(AnswerScore, RisesWithTheQuantile) {
  for (const double spread : {1e-4, 0.25, 1.0, 100.0}) {
    double before = 0;
    for (int i = 1; i < 1000; ++i) {
      const double now = answer_score(0.3, spread, i / 1000.0);
      EXPECT_GE(now, before) << spread << " at " << i;
      before = now;
    }
  }
}

std::string refusal(const std::string& changed, const std::string& to) {
  std::string text =
      "description: d\nfull_score: 0.3\nscores: [{rho: 0.1, score: 0.2, without_spans: 0.2}, {rho: 0.2, score: 0.25, "
      "without_spans: 0.2}]\nfull_reuse: 0.5\ncacheblend_below: 0.1\nepic_below: 0.2\nspread: 0.25\n";
  const auto at = text.find(changed);
  if (at == std::string::npos) return "no such text";
  text.replace(at, changed.size(), to);
  try {
    static_cast<void>(rag_task_schema().parse(schema::read_yaml(text, "t.yaml")));
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "none";
}

TEST(GoodShare, IsThatOfTheAnswersAboveTheFloor) {
  RagTask task;
  task.full_score.value = 0.4;
  task.spread.value = 0.5;
  for (const double relative : {0.6, 0.9, 1.0}) {
    std::size_t good = 0;
    constexpr std::size_t kAnswers = 4000;
    for (std::size_t i = 0; i < kAnswers; ++i) {
      const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(kAnswers);
      good += answer_score(0.4 * relative, 0.5, at) >= 0.8 * 0.4 ? 1 : 0;
    }
    EXPECT_NEAR(good_share(task, relative, 0.8), static_cast<double>(good) / kAnswers, 1.0 / kAnswers) << relative;
  }
  EXPECT_EQ(good_share(task, 1, 2.6), 0) << "more than 1";
  task.spread.value = 0;
  EXPECT_EQ(good_share(task, 0.8, 0.8), 1);
  EXPECT_EQ(good_share(task, 0.79, 0.8), 0);
}

TEST(RagTaskSchema, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal("", ""), "none");
  EXPECT_EQ(refusal("rho: 0.2", "rho: 0.1"), "t.yaml:3:60: scores.1.rho: 0.1 after 0.1: the scores must ascend in rho");
  EXPECT_EQ(refusal("rho: 0.2", "rho: 0.05"),
            "t.yaml:3:60: scores.1.rho: 0.05 after 0.1: the scores must ascend in rho");
  EXPECT_EQ(refusal("score: 0.25", "score: 1.2"),
            "t.yaml:3:72: scores.1.score: must be > 0 and <= 1, found 1.2: answers score from 0 to 1");
  EXPECT_EQ(
      refusal("rho: 0.1", "rho: 0"),
      "t.yaml:3:16: scores.0.rho: must be > 0 and < 1, found 0: nothing is computed again at 0, and everything at 1");
  EXPECT_EQ(
      refusal("rho: 0.2", "rho: 1"),
      "t.yaml:3:60: scores.1.rho: must be > 0 and < 1, found 1: nothing is computed again at 0, and everything at 1");
  EXPECT_EQ(refusal("full_score: 0.3", "full_score: 0"),
            "t.yaml:2:13: full_score: must be > 0 and <= 1, found 0: answers score from 0 to 1");
  EXPECT_EQ(refusal("[{rho: 0.1, score: 0.2, without_spans: 0.2}, {rho: 0.2, score: 0.25, without_spans: 0.2}]", "[]"),
            "t.yaml:3:9: scores: expected at least 1 item, found 0");
}

TEST(RagTaskSchema, RefusesWhatIsMissing) {
  for (const char* key :
       {"description: d\n", "full_score: 0.3\n", "full_reuse: 0.5\n", "cacheblend_below: 0.1\n", "epic_below: 0.2\n",
        "spread: 0.25\n",
        "scores: [{rho: 0.1, score: 0.2, without_spans: 0.2}, {rho: 0.2, score: 0.25, without_spans: 0.2}]\n"}) {
    const std::string name(key, std::string(key).find(':'));
    EXPECT_NE(refusal(key, "").find("missing key \"" + name + "\""), std::string::npos) << refusal(key, "");
  }
  EXPECT_NE(refusal(" score: 0.2,", "").find("missing key \"score\""), std::string::npos);
  EXPECT_NE(refusal(", without_spans: 0.2}", "}").find("missing key \"without_spans\""), std::string::npos);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
