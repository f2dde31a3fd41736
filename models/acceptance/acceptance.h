// How many leading drafted tokens a verification accepts: closed forms for the planner and sampling for the simulator,
// from one description.
//
// S(i) is the probability that the first i drafted tokens are all accepted (a survival function, S(0) = 1), and
// A(x) = sum_{i=1..x} S(i) the acceptance length, without the bonus token.
#pragma once

#include <cstdint>
#include <vector>

namespace kvsim::models {

enum class AcceptanceKind {
  compressor,     ///< the compressor's own agreement at its keep ratio: constant agreement a(c)
  constant,       ///< per-token agreement a: S(i) = a^i
  step_kl,        ///< per-step KL eps: a = exp(-eps)
  curve,          ///< A(x) at given x, interpolated; S(i) = A(i) - A(i - 1), made a survival function
  positions,      ///< S(i) by position, as serving engines report it: the share of drafts accepted up to i
  heterogeneous,  ///< per-request a drawn from a Beta distribution
  recorded        ///< accepted lengths recorded elsewhere, drawn with replacement
};

/// One point of a curve of acceptance lengths.
struct AcceptancePoint {
  std::int64_t draft_length = 0;
  double accepted = 0;
};

struct AcceptanceSpec {
  AcceptanceKind kind = AcceptanceKind::compressor;
  double agreement = 0;                 ///< constant: a; heterogeneous: the mean of a; in (0, 1]
  double concentration = 50;            ///< heterogeneous: alpha + beta of the Beta distribution; > 0
  double step_kl_nats = 0;              ///< step_kl: eps >= 0
  std::vector<AcceptancePoint> points;  ///< curve: ascending in draft length
  std::vector<double> positions;        ///< positions: S(1), S(2), ..., in (0, 1], none above the one before it
  std::vector<std::int64_t> lengths;    ///< recorded
};

/// Values that one request adds to its draws: its own agreement where requests differ, else nothing.
struct RequestAcceptance {
  double agreement = 1;
};

class AcceptanceModel {
 public:
  /// Tables reach to `max_draft_length`. `compressor_agreement` is a(c) of the compressor in use, for that kind.
  /// Throws std::invalid_argument on impossible figures (agreement outside (0, 1], empty curve, rising positions).
  AcceptanceModel(const AcceptanceSpec& spec, double compressor_agreement, std::int64_t max_draft_length);

  /// S(i) over all requests, 0 <= i <= max_draft_length.
  [[nodiscard]] double survival(std::int64_t i) const;
  /// A(x) over all requests.
  [[nodiscard]] double expected_accepted(std::int64_t x) const;

  /// Parameters of the Beta distribution of a request's agreement; meaningful where heterogeneous().
  [[nodiscard]] double beta_a() const { return beta_a_; }
  [[nodiscard]] double beta_b() const { return beta_b_; }
  [[nodiscard]] bool heterogeneous() const { return kind_ == AcceptanceKind::heterogeneous; }

  /// Accepted tokens of a draft of `x`, from one uniform draw u in [0, 1): the largest i <= x with u < S(i). The same
  /// law as one Bernoulli draw per token against the hazard S(i)/S(i-1) (inverse transform), with the advantage that
  /// a higher agreement or a longer draft never accepts less at the same u.
  [[nodiscard]] std::int64_t accepted(std::int64_t x, double u, const RequestAcceptance& request) const;

 private:
  AcceptanceKind kind_;
  std::vector<double> survival_;  // S(0..max)
  std::vector<double> sums_;      // A(0..max)
  double beta_a_ = 0, beta_b_ = 0;
};

}  // namespace kvsim::models
