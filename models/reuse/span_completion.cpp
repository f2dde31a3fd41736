#include "models/reuse/span_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "models/schema/error.h"

namespace kvsim::models {
namespace {

/// The k most important tokens: those above a value, and the first few of those that have it.
struct TopTokens {
  float value = 0;
  std::int64_t ties = 0;

  /// Whether the next token belongs to them; to be asked for every token from left to right.
  bool takes(float importance) {
    // Without branches: which token is important is hard to guess.
    const bool tie = (importance == value) & (ties > 0);
    ties -= tie ? 1 : 0;
    return (importance > value) | tie;
  }
};

/// Candidate that is added to the selection whole or not at all: a completed span, or a selected token outside of them.
struct Candidate {
  double mean;  ///< importance as given: normalising it changes no order
  TokenSpan tokens;

  [[nodiscard]] std::int64_t size() const { return std::int64_t{tokens.end} - tokens.begin; }
};

bool ranks_before(const Candidate& a, const Candidate& b) {
  if (a.mean != b.mean) return a.mean > b.mean;
  return a.tokens.begin < b.tokens.begin;
}

void check(const SpanRules& rules) {
  if (!(rules.variation >= 0)) {
    throw schema::InputError(fmt::format("variation is {}, expected at least 0", rules.variation));
  }
  if (rules.longest < 1) {
    throw schema::InputError(fmt::format("longest is {}, expected spans of at least 1 token", rules.longest));
  }
  if (!(rules.majority > 0 && rules.majority <= 1)) {
    throw schema::InputError(fmt::format("majority is {}, expected above 0, at most 1", rules.majority));
  }
  if (!(rules.budget >= 1)) {
    throw schema::InputError(fmt::format("budget is {}, expected at least 1", rules.budget));
  }
}

bool is_importance(float value) {
  return value >= 0 && value <= std::numeric_limits<float>::max();
}

/// The least importance; of no tokens 0. Throws where one is negative or not finite.
float checked_minimum(std::span<const float> importance) {
  float least = std::numeric_limits<float>::max();
  bool good = true;
  for (const float value : importance) {
    good &= is_importance(value);
    least = value < least ? value : least;
  }
  if (!good) {
    const auto bad = std::find_if(importance.begin(), importance.end(), std::not_fn(is_importance));
    throw schema::InputError(fmt::format("the importance of token {} is {}, expected a finite number, 0 or more",
                                         bad - importance.begin(), *bad));
  }
  return importance.empty() ? 0 : least;
}

/// Whether two neighbours belong together.
class Similarity {
 public:
  Similarity(float least, double variation) : least_(least), variation_(variation) {}

  // With a = (I - min) / (max - min), |a' - a| / a = |I' - I| / (I - min): normalising subtracts the minimum, and
  // its scale cancels. Divided rather than multiplied out, so that a quotient that is the variation exactly is not
  // rounded below it; by a number without a sign, as 0 may have one.
  [[nodiscard]] bool joins(float importance, float next) const {
    if (importance == next) return variation_ > 0;
    return std::abs(double{next} - importance) / std::abs(double{importance} - least_) < variation_;
  }

