// Token lengths of generated requests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/workload/limits.h"
#include "models/workload/random_source.h"

namespace kvsim::models {

enum class LengthDistribution { fixed, uniform, lognormal, exponential, gamma, empirical };

struct LengthSpec {
  LengthDistribution distribution = LengthDistribution::fixed;
  double mean = 1;                        ///< tokens; of fixed, lognormal, exponential, gamma before the bounds apply
  double cv = 1;                          ///< standard deviation / mean, of lognormal and gamma
  std::int64_t min = 1;                   ///< tokens, >= 1; the lower end of uniform
  std::int64_t max = max_request_tokens;  ///< tokens, >= min; the upper end of uniform (included)
  std::vector<std::int64_t> values{};     ///< of empirical: drawn with equal probability
};

/// What is wrong with the specification and what was expected; empty if nothing is.
std::string problem_with(const LengthSpec& spec);

/// Draws lengths. A draw is rounded to whole tokens and clamped to [min, max]: clamping, unlike drawing again, takes
/// the same random numbers whatever the bounds, so that scenarios with other bounds stay comparable.
class LengthSampler {
 public:
  /// Throws schema::InputError with problem_with(spec).
  explicit LengthSampler(LengthSpec spec);

  /// A length in [max(1, min), max].
  std::int64_t sample(RandomSource& random) const;

  /// The expected length before clamping and rounding.
  [[nodiscard]] double mean() const;

  [[nodiscard]] const LengthSpec& spec() const { return spec_; }

 private:
  LengthSpec spec_;
};

}  // namespace kvsim::models
