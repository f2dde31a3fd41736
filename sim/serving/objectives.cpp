#include "sim/serving/objectives.h"

#include <algorithm>

#include "sim/serving/request.h"

namespace kvsim::serving {
namespace {

std::uint8_t bit_if(const std::optional<double>& objective, double value, Miss miss) {
  return objective && value > *objective ? miss_bit(miss) : std::uint8_t{0};
}

}  // namespace

std::uint8_t missed_objectives(const SloConfig& slo, const Experience& x) {
  return static_cast<std::uint8_t>(bit_if(slo.ttft_s, x.ttft_s, Miss::ttft) | bit_if(slo.tpot_s, x.tpot_s, Miss::tpot) |
                                   bit_if(slo.itl_s, x.largest_gap_s, Miss::itl) |
                                   bit_if(slo.e2e_s, x.e2e_s, Miss::e2e));
}

std::uint8_t verdict_so_far(const SloConfig& slo, const Request& r, engine::SimTime now) {
  // Every figure can only grow from here: its last token comes at `now` at the earliest.
  const bool started = r.generated > 0;
  Experience least;
  least.e2e_s = (now - r.arrival).seconds();
  least.ttft_s = started ? (r.record.first_token - r.arrival).seconds() : least.e2e_s;
  if (started && r.output > 1) {
    least.tpot_s = (now - r.record.first_token).seconds() / static_cast<double>(r.output - 1);
    least.largest_gap_s = std::max(r.record.largest_gap_s, (now - r.record.last_token).seconds());
  }
  const std::uint8_t missed = missed_objectives(slo, least);
  if (missed != 0) return missed;
  const bool only_ttft = slo.ttft_s && !slo.tpot_s && !slo.itl_s && !slo.e2e_s;
  return only_ttft && started ? std::uint8_t{0} : miss_bit(Miss::unfinished);
}

namespace {

bool open(const Request& r) {
  return r.phase != Phase::finished && r.phase != Phase::refused;
}

}  // namespace

void Judgement::arrived(Request& request, engine::SimTime now) {
  if (!config_.run.judge_until_s || now.seconds() >= *config_.run.judge_until_s) return;
  request.judged = static_cast<std::int64_t>(measured_.verdicts.size());
  measured_.verdicts.push_back(miss_bit(Miss::unfinished));
}

void Judgement::refused(const Request& request) {
  if (request.judged < 0) return;
  measured_.verdicts[static_cast<std::size_t>(request.judged)] = miss_bit(Miss::refused);
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
  for_each_open([&](const Request& r) {
    all = all && verdict_so_far(config_.slo_of(r.kind), r, now) != miss_bit(Miss::unfinished);
  });
  return all;
}

bool Judgement::hopeless(engine::SimTime now) {
  if (!config_.run.most_misses) return false;
  constexpr std::uint8_t open_yet = miss_bit(Miss::unfinished);
  const auto& verdicts = measured_.verdicts;
  auto missed = std::count_if(verdicts.begin(), verdicts.end(), [](std::uint8_t v) { return v != 0 && v != open_yet; });
  for_each_open([&](const Request& r) {
    const std::uint8_t verdict = verdict_so_far(config_.slo_of(r.kind), r, now);
    missed += verdict != 0 && verdict != open_yet ? 1 : 0;
  });
  return static_cast<std::uint64_t>(missed) > *config_.run.most_misses;
}

void Judgement::close(engine::SimTime now) {
  for_each_open([&](const Request& r) {
    measured_.verdicts[static_cast<std::size_t>(r.judged)] = verdict_so_far(config_.slo_of(r.kind), r, now);
  });
}

}  // namespace kvsim::serving
