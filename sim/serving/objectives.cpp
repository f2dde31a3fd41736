#include "sim/serving/objectives.h"

#include <algorithm>
#include <array>

#include "sim/serving/request.h"

namespace kvsim::serving {

Verdict missed_objectives(const SloConfig& slo, const Experience& x) {
  const std::array<double, kSloMetrics.size()> values{x.ttft_s, x.tpot_s, x.largest_gap_s, x.e2e_s};
  Verdict missed = 0;
  for (std::size_t m = 0; m < values.size(); ++m) {
    for (std::size_t p = 0; p < kSloPercentiles.size(); ++p) {
      const std::optional<double>& limit = slo.limits_s[m][p];
      if (limit && values[m] > *limit) missed |= limit_bit(m, p);
    }
  }
  return missed;
}

namespace {

/// The percentiles, of those not missed, with a limit that the end of a request may still exceed. A request that has
/// its first token cannot exceed one of TTFT.
Verdict open_percentiles(const SloConfig& slo, Verdict missed, bool started) {
  Verdict open = 0;
  for (std::size_t p = 0; p < kSloPercentiles.size(); ++p) {
    bool limited = false;
    for (std::size_t m = started ? 1 : 0; m < kSloMetrics.size(); ++m) limited = limited || slo.limits_s[m][p];
    if (limited && (missed & percentile_bits(p)) == 0) open |= open_bit(p);
  }
  return open;
}

}  // namespace

Standing standing_of(const SloConfig& slo, const Request& r, engine::SimTime now) {
  // Every time can only grow from here: its last token comes at `now` at the earliest.
  const bool started = r.generated > 0;
  Experience least;
  least.e2e_s = (now - r.arrival).seconds();
  least.ttft_s = started ? (r.record->first_token - r.arrival).seconds() : least.e2e_s;
  if (started && r.output > 1) {
    least.tpot_s = (now - r.record->first_token).seconds() / static_cast<double>(r.output - 1);
    least.largest_gap_s = std::max(r.record->largest_gap_s, (now - r.record->last_token).seconds());
  }
  Standing standing;
  standing.missed = missed_objectives(slo, least);
  standing.open = open_percentiles(slo, standing.missed, started);
  if (standing.open != 0 || !slo.any()) standing.open |= miss_bits(Miss::unfinished);
  return standing;
}

namespace {

bool open(const Request& r) {
  return r.phase != Phase::finished && r.phase != Phase::refused;
}

}  // namespace

void Judgement::arrived(Request& request, engine::SimTime now) {
  if (!config_.run.judge_until_s || now.seconds() >= *config_.run.judge_until_s) return;
  request.judged = static_cast<std::int32_t>(measured_.verdicts.size());
  measured_.verdicts.push_back(miss_bits(Miss::unfinished));
}

void Judgement::refused(const Request& request) {
  if (request.judged < 0) return;
  measured_.verdicts[static_cast<std::size_t>(request.judged)] = miss_bits(Miss::refused);
}

/// Calls `use` with every judged request that has not finished.
template <class Use>
void Judgement::for_each_open(const Use& use) const {
  requests_.for_each([&](const Request& r) {
    if (open(r) && r.judged >= 0) use(r);
  });
}

bool Judgement::over(engine::SimTime now) {
  if (!config_.run.judge_until_s || now.seconds() < *config_.run.judge_until_s) return false;
  bool all = true;
  for_each_open([&](const Request& r) { all = all && standing_of(config_.slo_of(r.kind), r, now).open == 0; });
  return all;
}

bool Judgement::hopeless(engine::SimTime now) {
  return std::any_of(config_.run.most_misses.begin(), config_.run.most_misses.end(), [&](const MissLimit& limit) {
    // An arrival is Miss::unfinished until more is known.
    const Verdict certain = limit.misses & ~miss_bits(Miss::unfinished);
    const auto misses = [certain](Verdict v) { return (v & certain) != 0; };
    auto missed = std::count_if(measured_.verdicts.begin(), measured_.verdicts.end(), misses);
    for_each_open(
        [&](const Request& r) { missed += misses(standing_of(config_.slo_of(r.kind), r, now).missed) ? 1 : 0; });
    return static_cast<std::uint64_t>(missed) > limit.most;
  });
}

void Judgement::close(engine::SimTime now) {
  for_each_open([&](const Request& r) {
    const Standing standing = standing_of(config_.slo_of(r.kind), r, now);
    measured_.verdicts[static_cast<std::size_t>(r.judged)] = standing.missed | standing.open;
  });
}

}  // namespace kvsim::serving
