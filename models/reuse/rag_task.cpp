#include "models/reuse/rag_task.h"

#include <algorithm>
#include <optional>

#include <boost/math/distributions/beta.hpp>

namespace kvsim::models {
namespace {

/// The share of a chunk that EPIC computes where `epic_below` is known: 32 tokens of 512.
constexpr double epic_share = 32.0 / 512;

/// Of the largest variance that a distribution on [0, 1] with a given mean has, what is left when more is asked for.
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

/// With spans, relative to full_score.
double selective(const RagTask& task, double rho) {
  Point below{0, task.full_reuse.value};
  for (const ScoreAt& known : task.scores) {
    const Point above{known.rho, known.score.value / task.full_score.value};
    if (rho == above.share) return above.score;  // as published, to the digit
    if (rho < above.share) return between(below, above, rho);
    below = above;
  }
  return between(below, {1, 1}, rho);
}

/// What is left of selective reuse by something that is `gap` below it at the first of the scores.
double after(double gap, const RagTask& task, double rho) {
  return 1 - gap * (1 - rho) / (1 - task.scores.front().rho);
}

double epic(const RagTask& task, double share) {
  const Point none{0, task.full_reuse.value};
  const double at_first = selective(task, task.scores.front().rho);
  const Point known{epic_share, std::max(none.score, at_first * (1 - task.epic_below.value))};
  return share < known.share ? between(none, known, share) : between(known, {1, 1}, share);
}

/// Of single answers' scores; none where they are all the mean.
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
      score = selective(task, share) * (spans ? 1 : after(1 - task.without_spans.value, task, share));
      break;
    case ReuseMethod::cacheblend:
      score = selective(task, share) * after(task.cacheblend_below.value, task, share);
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

}  // namespace kvsim::models
