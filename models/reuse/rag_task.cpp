#include "models/reuse/rag_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <optional>

#include "models/schemas.h"

namespace kvsim::models {
namespace {

/// The share of a chunk that EPIC computes where `epic_below` is known: 32 tokens of 512.
constexpr double epic_share = 32.0 / 512;

/// Share of the largest variance of a distribution on [0, 1] with a given mean that is used when more is asked for.
/// There all answers score next to 0 or 1.
constexpr double widest = 0.99;

/// Below this standard deviation / mean a quantile is the mean in all digits that a score has.
constexpr double narrowest = 1e-6;

struct Point {
  double share = 0;
  double score = 0;
};

/// At `share` on the line through two points.
double between(Point a, Point b, double share) {
  return a.score + (b.score - a.score) * (share - a.share) / (b.share - a.share);
}

/// Relative to full_score.
double selective(const RagTask& task, double rho, bool spans) {
  Point below{0, task.full_reuse.value};
  for (const ScoreAt& known : task.scores) {
    const Point above{known.rho, (spans ? known.score : known.without_spans).value / task.full_score.value};
    if (rho == above.share) return above.score;  // as published, to the digit
    if (rho < above.share) return between(below, above, rho);
    below = above;
  }
  return between(below, {1, 1}, rho);
}

/// Score, relative to selective reuse, of something that is `gap` below it at the first of the scores.
double after(double gap, const RagTask& task, double rho) {
  return 1 - gap * (1 - rho) / (1 - task.scores.front().rho);
}

double epic(const RagTask& task, double share) {
  const Point none{0, task.full_reuse.value};
  const double at_first = selective(task, task.scores.front().rho, true);
  const Point known{epic_share, std::max(none.score, at_first * (1 - task.epic_below.value))};
  return share < known.share ? between(none, known, share) : between(known, {1, 1}, share);
}

/// Distribution of single answers' scores; none where they are all the mean.
std::optional<boost::math::beta_distribution<>> law_of(double mean, double spread) {
  const double most = widest * mean * (1 - mean);
  const double variance = std::min(spread * mean * spread * mean, most);
  if (spread < narrowest || variance <= 0) return std::nullopt;
  // Beta(a, b) has the mean a/(a + b) and the variance mean (1 - mean)/(a + b + 1).
  const double both = mean * (1 - mean) / variance - 1;
  return boost::math::beta_distribution<>(mean * both, (1 - mean) * both);
}

}  // namespace

double relative_score(const RagTask& task, ReuseMethod method, double share, bool spans) {
  double score = task.full_reuse.value;
  switch (method) {
    case ReuseMethod::full_reuse:
      return score;
    case ReuseMethod::selective:
      score = selective(task, share, spans);
      break;
    case ReuseMethod::cacheblend:
      score = selective(task, share, true) * after(task.cacheblend_below.value, task, share);
      break;
    case ReuseMethod::epic:
      score = epic(task, share);
      break;
  }
  return std::max(score, task.full_reuse.value);
}

double answer_score(double mean, double spread, double at) {
  const auto law = law_of(mean, spread);
  return law ? boost::math::quantile(*law, at) : mean;
}

double good_share(const RagTask& task, double relative, double floor) {
  const double mean = task.full_score.value * relative, least = task.full_score.value * floor;
  const auto law = law_of(mean, task.spread.value);
  if (!law) return mean >= least ? 1 : 0;
  return least < 1 ? boost::math::cdf(boost::math::complement(*law, least)) : 0;
}

namespace {

using namespace schema;

ObjectSchema<RagTask> rag_task_fields() {
  using T = RagTask;
  const ScalarSpec score = number().above(0).at_most(1).because("answers score from 0 to 1");
  ObjectSchema<ScoreAt> point("score", "The mean score at one share of tokens computed again.");
  point.required("rho", &ScoreAt::rho,
                 number().above(0).below(1).because("nothing is computed again at 0, and everything at 1"),
                 "share of the prompt's tokens computed again");
  point.required("score", &ScoreAt::score, score, "mean score of selective reuse with spans");
  point.required("without_spans", &ScoreAt::without_spans, score, "the same without spans");

  ObjectSchema<T> s("rag_task", "A task over retrieved chunks: what answers score, the more so the more is computed.");
  add_entry_fields(s);
  s.optional("model", &T::model, text(), "catalogue name of the model whose answers were scored");
  s.optional("speculative_model", &T::speculative_model, text(), "catalogue name of the model that chose the tokens");
  s.required("full_score", &T::full_score, score, "mean score with all of the prompt computed");
  s.list("scores", &T::scores, point, Presence::required, "of selective reuse, ascending in rho", {.at_least = 1});
  s.required("full_reuse", &T::full_reuse, number().above(0).at_most(1),
             "mean score with no token computed again / full_score; no method scores less");
  s.required("cacheblend_below", &T::cacheblend_below, number().at_least(0).below(1),
             "share by which CacheBlend scores below selective reuse, at the first of `scores`");
  s.required("epic_below", &T::epic_below, number().at_least(0).below(1),
             "share by which EPIC with 32 tokens of each chunk of 512 scores below "
             "selective reuse at the first of `scores`");
  s.required("spread", &T::spread, number().at_least(0).at_most(10),
             "standard deviation / mean of single answers' scores; 0: all alike");
  s.check([](const T& task, const Reporter& report) {
    for (std::size_t i = 1; i < task.scores.size(); ++i) {
      if (task.scores[i].rho > task.scores[i - 1].rho) continue;
      report.fail(fmt::format("scores.{}.rho", i), fmt::format("{} after {}: the scores must ascend in rho",
                                                               task.scores[i].rho, task.scores[i - 1].rho));
    }
  });
  return s;
}

}  // namespace

const ObjectSchema<RagTask>& rag_task_schema() {
  static const ObjectSchema<RagTask> schema = rag_task_fields();
  return schema;
}

}  // namespace kvsim::models