 private:
  double least_;
  double variation_;
};

/// Calls visit(begin, end) for every span from left to right.
template <class Visit>
void for_each_span(std::span<const float> importance, float least, const SpanRules& rules, Visit visit) {
  const Similarity similarity(least, rules.variation);
  const std::size_t n = importance.size();
  for (std::size_t begin = 0; begin < n;) {
    const std::size_t limit =
        static_cast<std::uint64_t>(rules.longest) < n - begin ? begin + static_cast<std::size_t>(rules.longest) : n;
    std::size_t end = begin + 1;
    while (end < limit && similarity.joins(importance[end - 1], importance[end])) ++end;
    visit(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
    begin = end;
  }
}

/// Buckets of ascending importance, 16 to an octave: numbers >= 0 are in the order of their bits.
constexpr unsigned kBucketShift = 19;
constexpr std::size_t kBuckets = std::size_t{1} << (31 - kBucketShift);

std::size_t bucket_of(float importance) {
  return std::bit_cast<std::uint32_t>(importance + 0.0F) >> kBucketShift;  // -0 + 0 is 0
}

/// The most important tokens, 1 to n. The bucket with the last of them is found first: std::nth_element of all takes
/// three times as long.
TopTokens most_important(std::span<const float> importance, std::int64_t count) {
  std::vector<std::uint32_t> sizes(kBuckets);
  for (const float value : importance) ++sizes[bucket_of(value)];
  std::size_t bucket = kBuckets - 1;
  while (sizes[bucket] < count) count -= sizes[bucket--];
  std::vector<float> values(std::size_t{sizes[bucket]} + 1);  // one place more: see listed()
  std::size_t used = 0;
  for (const float value : importance) {
    values[used] = value;
    used += bucket_of(value) == bucket ? 1 : 0;
  }
  const auto last = values.begin() + (count - 1);
  std::nth_element(values.begin(), last, values.end() - 1, std::greater<>());
  return {.value = *last, .ties = std::count(values.begin(), last + 1, *last)};
}

/// The tokens for which taken(i) is true, asked from left to right; `most` of them at most.
template <class Taken>
std::vector<std::uint32_t> listed(std::size_t n, std::int64_t most, Taken taken) {
  // One place more, so that every token can be written, and those that are not taken are written over.
  std::vector<std::uint32_t> tokens(static_cast<std::size_t>(most) + 1);
  std::size_t used = 0;
  for (std::size_t i = 0; i < n; ++i) {
    tokens[used] = static_cast<std::uint32_t>(i);
    used += taken(i) ? 1 : 0;
  }
  tokens.resize(used);
  return tokens;
}

/// The selection after completion: completed spans, and selected tokens outside of them.
std::vector<Candidate> completed(std::span<const float> importance, float least, TopTokens top,
                                 const SpanRules& rules) {
  std::vector<Candidate> found;
  for_each_span(importance, least, rules, [&](std::uint32_t begin, std::uint32_t end) {
    TopTokens again = top;
    std::uint32_t selected = 0;
    double sum = 0;
    for (std::uint32_t i = begin; i < end; ++i) {
      sum += importance[i];
      selected += top.takes(importance[i]) ? 1 : 0;
    }
    if (selected == 0) return;
    const double size = end - begin;
    // Divided: 7 of 10 are 0.7 of them, whatever 0.7 times 10 is.
    if (selected / size >= rules.majority) {
      found.push_back({sum / size, {begin, end}});
      return;
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      if (again.takes(importance[i])) found.push_back({importance[i], {i, i + 1}});
    }
  });
  return found;
}

/// Moves the candidates that the budget buys to the front, without ordering more of them than that takes. How many.
std::size_t buy(std::vector<Candidate>& candidates, std::int64_t budget) {
  auto bought = candidates.begin();  // all before it are
  while (true) {
    auto open = std::partition(bought, candidates.end(), [budget](const Candidate& c) { return c.size() <= budget; });
    if (open == bought) return static_cast<std::size_t>(bought - candidates.begin());
    // The first ones in rank that can be had together, by halves; the one after them is passed over.
    while (bought < open) {
      const auto middle = bought + (open - bought) / 2;
      std::nth_element(bought, middle, open, ranks_before);
      const std::int64_t tokens =
          std::accumulate(bought, middle + 1, std::int64_t{0},
                          [](std::int64_t sum, const Candidate& candidate) { return sum + candidate.size(); });
      if (tokens <= budget) {
        budget -= tokens;
        bought = middle + 1;
      } else {
        open = middle;
      }
    }
  }
}

/// Rounded up, at most `tokens`. A hair less, far below one token: what should be a whole number may come out just
/// above it.
std::int64_t rounded_up(double exact, std::int64_t tokens) {
  const double count = std::ceil(exact * (1 - 1e-12));
  return count < static_cast<double>(tokens) ? static_cast<std::int64_t>(count) : tokens;
}

/// The candidates' tokens, one by one.
std::vector<Candidate> single_tokens(const std::vector<Candidate>& candidates, std::span<const float> importance) {
  std::vector<Candidate> found;
  for (const Candidate& c : candidates) {
    for (std::uint32_t i = c.tokens.begin; i < c.tokens.end; ++i) found.push_back({importance[i], {i, i + 1}});
  }
  return found;
}

}  // namespace

std::int64_t selection_budget(double rho, std::int64_t tokens) {
  if (!(rho >= 0 && rho <= 1)) throw schema::InputError(fmt::format("rho is {}, expected 0 to 1", rho));
  return rounded_up(rho * static_cast<double>(tokens), tokens);
}

std::vector<TokenSpan> similar_spans(std::span<const float> importance, const SpanRules& rules) {
  check(rules);
  std::vector<TokenSpan> spans;
  for_each_span(importance, checked_minimum(importance), rules, [&](std::uint32_t begin, std::uint32_t end) {
    spans.push_back({begin, end});
  });
  return spans;
}

std::vector<std::uint32_t> select_tokens(std::span<const float> importance, double rho, const SpanRules& rules) {
  check(rules);
  const auto n = static_cast<std::int64_t>(importance.size());
  const std::int64_t selected = selection_budget(rho, n);
  const float least = checked_minimum(importance);
  if (selected == 0) return {};
  TopTokens top = most_important(importance, selected);
  // Under SpanCap::tokens with a budget of K the most important ones of what is selected are the most important ones
  // of all: all of those are selected.
  if (!rules.enabled || (rules.cap == SpanCap::tokens && rules.budget == 1)) {
    return listed(importance.size(), selected, [&](std::size_t i) { return top.takes(importance[i]); });
  }
  const std::int64_t budget = rounded_up(static_cast<double>(selected) * rules.budget, n);
  std::vector<Candidate> candidates = completed(importance, least, top, rules);
  if (rules.cap == SpanCap::tokens) candidates = single_tokens(candidates, importance);
  const std::size_t bought = buy(candidates, budget);  // all of them where nothing was completed
  std::vector<std::uint8_t> taken(importance.size());
  for (const Candidate& candidate : std::span(candidates).first(bought)) {
    std::fill(taken.begin() + candidate.tokens.begin, taken.begin() + candidate.tokens.end, std::uint8_t{1});
  }
  return listed(importance.size(), budget, [&](std::size_t i) { return taken[i] != 0; });
}

}  // namespace kvsim::models
