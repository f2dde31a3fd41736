#include "planner/capacity/rate_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "planner/capacity/run_length.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner::capacity {
namespace {

constexpr double kStep = 2;                 // of bracketing
constexpr int kStepsDown = 3;               // before the lowest rate is tried
constexpr double kNear = 1.15;              // a fraction of the answer counts as probed within this factor
constexpr int kMostRounds = 4;              // of beginning again below a rate that fails
constexpr std::array kFractions{0.8, 0.5};  // of the answer, probed for failures below it

class Searcher {
 public:
  Searcher(const std::function<bool(double)>& passes, const RateSearchOptions& options)
      : passes_(passes), options_(options) {}

  RateSearch run() {
    bracket();
    bisect();
    for (int round = 0; round < kMostRounds && !fractions_pass(); ++round) bisect();
    result_.rate = low();
    result_.fails_at = high();
    result_.monotone = std::none_of(result_.probes.begin(), result_.probes.end(),
                                    [&](const ProbedRate& p) { return p.passes && p.rate > high(); });
    return std::move(result_);
  }

 private:
  bool probe(double rate) {
    for (const ProbedRate& p : result_.probes) {
      if (p.rate == rate) return p.passes;
    }
    const bool passed = passes_(rate);
    result_.probes.push_back({rate, passed});
    return passed;
  }

  /// The lowest rate that fails; infinite without one.
  [[nodiscard]] double high() const {
    double rate = std::numeric_limits<double>::infinity();
    for (const ProbedRate& p : result_.probes) {
      if (!p.passes) rate = std::min(rate, p.rate);
    }
    return rate;
  }

  /// The highest rate below high() that passes; 0 without one.
  [[nodiscard]] double low() const {
    const double fails = high();
    double rate = 0;
    for (const ProbedRate& p : result_.probes) {
      if (p.passes && p.rate < fails) rate = std::max(rate, p.rate);
    }
    return rate;
  }

  void bracket() {
    double rate = std::clamp(options_.first_guess, options_.lowest, options_.highest);
    if (probe(rate)) {
      while (rate < options_.highest && probe(rate = std::min(rate * kStep, options_.highest))) {
      }
      return;
    }
    for (int step = 0; step < kStepsDown && rate > options_.lowest; ++step) {
      if (probe(rate = std::max(rate / kStep, options_.lowest))) return;
    }
    probe(options_.lowest);
  }

  void bisect() {
    if (low() == 0 && !probe(options_.lowest)) return;
    while (std::isfinite(high()) && high() > low() * (1 + options_.tolerance)) probe(std::sqrt(low() * high()));
  }

  /// Looks for failures below the answer, where one further down is as good as none.
  bool fractions_pass() {
    const double answer = low();
    for (const double fraction : kFractions) {
      const double rate = std::max(answer * fraction, options_.lowest);
      const bool known = std::any_of(result_.probes.begin(), result_.probes.end(), [rate](const ProbedRate& p) {
        return p.rate < rate * kNear && p.rate > rate / kNear;
      });
      if (answer > 0 && !known && !probe(rate)) return false;
    }
    return true;
  }

  const std::function<bool(double)>& passes_;
  const RateSearchOptions& options_;
  RateSearch result_;
};

}  // namespace

RateSearch search_rate(const std::function<bool(double rate)>& passes, const RateSearchOptions& options) {
  return Searcher(passes, options).run();
}

double first_guess(const scenario::Scenario& s) {
  constexpr double kOfPeaks = 0.5;
  const serving::ServingConfig& c = s.serving;
  const auto gpus = static_cast<double>(c.cluster.uniform().parallel.gpus());
  const MeanRequest mean = mean_request(s);
  const double context = mean.prompt_tokens + mean.output_tokens / 2;
  const double kv = std::max(1.0, static_cast<double>(c.model.kv_bytes_per_token()) *
                                      c.model.kv_copies(c.cluster.uniform().parallel.tensor) * context);
  const auto capacity = static_cast<double>(serving::kv_capacity(c, c.cluster.uniform()).bytes);
  const double batch = std::clamp(capacity / kv, 1.0, static_cast<double>(c.schedule.max_requests));
  const double step_s = (static_cast<double>(c.model.weight_bytes()) + batch * kv) /
                        (gpus * c.cluster.uniform().gpu.memory_bytes_per_s.value);
  double request_s = mean.output_tokens * step_s / batch;
  if (c.prefill == serving::PrefillKind::recompute) {
    request_s +=
        c.model.linear_flops_per_token() * mean.prompt_tokens / (gpus * c.cluster.uniform().gpu.bf16_flops_per_s.value);
  }
  return kOfPeaks * static_cast<double>(c.cluster.replicas()) / request_s / requests_per_load(s);
}

double lone_rate(const scenario::Scenario& s) {
  constexpr double kOverlap = 0.02;
  constexpr double kFarBelow = 256;
  const double guess = first_guess(s);
  const double longest = longest_time_s(s.serving.slo, mean_request(s).output_tokens);
  if (load_of(s) == Load::users) return 1;
  return std::isfinite(longest) ? std::min(kOverlap / longest / requests_per_load(s), guess / kFarBelow)
                                : guess / kFarBelow;
}

ConfirmedRate confirm_rate(double found, const std::function<bool(double rate)>& passes,
                           const ConfirmationOptions& options) {
  constexpr double kFirstStep = 0.02;
  constexpr double kGrowth = 2;
  if (passes(found)) return {found, 0};
  ConfirmedRate result{0, found};
  for (double step = kFirstStep; result.rate == 0; step *= kGrowth) {
    if (result.fails_at <= options.lowest) return result;
    const double rate = std::max(result.fails_at / (1 + step), options.lowest);
    (passes(rate) ? result.rate : result.fails_at) = rate;
  }
  while (result.fails_at > result.rate * (1 + options.tolerance)) {
    const double rate = std::sqrt(result.rate * result.fails_at);
    (passes(rate) ? result.rate : result.fails_at) = rate;
  }
  return result;
}

}  // namespace kvsim::planner::capacity
